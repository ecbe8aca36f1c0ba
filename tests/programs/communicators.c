/* Messages with one tag in communicators of every kind, between ranks 0 and 1 of 3; before that, errors whose handler leaves MPI
 * by longjmp. The argument: how many errors. Without MPI_Dist_graph_create, in which Open MPI 4.1.4 may hang after others. */
#include <mpi.h>
#include <setjmp.h>
#include <stdlib.h>

enum { TAG = 5 };
static int rank;
static jmp_buf before_error;

static void leave(MPI_Comm *c, int *code, ...) {
  (void)c, (void)code;
  longjmp(before_error, 1);
}

static __attribute__((noinline)) void reduce(int deeper) {
  double mine = 1.0, sum;
  if (deeper) reduce(deeper - 1);
  else MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  __asm__ volatile("");
}

/* The calls behind an error are made deeper in the stack, and where it was, and above. */
static void fail(int times) {
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(leave, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  for (volatile int i = 0; i < times; i++) {
    if (!setjmp(before_error)) MPI_Send(NULL, 1, MPI_DOUBLE, 1000, TAG, MPI_COMM_WORLD);
    reduce(i % 4);
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Errhandler_free(&handler);
}

/* From rank 0 of the program to rank 1, which is this one in the communicator, or in the other side of it. */
static void exchange(MPI_Comm c) {
  int inter, size, all[] = {0, 1}, theirs[] = {-1, -1};
  double sent = 1.0, received;
  MPI_Group group, world;
  if (c == MPI_COMM_NULL) return;
  MPI_Comm_test_inter(c, &inter);
  if (inter) MPI_Comm_remote_group(c, &group);
  else MPI_Comm_group(c, &group);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_translate_ranks(world, 2, all, group, theirs);
  MPI_Group_size(group, &size);
  if (rank == 0) MPI_Send(&sent, 1, MPI_DOUBLE, theirs[1], TAG, c);
  if (rank == 1) MPI_Recv(&received, 1, MPI_DOUBLE, theirs[0], TAG, c, MPI_STATUS_IGNORE);
  MPI_Group_free(&group);
  MPI_Group_free(&world);
}

int main(int argc, char **argv) {
  int size, periodic = 1, index[] = {1, 2, 3}, edges[] = {1, 0, 2}, first[] = {0, 1};
  MPI_Comm made[16];
  MPI_Request request;
  MPI_Group world, two;
  int count = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  fail(argc > 1 ? atoi(argv[1]) : 0);
  made[count++] = MPI_COMM_WORLD;
  MPI_Comm_dup(MPI_COMM_WORLD, &made[count++]);
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &made[count++]);
  MPI_Comm_idup(MPI_COMM_WORLD, &made[count++], &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_split(MPI_COMM_WORLD, rank < 2, -rank, &made[count++]);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &made[count++]);
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &made[count++]);
  MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &made[count++]);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 2, first, &two);
  MPI_Comm_create(MPI_COMM_WORLD, two, &made[count++]);
  for (int i = 0; i < 2; i++) {
    made[count] = MPI_COMM_NULL;
    if (rank < 2) MPI_Comm_create_group(MPI_COMM_WORLD, two, i, &made[count]);
    count++;
  }
  made[count] = made[count + 1] = MPI_COMM_NULL;
  if (rank < 2) {
    MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, 1 - rank, 7, &made[count]);
    MPI_Intercomm_merge(made[count], rank, &made[count + 1]);
  }
  count += 2;
  for (int i = 0; i < count; i++) exchange(made[i]);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
