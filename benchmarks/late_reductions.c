/* Loaded before MPI: every blocking allreduce begins LATE_US later, on every rank, so that it is as
   if its messages took that much longer on 2 ranks. simulation_reruns.py compiles and loads it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

static double now_us(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e6 * time.tv_sec + 1e-3 * time.tv_nsec;
}

int MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    static int (*next)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);
    static double late_us;
    if (!next) {
        const char *late = getenv("LATE_US");
        late_us = late ? atof(late) : 0.0;
        *(void **)&next = dlsym(RTLD_NEXT, "MPI_Allreduce");
    }
    for (const double end = now_us() + late_us; now_us() < end;)
        ;
    return next(from, to, count, type, op, comm);
}
