/* The clock of all records: CLOCK_MONOTONIC in nanoseconds.
 *
 * Where the kernel itself keeps time by the processor's time stamp counter, now() reads that counter, and
 * the kernel's clock only every 10 ms: this costs a fraction of a call of clock_gettime. At each of these
 * readings the two are compared. A counter that is off by more than the kernel ever corrects its clock
 * (a part in 1000) is not used again in this process. Times never run backwards. */
#pragma once

#include <stdint.h>
#include <time.h>
#ifdef __x86_64__
#include <x86intrin.h>
#endif
static int64_t clock_shift_ns;
static int64_t read_ns; /* last reading of the clock */

static inline int64_t system_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

#ifdef __x86_64__
struct reading {
  uint64_t ticks;
  int64_t ns;
};

static int counter_used;        /* whether now() reads the counter */
static struct reading latest;   /* the last comparison with the kernel's clock */
static uint64_t trusted_ticks;  /* TRUSTED_NS of the counter */
static uint64_t ns_per_tick;    /* times 2^32 */

static void compare_clocks(void);
static inline int64_t now(void) {
  if (counter_used) {
    uint64_t passed = __rdtsc() - latest.ticks;
    if (passed >= trusted_ticks) {
      compare_clocks();
      passed = 0;
    }
    int64_t t = latest.ns + (int64_t)((passed * ns_per_tick) >> 32) + clock_shift_ns;
    return read_ns = t < read_ns ? read_ns : t;
  }
  return read_ns = system_now() + clock_shift_ns;
}

#else
static inline int64_t now(void) { return read_ns = system_now() + clock_shift_ns; }
#endif

/* Makes the counter ready for use: before a session begins. */
static void prepare_clock(void);
static int64_t instant(void);
