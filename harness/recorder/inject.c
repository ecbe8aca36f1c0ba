#include "inject.h"

#include "clock.h"
#include "ring.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
static void begin_injection(int64_t begin_ns) {
  injection.points = injection.total_ns = injection.next = 0;
  injection.begin_ns = begin_ns;
  injection.due = 0;
  injection.iteration = -1;
  while (injection.next < injection.detours && injection.start_ns[injection.next] < injection.first_ns)
    injection.next++;
}

enum { ASLEEP = 1, AT_CALLS = 2 };

/* Injects nothing (law 0), or detours of a law, from the next session on. The arrays must outlive it. */
void hindmost_inject(int law, int how, uint64_t stream, double length_ns, double probability,
                     const int64_t *start_ns, const int64_t *lengths_ns, int64_t detours, int64_t span_ns,
                     int64_t first_ns) {
  injection.law = law;
  injection.asleep = how & ASLEEP;
  injection.at_calls = law && how & AT_CALLS;
  injection.stream = stream;
  injection.length_ns = length_ns;
  injection.probability = probability;
  injection.start_ns = start_ns;
  injection.lengths_ns = lengths_ns;
  injection.detours = detours;
  injection.span_ns = span_ns;
  injection.first_ns = first_ns;
  begin_injection(state->begin_ns);
}

/* A number from 0 to below 1; splitmix64 of a counter. */
static double injection_draw(int64_t number) {
  uint64_t z = injection.stream + ((uint64_t)number + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

/* The negative logarithm of a number above 0, to a double's accuracy. Its mantissa m lies between the
 * roots of 1/2 and of 2, and log m = 2 atanh((m - 1) / (m + 1)). The program may have no libm. */
static double minus_log(double x) {
  union { double x; uint64_t bits; } m = {x};
  int exponent = (int)(m.bits >> 52) - 1023;
  m.bits = (m.bits & 0x000FFFFFFFFFFFFFu) | 0x3FF0000000000000u;
  if (m.x > 1.4142135623730951) m.x /= 2, exponent++;
  double s = (m.x - 1) / (m.x + 1), square = s * s, sum = 0;
  for (int n = 21; n > 0; n -= 2) sum = sum * square + 1.0 / n;
  return -(exponent * 0.6931471805599453 + 2 * s * sum);
}

/* The length of the detour at the next point; 0 for none. Tests call it as well. */
int64_t hindmost_next_detour(int64_t since_begin_ns) {
  int64_t point = injection.points++, sum = 0;
  if (injection.law == TIMED) {
    /* All that came due since the last point. */
    for (;; injection.next++) {
      int64_t round = injection.next / injection.detours, at = injection.next % injection.detours;
      if (round * injection.span_ns + injection.start_ns[at] - injection.first_ns > since_begin_ns) return sum;
      sum += injection.lengths_ns[at];
    }
  }
  if (injection.probability < 1.0 && injection_draw(2 * point) >= injection.probability) return 0;
  if (injection.law == FIXED) return (int64_t)injection.length_ns;
  return (int64_t)(injection.length_ns * minus_log(1.0 - injection_draw(2 * point + 1)));
}

/* ---- attached programs ---- */

enum { MAX_RANGES = 64 };
static struct {
  int law, asleep, ranges;
  long long seed, length_ns, period_ns;
  double probability;
  long long first[MAX_RANGES], last[MAX_RANGES];
  int64_t *start_ns, *lengths_ns; /* detours of a trace or of a law by time, of this rank */
  int64_t detours, room, first_ns;
} wanted; /* as the settings say */

static void read_injection(const char *value) {
  long long first_ns = 0;
  sscanf(value, "%d %d %lld %lld %lf %lld %lld", &wanted.law, &wanted.asleep, &wanted.seed, &wanted.length_ns,
         &wanted.probability, &wanted.period_ns, &first_ns);
  wanted.first_ns = first_ns;
}

static void read_injected_ranks(const char *value) {
  if (wanted.ranges < MAX_RANGES &&
      sscanf(value, "%lld %lld", &wanted.first[wanted.ranges], &wanted.last[wanted.ranges]) == 2)
    wanted.ranges++;
}

/* A detour of this rank: its start and length. Without memory the others are injected. */
static void read_injected_detour(const char *value) {
  long long start, length;
  if (sscanf(value, "%lld %lld", &start, &length) != 2) return;
  if (wanted.detours == wanted.room) {
    int64_t room = wanted.room ? 2 * wanted.room : 256;
    int64_t *starts = realloc(wanted.start_ns, (size_t)room * sizeof *starts);
    if (starts) wanted.start_ns = starts;
    int64_t *lengths = realloc(wanted.lengths_ns, (size_t)room * sizeof *lengths);
    if (lengths) wanted.lengths_ns = lengths;
    if (!starts || !lengths) return;
    wanted.room = room;
  }
  wanted.start_ns[wanted.detours] = start;
  wanted.lengths_ns[wanted.detours++] = length;
}

static uint64_t injection_mixed(uint64_t number) {
  uint64_t z = number + 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

static long long injection_seed(void) { return wanted.seed; }
static void inject_as_wanted(int64_t rank) {
  static int64_t start_ns, lengths_ns;
  int chosen = wanted.ranges == 0;
  for (int i = 0; i < wanted.ranges; i++) chosen |= wanted.first[i] <= rank && rank <= wanted.last[i];
  if (!wanted.law || !chosen) return;
  uint64_t stream = injection_mixed(injection_mixed(injection_mixed((uint64_t)wanted.seed)) + (uint64_t)rank);
  if (wanted.detours) {
    hindmost_inject(wanted.law, wanted.asleep, stream, 0.0, 1.0, wanted.start_ns, wanted.lengths_ns, wanted.detours,
                    wanted.period_ns, wanted.first_ns);
    injection.begin_ns = now();
    return;
  }
  lengths_ns = wanted.length_ns;
  hindmost_inject(wanted.law, wanted.asleep, stream, (double)wanted.length_ns, wanted.probability, &start_ns, &lengths_ns,
                  1, wanted.period_ns, 0);
  if (wanted.law == TIMED) injection.first_ns = (int64_t)(injection_draw(0) * (double)wanted.period_ns);
  injection.begin_ns = now();
  injection.next = injection.first_ns > 0;
}

static void resume_injection(void) {
  injection.total_ns = injection.due = 0;
  injection.iteration = -1;
  if (injection.law != TIMED) return;
  int64_t at = now() - injection.begin_ns + injection.first_ns, low = 0, high = injection.detours;
  while (low < high) { /* of the detours of a span, those that begin by now */
    int64_t middle = (low + high) / 2;
    if (injection.start_ns[middle] <= at % injection.span_ns) low = middle + 1;
    else high = middle;
  }
  injection.next = at / injection.span_ns * injection.detours + low;
}

static void rest_for(int64_t ns) {
  struct timespec left = {ns / 1000000000, ns % 1000000000};
  while (nanosleep(&left, &left) && errno == EINTR) {}
}

static __attribute__((noinline)) void take_detour(void) {
  injection.due = 0;
  int64_t begin_ns = now(), end_ns;
  int64_t length_ns = hindmost_next_detour(begin_ns - injection.begin_ns);
  if (length_ns <= 0) return;
  if (injection.asleep) rest_for(length_ns);
  do end_ns = now();
  while (end_ns - begin_ns < length_ns);
  injection.total_ns += end_ns - begin_ns;
  keep(begin_ns, end_ns, DETOUR, 0, 0, 0);
}
