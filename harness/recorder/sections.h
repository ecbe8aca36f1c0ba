/* Sections of a raw file: solves and loops. */
#pragma once

#include "attached.h"
#include "json.h"

enum { MAX_LOOP_PHASES = 64, MAX_LOOP_ERRORS = 64 };

/* How far a section goes: to a record, and to a time. */
struct extent {
  int64_t seen, end_ns;
};

static int may_ask_mpi; /* not in a call of the program, whose handler may have come, nor in another thread */

static double load_of_host(void);

/* Starts to record on this thread, without meeting the other ranks. Not while another thread writes what was
 * recorded before, whose memory is used again, nor behind the end. */
static void attach_arm(MPI_Comm comm, int size);

/* Adds what was counted since the recorder was armed. */
static void count_calls(void);

/* As far as the recorder has counted. */
static struct extent whole_extent(int64_t end_ns);
static int64_t kept_of(struct extent to);
static void begin_section(struct text *text, const char *what, double load_before);
static void add_counts(struct text *text, struct extent to, int64_t switches, int64_t core_wait_ns, int64_t threads, int64_t others_cpu_ns,
                       int complete);

/* Writes what is new among the names, places and chains to which contexts of records refer. */
static void write_contexts(void);
static void forget_written(void);

/* What of the contexts is in the file. */
static struct written {
  uint32_t modules, codes, places, chains;
} written;

/* Writes records, and their contexts, ahead of what is said of their section. */
static void write_records(int64_t from, int64_t to);

/* The frames of the section; `written`: records of it that are in the file already. */
static void end_section(struct text *text, MPI_Comm communicator, int64_t written, struct extent to, int complete);
