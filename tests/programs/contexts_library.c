/* A library that contexts.c opens and closes; PADDING moves the call in it. */
#include <mpi.h>

void from_library(void) {
  __asm__ volatile(".skip " PADDING ", 0x90");
  MPI_Barrier(MPI_COMM_SELF);
  __asm__ volatile("" ::: "memory");
}
