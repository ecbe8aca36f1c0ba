/* Jacobi iterations on a row of cells: halos, a reduction each, and now and then a large message
   around the ring. simulation_smpi.py has SMPI trace it. */
#include <math.h>
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int cells = 20000 + 4000 * (rank % 3), iterations = argc > 1 ? atoi(argv[1]) : 100;
    const int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
    double tolerance = 1e-12, *x = calloc(cells + 2, sizeof *x), *y = calloc(cells + 2, sizeof *y);
    MPI_Bcast(&tolerance, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < iterations; i++) {
        MPI_Request open[4];
        int count = 0;
        if (rank > 0)
            MPI_Irecv(x, 1, MPI_DOUBLE, rank - 1, 1, MPI_COMM_WORLD, &open[count++]);
        if (rank < ranks - 1)
            MPI_Irecv(x + cells + 1, 1, MPI_DOUBLE, rank + 1, 2, MPI_COMM_WORLD, &open[count++]);
        if (rank > 0)
            MPI_Isend(x + 1, 1, MPI_DOUBLE, rank - 1, 2, MPI_COMM_WORLD, &open[count++]);
        if (rank < ranks - 1)
            MPI_Isend(x + cells, 1, MPI_DOUBLE, rank + 1, 1, MPI_COMM_WORLD, &open[count++]);
        for (int c = 2; c < cells; c++)
            y[c] = 0.5 * (x[c - 1] + x[c + 1]) + 1e-3;
        MPI_Waitall(count, open, MPI_STATUSES_IGNORE);
        y[1] = 0.5 * (x[0] + x[2]) + 1e-3;
        y[cells] = 0.5 * (x[cells - 1] + x[cells + 1]) + 1e-3;
        double own = 0.0, all;
        for (int c = 1; c <= cells; c++)
            own += (y[c] - x[c]) * (y[c] - x[c]);
        MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        double *swapped = x;
        x = y;
        y = swapped;
        if (sqrt(all) < tolerance)
            break;
        if (i % 10 == 9 && rank % 2 == 0) {
            MPI_Send(x + 1, 10000, MPI_DOUBLE, next, 3, MPI_COMM_WORLD);
            MPI_Recv(y + 1, 10000, MPI_DOUBLE, previous, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (i % 10 == 9) {
            MPI_Recv(y + 1, 10000, MPI_DOUBLE, previous, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(x + 1, 10000, MPI_DOUBLE, next, 3, MPI_COMM_WORLD);
        }
    }
    double most = 0.0;
    MPI_Reduce(x + 1, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
