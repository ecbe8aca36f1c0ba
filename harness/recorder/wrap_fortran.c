/* Calls from Fortran, and through another tool.
 *
 * Open MPI's Fortran bindings call PMPI in C, past the wrappers, and so does a tool whose own wrappers the
 * loader has put in front. So PMPI's names are defined here too: a call whose return address lies in a
 * library of bindings goes to the wrapper, and so does every call that is not the recorder's own if a tool is
 * in front; any other goes to MPI. Both are looked up when a program to which hindmost is attached begins, and
 * in no other. A return address tells who calls only if no call of the recorder becomes a jump:
 * -fno-optimize-sibling-calls. Its calls of its own names must not come back to it through that tool:
 * -Bsymbolic-functions.
 *
 * A recorder that is linked into a program leaves PMPI's names alone: a static libmpi defines them. */
#include "attach.h"
#include "bindings.h"
#include "loops.h"
#include "pairs.h"

#include <dlfcn.h>
#ifdef HINDMOST_LINKED

/* The table of hindmost.f90, if the program has it; see there. */
extern void *hindmost_functions[6] __attribute__((weak));
__attribute__((constructor)) static void fill_table(void) {
  if (!hindmost_functions) return;
  hindmost_functions[0] = (void *)hindmost_iteration;
  hindmost_functions[1] = (void *)hindmost_phase_begin;
  hindmost_functions[2] = (void *)hindmost_phase_end;
  hindmost_functions[3] = (void *)hindmost_work;
  hindmost_functions[4] = (void *)hindmost_should_stop;
  hindmost_functions[5] = (void *)hindmost_time_left;
}

#else
#define PASSED_ON(name, parameters, arguments)                                    \
  int PMPI_##name parameters {                                                    \
    static int(*real) parameters, (*linked)parameters;                            \
    if (is_of_program(__builtin_return_address(0))) {                             \
      if (!leaves_to_linked) return MPI_##name arguments;                         \
      if (!linked) linked = (int(*) parameters)dlsym(RTLD_DEFAULT, "MPI_" #name); \
      return linked arguments;                                                    \
    }                                                                             \
    if (!real) real = (int(*) parameters)dlsym(RTLD_NEXT, "PMPI_" #name);         \
    return real arguments;                                                        \
  }

#define COUNT int
#define PLACE int
#define CALL(name, class, parameters, arguments) PASSED_ON(name, parameters, arguments)
#define COUNTING CALL
#include "calls.def"
#undef CALL
#undef COUNTING
#undef COUNT
#undef PLACE

#if MPI_VERSION >= 4
#define COUNT MPI_Count
#define PLACE MPI_Aint
#define CALL(name, class, parameters, arguments)
#define COUNTING(name, class, parameters, arguments) PASSED_ON(name##_c, parameters, arguments)
#include "calls.def"
#undef CALL
#undef COUNTING
#undef COUNT
#undef PLACE
#endif

PASSED_ON(Init, (int *argc, char ***argv), (argc, argv))
PASSED_ON(Init_thread, (int *argc, char ***argv, int required, int *provided), (argc, argv, required, provided))
PASSED_ON(Finalize, (void), ())
PASSED_ON(Abort, (MPI_Comm communicator, int code), (communicator, code))

/* The bindings jump to this one, so that its return address says nothing: every call of it is a mark. */
int PMPI_Pcontrol(const int level, ...) {
  static int (*real)(const int, ...);
  if (!in_pcontrol) return MPI_Pcontrol(level);
  if (!real) real = (int (*)(const int, ...))dlsym(RTLD_NEXT, "PMPI_Pcontrol");
  return real(level);
}

#endif
