/* What the waiting process of hindmost is told, and what the person is.
 *
 * The file "status" has a line of fields separated by tabs for each report. The board is a file that all attached
 * ranks know, by default the file of settings of rank 0. */
#pragma once

#include <stddef.h>

__attribute__((format(printf, 1, 2))) static void report_status(const char *format, ...);

/* The first rank alone tells what goes well: thousands would write into one file. */
static void find_status_file(void);

/* A sentence for the person, at once and also where nobody waits (`--print env`): why nothing will be recorded. */
__attribute__((format(printf, 1, 2))) static void refuse(const char *format, ...);

/* Returns the number of the system's error, 0 if there was none. */
__attribute__((format(printf, 1, 2))) static int write_on_board(const char *format, ...);
static void read_board(void (*take)(char *line, void *to), void *to);

/* What one launcher started has this in common, where the launcher tells. */
static void name_job(char *job, size_t room);
