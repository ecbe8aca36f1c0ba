/* Calls from Fortran. Included once, by attached.h.
 *
 * Open MPI's Fortran bindings call PMPI in C, past the wrappers. So PMPI's names are defined here too:
 * a call whose return address lies in a library of bindings goes to the wrapper, any other to MPI. The
 * libraries are looked up when a program to which hindmost is attached begins, and in no other. A return
 * address tells who calls only if no call of the recorder becomes a jump: -fno-optimize-sibling-calls.
 *
 * A recorder that is linked into a program leaves PMPI's names alone: a static libmpi defines them. */

#ifdef HINDMOST_LINKED

/* The table of hindmost.f90, if the program has it; see there. */
extern void *hindmost_functions[6] __attribute__((weak));

static void find_bindings(void) {}
static int from_bindings(const void *address) { return (void)address, 0; }

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

enum { MOST_BINDINGS = 8 };

static struct {
  uintptr_t begin, size;
} bindings[MOST_BINDINGS];
static int binding_count;

static int note_bindings(struct dl_phdr_info *info, size_t size, void *unused) {
  static const char *const names[] = {"libmpi_mpifh", "libmpi_usempi", "libmpifort", "libmpichfort", "libfmpich"};
  (void)size, (void)unused;
  const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
  for (size_t i = 0; slash && i < sizeof names / sizeof *names; i++) {
    if (strncmp(slash + 1, names[i], strlen(names[i]))) continue;
    for (int j = 0; j < info->dlpi_phnum && binding_count < MOST_BINDINGS; j++) {
      const ElfW(Phdr) *part = &info->dlpi_phdr[j];
      if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
      bindings[binding_count].begin = info->dlpi_addr + part->p_vaddr;
      bindings[binding_count++].size = part->p_memsz;
    }
  }
  return 0;
}

static void find_bindings(void) { dl_iterate_phdr(note_bindings, NULL); }

static int from_bindings(const void *address) {
  for (int i = 0; i < binding_count; i++)
    if ((uintptr_t)address - bindings[i].begin < bindings[i].size) return 1;
  return 0;
}

#define PASSED_ON(name, parameters, arguments)                             \
  int PMPI_##name parameters {                                             \
    static int(*real) parameters;                                          \
    if (from_bindings(__builtin_return_address(0))) return MPI_##name arguments; \
    if (!real) real = (int(*) parameters)dlsym(RTLD_NEXT, "PMPI_" #name);  \
    return real arguments;                                                 \
  }

#define COUNT int
#define PLACE int
#define CALL(name, class, parameters, arguments) PASSED_ON(name, parameters, arguments)
#define COUNTING CALL
#include "calls.h"
#undef CALL
#undef COUNTING
#undef COUNT
#undef PLACE

#if MPI_VERSION >= 4
#define COUNT MPI_Count
#define PLACE MPI_Aint
#define CALL(name, class, parameters, arguments)
#define COUNTING(name, class, parameters, arguments) PASSED_ON(name##_c, parameters, arguments)
#include "calls.h"
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
int PMPI_Pcontrol(const int level, ...) { return note_pcontrol(level); }

#endif
