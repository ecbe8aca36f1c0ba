/* The libraries of the process: one MPI. */
#pragma once

#include <limits.h>
enum { MAX_LIBRARIES = 16 };
struct libraries {
  const char *begin; /* of the file's name */
  int count;
  char path[MAX_LIBRARIES][PATH_MAX];
};

/* The libraries of the process whose names begin so. */
static struct libraries *libraries_named(const char *begin);

/* Ends the process before it has begun if it brings another MPI than that of the recorder. */
static void refuse_another_mpi(void);

/* After MPI_Init: nor may it use one for which the recorder that is linked into it was not compiled. */
static void refuse_linked_mpi(void);
