#include "classify.h"

/* A call of a thread that is not recorded. */
static void count_foreign(void) {
  static _Thread_local int64_t counted; /* the last session in which this thread was counted */
  __atomic_fetch_add(&state->foreign_calls, 1, __ATOMIC_RELAXED);
  if (counted != session_id) __atomic_fetch_add(&state->foreign_threads, 1, __ATOMIC_RELAXED);
  counted = session_id;
}
