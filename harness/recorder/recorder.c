/* The recorder: notes when MPI calls and chosen PETSc events begin and end, on one rank.
 *
 * It is loaded with RTLD_GLOBAL before mpi4py and petsc4py, so that the MPI calls of libpetsc bind to
 * the wrappers below (PMPI is the profiling interface of the MPI standard, chapter 15). PETSc calls
 * hindmost_event_begin and hindmost_event_end (petsc_events.h) for every event that it logs; it keeps
 * only the few that the segmentation of a solver needs, selected by id.
 *
 * The caller provides all memory before the solve. Nothing here allocates, locks or prints. Only the
 * thread that arms the recorder is recorded; MPI calls of other threads are only counted. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The first phases of a body in the run file; a body's rest is local. */
enum phase { HALO, WAIT, POST, OTHER, PHASES };

/* How a call ended: it found nothing; it involved only some of the recorded ranks, or this one alone;
 * it completed a collective while an earlier one is still pending. */
enum flag { INCOMPLETE = 1, PART = 2, ALONE = 4, LATE = 8, GROUP = 16, OWN = 32, FURTHER = 64, SENT = 128 };

/* An interval of MPI (what < 0: minus one less the call's number), a detour that was injected (0), or an
 * instant in the stream of PETSc events (what > 0: the letter of a mark; the end of a monitor's mark is
 * its iteration). */
enum { DETOUR = 0 };
struct record {
  int64_t begin_ns, end_ns;
  int16_t what;
  uint16_t channel; /* of a message: its communicator and tag; see peers.h */
  int8_t phase;
  uint8_t flags;
  uint16_t count; /* collectives that the call started, or completed; of a GROUP, the rank that stands for it or is needed;
                     of a GROUP of messages, the other rank of one, which is SENT or received: those FURTHER messages that
                     the call sends or receives are in records of no time before it */
};

#define CLASSES(X)                                                                                  \
  X(SENDS) X(RECEIVES) X(PROBES) X(LOOKS) X(LOOKS_FOR) X(LOOKS_AT) X(EXCHANGES) X(FILLS) X(NEIGHBOURS) X(STARTS_SEND) X(STARTS_RECEIVE) \
  X(STARTS_NEIGHBOURS) X(PREPARES_SEND) X(PREPARES_PARTS) X(PREPARES_RECEIVE) X(PREPARES_NEIGHBOURS) X(MEETS)         \
  X(MEETS_AT_ROOT) X(MEETS_FROM_ROOT) X(MEETS_IN_ORDER) X(MEETS_SOME) X(MEETS_AT_WINDOW)            \
  X(CREATES) X(FREES_WINDOW) X(FREES) X(STARTS_MEETING) X(STARTS_FROM_ROOT) X(STARTS_AT_ROOT) X(PREPARES_MEETING) \
  X(TAKES) X(AWAITS) X(STARTS_TAKING) X(STARTS_EXCHANGE)                                                      \
  X(STARTS_ONE) X(STARTS_ALL) X(WAITS_ONE) X(WAITS_ALL) X(WAITS_ANY) X(WAITS_SOME) X(TESTS_ONE)     \
  X(TESTS_ALL) X(TESTS_ANY) X(TESTS_SOME) X(ASKS) X(FORGETS) X(TARGETS) X(STARTS_TARGET) X(EXPOSES) \
  X(ACCESSES) X(FILES) X(STARTS_FILE)

/* What a call does; wrappers.h has one macro for each class. */
enum class {
#define X(name) name,
  CLASSES(X)
#undef X
};

const char *const hindmost_class_names[] = {
#define X(name) #name,
    CLASSES(X)
#undef X
};

/* See calls.h. */
#define PARTITIONS                                                                                        \
  __typeof__(_Generic(MPI_Pready_list, int (*)(int, const int *, MPI_Request): (const int *)0, default: (int *)0))

#define COUNTING CALL
enum call {
#define CALL(name, class, parameters, arguments) name,
#include "calls.h"
#undef CALL
  CALL_COUNT
};

const char *const hindmost_call_names[] = {
#define CALL(name, class, parameters, arguments) "MPI_" #name,
#include "calls.h"
#undef CALL
};

