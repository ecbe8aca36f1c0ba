#include "bindings.h"

#include "abi.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>

#ifndef HINDMOST_LINKED
enum { MAX_BINDINGS = 8 };

static struct code_range bindings[MAX_BINDINGS];
static int binding_count, tool_in_front;

static int other_records(void) { return dlsym(RTLD_DEFAULT, "hindmost_linked") != NULL; }
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
    if (is_bindings && binding_count < MAX_BINDINGS) bindings[binding_count++] = code;
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
  binding_count = 0;
  dl_iterate_phdr(note_bindings, NULL);
  if ((leaves_to_linked = other_records())) return;
  tool_in_front = another_takes("MPI_Init") || another_takes("MPI_Init_thread");
  for (int i = 0; i < CALL_COUNT && !tool_in_front; i++) tool_in_front = another_takes(hindmost_call_names[i]);
}

static int from_bindings(const void *address) {
  for (int i = 0; i < binding_count; i++)
    if (lies_in(address, bindings[i])) return 1;
  return 0;
}

/* With a tool in front, one behind would have its own calls of PMPI taken for the program's: MPI comes next. */
static __attribute__((noinline)) void *next_of(const char *name) {
  return dlsym(RTLD_NEXT, tool_in_front ? name : name + 1);
}

static int is_of_program(const void *address) {
  return tool_in_front ? !lies_in(address, own_code) : from_bindings(address);
}

#endif
