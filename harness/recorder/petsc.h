/* The PETSc of an attached program: its functions, and its events by name.
 *
 * No header of PETSc is needed: its functions are looked up in the libpetsc of the process, and its
 * integers, of 32 or 64 bits, are read into zeroed 64 bits (little endian). */
#pragma once

#include "petsc_events.h"

#include <mpi.h>
#include <stddef.h>
#define PETSC_FUNCTIONS(X)                                                                          \
  X(PetscLogEventGetId, (const char *, int *)) X(PetscLogSet, (void *, void *))                     \
  X(PetscLogLegacyCallbacksBegin, (void *, void *, void *, void *))                                 \
  X(PetscGetVersionNumber, (int64_t *, int64_t *, int64_t *, int64_t *))                            \
  X(PetscDataTypeFromString, (const char *, int *, int *)) X(PetscDataTypeGetSize, (int, size_t *)) \
  X(PetscOptionsGetAll, (void *, char **)) X(PetscObjectGetComm, (void *, MPI_Comm *))              \
  X(PetscPushErrorHandler, (void *, void *)) X(PetscPopErrorHandler, (void))                        \
  X(KSPGetType, (void *, const char **)) X(KSPGetOptionsPrefix, (void *, const char **))            \
  X(KSPGetOperators, (void *, void **, void **)) X(KSPGetPC, (void *, void **))                     \
  X(KSPGetTolerances, (void *, void *, void *, void *, int64_t *))                                  \
  X(KSPGetConvergedReason, (void *, int *)) X(KSPGetIterationNumber, (void *, int64_t *))           \
  X(KSPMonitorSet, (void *, void *, void *, void *)) X(KSPGMRESGetRestart, (void *, int64_t *))     \
  X(KSPGetNormType, (void *, int *)) X(PCGetType, (void *, const char **))                          \
  X(MatGetType, (void *, const char **)) X(MatGetSize, (void *, int64_t *, int64_t *))              \
  X(MatGetInfo, (void *, int, double *)) X(SNESGetIterationNumber, (void *, int64_t *))             \
  X(TSGetStepNumber, (void *, int64_t *))
static struct petsc {
  void *library, *ignore;
#define X(name, parameters) int(*name) parameters;
  PETSC_FUNCTIONS(X)
#undef X
} petsc;

static uint8_t event_levels[EVENTS], event_known[EVENTS];

typedef int (*petsc_event_handler)(int event, int unused, void *a, void *b, void *c, void *d);

/* The function that a wrapper stands before. */
static void *petsc_function(const char *name);
static void quietly(int begin);

/* Lets PETSc call the recorder at its events; after PetscInitialize. */
static void connect_petsc(petsc_event_handler at_begin, petsc_event_handler at_end);
static void find_names(void);

/* The program's settings are now others. */
static void forget_names(void);

/* Lets the recorder keep the marks of a type of KSP. */
static void apply_names(const char *type);
