#include "libraries.h"

#include "attached.h"
#include "bindings.h"
#include "status.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#define CANNOT_RECORD 4 /* exit status: the environment lacks something */
static int note_library(struct dl_phdr_info *info, size_t size, void *found) {
  (void)size;
  struct libraries *libraries = found;
  const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
  if (slash && !strncmp(slash + 1, libraries->begin, strlen(libraries->begin)) && libraries->count < MAX_LIBRARIES)
    copy_text(libraries->path[libraries->count++], PATH_MAX, info->dlpi_name);
  return 0;
}

static struct libraries *libraries_named(const char *begin) {
  static struct libraries libraries;
  libraries.begin = begin;
  libraries.count = 0;
  dl_iterate_phdr(note_library, &libraries);
  return &libraries;
}

__attribute__((noreturn)) static void refuse_mpi(const char *one, const char *other) {
  refuse("%s was stopped %s: it uses another MPI than hindmost's recorder (%s and %s). Name the mpicc of the program's "
         "MPI: --mpicc PATH.", own_name(), attached.begun ? "in MPI_Init" : "before it began", one, other);
  _exit(CANNOT_RECORD);
}

static void refuse_another_mpi(void) {
  struct libraries *mpis = libraries_named("libmpi");
  void *first = NULL;
  int of_first = 0;
  for (int i = 0; i < mpis->count; i++) {
    void *handle = dlopen(mpis->path[i], RTLD_LAZY | RTLD_NOLOAD), *init = NULL;
    if (handle) {
      init = dlsym(handle, "PMPI_Init"); /* its own, or that of the library that it stands on */
      dlclose(handle);
    }
    if (init && !first) first = init, of_first = i;
    if (!init || init == first) continue;
    refuse_mpi(mpis->path[of_first], mpis->path[i]);
  }
}

#if defined(OPEN_MPI)
#define COMPILED_FOR "Open MPI"
#else
#define COMPILED_FOR "MPICH or another"
#endif

static void refuse_linked_mpi(void) {
#ifndef MPI_ABI_VERSION /* whichever library has that ABI */
  char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int size = 0;
  PMPI_Get_library_version(library, &size);
  if (!strncmp(library, "Open MPI", 8) == !strcmp(COMPILED_FOR, "Open MPI")) return;
  library[strcspn(library, "\t\n,:")] = 0;
  refuse_mpi(COMPILED_FOR, library);
#endif
}
