/* `hindmost attach`: calls that the bindings for Fortran, or another tool behind the recorder, pass on. */
#pragma once

#include "session.h"

static _Thread_local INITIAL_EXEC int in_pcontrol; /* in MPI_Pcontrol, which such a tool calls by its other name */
