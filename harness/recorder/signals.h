/* What a signal ends is kept as well. Only signals whose action is the default, or MPI's or PETSc's own,
 * which ends the program after a report. That action is then taken, so that the program ends as without hindmost.
 * No memory is asked for: the program may be doing that. Where other threads write, begin_writing waits. */
#pragma once

enum { SIGNALS = 32 };
enum { NO_HANDLER, IGNORED, OF_RECORDER, OF_PROGRAM };

/* `at_end` gets the number of a signal that is about to end the program, and the registers of the thread that it came in. */
static void catch_signals(void (*at_end)(int number, const void *context));

/* Once more, at the first solve: PETSc takes signals after MPI has begun. */
static void catch_signals_of_petsc(void);

/* Who takes a signal. */
static int handler_of(int number);

/* Calls a function, on a stack of its own if this thread is on that of a signal's handler, which may be small. Only
 * between begin_writing and end_writing. */
static void with_stack(void (*function)(void));
