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

/* The records of calls in a row that found nothing, from one on, and when the last of them ended. */
static int64_t idle_record = -1, idle_records, idle_end_ns;

static inline int is_idle(void) { return idle_record >= 0 && idle_record + idle_records == state->seen; }

/* Adds the time of a call that found nothing to the record of such a call in a row with it: a polling loop leaves one
 * record of each phase, also where it asks for several things in turn. Those behind it are later by that. */
static inline int extend(int64_t begin_ns, int64_t end_ns, int phase) {
  if (!is_idle()) return 0;
  state->between_polls_ns += begin_ns - idle_end_ns;
  idle_end_ns = end_ns;
  if (state->seen > state->capacity) return 1;
  int64_t i = idle_record, spent = end_ns - begin_ns;
  while (i < state->seen && records[i].phase != phase) i++;
  if (i == state->seen) return 0;
  records[i].end_ns += spent;
  while (++i < state->seen) records[i].begin_ns += spent, records[i].end_ns += spent;
  return 1;
}

static inline void note_idle(int64_t end_ns) {
  if (!is_idle()) idle_record = state->seen, idle_records = 0;
  idle_records++;
  idle_end_ns = end_ns;
}

void hindmost_next_body(void);
