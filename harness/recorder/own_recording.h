/* A loop of the program that hindmost.record marks: its ranks write what an attached program writes, into a folder
 * of its own. Meanwhile nothing else is recorded, also of an attached program. */
#pragma once

#include "abi.h"

/* Begins, where the ranks of a communicator meet; returns the system's error, 0 if there was none. `about` and
 * `origins`: what the file says of the loop and of where it runs, in JSON. */
int hindmost_own_begin(MPI_Fint communicator, const char *folder, const char *about, const char *origins, int64_t memory_bytes);

/* An instant in the loop: the begin of an iteration, its end or the error that ended it, begin or end of a phase. */
void hindmost_own_mark(int what, int64_t number, int error);

/* The number of a phase or of an error by name; -1: there are too many. */
int hindmost_own_phase(const char *name);
int hindmost_own_error(const char *name);

/* Ends, behind hindmost_disarm; collective if it keeps what was recorded. */
void hindmost_own_end(int keeps);
