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
static int64_t times_emptied; /* how often the table of events was emptied */

void hindmost_forget_events(void);
void hindmost_watch_solver(void *ksp);
void hindmost_watch_monitor(int letter);
int hindmost_watch(int event, int begin_mark, int end_mark, int is_halo, int is_solve, int is_inner, int activity);
void hindmost_call_as_well(void *begin, void *end);
int hindmost_event_begin(int event, int unused, void *a, void *b, void *c, void *d);
int hindmost_event_end(int event, int unused, void *a, void *b, void *c, void *d);
int hindmost_first_monitor(void *ksp, int iteration, double norm, void *context);
int hindmost_monitor(void *ksp, int iteration, double norm, void *context);
int hindmost_monitor_single(void *ksp, int iteration, float norm, void *context);
