#include "recording.h"

#include "classify.h"
#include "counters.h"
#include "lock.h"
#include "peers.h"
#include "requests.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static int64_t involuntary_switches(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

static int64_t core_wait_before; /* its count at the begin */

/* How long that thread was ready to run and had no core, so far; -1 where the kernel does not tell, or the
 * thread has ended. Any thread may ask. */
static int64_t core_wait(void) {
  char text[96];
  snprintf(text, sizeof text, "/proc/self/task/%d/schedstat", recorded_thread);
  int file = open(text, O_RDONLY | O_CLOEXEC);
  ssize_t size = file < 0 ? -1 : read(file, text, sizeof text - 1);
  if (file >= 0) close(file);
  if (size <= 0) return -1;
  text[size] = 0;
  char *waited;
  if (!strtoll(text, &waited, 10)) return -1; /* kernels that do not count write zeros */
  return strtoll(waited, NULL, 10);
}

static int64_t others_cpu_before; /* at the begin */

/* How many threads the process has, those of MPI too; -1 where the system does not tell. */
static int64_t threads_alive(void) {
  struct stat tasks;
  return stat("/proc/self/task", &tasks) || tasks.st_nlink < 3 ? -1 : (int64_t)tasks.st_nlink - 2;
}

/* Processor time so far of all threads, those that have ended too, but the recorded one; -1 if that one has ended. */
static int64_t others_cpu(void) {
  struct timespec whole, own;
  const clockid_t clock = (clockid_t)(~(unsigned)recorded_thread << 3 | 6); /* the kernel's clock of a thread */
  if (clock_gettime(clock, &own) || clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &whole)) return -1;
  return (int64_t)(whole.tv_sec - own.tv_sec) * 1000000000 + whole.tv_nsec - own.tv_nsec;
}

static int64_t others_cpu_so_far(void) {
  const int64_t after = others_cpu_before < 0 ? -1 : others_cpu();
  return after < 0 ? -1 : after > others_cpu_before ? after - others_cpu_before : 0;
}

static int64_t core_wait_so_far(void) {
  int64_t after = core_wait_before < 0 ? -1 : core_wait();
  return after < core_wait_before ? -1 : after - core_wait_before;
}

#ifdef __GLIBC__
__attribute__((weak)) int Py_IsInitialized(void);

/* Ends a process that a library ends while Python still runs. MPICH calls `exit` on a rank that waits
 * in MPI while another one aborts; `exit` would take down UCX under a thread that still serves its
 * connections, and now and then that thread calls `abort`, and the status is lost. */
static void end_at_once(int status, void *unused) {
  (void)unused;
  if (!status || !Py_IsInitialized || !Py_IsInitialized()) return;
  fflush(NULL);
  _exit(status);
}

static void keep_status(void) {
  static int kept;
  if (!kept) kept = !on_exit(end_at_once, NULL);
}

#else
static void keep_status(void) {}
#endif
static void clear_session(void) {
  state->seen = marks_seen = 0;
  __atomic_store_n(&state->foreign_calls, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&state->foreign_threads, 0, __ATOMIC_RELAXED);
  state->unknown_requests = state->between_polls_ns = 0;
  idle_record = -1;
  lock_tables();
  forget_peers();
  unlock_tables();
  halo_depth = 0;
  outer_call = NULL;
  solving = inner_depth = depth_outside = in_monitors = 0;
  for (int i = 0; i < PHASES; i++) state->phase_ns[i] = 0;
  for (int i = 0; i < CALL_COUNT; i++) state->call_count[i] = state->other_ns[i] = 0;
  state->iteration = 0;
}

static void note_begin(void) {
  struct timespec calendar;
  recorded_thread = (int)syscall(SYS_gettid);
  switches_before = involuntary_switches();
  core_wait_before = core_wait();
  others_cpu_before = others_cpu();
  clock_gettime(CLOCK_REALTIME, &calendar);
  state->begin_utc_ns = (int64_t)calendar.tv_sec * 1000000000 + calendar.tv_nsec;
  state->begin_ns = state->end_ns = now();
}

static void start_recording(void) {
  own_session = ++sessions_begun;
  __atomic_store_n(&session_id, own_session, __ATOMIC_RELEASE);
}

