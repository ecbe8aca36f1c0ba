#include "live.h"

#include "clock.h"
#include "ring.h"
#include "session.h"

#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const int32_t hindmost_live_columns = LIVE_COLUMNS;
static struct live live = {.fd = -1, .request = MPI_REQUEST_NULL};

/* Processor time of this thread, in nanoseconds. */
static double live_cpu_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static inline double smaller(double a, double b) { return a < b ? a : b; } /* no libm is linked */
static inline double larger(double a, double b) { return a > b ? a : b; }

static void live_join(void *in, void *inout, int *count, MPI_Datatype *type) {
  (void)type;
  int length = (int)LIVE_MAXIMA + 2 + live.columns;
  for (int n = 0; n < *count; n++) {
    const double *a = (const double *)in + (size_t)n * length;
    double *b = (double *)inout + (size_t)n * length;
    for (int i = 0; i < (int)LIVE_SUMS; i++) b[i] += a[i];
    for (int i = LIVE_SUMS; i < (int)LIVE_MAXIMA; i += 2)
      if (a[i] > b[i] || (a[i] == b[i] && a[i + 1] < b[i + 1])) b[i] = a[i], b[i + 1] = a[i + 1];
    for (int i = LIVE_MAXIMA; i < length; i++)
      if (a[i] > b[i]) b[i] = a[i];
  }
}

/* Four bins per octave: the exponent and the first two bits of the fraction of a double. */
static inline int live_bin(int64_t ns) {
  union { double value; int64_t bits; } is = {(double)(ns < LIVE_MIN_NS ? LIVE_MIN_NS : ns)}, least = {LIVE_MIN_NS};
  int64_t bin = (is.bits >> 50) - (least.bits >> 50);
  return bin < LIVE_BINS ? (int)bin : LIVE_BINS - 1;
}

/* ---- the line of a frame, on rank 0 ---- */

/* Appends text; returns the line's length, LIVE_LINE if something did not fit. */
static int live_append(char *line, int at, const char *format, ...) {
  va_list values;
  va_start(values, format);
  int length = vsnprintf(line + at, (size_t)(LIVE_LINE - at), format, values);
  va_end(values);
  return length < 0 || length >= LIVE_LINE - at ? LIVE_LINE : at + length;
}

/* Appends a number; -1 if it is not a possible time or count. */
static int live_put(char *line, int at, const char *format, double value) {
  return live_append(line, at, format, value > -1e18 && value < 1e18 ? value : -1.0);
}

static int live_list(char *line, int at, const char *name, const double *values, int count, double factor) {
  at = live_append(line, at, ",\"%s\":[", name);
  for (int i = 0; i < count; i++) at = live_put(line, at, i ? ",%.0f" : "%.0f", values[i] * factor);
  return live_append(line, at, "]");
}

static void live_write(void) {
  static char line[LIVE_LINE];
  const struct live_vector *all = &live.all;
  double t_ns = (double)(live.frame_ns - live.begin_ns), done = (double)live.frame_iteration;
  int at = 0;
  at = live_put(line, at, "{\"kind\":\"frame\",\"frame\":%.0f", (double)live.frame);
  at = live_put(line, at, ",\"t_ns\":%.0f", t_ns);
  at = live_put(line, at, ",\"iteration\":%.0f", done);
  at = live_put(line, at, ",\"remaining_ns\":%.0f", done > 0 ? t_ns / done * ((double)live.of - done) : -1.0);
  at = live_put(line, at, ",\"window_ns\":%.0f", all->window_ns);
  at = live_list(line, at, "phase_ns", all->phase_ns, live.phases, 1.0);
  int first = 0, last = LIVE_BINS;
  while (first < last && all->bins[first] == 0) first++;
  while (last > first && all->bins[last - 1] == 0) last--;
  at = live_put(line, at, ",\"first_bin\":%.0f", (double)first);
  at = live_list(line, at, "bins", all->bins + first, last - first, 1.0);
  for (int i = 0; i < EXTREMA; i++) {
    double value = i == MIN_WAIT ? -all->extreme[i][0] : all->extreme[i][0];
    at = live_put(line, at, i ? ",[%.0f" : ",\"extrema\":[[%.0f", all->extreme[i][1]);
    at = live_put(line, at, ",%.0f]", value);
  }
  at = live_put(line, at, "],\"period\":%.0f", (double)live.period);
  at = live_put(line, at, ",\"metric\":%.0f", (double)live.metric);
  at = live_list(line, at, "heat", all->heat, live.columns, 1.0);
  at = live_put(line, at, ",\"late\":%.0f", all->late);
  at = live_put(line, at, ",\"cost_ns\":%.0f", all->spent_ns);
  if (isfinite(live.frame_norm)) {
    int begin = at + 8;
    at = live_append(line, at, ",\"norm\":%.6e", live.frame_norm);
    for (int i = begin; i < at; i++) if (line[i] == ',') line[i] = '.'; /* independent of the locale */
  }
  if (live.foreseen[0])
    at = live_append(line, at, ",\"foreseen\":%s", live.foreseen);
  live.foreseen[0] = 0;
  at = live_append(line, at, "}\n");
  if (at == LIVE_LINE) return; /* a truncated line is not JSON: skip this frame */
  if (live.broken || write(live.fd, line, (size_t)at) == at) return;
  live.broken = 1; /* a full disk: the run continues without the feed */
  if (write(live.fd, "\n", 1) < 0) return;
}

