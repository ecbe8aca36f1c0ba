/* Loops of known shapes around calls of MPI: SHAPE and how often are the arguments. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline, noclone))

static volatile double sink;

/* Long enough in all that no other process has most of the program's time. */
APART void work(long steps) {
  for (long i = 0; i < 10 * steps; i++) sink += 1e-9 * (double)i;
}

APART void sum(void) {
  double one = 1.0, all;
  MPI_Allreduce(&one, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  sink += all;
}

APART void solve(int iterations) {
  for (int i = 0; i < iterations; i++) {
    work(10000);
    sum();
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

APART void descend(int depth) {
  if (!depth) return;
  sum();
  descend(depth - 1);
  work(500);
}

/* Every tenth step writes a summary first. */
static void conditional(int count) {
  for (int step = 0; step < count; step++) {
    if (step % 10 == 0) MPI_Barrier(MPI_COMM_WORLD);
    work(3000);
    sum();
    work(1000);
    sum();
  }
}

/* Steps of three stages, with output after each tenth alone. */
static void stages(int count) {
  for (int step = 0; step < count; step++) {
    for (int stage = 0; stage < 3; stage++) {
      work(1000);
      sum();
      work(1000);
      MPI_Barrier(MPI_COMM_WORLD);
    }
    if (step % 10 == 9) MPI_Bcast(&count, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
}

/* Chunks of ten steps, with output between them. */
static void chunks(int count) {
  for (int chunk = 0; chunk < count / 10; chunk++) {
    solve(10);
    work(100);
    MPI_Bcast(&count, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
}

/* Time steps with solves of unequal length. */
static void solves(int count) {
  for (int step = 0; step < count; step++) {
    MPI_Bcast(&count, 1, MPI_INT, 0, MPI_COMM_WORLD);
    solve(3 + step % 5);
  }
}

/* A few steps with solves of unequal length. */
static void few(int count) { solves(count); }

/* One of several kinds of work in each step. */
static void kinds(int count) {
  for (int step = 0; step < count; step++) {
    work(1000);
    switch (step * 7 % 6) {
      case 0: sum(); break;
      case 1: MPI_Barrier(MPI_COMM_WORLD); sum(); break;
      case 2: MPI_Bcast(&count, 1, MPI_INT, 0, MPI_COMM_WORLD); break;
      case 3: MPI_Barrier(MPI_COMM_WORLD); break;
      case 4: sum(); sum(); break;
      default: work(2000); MPI_Bcast(&count, 1, MPI_INT, 0, MPI_COMM_WORLD); sum();
    }
  }
}

static void recursion(int count) {
  for (int step = 0; step < count; step++) descend(6);
}

/* Two loops of the program, one after the other. */
static void phases(int count) {
  for (int step = 0; step < count; step++) {
    work(20000);
    sum();
  }
  for (int step = 0; step < count; step++) {
    work(15000);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

/* Rank 1 works more between the exchange of neighbours and the sum. */
APART void exchange(void) {
  int rank, size, got;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &got, 1, MPI_INT, (rank + size - 1) % size, 0,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* A loop of 24 chunks that the compiler unrolled: the solver's loop has as many callers. */
#define CHUNK solve(10); work(100); MPI_Bcast(&count, 1, MPI_INT, 0, MPI_COMM_WORLD);
#define CHUNKS CHUNK CHUNK CHUNK CHUNK CHUNK CHUNK CHUNK CHUNK
static void unrolled(int count) { CHUNKS CHUNKS CHUNKS }

/* Each step begins with a function that is inlined. */
static inline __attribute__((always_inline)) void spin(double seconds) {
  double begin = MPI_Wtime();
  while (MPI_Wtime() - begin < seconds) sink += 1.0;
}

APART void inlined(int count) {
  for (int step = 0; step < count; step++) {
    spin(1e-4);
    sum();
    exchange();
  }
}

/* Steps over eight fields, each exchanged for itself. */
static void fields(int count) {
  for (int step = 0; step < count; step++) {
    for (int field = 0; field < 8; field++) {
      work(300);
      exchange();
    }
    sum();
  }
}

/* Steps of many small messages. */
static void messages(int count) {
  int rank, got;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int step = 0; step < count; step++) {
    for (int message = 0; message < 500; message++)
      MPI_Sendrecv(&rank, 1, MPI_INT, rank, 0, &got, 1, MPI_INT, rank, 0, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
    sum();
  }
}

/* A few benchmarks of many small messages. */
static void benchmarks(int count) {
  for (int set = 0; set < 12; set++) {
    work(100000);
    messages(1);
  }
}

/* The same solve four times. */
static void repeats(int count) {
  for (int set = 0; set < 4; set++) {
    MPI_Bcast(&count, 1, MPI_INT, 0, MPI_COMM_WORLD);
    solve(count);
  }
}

/* A few time steps with solves of unequal length, which is long. */
static void implicit(int count) {
  for (int step = 0; step < 5; step++) {
    MPI_Bcast(&count, 1, MPI_INT, 0, MPI_COMM_WORLD);
    solve(count + 11 * (step % 3));
  }
}

/* Three points, each with as many iterations as it needs. */
static void points(int count) {
  for (int point = 0; point < 3; point++) {
    MPI_Bcast(&count, 1, MPI_INT, 0, MPI_COMM_WORLD);
    solve(count + 4 * point);
  }
}

/* A script of thirty lines, two of which run steps. */
static void script(int count) {
  for (int line = 0; line < 30; line++) {
    MPI_Bcast(&line, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (line == 12) solve(count);
    if (line == 25) solve(10 * count);
  }
}

/* Steps that ask until their message is there. */
static void polls(int count) {
  int rank, size, got, there;
  MPI_Request requests[2];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int step = 0; step < count; step++) {
    MPI_Irecv(&got, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD, requests);
    MPI_Isend(&rank, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD, requests + 1);
    do {
      work(20);
      MPI_Testall(2, requests, &there, MPI_STATUSES_IGNORE);
    } while (!there);
    work(2000);
    sum();
  }
}

int main(int count, char **words) {
  MPI_Init(&count, &words);
  static const struct {
    const char *name;
    void (*run)(int);
  } shapes[] = {{"conditional", conditional}, {"chunks", chunks}, {"solves", solves}, {"few", few},
                {"kinds", kinds}, {"recursion", recursion}, {"phases", phases},
                {"unrolled", unrolled}, {"inlined", inlined}, {"stages", stages}, {"fields", fields},
                {"messages", messages}, {"benchmarks", benchmarks}, {"repeats", repeats},
                {"implicit", implicit}, {"points", points}, {"script", script}, {"polls", polls}};
  MPI_Barrier(MPI_COMM_WORLD);
  for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++)
    if (!strcmp(shapes[i].name, words[1])) shapes[i].run(atoi(words[2]));
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
