/* Steps whose functions end with calls that a compiler makes jumps of: SHAPE and how many steps.

   As a whole; or with -DLIBRARY the functions alone, and with -DPROGRAM the main program. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline, noclone))
typedef void (*Shape)(int);
Shape shape_named(const char *name);

#ifndef PROGRAM
static volatile double sink;
static void (*volatile then)(void);
static void (*volatile last)(void);

APART void work(int steps) {
  for (int i = 0; i < 10000 * steps; i++) sink += 1e-9 * i;
}

/* Two calls, of which the second is the last act. */
APART void exchange(void) {
  MPI_Request request;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  sink += 1.0;
}
APART void leaf(void) {
  sink += 1.0;
  MPI_Barrier(MPI_COMM_WORLD);
}

/* A chain of jumps: of some functions MPI is called before they jump, of others not. */
APART void fourth(void) { work(1); exchange(); work(1); exchange(); }
APART void third(void) { work(2); fourth(); }
APART void second(void) { work(1); leaf(); work(1); exchange(); third(); }
APART void first(void) { work(3); exchange(); second(); }
APART void quiet(void) { work(2); first(); }
static void nested(int count) {
  for (int step = 0; step < count; step++) { first(); sink += 1.0; }
}
static void deep(int count) {
  for (int step = 0; step < count; step++) { quiet(); exchange(); sink += 1.0; }
}

/* The last act leads to MPI itself. */
APART void to_mpi(void) { work(1); exchange(); leaf(); }
static void direct(int count) {
  for (int step = 0; step < count; step++) { to_mpi(); leaf(); sink += 1.0; }
}

/* Every third step jumps elsewhere. */
APART void either(int step) {
  exchange();
  if (step % 3) third();
  else second();
}
static void branches(int count) {
  for (int step = 0; step < count; step++) { either(step); sink += 1.0; }
}

/* Jumps through pointers, in what is called through one. */
APART void by_last(void) { work(1); exchange(); }
APART void by_then(void) { work(2); exchange(); last(); }
APART void by_pointer(void) { work(3); exchange(); then(); }
static void pointers(int count) {
  void (*volatile begin)(void) = by_pointer;
  then = by_then;
  last = by_last;
  for (int step = 0; step < count; step++) { begin(); sink += 1.0; }
}

/* Three stages of each step, by a table; each is one call of its function. */
static void stages(int count) {
  static void (*const stage[])(void) = {second, exchange, third};
  for (int step = 0; step < count; step++) {
    MPI_Allreduce(MPI_IN_PLACE, &count, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    for (int each = 0; each < 3; each++) { stage[each](); sink += 1.0; }
  }
}

/* A loop inside of what is jumped to, as often each time. */
APART void sweeps(void) {
  for (int each = 0; each < 4; each++) { work(1); exchange(); }
  work(1);
  leaf();
}
APART void before_sweeps(void) { work(1); leaf(); work(1); sweeps(); }
static void inner(int count) {
  for (int step = 0; step < count; step++) { before_sweeps(); sink += 1.0; }
}

/* Every seventh step has a part that a compiler moves away, and comes back from it. */
__attribute__((cold, noinline)) void report(int step) {
  MPI_Bcast(&step, 1, MPI_INT, 0, MPI_COMM_WORLD);
  sink += step;
}
static APART void moved(int count) {
  for (int step = 0; step < count; step++) {
    work(2);
    if (step % 7 == 0) { sink += 3.0; report(step); sink += 2.0; }
    exchange();
    work(1);
    leaf();
  }
}

Shape shape_named(const char *name) {
  static const struct {
    const char *name;
    Shape run;
  } shapes[] = {{"nested", nested}, {"deep", deep}, {"direct", direct}, {"branches", branches},
                {"pointers", pointers}, {"stages", stages}, {"inner", inner}, {"moved", moved}};
  for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++)
    if (!strcmp(shapes[i].name, name)) return shapes[i].run;
  abort();
}
#endif

#ifndef LIBRARY
int main(int count, char **words) {
  MPI_Init(&count, &words);
  shape_named(words[1])(atoi(words[2]));
  MPI_Finalize();
  return 0;
}
#endif
