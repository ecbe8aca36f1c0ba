/* A loop whose ranks wait for each other in one way after the other, 40 iterations each, as the argument
 * says: "rooted" or "rooted,scan". Rank 1 works longer than rank 0. Without marks, set-up takes longer than the loop. */
#include <mpi.h>
#include <string.h>

#include "hindmost.h"

enum { STEPS = 40, COUNT = 64 };
static int rank, size;
static double mine[COUNT], theirs[COUNT], spare[COUNT];
static MPI_Group others; /* the neighbours in the ring */

static void work(double seconds) {
  double end = MPI_Wtime() + seconds;
  while (MPI_Wtime() < end) mine[0] += 1e-9;
}

__attribute__((noinline)) static void tell(int whom) {
  MPI_Send(mine, COUNT, MPI_DOUBLE, whom, 6, MPI_COMM_WORLD);
}

static void exchange(const char *how, MPI_Request persistent[4], MPI_Comm ring, MPI_Comm part, MPI_Win window) {
  int next = (rank + 1) % size, last = (rank + size - 1) % size, done, count, which[4];
  MPI_Request q[4];
  if (!strcmp(how, "rooted")) {
    MPI_Bcast(mine, COUNT, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    work(rank ? 1e-3 : 3e-4);
    MPI_Reduce(mine, theirs, COUNT, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  } else if (!strcmp(how, "irooted")) {
    MPI_Ibcast(mine, COUNT, MPI_DOUBLE, 0, MPI_COMM_WORLD, &q[0]);
    work(rank ? 1e-3 : 3e-4);
    MPI_Wait(&q[0], MPI_STATUS_IGNORE);
    MPI_Ireduce(mine, theirs, COUNT, MPI_DOUBLE, MPI_SUM, size - 1, MPI_COMM_WORLD, &q[1]);
    MPI_Wait(&q[1], MPI_STATUS_IGNORE);
  } else if (!strcmp(how, "gather")) {
    MPI_Scatter(spare, 1, MPI_DOUBLE, mine, 1, MPI_DOUBLE, size - 1, MPI_COMM_WORLD);
    MPI_Gather(mine, 1, MPI_DOUBLE, spare, 1, MPI_DOUBLE, size - 1, MPI_COMM_WORLD);
  } else if (!strcmp(how, "scan")) {
    MPI_Scan(mine, theirs, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    work(2e-4);
    MPI_Exscan(mine, theirs, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  } else if (!strcmp(how, "self")) {
    MPI_Irecv(theirs, COUNT, MPI_DOUBLE, rank, 1, MPI_COMM_WORLD, &q[0]);
    MPI_Irecv(spare, COUNT, MPI_DOUBLE, last, 2, MPI_COMM_WORLD, &q[1]);
    MPI_Isend(mine, COUNT, MPI_DOUBLE, rank, 1, MPI_COMM_WORLD, &q[2]);
    MPI_Isend(mine, COUNT, MPI_DOUBLE, next, 2, MPI_COMM_WORLD, &q[3]);
    MPI_Waitall(4, q, MPI_STATUSES_IGNORE);
    MPI_Sendrecv(mine, COUNT, MPI_DOUBLE, rank, 3, theirs, COUNT, MPI_DOUBLE, rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (!strcmp(how, "onlyself")) {
    MPI_Sendrecv(mine, COUNT, MPI_DOUBLE, rank, 3, theirs, COUNT, MPI_DOUBLE, rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Allreduce(mine, theirs, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  } else if (!strcmp(how, "nobody")) {
    MPI_Sendrecv(mine, COUNT, MPI_DOUBLE, rank + 1 < size ? rank + 1 : MPI_PROC_NULL, 3, theirs, COUNT, MPI_DOUBLE,
                 rank ? rank - 1 : MPI_PROC_NULL, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(mine, COUNT, MPI_DOUBLE, rank ? rank - 1 : MPI_PROC_NULL, 3, theirs, COUNT, MPI_DOUBLE,
                 rank + 1 < size ? rank + 1 : MPI_PROC_NULL, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (!strcmp(how, "persistent")) {
    MPI_Startall(2, persistent);
    MPI_Waitall(2, persistent, MPI_STATUSES_IGNORE);
  } else if (!strcmp(how, "any")) {
    MPI_Irecv(theirs, COUNT, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &q[0]);
    MPI_Isend(mine, COUNT, MPI_DOUBLE, next, 2, MPI_COMM_WORLD, &q[1]);
    MPI_Waitany(2, q, &done, MPI_STATUS_IGNORE);
    MPI_Waitany(2, q, &done, MPI_STATUS_IGNORE);
  } else if (!strcmp(how, "some")) {
    MPI_Irecv(theirs, COUNT, MPI_DOUBLE, last, 2, MPI_COMM_WORLD, &q[0]);
    MPI_Isend(mine, COUNT, MPI_DOUBLE, next, 2, MPI_COMM_WORLD, &q[1]);
    for (done = 0; done < 2; done += count) {
      MPI_Testsome(2, q, &count, which, MPI_STATUSES_IGNORE);
      if (!count) MPI_Waitsome(2, q, &count, which, MPI_STATUSES_IGNORE);
    }
  } else if (!strcmp(how, "directions")) {
    for (int way = 0; way < 2; way++) {
      MPI_Irecv(theirs, COUNT, MPI_DOUBLE, way ? next : last, 4, MPI_COMM_WORLD, &q[0]);
      MPI_Isend(mine, COUNT, MPI_DOUBLE, way ? last : next, 4, MPI_COMM_WORLD, &q[1]);
      work(rank == way ? 5e-4 : 1e-4);
      MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
    }
  } else if (!strcmp(how, "sends")) {
    if (rank == size - 1) tell(0);
    if (!rank) MPI_Recv(theirs, COUNT, MPI_DOUBLE, size - 1, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    work(1e-3);
    MPI_Irecv(spare, COUNT, MPI_DOUBLE, last, 4, MPI_COMM_WORLD, &q[0]);
    MPI_Send(mine, COUNT, MPI_DOUBLE, next, 4, MPI_COMM_WORLD);
    MPI_Wait(&q[0], MPI_STATUS_IGNORE);
    if (rank + 1 < size) MPI_Recv(theirs, COUNT, MPI_DOUBLE, next, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank) MPI_Send(mine, COUNT, MPI_DOUBLE, last, 7, MPI_COMM_WORLD);
  } else if (!strcmp(how, "neighbours")) {
    MPI_Neighbor_allgather(mine, 1, MPI_DOUBLE, theirs, 1, MPI_DOUBLE, ring);
  } else if (!strcmp(how, "ineighbours")) {
    MPI_Ineighbor_allgather(mine, 1, MPI_DOUBLE, theirs, 1, MPI_DOUBLE, ring, &q[0]);
    work(2e-4);
    MPI_Wait(&q[0], MPI_STATUS_IGNORE);
  } else if (!strcmp(how, "part")) {
    MPI_Allreduce(mine, theirs, COUNT, MPI_DOUBLE, MPI_SUM, part);
    work(rank % 2 ? 5e-4 : 1e-4);
    MPI_Bcast(mine, COUNT, MPI_DOUBLE, 0, part);
    MPI_Sendrecv(mine, 1, MPI_DOUBLE, next, 3, theirs, 1, MPI_DOUBLE, last, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (!strcmp(how, "fence")) {
    MPI_Win_fence(0, window);
    MPI_Put(mine, COUNT, MPI_DOUBLE, next, 0, COUNT, MPI_DOUBLE, window);
    MPI_Win_fence(0, window);
  } else if (!strcmp(how, "epoch")) {
    MPI_Win_post(others, 0, window);
    work(rank ? 5e-4 : 1e-4);
    MPI_Win_start(others, 0, window);
    MPI_Put(mine, COUNT, MPI_DOUBLE, next, 0, COUNT, MPI_DOUBLE, window);
    MPI_Win_complete(window);
    MPI_Win_wait(window);
  } else if (!strcmp(how, "lock")) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, window);
    MPI_Put(mine, COUNT, MPI_DOUBLE, next, 0, COUNT, MPI_DOUBLE, window);
    MPI_Win_unlock(next, window);
    MPI_Barrier(MPI_COMM_WORLD);
  } else if (!strcmp(how, "sweep")) { /* planes in both directions, each direction with its tags */
    for (int plane = 0; plane < 8; plane++) {
      int up = plane < 4 ? rank - 1 : rank + 1, down = plane < 4 ? rank + 1 : rank - 1;
      MPI_Recv(theirs, COUNT, MPI_DOUBLE, up < 0 || up == size ? MPI_PROC_NULL : up, 10 + plane, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      work(rank ? 2e-4 : 1e-4);
      MPI_Send(mine, COUNT, MPI_DOUBLE, down < 0 || down == size ? MPI_PROC_NULL : down, 10 + plane, MPI_COMM_WORLD);
    }
  } else if (!strcmp(how, "tasks")) { /* many receipts under way, which complete as messages come */
    for (int tag = 0; tag < 4; tag++) MPI_Irecv(&spare[tag], 1, MPI_DOUBLE, last, 20 + tag, MPI_COMM_WORLD, &q[tag]);
    for (int tag = 0; tag < 4; tag++) {
      work(1e-4);
      MPI_Send(mine, 1, MPI_DOUBLE, next, 20 + (rank ? tag : 3 - tag), MPI_COMM_WORLD);
    }
    for (done = 0; done < 4; done++) MPI_Waitany(4, q, &count, MPI_STATUS_IGNORE);
  } else if (!strcmp(how, "master")) { /* one rank hands out tasks, and takes results from whoever comes */
    for (int task = 0; task < 3 * (size - 1); task++) {
      if (!rank) {
        MPI_Send(mine, 1, MPI_DOUBLE, 1 + task % (size - 1), task, MPI_COMM_WORLD);
        MPI_Recv(theirs, 1, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      } else if (task % (size - 1) == rank - 1) {
        MPI_Recv(theirs, 1, MPI_DOUBLE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        work(2e-4);
        MPI_Send(mine, 1, MPI_DOUBLE, 0, task, MPI_COMM_WORLD);
      }
    }
  } else if (!strcmp(how, "communicators")) { /* the same tag in two, received in the other order */
    MPI_Isend(mine, COUNT, MPI_DOUBLE, next, 4, MPI_COMM_WORLD, &q[0]);
    work(3e-4);
    MPI_Isend(mine, COUNT, MPI_DOUBLE, next, 4, ring, &q[1]);
    MPI_Recv(theirs, COUNT, MPI_DOUBLE, last, 4, ring, MPI_STATUS_IGNORE);
    work(1e-4);
    MPI_Recv(theirs, COUNT, MPI_DOUBLE, last, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
  } else if (!strcmp(how, "file")) {
    MPI_File file;
    MPI_File_open(MPI_COMM_WORLD, "patterns.data", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
    MPI_File_write_at_all(file, (MPI_Offset)rank * sizeof mine, mine, COUNT, MPI_DOUBLE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    MPI_Allreduce(mine, theirs, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
}

int main(int argc, char **argv) {
  char *how = strtok(argv[1], ",");
  int periodic = 1, marks = argc > 2 && !strcmp(argv[2], "marks");
  MPI_Comm ring, part;
  MPI_Request persistent[4];
  MPI_Win window;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
  MPI_Comm_split(MPI_COMM_WORLD, size > 2 ? rank / 2 : 0, rank, &part);
  int near[2] = {(rank + 1) % size, (rank + size - 1) % size};
  MPI_Group every;
  MPI_Comm_group(MPI_COMM_WORLD, &every);
  MPI_Group_incl(every, near[0] == near[1] ? 1 : 2, near, &others);
  MPI_Win_create(spare, sizeof spare, sizeof spare[0], MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Recv_init(theirs, COUNT, MPI_DOUBLE, (rank + size - 1) % size, 5, MPI_COMM_WORLD, &persistent[0]);
  MPI_Send_init(mine, COUNT, MPI_DOUBLE, (rank + 1) % size, 5, MPI_COMM_WORLD, &persistent[1]);
  for (int set_up = 0; !marks && set_up < 5; set_up++) {
    work(0.02);
    MPI_Bcast(mine, COUNT, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (; how; how = strtok(NULL, ",")) {
    for (int step = 0; step < STEPS; step++) {
      if (marks) HINDMOST_ITERATION();
      work((rank + 1) * 5e-4);
      exchange(how, persistent, ring, part, window);
    }
  }
  if (marks) HINDMOST_ITERATION();
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Request_free(&persistent[0]);
  MPI_Request_free(&persistent[1]);
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
