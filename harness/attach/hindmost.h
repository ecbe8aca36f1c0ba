/* hindmost.h: name the iterations, phases and work of a program for `hindmost attach`, and ask it for the time
 * that is left, in C and C++.
 *
 *   for (step = 0; step < steps; step++) {
 *     HINDMOST_PHASE("halo") { exchange(); }
 *     HINDMOST_PHASE("stencil") { update(); }
 *     HINDMOST_WORK(cells);
 *     HINDMOST_ITERATION();
 *   }
 *
 * With `hindmost attach --stop-before 2h`, HINDMOST_SHOULD_STOP() says whether to stop after this iteration, and
 * HINDMOST_TIME_LEFT() how many seconds are left (infinite without a limit). Both are collective over
 * MPI_COMM_WORLD, and all ranks get the same answer.
 *
 * HINDMOST_ITERATION ends an iteration and begins the next. Leave a phase at its closing brace only, not
 * by break, return, goto or an exception; phases do not nest. The functions are weak symbols that the
 * recorder defines when it is preloaded: otherwise the macros do nothing, and nothing has to be linked.
 */
#ifndef HINDMOST_H
#define HINDMOST_H

#include <math.h>

/* noplt: a program that is not position-independent then asks for the address at run time, too. */
#define HINDMOST_WEAK __attribute__((weak))
#ifdef __has_attribute
#if __has_attribute(noplt)
#undef HINDMOST_WEAK
#define HINDMOST_WEAK __attribute__((weak, noplt))
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

extern void hindmost_iteration(void) HINDMOST_WEAK;
extern void hindmost_phase_begin(const char *name) HINDMOST_WEAK;
extern void hindmost_phase_end(void) HINDMOST_WEAK;
extern void hindmost_work(double amount) HINDMOST_WEAK;
extern int hindmost_should_stop(void) HINDMOST_WEAK;
extern double hindmost_time_left(void) HINDMOST_WEAK;

static inline int hindmost_begin_(const char *name) {
  if (hindmost_phase_begin) hindmost_phase_begin(name);
  return 1;
}

static inline int hindmost_end_(void) {
  if (hindmost_phase_end) hindmost_phase_end();
  return 0;
}

#ifdef __cplusplus
}
#endif

#define HINDMOST_ITERATION() ((void)(hindmost_iteration ? (hindmost_iteration(), 0) : 0))
#define HINDMOST_PHASE(name) \
  for (int hindmost_once_ = hindmost_begin_(name); hindmost_once_; hindmost_once_ = hindmost_end_())
#define HINDMOST_SHOULD_STOP() (hindmost_should_stop ? hindmost_should_stop() : 0)
#define HINDMOST_TIME_LEFT() (hindmost_time_left ? hindmost_time_left() : (double)INFINITY)
#define HINDMOST_WORK(amount) ((void)(hindmost_work ? (hindmost_work((double)(amount)), 0) : 0))

#endif
