/* The file of settings that HINDMOST_ATTACH names, one "key value" a line, written by harness/attach/settings.py. */
#pragma once

#include <stdio.h>

/* Returns whether there are any. */
static int read_settings(const char *path);

/* Takes those of a file that is open, and closes it. */
static void take_settings(FILE *file);
