/* Injected noise: detours that a rank takes on purpose, to disturb what is recorded.
 *
 * An iteration has one point at which a detour may be taken. In a solve the point is due when the monitor
 * was called with the number of an iteration for the first time. It comes at the begin of the next matrix
 * product or preconditioner of the solver itself; if there is none, at the next call of the monitor. So K
 * iterations have K points. Bodies that only fill or drain a pipeline have none, and a few points lie
 * outside of bodies: in restarts of PGMRES, and before the first body of PIPEBCGS.
 *
 * With at_calls, the points are the MPI calls of the recorded thread instead, at their begin.
 *
 * The draws depend on nothing but the stream (of seed, repeat and rank) and the number of the point, so
 * they are the same in every run. injection.py repeats them. */
#include <errno.h>
#pragma once

#include <stdint.h>
enum injection_law { NO_DETOURS, EXPONENTIAL, FIXED, TIMED };

static struct injection {
  int32_t law, asleep, at_calls;
  uint64_t stream;
  double length_ns, probability;
  const int64_t *start_ns, *lengths_ns; /* TIMED: detours in the order of time, */
  int64_t detours, span_ns, first_ns; /* repeated every span; the recording begins at first_ns in it */
  int64_t next;                       /* TIMED: number of the next detour, over all repetitions */
  int64_t points, total_ns;           /* so far */
  int64_t begin_ns;                   /* of the clock of TIMED detours */
  int32_t due, iteration;             /* iteration: of the last point */
} injection;

/* A session begins. */
static void begin_injection(int64_t begin_ns);

/* The same of an attached program: what came due before it is not taken. */
static void resume_injection(void);
static void take_detour(void);

/* As the settings of an attached program say. */
static void read_injection(const char *value);
static void read_injected_ranks(const char *value);
static void read_injected_detour(const char *value);
static long long injection_seed(void);

/* When the rank is known. The points of all solves and loops count on. */
static void inject_as_wanted(int64_t rank);
