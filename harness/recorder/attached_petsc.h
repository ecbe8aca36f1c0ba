/* The PETSc of an attached program: its functions, and its events by name. Included once, by attached.h.
 *
 * No header of PETSc is needed: its functions are looked up in the libpetsc of the process, and its
 * integers, of 32 or 64 bits, are read into zeroed 64 bits (little endian). */

enum { PETSC_COMPLEX_TYPE = 2 };

#define PETSC_FUNCTIONS(X)                                                                           \
  X(PetscLogEventGetId, (const char *, int *)) X(PetscLogSet, (void *, void *))                      \
  X(PetscLogLegacyCallbacksBegin, (void *, void *, void *, void *))                                  \
  X(PetscGetVersionNumber, (int64_t *, int64_t *, int64_t *, int64_t *))                             \
  X(PetscDataTypeFromString, (const char *, int *, int *)) X(PetscDataTypeGetSize, (int, size_t *))  \
  X(PetscOptionsGetAll, (void *, char **)) X(PetscObjectGetComm, (void *, MPI_Comm *))               \
  X(PetscPushErrorHandler, (void *, void *)) X(PetscPopErrorHandler, (void))                         \
  X(KSPGetType, (void *, const char **)) X(KSPGetOptionsPrefix, (void *, const char **))             \
  X(KSPGetOperators, (void *, void **, void **)) X(KSPGetPC, (void *, void **))                      \
  X(KSPGetTolerances, (void *, void *, void *, void *, int64_t *))                                   \
  X(KSPGetConvergedReason, (void *, int *)) X(KSPGetIterationNumber, (void *, int64_t *))            \
  X(KSPMonitorSet, (void *, void *, void *, void *)) X(KSPGMRESGetRestart, (void *, int64_t *))      \
  X(KSPGetNormType, (void *, int *)) X(PCGetType, (void *, const char **))                           \
  X(MatGetType, (void *, const char **)) X(MatGetSize, (void *, int64_t *, int64_t *))               \
  X(MatGetInfo, (void *, int, double *)) X(SNESGetIterationNumber, (void *, int64_t *))              \
  X(TSGetStepNumber, (void *, int64_t *))

static struct {
  int connected;
  void *library, *ignore;
#define X(name, parameters) int(*name) parameters;
  PETSC_FUNCTIONS(X)
#undef X
} petsc;

static uint8_t event_levels[EVENTS], event_known[EVENTS];
static int64_t names_found, names_applied = -1, forgotten_then;
static char applied_type[32];

/* ---- PETSc's functions ---- */

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

/* The function that a wrapper stands before. */
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

static void stop_finding(void);
static int attached_event_begin(int event, int unused, void *a, void *b, void *c, void *d);
static int attached_event_end(int event, int unused, void *a, void *b, void *c, void *d);

/* Lets PETSc call the recorder at its events; after PetscInitialize. */
static void connect_petsc(void) {
  int64_t version[4] = {0};
  int type = 0, found = 0;
  size_t size = 0;
  if (!attached.on || !attached.begun || petsc.connected) return;
  if (!petsc.library) find_petsc();
  if (!petsc.library) return;
#define X(name, parameters) petsc.name = (int(*) parameters)dlsym(petsc.library, #name);
  PETSC_FUNCTIONS(X)
#undef X
  petsc.ignore = dlsym(petsc.library, "PetscIgnoreErrorHandler");
  void **before = dlsym(petsc.library, "PetscLogPLB"), **after = dlsym(petsc.library, "PetscLogPLE");
  if (!petsc.PetscLogEventGetId || !petsc.KSPGetType || !petsc.KSPMonitorSet) return;
  if (petsc.PetscLogLegacyCallbacksBegin) { /* PETSc 3.20: beside -log_view */
    if (petsc.PetscLogLegacyCallbacksBegin(attached_event_begin, attached_event_end, NULL, NULL)) return;
  } else if (petsc.PetscLogSet && before && after) { /* one handler: that of -log_view is called as well */
    hindmost_call_as_well(*before, *after);
    if (petsc.PetscLogSet(attached_event_begin, attached_event_end)) return;
  } else {
    return;
  }
  petsc.connected = 1;
  stop_finding();
  if (petsc.PetscGetVersionNumber) petsc.PetscGetVersionNumber(&version[0], &version[1], &version[2], &version[3]);
  snprintf(attached.petsc_version, sizeof attached.petsc_version, "%d.%d.%d", (int)version[0], (int)version[1], (int)version[2]);
  if (petsc.PetscDataTypeFromString && petsc.PetscDataTypeGetSize) {
    if (!petsc.PetscDataTypeFromString("scalar", &type, &found) && found && type == PETSC_COMPLEX_TYPE)
      attached.scalar = "complex";
    if (!petsc.PetscDataTypeFromString("real", &type, &found) && found && !petsc.PetscDataTypeGetSize(type, &size))
      attached.real_bytes = (int)size;
  }
  sigset_t mask;
  if (!begin_writing(&mask)) return;
  write_program();
  end_writing(&mask);
}

/* Whether PETSc calls the recorder already: it must not do so twice. */
int hindmost_is_connected(void) { return petsc.connected; }

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

/* Lets the recorder keep the marks of a type of KSP. */
static void apply_names(const char *type) {
  int which = -1;
  if (names_applied == names_found && forgotten_then == forgotten && !strcmp(applied_type, type)) return;
  for (int i = 0; i < attached.solver_count; i++)
    if (!strcmp(attached.solvers[i], type)) which = i;
  hindmost_forget_events();
  forgotten_then = forgotten;
  hindmost_watch_monitor('I');
  for (int i = 0; i < attached.watched_count; i++) {
    const struct watched *w = &attached.watched[i];
    if (w->id < 0 || (w->solver >= 0 && w->solver != which)) continue;
    hindmost_watch(w->id, w->begin_mark, w->end_mark, w->is_halo, w->is_solve, w->is_inner, 0);
  }
  copy_text(applied_type, sizeof applied_type, type);
  names_applied = names_found;
}