/* ---- control: rank 0 checks whether a viewer asks for another rate or metric ---- */

static void live_poll(int64_t t_ns) {
  if (!live.control[0] || t_ns - live.polled_ns < 500000000) return;
  live.polled_ns = t_ns;
  int file = open(live.control, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return;
  char words[32];
  ssize_t got = read(file, words, sizeof words - 1);
  close(file);
  if (got <= 0) return;
  words[got] = 0;
  int period, metric;
  if (sscanf(words, "%3d %3d", &period, &metric) != 2) return;
  if (period < 0 || period >= live.period_count || metric < 0 || metric > live.phases) return;
  live.period = period;
  live.wanted_metric = metric;
}

/* The iterations until the frame after next, from the duration of those in this window. Frames of a
 * long run become rarer, so that their number grows with its logarithm, down to the slowest rate. */
static double live_interval(int64_t t_ns, double steps) {
  double period_s = live.periods_s[live.period], slowest = live.periods_s[live.period_count - 1];
  if (live.period == 0) period_s = smaller(larger(0.5, (double)(t_ns - live.begin_ns) * 5e-13), slowest);
  double took_s = (double)(t_ns - live.window_ns) * 1e-9;
  double wanted = took_s > 0 ? period_s * steps / took_s : (double)live.interval;
  wanted = smaller(wanted, (double)live.interval * LIVE_GROWTH);
  return (double)(int64_t)larger(smaller(wanted, 1e9), live.least);
}

/* ---- a frame ---- */

static void live_done(void) {
  live.request = MPI_REQUEST_NULL;
  live.interval = (int64_t)live.all.interval;
  if (live.rank == 0) live_write();
  live.metric = (int)live.all.metric;
  live.frame++;
}

static void live_test(void) {
  double begin_ns = live_cpu_ns();
  int done = 0;
  BEGIN_OUTER_CALL;
  int error = PMPI_Test(&live.request, &done, MPI_STATUS_IGNORE);
  outer_call = NULL;
  if (error) live.on = 0;
  else if (done) live_done();
  live.spent_ns += live_cpu_ns() - begin_ns;
}

static void live_wait(void) {
  BEGIN_OUTER_CALL;
  int error = PMPI_Wait(&live.request, MPI_STATUS_IGNORE);
  outer_call = NULL;
  if (error) live.on = 0;
  else live_done();
}

static void live_extreme(enum live_extreme which, double value) {
  live.mine.extreme[which][0] = value;
  live.mine.extreme[which][1] = live.rank;
}

/* Starts the reduction of everything since the last one. `totals_ns` are by phase, since the begin of
 * the solve; NULL uses the recorder's phases. */
static void live_start(int64_t iteration, int64_t t_ns, const double *totals_ns) {
  double begin_ns = live_cpu_ns();
  if (live.request != MPI_REQUEST_NULL) {
    live_test();
    if (live.request != MPI_REQUEST_NULL) {
      live.late++;
      live_wait();
    }
  }
  if (!live.on) return;
  struct live_vector *mine = &live.mine;
  double window_ns = (double)(t_ns - live.window_ns), work_ns = window_ns, steps = 0;
  int64_t outside_ns = t_ns - live.begin_ns; /* of MPI */
  for (int i = 0; i < PHASES; i++) outside_ns -= state->phase_ns[i];
  for (int i = 0; i < live.phases; i++) {
    double total_ns = totals_ns ? totals_ns[i] : (double)(i < PHASES ? state->phase_ns[i] : outside_ns);
    mine->phase_ns[i] = total_ns - live.before_ns[i];
    live.before_ns[i] = total_ns;
    if (i < PHASES) work_ns -= mine->phase_ns[i];
  }
  for (int i = 0; i < LIVE_BINS; i++) steps += live.bins[i];
  memcpy(mine->bins, live.bins, sizeof live.bins);
  memset(live.bins, 0, sizeof live.bins);
  mine->window_ns = window_ns;
  mine->late = live.late;
  mine->spent_ns = live.spent_ns - live.told_ns;
  live.told_ns = live.spent_ns;
  live.late = 0;
  live_extreme(MAX_WORK, work_ns);
  live_extreme(MIN_WAIT, -mine->phase_ns[WAIT]);
  live_extreme(MAX_WAIT, mine->phase_ns[WAIT]);
  live_extreme(MAX_HALO, mine->phase_ns[HALO]);
  live_extreme(LONGEST, live.longest_ns);
  live.longest_ns = 0;
  double shown_ns = live.metric ? mine->phase_ns[live.metric - 1] : work_ns;
  for (int i = 0; i < live.columns; i++) mine->heat[i] = 0;
  mine->heat[(int64_t)live.rank * live.columns / live.size] = window_ns > 0 ? 1000 * shown_ns / window_ns : 0;
  mine->interval = mine->metric = 0;
  if (live.rank == 0) {
    live_poll(t_ns);
    mine->interval = live_interval(t_ns, steps);
    mine->metric = live.wanted_metric;
  }
  live.frame_ns = live.window_ns = t_ns;
  live.frame_iteration = iteration;
  live.frame_norm = live.norm;
  BEGIN_OUTER_CALL;
  if (PMPI_Iallreduce(mine, &live.all, 1, live.type, live.op, live.comm, &live.request)) live.on = 0;
  outer_call = NULL;
  live.next = iteration + live.interval;
  live.test_at = iteration + live.patience;
  live.spent_ns += live_cpu_ns() - begin_ns;
}

/* Called for every iteration; one that is reported again, as at a restart, counts once. */
static void live_step(int64_t iteration, double norm, int64_t t_ns, const double *totals_ns) {
  if (iteration <= live.last) return;
  if (live.last >= 0) {
    int64_t took_ns = t_ns - live.last_ns;
    live.bins[live_bin(took_ns)]++;
    if ((double)took_ns > live.longest_ns) live.longest_ns = (double)took_ns;
  }
  live.last = iteration;
  live.last_ns = t_ns;
  live.norm = norm;
  if (iteration >= live.next) {
    live_start(iteration, t_ns, totals_ns);
  } else if (iteration >= live.test_at && live.request != MPI_REQUEST_NULL) {
    live_test();
    live.test_at = iteration + live.patience;
  }
}

/* A solve, or a loop, begins at this instant. */
static void live_zero(int64_t t_ns) {
  memset(live.bins, 0, sizeof live.bins);
  memset(live.before_ns, 0, sizeof live.before_ns);
  live.last = -1;
  live.begin_ns = live.last_ns = live.window_ns = t_ns;
  live.polled_ns = INT64_MIN / 2; /* check at once */
  live.norm = NAN;
  live.late = live.longest_ns = 0;
}

/* ---- interface to Python; all but the step are collective ---- */

/* Creates what reductions need. `file` is open for appending on rank 0; -1 elsewhere. */
int hindmost_live_open(MPI_Fint communicator, int phases, int file, const char *control,
                       const double *periods_s, int period_count) {
  if (phases < PHASES || phases > LIVE_PHASES || period_count < 1 || period_count > 16) return 1;
  if (strlen(control) >= sizeof live.control) return 1;
  int error = PMPI_Comm_dup(MPI_Comm_f2c(communicator), &live.comm);
  if (!error) error = PMPI_Comm_rank(live.comm, &live.rank);
  if (!error) error = PMPI_Comm_size(live.comm, &live.size);
  live.columns = live.size < LIVE_COLUMNS ? live.size : LIVE_COLUMNS;
  live.phases = phases;
  live.fd = file;
  strcpy(live.control, control);
  for (int i = 0; i < period_count; i++) live.periods_s[i] = periods_s[i];
  live.period_count = period_count;
  live.period = live.metric = live.wanted_metric = live.broken = 0;
  if (!error) error = PMPI_Type_contiguous((int)LIVE_MAXIMA + 2 + live.columns, MPI_DOUBLE, &live.type);
  if (!error) error = PMPI_Type_commit(&live.type);
  if (!error) error = PMPI_Op_create(live_join, 1, &live.op);
  live.open = !error;
  return error;
}

/* Feeds the next solve, or from now on a loop; with at least `least` iterations between frames, and
 * `first` before the first one. */
void hindmost_live_begin(int64_t of, int64_t first, int64_t least) {
  if (!live.open) return;
  live.of = of;
  live.least = least > 0 ? least : 1;
  live.patience = live.least < LIVE_PATIENCE ? live.least : LIVE_PATIENCE;
  live.frame = 0;
  live.interval = live.next = first;
  live.foreseen[0] = 0;
  live.spent_ns = live.told_ns = 0;
  live_zero(now());
  live.on = 1;
}

/* For loops that the recorder does not see: an iteration has ended. */
void hindmost_live_step(int64_t iteration, double norm, const double *totals_ns) {
  if (!live.on) return;
  for (int i = 0; i < live.phases; i++) live.totals_ns[i] = totals_ns[i];
  live_step(iteration, norm, now(), totals_ns);
}

/* Whether a frame has begun and is not yet written. */
int hindmost_live_waits(void) { return live.on && live.request != MPI_REQUEST_NULL; }

/* Between two iterations, on any rank: rank 0 passes its predictions of the next one as JSON to the
 * waiting frame. If the other ranks have begun the frame as well, it is written now, before that
 * iteration ends. */
void hindmost_live_foresee(const char *foreseen) {
  size_t length = strlen(foreseen);
  if (!live.on || live.request == MPI_REQUEST_NULL || length >= LIVE_FORESEEN) return;
  memcpy(live.foreseen, foreseen, length + 1);
  for (int i = 0; i < LIVE_ROUNDS && live.on && live.request != MPI_REQUEST_NULL; i++) live_test();
}

/* Writes the rest, after the solve or loop. */
void hindmost_live_finish(int own_totals) {
  if (!live.on) return;
  if (live.last > 0) {
    live_start(live.last, now(), own_totals ? live.totals_ns : NULL);
    if (live.on) live_wait();
  }
  live.on = 0;
}

/* The solve has failed: do not wait for other ranks. */
void hindmost_live_abandon(void) { live.on = 0; }

double hindmost_live_spent_ns(void) { return live.spent_ns; }

void hindmost_live_close(void) {
  if (!live.open) return;
  live.open = live.on = 0;
  PMPI_Op_free(&live.op);
  PMPI_Type_free(&live.type);
  PMPI_Comm_free(&live.comm);
}

/* ---- for measurements ---- */

/* Mean cost, in nanoseconds, of an iteration without a frame. */
double hindmost_live_step_cost_ns(int64_t count) {
  if (live.on || live.request != MPI_REQUEST_NULL) return -1;
  live_zero(now());
  live.next = live.test_at = INT64_MAX;
  int64_t begin_ns = now();
  for (int64_t i = 0; i < count; i++) live_step(i, 1.0, begin_ns + 1000 * i, NULL);
  return (double)(now() - begin_ns) / (double)count;
}

/* Mean cost, in nanoseconds, of combining the vectors of two ranks. */
double hindmost_live_join_cost_ns(int columns, int count) {
  int before = live.columns, one = 1;
  live.columns = columns < LIVE_COLUMNS ? columns : LIVE_COLUMNS;
  int64_t begin_ns = now();
  for (int i = 0; i < count; i++) live_join(&live.mine, &live.all, &one, NULL);
  live.columns = before;
  return (double)(now() - begin_ns) / (double)count;
}

/* Writes the line of a frame for a given vector and number of ranks. */
void hindmost_live_write_as(int file, int size, int phases, const struct live_vector *vector,
                            int64_t iteration, int64_t t_ns) {
  if (live.open) return;
  live.fd = file;
  live.columns = size < LIVE_COLUMNS ? size : LIVE_COLUMNS;
  live.phases = phases;
  live.begin_ns = 0;
  live.frame_ns = t_ns;
  live.frame_iteration = iteration;
  live.of = 2 * iteration;
  live.frame_norm = 1e-3;
  live.all = *vector;
  live_write();
}
