#include "petsc_events.h"

#include "activities.h"
#include "classify.h"
#include "counters.h"
#include "recording.h"

/* What the recorder does with a PETSc event: letters of the marks at its begin and end (0: none),
 * whether it encloses halo exchange, is a KSP solve, or encloses work that is not the solver's own, and
 * its activity (0: none). */
struct watch {
  int8_t begin_mark, end_mark, is_halo, is_solve, is_inner, activity;
};

static struct watch watches[EVENTS];

/* A mark; `what` may be a number that says more than its letter. */
static inline void mark(int letter, int32_t what) {
  int64_t t = now();
  if (counting) count_mark();
  if (activities) note_activities(t);
  keep(t, what, letter, 0, 0, 0);
}

static void forget_events(void) {
  for (int i = 0; i < EVENTS; i++) watches[i] = (struct watch){0};
}

static void watch_event(int event, int begin_mark, int end_mark, int is_halo, int is_solve, int is_inner, int activity) {
  struct watch *w = &watches[event];
  if (begin_mark) w->begin_mark = (int8_t)begin_mark;
  if (end_mark) w->end_mark = (int8_t)end_mark;
  if (activity) w->activity = (int8_t)activity;
  w->is_halo |= (int8_t)is_halo;
  w->is_solve |= (int8_t)is_solve;
  w->is_inner |= (int8_t)is_inner;
}

/* Handlers of PETSc's own log, for versions that allow only one: they are called before ours. */
typedef int (*event_handler)(int, int, void *, void *, void *, void *);
static event_handler log_begin, log_end;
static void call_as_well(void *begin, void *end) {
  log_begin = (event_handler)begin;
  log_end = (event_handler)end;
}

/* ---- callbacks ---- */

static inline int own_work(void) { return solving && inner_depth == 0; }

static int note_event_begin(int event, int unused, void *a, void *b, void *c, void *d) {
  if (log_begin) log_begin(event, unused, a, b, c, d);
  if (!recording() || (unsigned)event >= EVENTS) return 0;
  const struct watch *w = &watches[event];
  if (w->activity) begin_activity(w->activity);
  halo_depth += w->is_halo;
  if (w->is_solve && a == solver) {
    solving++;
    depth_outside = inner_depth;
    inner_depth = 0;
  } else {
    if (w->begin_mark && own_work()) mark(w->begin_mark, 0);
    if (injection.due && w->is_inner && own_work()) take_detour();
    inner_depth += w->is_inner | w->is_solve;
  }
  return 0;
}

static int note_event_end(int event, int unused, void *a, void *b, void *c, void *d) {
  if (log_end) log_end(event, unused, a, b, c, d);
  if (!recording() || (unsigned)event >= EVENTS) return 0;
  const struct watch *w = &watches[event];
  if (w->is_solve && a == solver) {
    solving--;
    inner_depth = depth_outside;
  } else {
    inner_depth -= w->is_inner | w->is_solve;
    if (w->end_mark && own_work()) mark(w->end_mark, 0);
  }
  halo_depth -= w->is_halo;
  if (w->activity) end_activity();
  return 0;
}

static void enter_monitors(const void *ksp) {
  if (!recording() || ksp != solver || in_monitors) return;
  in_monitors = 1;
  inner_depth++;
}

static void leave_monitors(const void *ksp) {
  if (!recording() || ksp != solver || !in_monitors) return;
  in_monitors = 0;
  inner_depth--;
}

/* The monitor that PETSc calls after all others, once per iteration, with its number and norm. PETSc's
 * integer has 32 or 64 bits, of which 32 are enough here. */
static int note_monitor(void *ksp, int iteration, double norm, void *context) {
  (void)context;
  if (!recording() || ksp != solver) return 0;
  leave_monitors(ksp);
  if (!own_work()) return 0;
  state->iteration = iteration;
  if (injection.due) take_detour();
  mark('I', iteration);
  if (iteration > injection.iteration) {
    injection.iteration = iteration;
    injection.due = injection.law && !injection.at_calls;
  }
  if (norm_memory && norms_seen < MAX_NORMS) norm_memory[norms_seen] = norm;
  norms_seen++;
  if (call_hooks.after_iteration) call_hooks.after_iteration();
  return 0;
}

/* The same for PETSc in single precision. */
static int note_monitor_single(void *ksp, int iteration, float norm, void *context) {
  return note_monitor(ksp, iteration, norm, context);
}
