/* What happens at the begin and at the end of every call: whether it is recorded, its phase, its record. */
#pragma once

#include "abi.h"
#include "clock.h"
#include "contexts.h"
#include "inject.h"
#include "places.h"
#include "ring.h"
#include "session.h"
#include "thread_calls.h"

/* What others do when the record of a call is kept: set while a session is open, NULL: nothing. */
static struct call_hooks {
  void (*before_call)(void);
  void (*after_call)(int64_t begin_ns, int64_t end_ns, enum call call, enum phase phase, int flags);
  void (*after_iteration)(void); /* of a solver */
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
    note_idle(end_ns);
    keep(begin_ns, end_ns, -1 - (int32_t)call, phase, flags, count);
  }
  last_call = open_call;
  open_call = open_partner = -1;
  if (call_hooks.after_call) call_hooks.after_call(begin_ns, end_ns, call, phase, flags);
}

/* Whose call it is: of nobody whose calls are recorded, such as MPI itself, which may call its own public names; of the
 * recorded thread; or of another. */
enum caller { NOBODY, RECORDED, OTHER_THREAD };

static inline __attribute__((always_inline)) enum caller enter(enum call call) {
  const int64_t session = session_number();
  if (!session) {
    int64_t before = __atomic_load_n(&calls_passed[call], __ATOMIC_RELAXED);
    __atomic_store_n(&calls_passed[call], before + 1, __ATOMIC_RELAXED);
    return NOBODY;
  }
  if (is_nested((const uint64_t *)__builtin_frame_address(0))) return NOBODY;
  if (own_session != session) {
    enter_of_thread((const uint64_t *)__builtin_frame_address(0));
    BEGIN_OUTER_CALL;
    return OTHER_THREAD;
  }
  if (injection.at_calls) take_detour();
  NOTE_CONTEXT;
  open_call = (int)call;
  if (call_hooks.before_call) call_hooks.before_call();
  BEGIN_OUTER_CALL;
  return RECORDED;
}

/* The time as a caller needs it: the clock of records belongs to the recorded thread. */
static inline int64_t time_for(enum caller caller) {
  return caller == RECORDED ? now() : caller == OTHER_THREAD ? system_now() + clock_shift_ns : 0;
}

/* The end of a call, in its wrapper. */
static inline __attribute__((always_inline)) void leave(enum caller caller, int64_t begin_ns, int64_t end_ns, enum call call, enum phase phase, int flags,
                                                        int count) {
  if (caller == NOBODY || !end_outer_call()) return;
  if (caller == RECORDED) finish(begin_ns, end_ns, call, phase, flags, count);
  else finish_of_thread(begin_ns, end_ns, call, phase);
}
