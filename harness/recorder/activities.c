#include "activities.h"

#include "clock.h"
#include "inject.h"
#include "ring.h"

enum { NESTED = 64 };

static int64_t activity_capacity, activity_marks;
static int64_t activity_ns[MAX_ACTIVITIES], activity_since_ns, activity_mpi_ns;
static int activity_now, activity_depth;
static int8_t activity_stack[NESTED];

static void note_activities_into(int64_t *memory, int64_t capacity, int count) {
  activity_memory = memory;
  activity_capacity = capacity;
  activities = count;
}

/* Uses the recorder's instants and totals: no MPI call is active here. */
static inline int64_t not_local_ns(void) {
  int64_t sum = injection.total_ns;
  for (int i = 0; i < PHASES; i++) sum += state->phase_ns[i];
  return sum;
}

static inline void add_activity(int64_t t) {
  int64_t mpi = not_local_ns();
  activity_ns[activity_now] += (t - activity_since_ns) - (mpi - activity_mpi_ns);
  activity_since_ns = t;
  activity_mpi_ns = mpi;
}

static void begin_activities(void) {
  activity_now = activity_depth = 0;
  activity_marks = activity_mpi_ns = 0;
  for (int i = 0; i < MAX_ACTIVITIES; i++) activity_ns[i] = 0;
  activity_since_ns = state->begin_ns;
}

static void begin_activity(int activity) {
  add_activity(now());
  if (activity_depth < NESTED) activity_stack[activity_depth] = (int8_t)activity_now;
  activity_depth++;
  activity_now = activity;
}

static void end_activity(void) {
  if (activity_depth == 0) return; /* it began before the recording */
  add_activity(now());
  activity_depth--;
  if (activity_depth < NESTED) activity_now = activity_stack[activity_depth];
}

static int64_t activity_rows(void) { return activity_marks < activity_capacity ? activity_marks : activity_capacity; }

static void note_activities(int64_t t) {
  add_activity(t);
  int64_t at = activity_marks++;
  if (at >= activity_capacity) return;
  for (int i = 0; i < activities; i++) activity_memory[at * activities + i] = activity_ns[i];
}
