/* Callbacks from PETSc: begin and end of its events, and the monitors of a solver. No PETSc header is needed.
 *
 * Marks are kept only of the recorded solver itself: not inside a preconditioner, its set-up, a matrix
 * product, another solver or a user's monitor, whatever events these log. `inner_depth` counts the
 * events that enclose such work. */
#pragma once

#include <stdint.h>
#define EVENTS 4096

enum { MAX_NORMS = 1 << 20 };
static double *norm_memory; /* one norm a mark of the monitor, where there is memory for them */
static int64_t norms_seen;
static void *solver; /* the recorded KSP */

/* Which events matter: several calls for one add up. Its number is below EVENTS. */
static void forget_events(void);
static void watch_event(int event, int begin_mark, int end_mark, int is_halo, int is_solve, int is_inner, int activity);
static void call_as_well(void *begin, void *end);
static int note_event_begin(int event, int unused, void *a, void *b, void *c, void *d);
static int note_event_end(int event, int unused, void *a, void *b, void *c, void *d);

/* What monitors do is not part of the method. */
static void enter_monitors(const void *ksp);
static void leave_monitors(const void *ksp);
static int note_monitor(void *ksp, int iteration, double norm, void *context);
static int note_monitor_single(void *ksp, int iteration, float norm, void *context);
