/* An MPI program in virtual time, for benchmarks/bounded_records.py: with the recorder linked in, its records have the same times
 * in every execution, whatever else the machine does.
 *
 *   virtual_time LAYOUT KIND RANK SECONDS STEPS SEED
 *
 * Each rank works out the clocks of all ranks and sends no message: its calls of MPI only set its clock. LAYOUT: halo, waitall,
 * rooted, sweep. KIND is what is put into the second of three stretches of work of a rank: none; constant: SECONDS more in each
 * step; every: ten times that in each 50th; growing: from nothing to twice that; detours: now and then a longer one; part: for a
 * third of the steps. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))

enum { LATENCY_NS = 20000, CALL_NS = 2000, MAX_RANKS = 64 };
static const double WORK_S[] = {50e-3, 30e-3, 20e-3};

static int rank, size, is_virtual;
static int64_t clocks[MAX_RANKS]; /* of all ranks */
static int64_t clock_ns, ahead_ns; /* of this one; afterwards, by how much it had run ahead of the kernel's */
static int64_t ends[4];            /* when the next calls of this rank end */
static int ends_from, ends_to;

static int64_t kernel_ns(void) {
  struct timespec t;
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int clock_gettime(clockid_t id, struct timespec *t) {
  if (id != CLOCK_MONOTONIC) return (int)syscall(SYS_clock_gettime, id, t);
  const int64_t ns = is_virtual ? clock_ns : kernel_ns() + ahead_ns;
  *t = (struct timespec){ns / 1000000000, ns % 1000000000};
  return 0;
}

/* Instead of MPI while time is virtual: the call ends. */
#define IN_VIRTUAL_TIME(name, parameters, arguments)                                                 \
  int PMPI_##name parameters {                                                                       \
    static __typeof__(&PMPI_##name) real;                                                            \
    if (is_virtual) return clock_ns = ends[ends_from++], MPI_SUCCESS;                                \
    if (!real) real = (__typeof__(real))dlsym(RTLD_NEXT, "PMPI_" #name);                             \
    return real arguments;                                                                           \
  }
IN_VIRTUAL_TIME(Sendrecv, (const void *b, int n, MPI_Datatype t, int to, int tag, void *r, int m, MPI_Datatype u, int from, int rtag,
                MPI_Comm c, MPI_Status *z), (b, n, t, to, tag, r, m, u, from, rtag, c, z))
IN_VIRTUAL_TIME(Send, (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c), (b, n, t, to, tag, c))
IN_VIRTUAL_TIME(Recv, (void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status *z), (b, n, t, from, tag, c, z))
IN_VIRTUAL_TIME(Isend, (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *q), (b, n, t, to, tag, c, q))
IN_VIRTUAL_TIME(Irecv, (void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request *q), (b, n, t, from, tag, c, q))
IN_VIRTUAL_TIME(Waitall, (int n, MPI_Request q[], MPI_Status *z), (n, q, z))
IN_VIRTUAL_TIME(Allreduce, (const void *b, void *r, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (b, r, n, t, o, c))
IN_VIRTUAL_TIME(Bcast, (void *b, int n, MPI_Datatype t, int root, MPI_Comm c), (b, n, t, root, c))
IN_VIRTUAL_TIME(Reduce, (const void *b, void *r, int n, MPI_Datatype t, MPI_Op o, int root, MPI_Comm c), (b, r, n, t, o, root, c))

static uint64_t drawn[MAX_RANKS];

static double uniform(int of) { /* SplitMix64 */
  uint64_t z = drawn[of] += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static int64_t later(int64_t one, int64_t other) { return one > other ? one : other; }

static void call_ends(int of, int64_t ns) {
  clocks[of] = ns;
  if (of == rank) ends[ends_to++] = ns;
}

/* Works out when calls end on all ranks: of an exchange along the ring, and of all with all. */
static void begin_calls(void) { ends_from = ends_to = 0; }

static void exchange_ends(const char *layout, int way) {
  int64_t sent[MAX_RANKS];
  begin_calls();
  for (int i = 0; i < size; i++) {
    if (!strcmp(layout, "sweep")) {
      if (i) call_ends(i, later(clocks[i] + CALL_NS, sent[i - 1] + LATENCY_NS));
      if (i + 1 < size) call_ends(i, sent[i] = clocks[i] + CALL_NS);
    } else if (!strcmp(layout, "rooted")) {
      if (!i) call_ends(0, sent[0] = clocks[0] + CALL_NS);
      else call_ends(i, later(clocks[i] + CALL_NS, sent[0] + LATENCY_NS));
    }
  }
  if (!strcmp(layout, "halo") || !strcmp(layout, "waitall")) {
    const int calls = strcmp(layout, "halo") ? 2 : 1;
    for (int i = 0; i < size; i++) sent[i] = clocks[i] + calls * CALL_NS;
    for (int i = 0; i < size; i++) {
      if (calls == 2) call_ends(i, clocks[i] + CALL_NS), call_ends(i, sent[i]);
      call_ends(i, later(sent[i] + CALL_NS, sent[(i - way + size) % size] + LATENCY_NS));
    }
  }
}

static void reduction_ends(const char *layout) {
  int64_t last = 0;
  begin_calls();
  for (int i = 0; i < size; i++) last = later(last, clocks[i] + CALL_NS);
  for (int i = 0; i < size; i++)
    call_ends(i, !strcmp(layout, "rooted") && i ? clocks[i] + CALL_NS : last + LATENCY_NS);
}

static double more_of(const char *kind, int step, int steps, int of) {
  if (!strcmp(kind, "constant")) return 1.0;
  if (!strcmp(kind, "every")) return step % 50 == 49 ? 10.0 : 0.0;
  if (!strcmp(kind, "growing")) return 2.0 * step / steps;
  if (!strcmp(kind, "part")) return step > steps / 3 && step < 2 * steps / 3;
  if (!strcmp(kind, "detours")) return uniform(of) < 0.01 ? 10.0 * uniform(of) : 0.0;
  return 0.0;
}

static void work(double seconds, int slow, double more) {
  for (int i = 0; i < size; i++)
    clocks[i] += (int64_t)(1e9 * (seconds * (1.0 + 0.02 * uniform(i)) + (i == slow ? more : 0.0)));
  clock_ns = clocks[rank];
}

static double here[8], there[8];

/* What follows a call keeps it from being the last thing of its function, which then has no frame in it. */
APART static void pass(const char *layout, int way) {
  const int next = (rank + way + size) % size, last = (rank - way + size) % size;
  exchange_ends(layout, way);
  if (!strcmp(layout, "waitall")) {
    MPI_Request q[2] = {(MPI_Request)&q[0], (MPI_Request)&q[1]};
    MPI_Irecv(there, 8, MPI_DOUBLE, last, 1, MPI_COMM_WORLD, &q[0]);
    MPI_Isend(here, 8, MPI_DOUBLE, next, 1, MPI_COMM_WORLD, &q[1]);
    MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
  } else if (!strcmp(layout, "sweep")) {
    if (rank) MPI_Recv(there, 8, MPI_DOUBLE, rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank + 1 < size) MPI_Send(here, 8, MPI_DOUBLE, rank + 1, 1, MPI_COMM_WORLD);
  } else if (!strcmp(layout, "rooted")) {
    MPI_Bcast(here, 8, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  } else {
    MPI_Sendrecv(here, 8, MPI_DOUBLE, next, 1, there, 8, MPI_DOUBLE, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  there[0] *= 0.5;
}

APART static void add_up(const char *layout) {
  reduction_ends(layout);
  if (!strcmp(layout, "rooted")) MPI_Reduce(here, there, 8, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  else MPI_Allreduce(here, there, 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  here[0] *= 0.5;
}

int main(int argc, char **argv) {
  if (argc < 7) return 2;
  const char *layout = argv[1], *kind = argv[2];
  const int slow = atoi(argv[3]), steps = atoi(argv[5]);
  const double seconds = atof(argv[4]);
  void (*system_clock)(int) = (void (*)(int))dlsym(RTLD_DEFAULT, "hindmost_use_system_clock");
  MPI_Init(&argc, &argv);
  if (system_clock) system_clock(1);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size > MAX_RANKS) return 2;
  int64_t own = kernel_ns(), begin;
  PMPI_Allreduce(&own, &begin, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
  for (int i = 0; i < size; i++) clocks[i] = begin, drawn[i] = (uint64_t)atoll(argv[6]) * 1000 + (uint64_t)i;
  clock_ns = begin;
  is_virtual = 1;
  for (int step = 0; step < steps; step++) {
    MPI_Pcontrol(1);
    work(WORK_S[0], slow, 0.0);
    pass(layout, 1);
    work(WORK_S[1], slow, seconds * more_of(kind, step, steps, slow));
    pass(layout, -1);
    work(WORK_S[2], slow, 0.0);
    add_up(layout);
  }
  MPI_Pcontrol(1);
  is_virtual = 0;
  own = clock_ns - kernel_ns();
  PMPI_Allreduce(&own, &ahead_ns, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
