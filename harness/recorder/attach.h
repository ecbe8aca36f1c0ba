/* `hindmost attach`: calls that the bindings for Fortran, or another tool behind the recorder, pass on. */
#pragma once

#include "session.h"

#include <stdint.h>

/* How the program ended, as far as that is known. */
struct ending {
  int finalized, signal, other_thread; /* signal: 0 if none; other_thread: it came in another than the recorded one */
  int64_t aborted, since_ns; /* aborted: the code of MPI_Abort, -1 if it was not called; since_ns: when the call
                                began that the program is in, or the last one ended */
};

/* The last frame; it is tried also where one before it could not be written. */
static void write_end(const struct ending *how);

static _Thread_local INITIAL_EXEC int in_pcontrol; /* in MPI_Pcontrol, which such a tool calls by its other name */

/* A signal is about to end the program: keeps what is open. */
static void end_at_signal(int number, const void *context);
