/* Solves of a PETSc program.
 *
 * PETSc calls the recorder at the begin and end of its events. An outermost KSPSolve is a solve; those
 * inside it are time of the outer one, counted by prefix and type. */
#pragma once

#include "sections.h"

static void write_solve(int complete, struct extent to);

/* Leaves a solve that is open, as one that did not end. */
static void leave_solve(int keeps);

/* Returns whether PETSc calls the recorder at its events. */
int hindmost_connect_petsc(void);
