#include "petsc.h"

#include "attached.h"
#include "libraries.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
enum { PETSC_COMPLEX_TYPE = 2 };
static int64_t names_found, names_applied = -1;
static char applied_type[32];

/* The libpetsc of the process, also where only its user's own scope has it, as with petsc4py. */
static void find_petsc(void) {
  struct libraries *found = libraries_named("libpetsc");
  for (int i = 0; i < found->count && !petsc.library; i++) {
    void *handle = dlopen(found->path[i], RTLD_LAZY | RTLD_NOLOAD);
    if (handle && dlsym(handle, "KSPSolve"))
      petsc.library = handle;
    else if (handle)
      dlclose(handle);
  }
}

static void *petsc_function(const char *name) {
  void *next = dlsym(RTLD_NEXT, name);
  if (next) return next;
  if (!petsc.library) find_petsc();
  return petsc.library ? dlsym(petsc.library, name) : NULL;
}

static void quietly(int begin) {
  if (!petsc.ignore || !petsc.PetscPushErrorHandler || !petsc.PetscPopErrorHandler) return;
  if (begin)
    petsc.PetscPushErrorHandler(petsc.ignore, NULL);
  else
    petsc.PetscPopErrorHandler();
}

static void connect_petsc(petsc_event_handler at_begin, petsc_event_handler at_end) {
  int64_t version[4] = {0};
  int type = 0, found = 0;
  size_t size = 0;
  if (petsc_kind.connected) return;
  if (!petsc.library) find_petsc();
  if (!petsc.library) return;
#define X(name, parameters) petsc.name = (int(*) parameters)dlsym(petsc.library, #name);
  PETSC_FUNCTIONS(X)
#undef X
  petsc.ignore = dlsym(petsc.library, "PetscIgnoreErrorHandler");
  void **before = dlsym(petsc.library, "PetscLogPLB"), **after = dlsym(petsc.library, "PetscLogPLE");
  if (!petsc.PetscLogEventGetId || !petsc.KSPGetType || !petsc.KSPMonitorSet) return;
  if (petsc.PetscLogLegacyCallbacksBegin) { /* PETSc 3.20: beside -log_view */
    if (petsc.PetscLogLegacyCallbacksBegin(at_begin, at_end, NULL, NULL)) return;
  } else if (petsc.PetscLogSet && before && after) { /* one handler: that of -log_view is called as well */
    call_as_well(*before, *after);
    if (petsc.PetscLogSet(at_begin, at_end)) return;
  } else {
    return;
  }
  petsc_kind.connected = 1;
  if (petsc.PetscGetVersionNumber) petsc.PetscGetVersionNumber(&version[0], &version[1], &version[2], &version[3]);
  snprintf(petsc_kind.version, sizeof petsc_kind.version, "%d.%d.%d", (int)version[0], (int)version[1], (int)version[2]);
  if (petsc.PetscDataTypeFromString && petsc.PetscDataTypeGetSize) {
    if (!petsc.PetscDataTypeFromString("scalar", &type, &found) && found && type == PETSC_COMPLEX_TYPE)
      petsc_kind.scalar = "complex";
    if (!petsc.PetscDataTypeFromString("real", &type, &found) && found && !petsc.PetscDataTypeGetSize(type, &size))
      petsc_kind.real_bytes = (int)size;
  }
}

/* ---- events by name ---- */

static void find_names(void) {
  for (int i = 0; i < attached.watched_count; i++) {
    struct watched *w = &attached.watched[i];
    int id = -1;
    if (w->id >= 0 || petsc.PetscLogEventGetId(w->name, &id) || id < 0 || id >= EVENTS) continue;
    w->id = id;
    event_levels[id] = w->level;
    names_found++;
  }
}

static void forget_names(void) { names_applied = -1; }

static void apply_names(const char *type) {
  int which = -1;
  if (names_applied == names_found && !strcmp(applied_type, type)) return;
  for (int i = 0; i < attached.solver_count; i++)
    if (!strcmp(attached.solvers[i], type)) which = i;
  forget_events();
  for (int i = 0; i < attached.watched_count; i++) {
    const struct watched *w = &attached.watched[i];
    if (w->id < 0 || (w->solver >= 0 && w->solver != which)) continue;
    watch_event(w->id, w->begin_mark, w->end_mark, w->is_halo, w->is_solve, w->is_inner, w->activity);
  }
  copy_text(applied_type, sizeof applied_type, type);
  names_applied = names_found;
}
