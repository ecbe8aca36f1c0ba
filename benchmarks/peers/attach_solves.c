/* A PETSc program for benchmarks/attach.py: solves of one linear system, one after another, timed by itself.
 *
 *   attach_solves UNKNOWNS ITERATIONS SOLVES TYPE
 *
 * Rank 0 prints the seconds of each solve, the most of all ranks. PETSc's functions are declared here, because
 * a system's package may have no headers. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

typedef void *Object;
int PetscInitialize(int *, char ***, const char *, const char *), PetscFinalize(void);
int PetscOptionsSetValue(Object, const char *, const char *);
int MatCreateAIJ(MPI_Comm, int, int, int, int, int, const int *, int, const int *, Object *);
int MatGetOwnershipRange(Object, int *, int *), MatCreateVecs(Object, Object *, Object *);
int MatSetValues(Object, int, const int *, int, const int *, const double *, int);
int MatAssemblyBegin(Object, int), MatAssemblyEnd(Object, int);
int VecSet(Object, double), KSPCreate(MPI_Comm, Object *), KSPSetType(Object, const char *);
int KSPSetOperators(Object, Object, Object), KSPSetTolerances(Object, double, double, double, int);
int KSPGetPC(Object, Object *), PCSetType(Object, const char *), KSPSetFromOptions(Object), KSPSetUp(Object);
int KSPSolve(Object, Object, Object), KSPGetIterationNumber(Object, int *);

int main(int argc, char **argv) {
  Object matrix, ksp, pc, x, b;
  int rank, first, last, done;
  const double here = 2.0, beside = -1.0;
  if (argc < 5) return 2;
  int n = atoi(argv[1]), iterations = atoi(argv[2]), solves = atoi(argv[3]), none = 1;
  char *words[] = {argv[0], NULL}, **left = words, *type = argv[4];
  PetscInitialize(&none, &left, NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MatCreateAIJ(MPI_COMM_WORLD, -1, -1, n, n, 3, NULL, 1, NULL, &matrix); /* -1: PETSC_DECIDE */
  MatGetOwnershipRange(matrix, &first, &last);
  for (int row = first; row < last; row++)
    for (int column = row > 0 ? row - 1 : 0; column < n && column <= row + 1; column++)
      MatSetValues(matrix, 1, &row, 1, &column, row == column ? &here : &beside, 1); /* 1: INSERT_VALUES */
  MatAssemblyBegin(matrix, 0);
  MatAssemblyEnd(matrix, 0);
  MatCreateVecs(matrix, &x, &b);
  VecSet(b, 1.0);
  /* So many iterations, converged or not. */
  PetscOptionsSetValue(NULL, "-ksp_convergence_test", "skip");
  PetscOptionsSetValue(NULL, "-ksp_gmres_breakdown_tolerance", "1e300");
  PetscOptionsSetValue(NULL, "-ksp_gmres_haptol", "0");
  KSPCreate(MPI_COMM_WORLD, &ksp);
  KSPSetOperators(ksp, matrix, matrix);
  KSPSetType(ksp, type);
  KSPGetPC(ksp, &pc);
  PCSetType(pc, "jacobi");
  KSPSetTolerances(ksp, 1e-300, 1e-300, 1e300, iterations);
  KSPSetFromOptions(ksp);
  KSPSetUp(ksp);
  for (int solve = 0; solve < solves; solve++) {
    double seconds, slowest;
    VecSet(x, 0.0);
    MPI_Barrier(MPI_COMM_WORLD);
    seconds = MPI_Wtime();
    KSPSolve(ksp, b, x);
    seconds = MPI_Wtime() - seconds;
    KSPGetIterationNumber(ksp, &done);
    if (done != iterations) return 3;
    MPI_Reduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("%.9f\n", slowest);
  }
  PetscFinalize();
  return 0;
}
