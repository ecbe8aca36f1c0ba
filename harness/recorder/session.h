/* Which session is recorded, of which ranks, and by which thread. */
#pragma once

#include "unwind.h"

#include <mpi.h>
#include <stdint.h>

/* What of an attached program is being recorded: nothing; all calls, until its loops are known; a loop; a solve of
 * PETSc; or nothing more. Stored last when a session begins: a signal's handler writes what is open. */
enum session_state { IDLE, FINDING, LOOP, SOLVE, ENDED };
static enum session_state session_state;

static inline enum session_state session_now(void) { return __atomic_load_n(&session_state, __ATOMIC_ACQUIRE); }
static inline void enter_session(enum session_state next) { __atomic_store_n(&session_state, next, __ATOMIC_RELEASE); }

/* Behind the end, nothing begins again. */
static inline void leave_session(void) {
  if (session_now() != ENDED) enter_session(IDLE);
}

static inline int loop_is_open(void) { return session_now() == FINDING || session_now() == LOOP; }

static int halo_depth, recorded_size;
static MPI_Comm recorded_comm = MPI_COMM_NULL;
static int64_t session_id, sessions_begun; /* number of the armed session, 0 if none; sessions so far */

/* Without a call of a function for each look; there is little of this memory for libraries that are loaded late. */
#define INITIAL_EXEC __attribute__((tls_model("initial-exec")))
static _Thread_local INITIAL_EXEC int64_t own_session; /* last one that this thread began */

/* The frame of the wrapper whose call this thread is in, NULL if none, and where that returns to. MPI may call its own
 * public names inside it. */
static _Thread_local INITIAL_EXEC const uint64_t *outer_call;
static _Thread_local INITIAL_EXEC uint64_t outer_return;

/* In a function that is inlined into a wrapper, and in a wrapper. */
#define BEGIN_OUTER_CALL \
  (outer_call = (const uint64_t *)__builtin_frame_address(0), outer_return = (uint64_t)__builtin_return_address(0))

/* Whether a call, by its wrapper's frame, is made inside the outer one. It is not where a handler of errors left that one by
 * longjmp, or by an exception of C++. */
static inline int is_nested(const uint64_t *frame) {
  return outer_call && frame < outer_call && returns_through(outer_call, outer_return);
}

/* The outer call returns: whether it still is that one, as it is not where a thread has changed its stack inside it. */
static inline __attribute__((always_inline)) int end_outer_call(void) {
  if (outer_call != (const uint64_t *)__builtin_frame_address(0)) return 0;
  outer_call = NULL;
  return 1;
}

static inline int64_t session_number(void) { return __atomic_load_n(&session_id, __ATOMIC_ACQUIRE); }

/* Whether this thread is recorded now. */
static inline int recording(void) {
  const int64_t number = session_number();
  return number && own_session == number;
}

/* Whether the recorded thread is in a solve of PETSc, and how deep in events that enclose work that is not the solver's own. */
static int solving, inner_depth, depth_outside, in_monitors;
