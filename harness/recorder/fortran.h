/* Calls from Fortran, and through another tool. Included once, by attached.h.
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

#ifdef HINDMOST_LINKED

/* The table of hindmost.f90, if the program has it; see there. */
extern void *hindmost_functions[6] __attribute__((weak));

static void find_bindings(void) {}
static void tell_of_tool_behind(void) {}
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

static struct code_range {
  uintptr_t begin, size;
} bindings[MOST_BINDINGS], own_code;
static int binding_count, tool_in_front, leaves_to_linked; /* the last: to a recorder that is linked into the program */

static int lies_in(const void *address, struct code_range code) { return (uintptr_t)address - code.begin < code.size; }

static int note_bindings(struct dl_phdr_info *info, size_t size, void *unused) {
  static const char *const names[] = {"libmpi_mpifh", "libmpi_usempi", "libmpifort", "libmpichfort", "libfmpich"};
  (void)size, (void)unused;
  const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
  int is_bindings = 0;
  for (size_t i = 0; slash && i < sizeof names / sizeof *names; i++)
    is_bindings |= !strncmp(slash + 1, names[i], strlen(names[i]));
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *part = &info->dlpi_phdr[i];
    if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
    struct code_range code = {info->dlpi_addr + part->p_vaddr, part->p_memsz};
    if (lies_in(note_bindings, code)) own_code = code;
    if (is_bindings && binding_count < MOST_BINDINGS) bindings[binding_count++] = code;
  }
  return 0;
}

/* Whether the program's calls of a name reach another library first, which is no MPI: one of these has PMPI. */
static int another_takes(const char *name) {
  Dl_info place, lower;
  const ElfW(Sym) *symbol = NULL;
  const void *first = dlsym(RTLD_DEFAULT, name);
  if (!first || lies_in(first, own_code) || !dladdr1(first, &place, (void **)&symbol, RTLD_DL_SYMENT)) return 0;
  if (symbol && symbol->st_shndx == SHN_UNDEF) return 0; /* where a program that is not PIC takes its address */
  void *library = dlopen(place.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (!library) return 1; /* the program itself */
  const void *init = dlsym(library, "PMPI_Init");
  dlclose(library);
  return !init || !dladdr(init, &lower) || lower.dli_fbase != place.dli_fbase;
}

static void find_bindings(void) {
  dl_iterate_phdr(note_bindings, NULL);
  if ((leaves_to_linked = other_records())) return;
  tool_in_front = another_takes("MPI_Init") || another_takes("MPI_Init_thread");
  for (int i = 0; i < CALL_COUNT && !tool_in_front; i++) tool_in_front = another_takes(hindmost_call_names[i]);
}

/* Another tool that would have had the program's calls, and now has none. */
static void tell_of_tool_behind(void) {
  static const char *const names[] = {"MPI_Init", "MPI_Init_thread", "MPI_Finalize"};
  Dl_info next, lowest;
  const void *mpi = dlsym(RTLD_NEXT, "PMPI_Init");
  if (!mpi || !dladdr(mpi, &lowest)) return;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const void *found = dlsym(RTLD_NEXT, names[i]);
    if (!found || !dladdr(found, &next) || next.dli_fbase == lowest.dli_fbase) continue;
    const char *slash = strrchr(next.dli_fname, '/');
    if (!strncmp(slash ? slash + 1 : next.dli_fname, "libmpi", 6)) continue; /* of an MPI in two libraries */
    tell("behind\t%d\t%s", (int)attached.pid, next.dli_fname);
    return;
  }
}

static int from_bindings(const void *address) {
  for (int i = 0; i < binding_count; i++)
    if (lies_in(address, bindings[i])) return 1;
  return 0;
}

/* Whether a call of PMPI from here is one of MPI by the program. */
static int is_of_program(const void *address) {
  return tool_in_front ? !lies_in(address, own_code) : from_bindings(address);
}

#define PASSED_ON(name, parameters, arguments)                             \
  int PMPI_##name parameters {                                             \
    static int(*real) parameters, (*linked)parameters;                     \
    if (is_of_program(__builtin_return_address(0))) {                      \
      if (!leaves_to_linked) return MPI_##name arguments;                  \
      if (!linked) linked = (int(*) parameters)dlsym(RTLD_DEFAULT, "MPI_" #name); \
      return linked arguments;                                             \
    }                                                                      \
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
