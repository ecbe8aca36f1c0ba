/* A PETSc program that knows nothing of hindmost: it solves some systems and says how.
 *
 * It declares the functions it needs, because a system's package may have no headers. Its KSPs have
 * the prefixes "ice_", "sea_" and "ice_" again; "-deep_ksp_type fgmres" adds one whose preconditioner
 * is a KSP. Its first argument says how it ends: "well", with a status as "status7", "abort" inside a
 * solve, "exit" inside a solve, "kill" or "term" (by a signal) inside one. Rank 0 prints a line for each solve:
 * prefix and iterations. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef void *Object;
int PetscInitialize(int *, char ***, const char *, const char *), PetscFinalize(void);
int MatCreateAIJ(MPI_Comm, int, int, int, int, int, const int *, int, const int *, Object *);
int MatGetOwnershipRange(Object, int *, int *);
int MatSetValues(Object, int, const int *, int, const int *, const double *, int);
int MatAssemblyBegin(Object, int), MatAssemblyEnd(Object, int), MatCreateVecs(Object, Object *, Object *);
int VecSet(Object, double), VecDestroy(Object *), MatDestroy(Object *);
int KSPCreate(MPI_Comm, Object *), KSPSetType(Object, const char *), KSPSetOptionsPrefix(Object, const char *);
int KSPSetOperators(Object, Object, Object), KSPSetTolerances(Object, double, double, double, int);
int KSPGetPC(Object, Object *), PCSetType(Object, const char *), KSPSetFromOptions(Object);
int KSPSolve(Object, Object, Object), KSPGetIterationNumber(Object, int *), KSPDestroy(Object *);
int KSPGMRESSetRestart(Object, int), KSPMonitorSet(Object, int (*)(Object, int, double, void *), void *, void *);
int MatSetFromOptions(Object), PetscOptionsHasName(Object, const char *, const char *, int *);

static const char *end = "well";
static int rank;

static int break_off(Object ksp, int iteration, double norm, void *context) {
  (void)ksp, (void)norm, (void)context;
  if (iteration < 12) return 0;
  if (!strcmp(end, "abort") && rank == 0) MPI_Abort(MPI_COMM_WORLD, 5);
  if (!strcmp(end, "exit")) exit(6);
  if (!strcmp(end, "kill")) raise(SIGKILL);
  if (!strcmp(end, "term")) kill(getpid(), SIGTERM);
  return 0;
}

static void solve(Object matrix, const char *prefix, const char *type, int most) {
  Object ksp, pc, x, b;
  int iterations;
  MatCreateVecs(matrix, &x, &b);
  VecSet(x, 0.0);
  VecSet(b, 1.0);
  KSPCreate(MPI_COMM_WORLD, &ksp);
  KSPSetOptionsPrefix(ksp, prefix);
  KSPSetOperators(ksp, matrix, matrix);
  KSPSetType(ksp, type);
  KSPGMRESSetRestart(ksp, 10);
  KSPGetPC(ksp, &pc);
  PCSetType(pc, "jacobi");
  KSPSetTolerances(ksp, 1e-9, 1e-50, 1e300, most);
  KSPMonitorSet(ksp, break_off, NULL, NULL);
  KSPSetFromOptions(ksp);
  KSPSolve(ksp, b, x);
  KSPGetIterationNumber(ksp, &iterations);
  if (rank == 0) printf("%s %d\n", prefix, iterations), fflush(stdout);
  KSPDestroy(&ksp);
  VecDestroy(&x);
  VecDestroy(&b);
}

int main(int argc, char **argv) {
  Object matrix;
  int first, last, n = 300, has = 0;
  const double here = 2.0, beside = -1.0;
  const char *last_words = argc > 1 ? argv[1] : "well";
  PetscInitialize(&argc, &argv, NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MatCreateAIJ(MPI_COMM_WORLD, -1, -1, n, n, 3, NULL, 1, NULL, &matrix); /* -1: PETSC_DECIDE */
  MatGetOwnershipRange(matrix, &first, &last);
  for (int row = first; row < last; row++)
    for (int column = row > 0 ? row - 1 : 0; column < n && column <= row + 1; column++)
      MatSetValues(matrix, 1, &row, 1, &column, row == column ? &here : &beside, 1); /* 1: INSERT_VALUES */
  MatAssemblyBegin(matrix, 0);
  MatAssemblyEnd(matrix, 0);
  solve(matrix, "ice_", "gmres", 25);
  solve(matrix, "sea_", "cg", 40);
  pid_t child = fork(); /* a child that ends by itself, and one that runs a program */
  if (child == 0) exit(0);
  waitpid(child, NULL, 0);
  if (system("test -z \"$HINDMOST_ATTACH$LD_PRELOAD\"") && rank == 0) puts("child_sees_recorder 1");
  end = last_words;
  solve(matrix, "ice_", "gmres", 25);
  PetscOptionsHasName(NULL, NULL, "-deep_ksp_type", &has);
  if (has) solve(matrix, "deep_", "fgmres", 4);
  MatDestroy(&matrix);
  PetscFinalize();
  return !strncmp(last_words, "status", 6) ? atoi(last_words + 6) : 0;
}
