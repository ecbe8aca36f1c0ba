/* A loop of the program that hindmost.record marks, or a solve for which hindmost.record_ksp waits: its ranks write what
 * an attached program writes, into a folder of its own. Meanwhile nothing else is recorded, also of an attached program. */
#pragma once

#include "abi.h"

/* Begins, where the ranks of a communicator meet: a loop, or the wait for the next solve of a KSP. Returns the system's
 * error, 0 if there was none, or -1 if PETSc does not call the recorder. `settings`: as in the file of an attached program. */
int hindmost_own_begin(MPI_Fint communicator, void *ksp, char *settings);

/* Whether nothing is recorded: only one recording is possible at a time. The loops of an attached program that records
 * itself are not looked for any more. */
int hindmost_may_record(void);
void hindmost_resume(void);

/* An instant in the loop: the begin of an iteration, its end or the error that ended it, begin or end of a phase. Returns
 * the instant. `error`: of a begin, whether it is the very end of the iteration before. */
int64_t hindmost_own_mark(int what, int64_t number, int error);

/* How long the recorder wrote at the last begin of an iteration, which is no part of any. */
int64_t hindmost_own_pause(void);

/* What the program says of an iteration, in JSON. */
void hindmost_own_note(const char *text);

/* The number of a phase or of an error by name; -1: there are too many. */
int hindmost_own_phase(const char *name);
int hindmost_own_error(const char *name);

/* Ends, behind hindmost_disarm; collective if it keeps what was recorded. Returns the system's error if some of that could
 * not be written, else 0. */
int hindmost_own_end(int keeps);
