/* The recorder: notes when MPI calls and chosen PETSc events begin and end, on one rank.
 *
 * It is loaded with RTLD_GLOBAL before mpi4py and petsc4py, so that the MPI calls of libpetsc bind
 * to the wrappers below (PMPI is the profiling interface of the MPI standard, chapter 15). PETSc
 * calls hindmost_event_begin and hindmost_event_end for every event that it logs; all but the few
 * that the segmentation of a solver needs are dropped here, by their id. No PETSc header is needed.
 *
 * All memory is given by the caller before the solve. Nothing here allocates, locks or prints.
 * Only the thread that calls PETSc may call MPI while the recorder is armed.
 */
#include <mpi.h>
#include <stdint.h>
#include <sys/resource.h>
#include <time.h>

enum phase { HALO, WAIT, POST, OTHER, PHASES };

/* An interval of MPI (what < 0: minus one less the call's number) or an instant in the stream of
 * PETSc events (what > 0: the letter of a mark; begin and end are equal). */
struct record {
  int64_t begin_ns, end_ns;
  int32_t what;
  int32_t phase;
};

/* What the recorder does with a PETSc event: letters of the marks at its begin and end (0: none),
 * and whether it encloses halo exchange or is a KSP solve. */
struct watch {
  int8_t begin_mark, end_mark, is_halo, is_solve;
};

#define EVENTS 4096

#define CALLS(X)                                                                                   \
  X(Allreduce) X(Iallreduce) X(Barrier) X(Ibarrier) X(Wait) X(Waitall) X(Waitany) X(Waitsome)      \
  X(Test) X(Testall) X(Testany) X(Testsome) X(Start) X(Startall) X(Isend) X(Irecv) X(Send) X(Recv) \
  X(Sendrecv) X(Bcast) X(Reduce) X(Scan) X(Exscan) X(Allgather) X(Allgatherv) X(Gather)            \
  X(Gatherv) X(Scatter) X(Scatterv) X(Alltoall) X(Alltoallv) X(Reduce_scatter_block)               \
  X(Neighbor_alltoallv) X(Ineighbor_alltoallv) X(Issend) X(Iprobe) X(Probe) X(Sendrecv_replace)    \
  X(Ibcast) X(Ireduce) X(Iallgather) X(Iallgatherv) X(Ialltoall) X(Igather) X(Igatherv)            \
  X(Iscatter) X(Iscatterv) X(Reduce_scatter) X(Get) X(Rget) X(Accumulate) X(Get_accumulate)        \
  X(Win_fence) X(Win_lock) X(Win_unlock) X(Win_start) X(Win_complete) X(Win_post) X(Win_wait)      \
  X(Comm_dup) X(Comm_split)

enum call {
#define X(name) name,
  CALLS(X)
#undef X
      CALL_COUNT
};

const char *const hindmost_call_names[] = {
#define X(name) "MPI_" #name,
    CALLS(X)
#undef X
};
const int32_t hindmost_call_count = CALL_COUNT;

/* What can be read at any time, also while the solve goes on, also by another process if the caller
 * puts it into shared memory. */
struct state {
  int64_t armed;                    /* whether a stretch is being recorded now */
  int64_t begin_ns, end_ns;         /* of the last armed stretch */
  int64_t begin_utc_ns;             /* its begin since 1970, by the system's calendar */
  int64_t switches;                 /* involuntary context switches of the process in it */
  int64_t iteration;                /* the last that the solver told its monitors of */
  double residual_norm;             /* the norm that it told them */
  int64_t seen, capacity;           /* records wanted and records there is room for */
  int64_t phase_ns[PHASES];         /* running totals */
  int64_t call_count[CALL_COUNT];   /* of each MPI call */
  int64_t other_ns[CALL_COUNT];     /* time of each MPI call that fits no phase */
};

static struct record *records;
static struct watch watches[EVENTS];
static int32_t monitor_mark;
static int armed, halo_depth, solve_depth, mpi_depth;
static struct state own_state;
static volatile struct state *state = &own_state;

const volatile struct state *hindmost_state(void) { return state; }

/* Moves the state to memory of the caller's, of hindmost_state_size bytes. */
const int64_t hindmost_state_size = sizeof(struct state);
void hindmost_move_state(void *memory) {
  *(struct state *)memory = *state;
  state = memory;
}

static int64_t clock_shift_ns;
static int64_t read_ns; /* what the clock said last */

static inline int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return read_ns = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec + clock_shift_ns;
}

static inline void keep(int64_t begin_ns, int64_t end_ns, int32_t what, int32_t phase) {
  int64_t at = state->seen++;
  if (at < state->capacity)
    records[at] = (struct record){begin_ns, end_ns, what, phase};
}

#include "counters.h"

static inline void mark(int letter) {
  int64_t t = now();
  if (counting) count_mark();
  keep(t, t, letter, 0);
}

#include "live.h"

/* ---- what the caller uses ---- */

void hindmost_memory(struct record *memory, int64_t capacity) {
  records = memory;
  state->capacity = capacity;
  for (int64_t i = 0; i < capacity; i++) records[i] = (struct record){0, 0, 0, 0}; /* touch the pages */
}