/* The class of each call. */
const int32_t hindmost_call_classes[] = {
#define CALL(name, class, parameters, arguments) class,
#include "calls.h"
#undef CALL
};
#undef COUNTING
const int32_t hindmost_call_count = CALL_COUNT;

/* Readable at any time, during the solve. */
struct state {
  int64_t armed;                    /* whether a stretch is being recorded now */
  int64_t begin_ns, end_ns;         /* of the last armed stretch */
  int64_t begin_utc_ns;             /* its begin since 1970, by the system's calendar */
  int64_t switches;                 /* involuntary context switches of the process in it */
  int64_t core_wait_ns;             /* its thread's wait for a core in it; -1 if not known */
  int64_t iteration;                /* the last that the solver reported to its monitors */
  double residual_norm;             /* the norm that it reported */
  int64_t seen, capacity;           /* records requested, and room for records */
  int64_t phase_ns[PHASES];         /* running totals */
  int64_t foreign_calls;            /* MPI calls of threads that are not recorded */
  int64_t foreign_threads;          /* how many these are */
  int64_t unknown_requests;         /* completed, of unknown purpose */
  int64_t between_polls_ns;         /* from calls that found nothing to the next one, without other calls */
  int64_t call_count[CALL_COUNT];   /* of each MPI call */
  int64_t other_ns[CALL_COUNT];     /* unclassified time of each MPI call */
};

static struct record *records;
static int halo_depth, recorded_size;
static MPI_Comm recorded_comm = MPI_COMM_NULL;
static int64_t stretch, stretches;           /* number of the armed stretch, 0 if none; stretches so far */
static _Thread_local int64_t own_stretch;    /* last one that this thread began */
static _Thread_local int mpi_depth;          /* depth of MPI calls of this thread */

/* Whether this thread is recorded now. */
static inline int recording(void) { return stretch && own_stretch == stretch; }

static struct state own_state;
static volatile struct state *const state = &own_state;

const volatile struct state *hindmost_state(void) { return state; }

#include "clock.h"
#include "contexts.h"

/* The record is there before it is counted: a signal may end the program at any instant, and its handler
 * writes what is counted, in this thread or another. */
static inline void keep(int64_t begin_ns, int64_t end_ns, int32_t what, int phase, int flags, int count) {
  int64_t at = state->seen;
  if (at < state->capacity) {
    if (record_contexts) record_contexts[at] = context_now;
    records[at] = (struct record){begin_ns,     end_ns,         (int16_t)what,  (uint16_t)((uint32_t)count >> 16),
                                  (int8_t)phase, (uint8_t)flags, (uint16_t)count};
  }
  __atomic_store_n(&state->seen, at + 1, __ATOMIC_RELEASE);
}

/* Record of a call that found nothing, which the next such call extends, and when that call ended. */
static int64_t idle_record = -1, idle_end_ns;

/* Adds the time of a call that found nothing to the previous record if that is of such a call, too: a
 * polling loop leaves one record, also where it asks for several things in turn. */
static inline int extend(int64_t begin_ns, int64_t end_ns, int phase) {
  if (idle_record < 0 || idle_record != state->seen - 1) return 0;
  state->between_polls_ns += begin_ns - idle_end_ns;
  idle_end_ns = end_ns;
  if (idle_record >= state->capacity) return 1;
  struct record *last = &records[idle_record];
  if (last->phase != phase) return 0;
  last->end_ns += end_ns - begin_ns;
  return 1;
}

/* Between two iterations of a loop: the next call starts a new record. */
void hindmost_next_body(void) { idle_record = -1; }

#include "counters.h"
#include "live.h"
#include "petsc_events.h"
#include "peers.h"
#include "requests.h"

/* ---- interface to Python ---- */

/* Touches the pages of the first `touched` records before the solve begins. */
void hindmost_memory_for(struct record *memory, int64_t capacity, int64_t touched) {
  records = memory;
  record_contexts = NULL;
  state->capacity = capacity;
  for (int64_t i = 0; i < touched; i++) records[i] = (struct record){0};
}

