/* What happens at the begin and at the end of every call: whether it is recorded, its phase, its record. */
#pragma once

#include "abi.h"
#include "clock.h"
#include "contexts.h"
#include "inject.h"
#include "places.h"
#include "ring.h"
#include "session.h"

/* What others do when the record of a call is kept: set while a session is open, NULL: nothing. */
static struct call_hooks {
  void (*after_call)(int64_t begin_ns, int64_t end_ns, enum call call, int flags);
} call_hooks;

/* Calls by name, for a person who has to choose one: those that were not recorded, and, where iterations
 * end at a call, those among a part of the ranks. */
static int64_t calls_passed[CALL_COUNT], calls_of_some[CALL_COUNT];

/* The call that the recorded thread is in, -1 if none, which began at the clock's last reading; the rank
 * of the program with which it exchanges a message, -1 if that is not known; and the call before. */
static int open_call = -1, open_partner = -1, last_call = -1;
static inline void finish(int64_t begin_ns, int64_t end_ns, enum call call, enum phase phase, int flags,
                          int count) {
  if (halo_depth > 0) phase = HALO, flags = count = 0;
  state->phase_ns[phase] += end_ns - begin_ns;
  state->call_count[call]++;
  if (phase == OTHER) state->other_ns[call] += end_ns - begin_ns;
  if (flags & INCOMPLETE && record_contexts) tables->polls[context_now]++;
  if (!(flags & INCOMPLETE))
    keep(begin_ns, end_ns, -1 - (int32_t)call, phase, flags, count);
  else if (!extend(begin_ns, end_ns, phase)) {
    idle_record = state->seen, idle_end_ns = end_ns;
    keep(begin_ns, end_ns, -1 - (int32_t)call, phase, flags, count);
  }
  mpi_depth--;
  last_call = open_call;
  open_call = open_partner = -1;
  if (call_hooks.after_call) call_hooks.after_call(begin_ns, end_ns, call, flags);
}

static void count_foreign(void);

/* Whether to record a call: it comes from the recorded thread, and not from MPI itself, which may call
 * its own public names. Calls of other threads are counted. */
static inline __attribute__((always_inline)) int enter(enum call call) {
  if (!session_id) {
    int64_t before = __atomic_load_n(&calls_passed[call], __ATOMIC_RELAXED);
    __atomic_store_n(&calls_passed[call], before + 1, __ATOMIC_RELAXED);
    return 0;
  }
  if (mpi_depth) return 0;
  if (own_session != session_id) {
    count_foreign();
    return 0;
  }
  if (injection.at_calls) take_detour();
  NOTE_CONTEXT;
  open_call = (int)call;
  mpi_depth++;
  return 1;
}