void hindmost_forget_events(void) {
  for (int i = 0; i < EVENTS; i++) watches[i] = (struct watch){0, 0, 0, 0};
  monitor_mark = 0;
}

/* The letter of the mark at each call of the monitor; 0: none. */
void hindmost_watch_monitor(int mark) { monitor_mark = mark; }

/* Returns 0, or 1 if the event's id is beyond the table. Letters and flags of several calls add up. */
int hindmost_watch(int event, int begin_mark, int end_mark, int is_halo, int is_solve) {
  if (event < 0 || event >= EVENTS) return 1;
  struct watch *w = &watches[event];
  if (begin_mark) w->begin_mark = (int8_t)begin_mark;
  if (end_mark) w->end_mark = (int8_t)end_mark;
  w->is_halo |= (int8_t)is_halo;
  w->is_solve |= (int8_t)is_solve;
  return 0;
}

static int64_t involuntary_switches(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

/* Meets the other ranks of the communicator, notes the time and starts to record. */
int hindmost_arm(MPI_Fint communicator) {
  state->seen = marks_seen = 0;
  halo_depth = solve_depth = mpi_depth = 0;
  for (int i = 0; i < PHASES; i++) state->phase_ns[i] = 0;
  for (int i = 0; i < CALL_COUNT; i++) state->call_count[i] = state->other_ns[i] = 0;
  int error = PMPI_Barrier(MPI_Comm_f2c(communicator));
  struct timespec calendar;
  clock_gettime(CLOCK_REALTIME, &calendar);
  state->begin_utc_ns = (int64_t)calendar.tv_sec * 1000000000 + calendar.tv_nsec;
  state->switches = -involuntary_switches();
  state->begin_ns = state->end_ns = now();
  state->iteration = 0;
  state->residual_norm = 0.0;
  if (live.on) live_zero(state->begin_ns);
  state->armed = armed = 1;
  return error;
}

void hindmost_disarm(void) {
  state->end_ns = now();
  state->armed = armed = 0;
  state->switches += involuntary_switches();
}

/* Puts this rank's clock wrong, for tests of what finds it out. */
void hindmost_shift_clock(int64_t shift_ns) { clock_shift_ns = shift_ns; }

/* Finds what must be added to this rank's clock to read rank 0's, from the quickest of several
 * round trips to rank 0; half that trip is the uncertainty. Collective; never recorded. */
int hindmost_clock_offset(MPI_Fint communicator, int trips, int64_t *offset_ns,
                          int64_t *uncertainty_ns, int64_t *at_ns) {
  MPI_Comm comm = MPI_Comm_f2c(communicator);
  int rank, size, error = PMPI_Comm_rank(comm, &rank);
  if (!error) error = PMPI_Comm_size(comm, &size);
  *offset_ns = *uncertainty_ns = 0;
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

/* ---- what PETSc calls ---- */

int hindmost_event_begin(int event, int unused, void *a, void *b, void *c, void *d) {
  (void)unused, (void)a, (void)b, (void)c, (void)d;
  if (!armed || (unsigned)event >= EVENTS) return 0;
  const struct watch *w = &watches[event];
  solve_depth += w->is_solve;
  halo_depth += w->is_halo;
  if (w->begin_mark && solve_depth == 1) mark(w->begin_mark);
  return 0;
}

int hindmost_event_end(int event, int unused, void *a, void *b, void *c, void *d) {
  (void)unused, (void)a, (void)b, (void)c, (void)d;
  if (!armed || (unsigned)event >= EVENTS) return 0;
  const struct watch *w = &watches[event];
  if (w->end_mark && solve_depth == 1) mark(w->end_mark);
  halo_depth -= w->is_halo;
  solve_depth -= w->is_solve;
  return 0;
}

/* A KSP monitor: PETSc calls it once an iteration, with what the solver knows after it. Its integer
 * has 32 or 64 bits, of which 32 are enough here. */
int hindmost_monitor(void *ksp, int iteration, double norm, void *context) {
  (void)ksp, (void)context;
  if (!armed || solve_depth != 1) return 0;
  state->iteration = iteration;
  state->residual_norm = norm;
  if (monitor_mark) mark(monitor_mark);
  if (live.on) live_step(iteration, norm, read_ns, NULL); /* a record ago: as good, and for nothing */
  return 0;
}

/* The same for a PETSc of single precision. */
int hindmost_monitor_single(void *ksp, int iteration, float norm, void *context) {
  return hindmost_monitor(ksp, iteration, norm, context);
}

/* ---- what everybody else calls ---- */

#include "wrappers.h"

/* ---- what one record costs ---- */

/* Mean cost, in nanoseconds, of `count` records written into memory that is given: of marks, or of
 * intervals, which read the clock twice and add to the running totals. */
double hindmost_record_cost_ns(struct record *memory, int64_t room, int64_t count, int interval) {
  struct record *kept = records;
  struct state before = *state;
  records = memory;
  state->capacity = room;
  int64_t begin = now();
  for (int64_t i = 0; i < count; i++) {
    state->seen = i % room;
    int64_t t = now();
    if (interval)
      finish(t, Allreduce, WAIT);
    else
      keep(t, t, 1, 0);
  }
  double cost = (double)(now() - begin) / (double)count;
  records = kept;
  *state = before;
  mpi_depth = 0;
  return cost;
}