static int64_t involuntary_switches(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

static int recorded_thread; /* the kernel's number of the thread that began the last stretch */
static int64_t switches_before, core_wait_before; /* its counts at the begin */

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

/* Its wait in this stretch; -1 if that is not known. */
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

/* Lets `end_at_once` be the first thing that `exit` does, before what libraries have registered. */
static void keep_status(void) {
  static int kept;
  if (!kept) kept = !on_exit(end_at_once, NULL);
}
#else
static void keep_status(void) {}
#endif

/* Forgets what the last stretch has counted, and the calls that it left open. */
static void clear_stretch(void) {
  state->seen = marks_seen = 0;
  state->foreign_calls = state->foreign_threads = 0;
  state->unknown_requests = state->between_polls_ns = 0;
  idle_record = -1;
  forget_peers();
  halo_depth = mpi_depth = 0;
  for (int i = 0; i < PHASES; i++) state->phase_ns[i] = 0;
  for (int i = 0; i < CALL_COUNT; i++) state->call_count[i] = state->other_ns[i] = 0;
  state->iteration = 0;
  state->residual_norm = 0.0;
}

/* Notes when a stretch begins, by the calendar and by the clock. */
static void note_begin(void) {
  struct timespec calendar;
  recorded_thread = (int)syscall(SYS_gettid);
  switches_before = involuntary_switches();
  core_wait_before = core_wait();
  clock_gettime(CLOCK_REALTIME, &calendar);
  state->begin_utc_ns = (int64_t)calendar.tv_sec * 1000000000 + calendar.tv_nsec;
  state->begin_ns = state->end_ns = now();
}

/* From here on the calls of this thread are recorded; nothing that takes time may follow. */
static void start_recording(void) {
  state->armed = 1;
  stretch = own_stretch = ++stretches;
}

static void stop_finding(void);

/* Meets the other ranks of the communicator, notes the time and starts to record. */
int hindmost_arm(MPI_Fint communicator) {
  MPI_Comm comm = MPI_Comm_f2c(communicator);
  stop_finding();
  keep_status();
  clear_stretch();
  count_active_meetings();
  recorded_comm = comm;
  int error = PMPI_Comm_size(comm, &recorded_size);
  prepare_clock();
  if (!error) error = PMPI_Barrier(comm);
  note_begin();
  begin_injection();
  begin_events();
  if (live.on) live_zero(state->begin_ns);
  start_recording();
  return error;
}

static void disarm(int64_t end_ns) {
  state->armed = stretch = 0;
  state->end_ns = end_ns;
  state->switches = involuntary_switches() - switches_before;
  state->core_wait_ns = core_wait_so_far();
}

void hindmost_disarm(void) { disarm(now()); }

/* Finds the offset of rank 0's clock to this rank's from the fastest of several round trips to rank 0;
 * half that trip is the uncertainty. Collective; never recorded. */
int hindmost_clock_offset(MPI_Fint communicator, int trips, int64_t *offset_ns,
                          int64_t *uncertainty_ns, int64_t *at_ns) {
  MPI_Comm comm = MPI_Comm_f2c(communicator);
  int rank, size, error = PMPI_Comm_rank(comm, &rank);
  if (!error) error = PMPI_Comm_size(comm, &size);
  *offset_ns = *uncertainty_ns = 0;
  prepare_clock();
  *at_ns = now();
  for (int other = 1; other < size && !error; other++) {
    int64_t quickest = INT64_MAX;
    for (int trip = 0; trip < trips && !error && (rank == 0 || rank == other); trip++) {
      int64_t there = 0;
      if (rank == 0) {
        error = PMPI_Recv(&there, 1, MPI_INT64_T, other, trip, comm, MPI_STATUS_IGNORE);
        there = now();
        if (!error) error = PMPI_Send(&there, 1, MPI_INT64_T, other, trip, comm);
        continue;
      }
      int64_t begin = now();
      error = PMPI_Send(&begin, 1, MPI_INT64_T, 0, trip, comm);
      if (!error) error = PMPI_Recv(&there, 1, MPI_INT64_T, 0, trip, comm, MPI_STATUS_IGNORE);
      int64_t end = now();
      if (end - begin < quickest) {
        quickest = end - begin;
        *at_ns = begin + quickest / 2;
        *offset_ns = there - *at_ns;
        *uncertainty_ns = (quickest + 1) / 2;
      }
    }
  }
  return error;
}

/* ---- MPI calls of the program ---- */

#include "wrappers.h"

/* ---- programs that know nothing of hindmost ---- */

#include "attached.h"

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
  mpi_depth = 0;
  return cost;
}
