/* The recorder: notes when MPI calls and chosen PETSc events begin and end, on one rank.
 *
 * It is loaded with RTLD_GLOBAL before mpi4py and petsc4py, so that the MPI calls of libpetsc bind to
 * the wrappers (PMPI is the profiling interface of the MPI standard, chapter 15). PETSc calls
 * hindmost_event_begin and hindmost_event_end (petsc_events.c) for every event that it logs; it keeps
 * only the few that the segmentation of a solver needs, selected by id.
 *
 * The caller provides all memory before the solve. While a session is open, calls lock and print nothing, but
 * for one lock where MPI was promised calls of several threads at a time (lock.h), and allocate nothing, but for the
 * ranks of a communicator at its first message (communicators.c). Parts of an attached program's records are
 * written between iterations (rawfile.h). Records are those of the thread that begins the session; calls of
 * other threads are added up by call site (thread_calls.h).
 *
 * This file is all that a compiler is given: the units below as one, so that what a call costs is inlined, and no
 * name but those of the interface can meet one of the program that the recorder is linked into. A unit includes the
 * headers of units before it in this list; tests/test_architecture.py checks that. */
#define _GNU_SOURCE
#include "abi.c"
#include "clock.c"
#include "unwind.c"
#include "lock.h"
#include "bindings.c"
#include "places.c"
#include "pyframes.c"
#include "contexts.c"
#include "ring.c"
#include "session.h"
#include "communicators.c"
#include "peers.c"
#include "requests.c"
#include "inject.c"
#include "counters.c"
#include "activities.c"
#include "thread_calls.c"
#include "classify.h"
#include "recording.c"
#include "petsc_events.c"
#include "wrap.c"
#include "json.c"
#include "rawfile.c"
#include "attached.c"
#include "status.c"
#include "settings.c"
#include "libraries.c"
#include "all_ranks.c"
#include "rank_file.c"
#include "samples.c"
#include "sample_frames.c"
#include "sampler.c"
#include "sections.c"
#include "signals.c"
#include "pairs.c"
#include "bounded.c"
#include "loops.c"
#include "petsc.c"
#include "solves.c"
#include "attach.c"
#include "own_recording.c"
#include "wrap_fortran.c"
