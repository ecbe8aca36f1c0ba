/* An MPI program in virtual time, for benchmarks/bounded_records.py: with the recorder linked in, its records have the same times
 * in every execution, whatever else the machine does.
 *
 *   virtual_time LAYOUT KIND RANK SECONDS STEPS SEED
 *
 * Work only sets the clock. Messages and collectives carry the clocks of their senders: who receives goes on no earlier than a
 * latency after. LAYOUT: halo, waitall, rooted, sweep. KIND is what is put into the second of three stretches of work of a rank:
 * none; constant: SECONDS more in each step; every: ten times that in each 50th; growing: from nothing to twice that;
 * detours: now and then a longer one; part: for a third of the steps. */
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
#define REAL(name) ((__typeof__(&name))(real ? real : (real = dlsym(RTLD_NEXT, #name))))

enum { LATENCY_NS = 20000, CALL_NS = 2000, SLOTS = 8 };
static const double WORK_S[] = {50e-3, 30e-3, 20e-3};

static int rank, size, is_virtual;
static int64_t clock_ns, ahead_ns; /* the virtual clock; afterwards, by how much it had run ahead of the kernel's */

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

static void go_on_after(int64_t ns) {
  if (clock_ns < ns) clock_ns = ns;
}

int PMPI_Sendrecv(const void *b, int n, MPI_Datatype t, int to, int tag, void *r, int m, MPI_Datatype u, int from, int rtag,
                  MPI_Comm c, MPI_Status *z) {
  static void *real;
  if (!is_virtual) return REAL(PMPI_Sendrecv)(b, n, t, to, tag, r, m, u, from, rtag, c, z);
  int64_t sent = clock_ns += CALL_NS, received;
  int error = REAL(PMPI_Sendrecv)(&sent, 1, MPI_INT64_T, to, tag, &received, 1, MPI_INT64_T, from, rtag, c, z);
  go_on_after(received + LATENCY_NS);
  return error;
}

int PMPI_Send(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c) {
  static void *real;
  if (!is_virtual) return REAL(PMPI_Send)(b, n, t, to, tag, c);
  int64_t sent = clock_ns += CALL_NS;
  return REAL(PMPI_Send)(&sent, 1, MPI_INT64_T, to, tag, c);
}

int PMPI_Recv(void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status *z) {
  static void *real;
  if (!is_virtual) return REAL(PMPI_Recv)(b, n, t, from, tag, c, z);
  int64_t received;
  int error = REAL(PMPI_Recv)(&received, 1, MPI_INT64_T, from, tag, c, z);
  clock_ns += CALL_NS;
  go_on_after(received + LATENCY_NS);
  return error;
}

static int64_t slot[SLOTS]; /* of the messages under way; those to be received become 0 */
static int used;

int PMPI_Isend(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *q) {
  static void *real;
  if (!is_virtual) return REAL(PMPI_Isend)(b, n, t, to, tag, c, q);
  slot[used] = clock_ns += CALL_NS;
  return REAL(PMPI_Isend)(&slot[used++], 1, MPI_INT64_T, to, tag, c, q);
}

int PMPI_Irecv(void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request *q) {
  static void *real;
  if (!is_virtual) return REAL(PMPI_Irecv)(b, n, t, from, tag, c, q);
  clock_ns += CALL_NS;
  return REAL(PMPI_Irecv)(&slot[used++], 1, MPI_INT64_T, from, tag, c, q);
}

int PMPI_Waitall(int n, MPI_Request q[], MPI_Status *z) {
  static void *real;
  int error = REAL(PMPI_Waitall)(n, q, z);
  if (!is_virtual) return error;
  for (int i = 0; i < used; i++) go_on_after(slot[i] + LATENCY_NS);
  used = 0;
  return error;
}

int PMPI_Allreduce(const void *b, void *r, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c) {
  static void *real;
  if (!is_virtual) return REAL(PMPI_Allreduce)(b, r, n, t, o, c);
  int64_t own = clock_ns, last;
  int error = REAL(PMPI_Allreduce)(&own, &last, 1, MPI_INT64_T, MPI_MAX, c);
  clock_ns = last + LATENCY_NS;
  return error;
}

int PMPI_Bcast(void *b, int n, MPI_Datatype t, int root, MPI_Comm c) {
  static void *real;
  if (!is_virtual) return REAL(PMPI_Bcast)(b, n, t, root, c);
  int64_t sent = clock_ns += CALL_NS;
  int error = REAL(PMPI_Bcast)(&sent, 1, MPI_INT64_T, root, c);
  if (rank != root) go_on_after(sent + LATENCY_NS);
  return error;
}

int PMPI_Reduce(const void *b, void *r, int n, MPI_Datatype t, MPI_Op o, int root, MPI_Comm c) {
  static void *real;
  if (!is_virtual) return REAL(PMPI_Reduce)(b, r, n, t, o, root, c);
  int64_t own = clock_ns += CALL_NS, last;
  int error = REAL(PMPI_Reduce)(&own, &last, 1, MPI_INT64_T, MPI_MAX, root, c);
  if (rank == root) go_on_after(last + LATENCY_NS);
  return error;
}

static uint64_t drawn;

static double uniform(void) { /* SplitMix64 */
  uint64_t z = drawn += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static void work(double seconds) { clock_ns += (int64_t)(1e9 * seconds * (1.0 + 0.02 * uniform())); }

static double here[8], there[8];

/* What follows a call keeps it from being the last thing of its function, which then has no frame in it. */
APART static void pass(const char *layout, int way) {
  const int next = (rank + way + size) % size, last = (rank - way + size) % size;
  if (!strcmp(layout, "waitall")) {
    MPI_Request q[2];
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

APART static void gather_up(const char *layout) {
  if (!strcmp(layout, "rooted")) MPI_Reduce(here, there, 8, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  else MPI_Allreduce(here, there, 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  here[0] *= 0.5;
}

static double more_of(const char *kind, int step, int steps) {
  if (!strcmp(kind, "constant")) return 1.0;
  if (!strcmp(kind, "every")) return step % 50 == 49 ? 10.0 : 0.0;
  if (!strcmp(kind, "growing")) return 2.0 * step / steps;
  if (!strcmp(kind, "part")) return step > steps / 3 && step < 2 * steps / 3;
  if (!strcmp(kind, "detours")) return uniform() < 0.01 ? 10.0 * uniform() : 0.0;
  return 0.0;
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
  drawn = (uint64_t)atoll(argv[6]) * 1000 + (uint64_t)rank;
  int64_t own = kernel_ns();
  PMPI_Allreduce(&own, &clock_ns, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
  is_virtual = 1;
  for (int step = 0; step < steps; step++) {
    MPI_Pcontrol(1);
    work(WORK_S[0]);
    pass(layout, 1);
    work(WORK_S[1] + (rank == slow ? seconds * more_of(kind, step, steps) : 0.0));
    pass(layout, -1);
    work(WORK_S[2]);
    gather_up(layout);
  }
  MPI_Pcontrol(1);
  is_virtual = 0;
  own = clock_ns - kernel_ns();
  PMPI_Allreduce(&own, &ahead_ns, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
