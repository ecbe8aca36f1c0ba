/* The records of what the program does, and the counters of a session. */
#pragma once

#include "abi.h"
#include "contexts.h"
static struct record *records;
static struct state own_state;
static volatile struct state *const state = &own_state;

/* The record is there before it is counted: a signal may end the program at any instant, and its handler
 * writes what is counted, in this thread or another. */
static inline void keep(int64_t begin_ns, int64_t end_ns, int32_t what, int phase, int flags, int count) {
  int64_t at = state->seen;
  if (at < state->capacity) {
    if (record_contexts) record_contexts[at] = context_now;
    records[at] = (struct record){begin_ns,     end_ns,         (int16_t)what,  (uint16_t)((uint32_t)count >> 16),
                                  (int8_t)phase, (uint8_t)flags, (uint16_t)count};
  }
  __atomic_store_n(&state->seen, at + 1, __ATOMIC_RELEASE);
}

/* Record of a call that found nothing, which the next such call extends, and when that call ended. */
static int64_t idle_record = -1, idle_end_ns;

/* Adds the time of a call that found nothing to the previous record if that is of such a call, too: a
 * polling loop leaves one record, also where it asks for several things in turn. */
static inline int extend(int64_t begin_ns, int64_t end_ns, int phase) {
  if (idle_record < 0 || idle_record != state->seen - 1) return 0;
  state->between_polls_ns += begin_ns - idle_end_ns;
  idle_end_ns = end_ns;
  if (idle_record >= state->capacity) return 1;
  struct record *last = &records[idle_record];
  if (last->phase != phase) return 0;
  last->end_ns += end_ns - begin_ns;
  return 1;
}

void hindmost_next_body(void);
