#include "clock.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#ifdef __x86_64__
#include <cpuid.h>
#define TRUSTED_NS 10000000  /* the counter is read alone no longer than this */
#define BASELINE_NS 20000000 /* its rate is measured over no less than this */

#define INTERRUPTED_TICKS 5000 /* no reading of the kernel's clock takes so long */
static struct reading baseline; /* an earlier one, from which the rate is measured */

/* Reads both clocks at nearly the same instant: the closest of three attempts, or of more where the
 * process was interrupted in all of them. */
static struct reading read_both(void) {
  struct reading best = {0, 0};
  uint64_t closest = UINT64_MAX;
  for (int i = 0; i < 3 || (i < 20 && closest > INTERRUPTED_TICKS); i++) {
    uint64_t before = __rdtsc();
    int64_t ns = system_now();
    uint64_t after = __rdtsc();
    if (after - before >= closest) continue;
    closest = after - before;
    best = (struct reading){before + closest / 2, ns};
  }
  return best;
}

static void measure_rate(struct reading r) {
  double ns = (double)(r.ns - baseline.ns), ticks = (double)(r.ticks - baseline.ticks);
  ns_per_tick = (uint64_t)(ns / ticks * 4294967296.0);
  trusted_ticks = (uint64_t)(TRUSTED_NS * ticks / ns);
  baseline = r;
}

/* Compares the counter with the kernel's clock and goes on from there. */
static __attribute__((noinline)) void compare_clocks(void) {
  struct reading r = read_both();
  int64_t passed_ns = r.ns - latest.ns;
  int64_t counted_ns = (int64_t)((double)(r.ticks - latest.ticks) * (double)ns_per_tick / 4294967296.0);
  int64_t off_ns = counted_ns > passed_ns ? counted_ns - passed_ns : passed_ns - counted_ns;
  if (r.ticks < latest.ticks || off_ns > 2000 + passed_ns / 1000) counter_used = 0;
  latest = r;
  if (r.ns - baseline.ns >= 5 * BASELINE_NS) measure_rate(r);
}

/* Whether the processor's counter never changes its rate, and the kernel keeps time by it. */
static int counter_is_good(void) {
  unsigned a, b, c, d;
  if (!__get_cpuid(0x80000007, &a, &b, &c, &d) || !(d & (1u << 8))) return 0;
  char name[32] = "";
  int file = open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  ssize_t length = read(file, name, sizeof name - 1);
  close(file);
  if (length < 1) return 0;
  name[length - (name[length - 1] == '\n')] = 0;
  return !strcmp(name, "tsc") || !strcmp(name, "kvm-clock") || !strcmp(name, "hyperv_clocksource_tsc_page");
}

/* Chooses the clock when the library is loaded; the rate is measured when recording begins. */
__attribute__((constructor)) static void open_clock(void) {
  if (counter_is_good()) baseline = read_both();
}

static void prepare_clock(void) {
  if (!baseline.ticks) return;
  if (counter_used) {
    compare_clocks();
    return;
  }
  if (ns_per_tick) return; /* it was found to be off */
  struct reading r = read_both();
  while (r.ns - baseline.ns < BASELINE_NS) {
    nanosleep(&(struct timespec){0, BASELINE_NS - (r.ns - baseline.ns)}, NULL);
    r = read_both();
  }
  measure_rate(r);
  latest = r;
  counter_used = 1;
}

/* Reads the kernel's clock only, or (0) the counter again where it is good; for tests and benchmarks. */
void hindmost_use_system_clock(int yes) {
  counter_used = 0;
  ns_per_tick = 0;
  baseline = (struct reading){0, 0};
  if (yes) return;
  open_clock();
  prepare_clock();
}

/* Whether readings of the clock come from the counter. */
int hindmost_counter_used(void) { return counter_used; }

/* For tests: the counter seems to have gained this many ticks. */
void hindmost_falsify_counter(int64_t ticks) { latest.ticks -= (uint64_t)ticks; }
#else
static void prepare_clock(void) {}
void hindmost_use_system_clock(int yes) { (void)yes; }
int hindmost_counter_used(void) { return 0; }
void hindmost_falsify_counter(int64_t ticks) { (void)ticks; }
#endif

/* The time for another thread than the recorded one, or a signal's handler, which change nothing here: no
 * earlier than the last reading. */
static int64_t instant(void) {
  int64_t t = system_now() + clock_shift_ns;
  return t > read_ns ? t : read_ns;
}

/* Shifts this rank's clock, for tests of clock synchronisation. */
void hindmost_shift_clock(int64_t shift_ns) {
  clock_shift_ns = shift_ns;
  read_ns = INT64_MIN;
}

/* The clock as records have it, for tests. */
int64_t hindmost_now(void) { return now(); }
