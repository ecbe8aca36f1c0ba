/* A solve by gmres whose preconditioner sleeps on rank 1. PETSc is declared here: a system may have no headers of it. */
#include <mpi.h>
#include <stddef.h>
#include <time.h>
typedef void *Object;
int PetscInitialize(int *, char ***, const char *, const char *), PetscFinalize(void);
int MatCreateAIJ(MPI_Comm, int, int, int, int, int, const int *, int, const int *, Object *);
int MatGetOwnershipRange(Object, int *, int *), MatCreateVecs(Object, Object *, Object *);
int MatSetValues(Object, int, const int *, int, const int *, const double *, int);
int MatAssemblyBegin(Object, int), MatAssemblyEnd(Object, int);
int VecSet(Object, double), VecCopy(Object, Object), KSPCreate(MPI_Comm, Object *), KSPSetType(Object, const char *);
int KSPSetOperators(Object, Object, Object), KSPSetTolerances(Object, double, double, double, int);
int KSPGetPC(Object, Object *), PCSetType(Object, const char *), KSPSetUp(Object), KSPSolve(Object, Object, Object);
int PCShellSetApply(Object, int (*)(Object, Object, Object));

static int apply(Object pc, Object x, Object y) {
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  VecCopy(x, y);
  if (rank == 1) nanosleep(&(struct timespec){0, 2000000}, NULL); /* needs no core of its own */
  return 0;
}

int main(int argc, char **argv) {
  Object matrix, ksp, pc, x, b;
  int first, last, n = 4000;
  const double here = 2.0, beside = -1.0;
  PetscInitialize(&argc, &argv, NULL, NULL);
  MatCreateAIJ(MPI_COMM_WORLD, -1, -1, n, n, 3, NULL, 1, NULL, &matrix);
  MatGetOwnershipRange(matrix, &first, &last);
  for (int row = first; row < last; row++)
    for (int column = row > 0 ? row - 1 : 0; column < n && column <= row + 1; column++)
      MatSetValues(matrix, 1, &row, 1, &column, row == column ? &here : &beside, 1);
  MatAssemblyBegin(matrix, 0), MatAssemblyEnd(matrix, 0);
  MatCreateVecs(matrix, &x, &b);
  VecSet(b, 1.0);
  KSPCreate(MPI_COMM_WORLD, &ksp);
  KSPSetOperators(ksp, matrix, matrix);
  KSPSetType(ksp, "gmres");
  KSPGetPC(ksp, &pc);
  PCSetType(pc, "shell");
  PCShellSetApply(pc, apply);
  KSPSetTolerances(ksp, 1e-300, 1e-300, 1e300, 40);
  KSPSolve(ksp, b, x);
  PetscFinalize();
  return 0;
}