static void disarm(int64_t end_ns) {
  __atomic_store_n(&session_id, 0, __ATOMIC_RELEASE);
  state->end_ns = end_ns;
  state->switches = involuntary_switches() - switches_before;
  state->core_wait_ns = core_wait_so_far();
  state->threads = threads_alive();
  state->others_cpu_ns = others_cpu_so_far();
}

void hindmost_disarm(void) { disarm(now()); }

/* What is added to this rank's clock to read another one's: from the quickest of several round trips to its rank; half of that
 * is the uncertainty. An offset within it is none, as on one node. */
struct reading_of_other { int64_t offset_ns, uncertainty_ns; };

static int read_other_clock(MPI_Comm comm, int other, int trips, struct reading_of_other *found, int64_t *at_ns) {
  int64_t quickest = INT64_MAX;
  int error = 0;
  for (int trip = 0; trip < trips && !error; trip++) {
    int64_t there = 0, begin = now();
    error = PMPI_Sendrecv(&begin, 1, MPI_INT64_T, other, trip, &there, 1, MPI_INT64_T, other, trip, comm, MPI_STATUS_IGNORE);
    int64_t end = now();
    if (end - begin >= quickest) continue;
    quickest = end - begin;
    *at_ns = begin + quickest / 2;
    *found = (struct reading_of_other){there - *at_ns, (quickest + 1) / 2};
  }
  if (llabs(found->offset_ns) <= found->uncertainty_ns) found->offset_ns = 0;
  return error;
}

static int show_clock(MPI_Comm comm, int other, int trips) {
  int error = 0;
  for (int trip = 0; trip < trips && !error; trip++) {
    int64_t time = 0;
    error = PMPI_Recv(&time, 1, MPI_INT64_T, other, trip, comm, MPI_STATUS_IGNORE);
    time = now();
    if (!error) error = PMPI_Send(&time, 1, MPI_INT64_T, other, trip, comm);
  }
  return error;
}

/* Finds the offset of rank 0's clock to this rank's: each rank compares its clock with that of one that has done so, so that
 * twice as many have after each step; uncertainties add up. Collective; never recorded. */
int hindmost_clock_offset(MPI_Fint communicator, int trips, int64_t *offset_ns,
                          int64_t *uncertainty_ns, int64_t *at_ns) {
  MPI_Comm comm = MPI_Comm_f2c(communicator);
  struct reading_of_other own = {0, 0}, theirs = {0, 0};
  int rank, size, error = PMPI_Comm_rank(comm, &rank), step = 1;
  if (!error) error = PMPI_Comm_size(comm, &size);
  prepare_clock();
  *at_ns = now();
  while (!error && step < size) step *= 2;
  for (step /= 2; step && !error; step /= 2) { /* the far ones first: ranks of a node are mostly neighbours */
    if (rank % step) continue;
    if (rank / step % 2) {
      error = read_other_clock(comm, rank - step, trips, &own, at_ns);
      if (!error) error = PMPI_Recv(&theirs, 2, MPI_INT64_T, rank - step, trips, comm, MPI_STATUS_IGNORE);
      own = (struct reading_of_other){own.offset_ns + theirs.offset_ns, own.uncertainty_ns + theirs.uncertainty_ns};
    } else if (rank + step < size) {
      error = show_clock(comm, rank + step, trips);
      if (!error) error = PMPI_Send(&own, 2, MPI_INT64_T, rank + step, trips, comm);
    }
  }
  *offset_ns = own.offset_ns;
  *uncertainty_ns = own.uncertainty_ns;
  return error;
}

/* ---- cost of a record ---- */

/* Mean cost, in nanoseconds, of `count` records written into the given memory: of marks, or of
 * intervals, which read the clock twice and add to the running totals. */
double hindmost_record_cost_ns(struct record *memory, int64_t room, int64_t count, int interval) {
  struct record *kept = records;
  uint32_t *contexts = record_contexts;
  struct state before = *state;
  records = memory;
  record_contexts = NULL;
  state->capacity = room;
  prepare_clock();
  int64_t begin = now();
  for (int64_t i = 0; i < count; i++) {
    state->seen = i % room;
    int64_t t = now();
    if (interval)
      finish(t, now(), Allreduce, WAIT, 0, 0);
    else
      keep(t, t, 1, 0, 0, 0);
  }
  double cost = (double)(now() - begin) / (double)count;
  records = kept;
  record_contexts = contexts;
  *state = before;
  return cost;
}
