#include "solves.h"

#include "classify.h"
#include "loops.h"
#include "petsc.h"
#include "petsc_events.h"
#include "rank_file.h"
#include "rawfile.h"
#include "recording.h"
#include "signals.h"

#include <ctype.h>
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
enum { MAX_INNER = 32, INNER_DEPTH = 32, MAX_NONLINEAR = 16 };

/* What is read of a solve at its begin. */
static struct {
  void *ksp, *skipped_ksp; /* the recorded solve; an outermost one that is not recorded */
  const void *frame;       /* of the stack, at its begin */
  int64_t number, snes_step, time_step, rows, nonzeros, restart, most;
  int comm_size, comm_rank, comm_leader, norm_type;
  char type[32], prefix[128], mat_type[64], pc_type[64];
  double rtol, atol, load;
  MPI_Comm communicator;
} solve;

static struct {
  void *ksp;
  int64_t count, ns;
  char prefix[128], type[32];
} inner_solves[MAX_INNER];
static struct {
  int place;
  const void *frame;
  int64_t begin_ns;
} inner_stack[INNER_DEPTH];
static int inner_count, inner_open;

static void *nonlinear[MAX_NONLINEAR], *time_stepper;
static int nonlinear_depth;

/* ---- a solve ---- */

static const char *text_of(int (*get)(void *, const char **), void *object) {
  const char *text = NULL;
  return get && object && !get(object, &text) && text ? text : "";
}

static double real_of(const void *value) {
  return petsc_kind.real_bytes == 4 ? (double)*(const float *)value : petsc_kind.real_bytes == 8 ? *(const double *)value : NAN;
}

/* The place of this rank in the communicator of the solve. */
static void read_communicator(void *ksp) {
  MPI_Group theirs, everybody;
  int zero = 0;
  solve.communicator = attached.own;
  solve.comm_size = attached.size;
  solve.comm_rank = attached.rank;
  solve.comm_leader = 0;
  if (!petsc.PetscObjectGetComm || petsc.PetscObjectGetComm(ksp, &solve.communicator)) return;
  PMPI_Comm_size(solve.communicator, &solve.comm_size);
  PMPI_Comm_rank(solve.communicator, &solve.comm_rank);
  PMPI_Comm_group(solve.communicator, &theirs);
  PMPI_Comm_group(attached.own, &everybody);
  PMPI_Group_translate_ranks(theirs, 1, &zero, everybody, &solve.comm_leader);
  PMPI_Group_free(&theirs);
  PMPI_Group_free(&everybody);
}

static void read_solve(void *ksp) {
  void *matrix = NULL, *used = NULL, *pc = NULL;
  double info[16] = {0};
  union {
    double d[2];
    float f[2];
  } rtol = {{0}}, atol = {{0}}, dtol = {{0}};
  int64_t columns = 0;
  solve.rows = solve.nonzeros = solve.snes_step = solve.time_step = -1;
  solve.restart = solve.most = 0;
  solve.norm_type = -1;
  quietly(1);
  read_communicator(ksp);
  if (nonlinear_depth && nonlinear_depth <= MAX_NONLINEAR && petsc.SNESGetIterationNumber) {
    solve.snes_step = 0;
    petsc.SNESGetIterationNumber(nonlinear[nonlinear_depth - 1], &solve.snes_step);
  }
  if (time_stepper && petsc.TSGetStepNumber) {
    solve.time_step = 0;
    petsc.TSGetStepNumber(time_stepper, &solve.time_step);
  }
  if (petsc.KSPGetOperators && !petsc.KSPGetOperators(ksp, &matrix, &used) && matrix) {
    copy_text(solve.mat_type, sizeof solve.mat_type, text_of(petsc.MatGetType, matrix));
    solve.rows = 0;
    if (!petsc.MatGetSize || petsc.MatGetSize(matrix, &solve.rows, &columns)) solve.rows = -1;
    if (petsc.MatGetInfo && !strstr(solve.mat_type, "shell") && !petsc.MatGetInfo(matrix, 1, info)) /* MAT_LOCAL */
      solve.nonzeros = (int64_t)info[2];
  }
  solve.pc_type[0] = 0;
  if (petsc.KSPGetPC && !petsc.KSPGetPC(ksp, &pc)) copy_text(solve.pc_type, sizeof solve.pc_type, text_of(petsc.PCGetType, pc));
  if (petsc.KSPGetTolerances) petsc.KSPGetTolerances(ksp, &rtol, &atol, &dtol, &solve.most);
  solve.rtol = real_of(&rtol);
  solve.atol = real_of(&atol);
  if (petsc.KSPGetNormType) petsc.KSPGetNormType(ksp, &solve.norm_type);
  if (petsc.KSPGMRESGetRestart && strstr(solve.type, "gmres")) petsc.KSPGMRESGetRestart(ksp, &solve.restart);
  petsc.KSPMonitorSet(ksp, petsc_kind.real_bytes == 4 ? (void *)note_monitor_single : (void *)note_monitor, NULL, NULL);
  quietly(0);
}

static int prefix_is_chosen(void) {
  size_t size = strlen(attached.only);
  if (!attached.has_only) return 1;
  return !strncmp(solve.prefix, attached.only, size) && (!solve.prefix[size] || !strcmp(solve.prefix + size, "_"));
}

/* So that each solve that is not recorded counts once, however many ranks take part. */
static void leave_out(void *ksp) {
  MPI_Comm theirs = MPI_COMM_NULL;
  int rank = 0;
  if (petsc.PetscObjectGetComm && !petsc.PetscObjectGetComm(ksp, &theirs)) PMPI_Comm_rank(theirs, &rank);
  attached.led += rank == 0;
}

static void begin_solve(void *ksp, const void *frame) {
  solve.frame = frame;
  copy_text(solve.type, sizeof solve.type, text_of(petsc.KSPGetType, ksp));
  copy_text(solve.prefix, sizeof solve.prefix, text_of(petsc.KSPGetOptionsPrefix, ksp));
  if (attached.ksp ? ksp != attached.ksp : !prefix_is_chosen()) { /* one inside it may be */
    attached.passed++;
    leave_out(ksp);
    return;
  }
  solve.number = attached.solves++;
  if (session_number() || loop_is_open() || attached.marking_call >= 0 || attached.taken >= attached.most || attached.chosen++ % attached.every) {
    leave_out(ksp);
    solve.skipped_ksp = ksp;
    return;
  }
  attached.taken++;
  catch_signals_of_petsc();
  find_names();
  apply_names(solve.type);
  read_solve(ksp);
  solve.load = load_of_host();
  inner_count = inner_open = 0;
  solver = ksp;
  if (attached.ksp) PMPI_Barrier(attached.own);
  attach_arm(solve.communicator, solve.comm_size);
  solve.ksp = ksp;
  enter_session(SOLVE);
}

/* PETSc gives them as on a command line: a word that begins with a dash and a letter is a name. */
static void write_options(void) {
  struct text text = {0};
  char *all = NULL, *rest, *next;
  if (attached.options_written++ || !petsc.PetscOptionsGetAll || petsc.PetscOptionsGetAll(NULL, &all) || !all) return;
  text_add(&text, "{");
  for (char *word = strtok_r(all, " ", &rest); word; word = next) {
    if (word[0] == '-') word++;
    text_add(&text, text.size > 1 ? "," : "");
    text_quoted(&text, word);
    struct text joined = {.apart = 1};
    while ((next = strtok_r(NULL, " ", &rest)) && !(next[0] == '-' && isalpha((unsigned char)next[1])))
      text_add(&joined, joined.size ? " %s" : "%s", next);
    text_add(&text, ":");
    text_quoted(&text, joined.at ? joined.at : "");
    free(joined.at);
  }
  text_frame(&text, RAW_OPTIONS);
  int (**release)(void *, int, const char *, const char *) = dlsym(petsc.library, "PetscTrFree");
  if (release && *release) (*release)(all, __LINE__, __func__, __FILE__);
}

/* PETSc's own name of why a solve ended: the numbers differ between its versions. */
static const char *reason_name(int reason) {
  const char *const **names = reason ? dlsym(petsc.library, "KSPConvergedReasons") : NULL;
  return names && *names ? (*names)[reason] : "";
}

static void write_solve(int complete, struct extent to) {
  struct text text = {0};
  int reason = 0;
  int64_t iterations = state->iteration;
  if (complete) {
    petsc.KSPGetConvergedReason(solve.ksp, &reason);
    iterations = 0;
    petsc.KSPGetIterationNumber(solve.ksp, &iterations);
    write_options();
  }
  begin_section(&text, "solve", solve.load);
  text_string(&text, "type", solve.type);
  text_string(&text, "prefix", solve.prefix);
  text_number(&text, "solve", solve.number);
  text_number(&text, "snes_step", solve.snes_step);
  text_number(&text, "time_step", solve.time_step);
  text_number(&text, "comm_size", solve.comm_size);
  text_number(&text, "comm_rank", solve.comm_rank);
  text_number(&text, "comm_leader", solve.comm_leader);
  text_number(&text, "rows", solve.rows);
  text_number(&text, "nonzeros", solve.nonzeros);
  text_string(&text, "mat_type", solve.mat_type);
  text_string(&text, "pc_type", solve.pc_type);
  text_number(&text, "restart", solve.restart);
  text_real(&text, "rtol", solve.rtol);
  text_real(&text, "atol", solve.atol);
  text_number(&text, "most", solve.most);
  text_number(&text, "norm_type", solve.norm_type);
  text_string(&text, "reason", reason_name(reason));
  text_number(&text, "iterations", iterations);
  text_add(&text, ",\"inner\":[");
  for (int i = 0; i < inner_count; i++) {
    text_add(&text, i ? ",{" : "{");
    text_string(&text, "prefix", inner_solves[i].prefix);
    text_string(&text, "type", inner_solves[i].type);
    text_number(&text, "count", inner_solves[i].count);
    text_number(&text, "ns", inner_solves[i].ns);
    text_add(&text, "}");
  }
  text_add(&text, "]");
  end_section(&text, solve.communicator, 0, to, complete);
  solve.ksp = NULL;
  leave_session();
}

static void end_solve(int complete) {
  sigset_t before;
  if (!begin_writing(&before)) return;
  hindmost_disarm();
  write_solve(complete, whole_extent(state->end_ns));
  end_writing(&before);
}

/* The program goes on after an error of PETSc inside a solve. */
static void end_solve_unfinished(void) {
  if (solve.ksp) end_solve(0);
}

static void leave_solve(int keeps) {
  if (keeps) end_solve_unfinished();
  solve.ksp = solve.skipped_ksp = NULL;
}

/* ---- solves inside a solve ---- */

static void inner_begin(void *ksp, const void *frame) {
  int place = 0;
  while (inner_open && inner_open <= INNER_DEPTH && inner_stack[inner_open - 1].frame <= frame) inner_open--;
  while (place < inner_count && inner_solves[place].ksp != ksp) place++;
  if (place == inner_count) {
    const char *type = text_of(petsc.KSPGetType, ksp), *prefix = text_of(petsc.KSPGetOptionsPrefix, ksp);
    for (place = 0; place < inner_count; place++)
      if (!strcmp(inner_solves[place].type, type) && !strcmp(inner_solves[place].prefix, prefix)) break;
    if (place == inner_count && place < MAX_INNER) {
      inner_count++;
      inner_solves[place].ksp = ksp;
      inner_solves[place].count = inner_solves[place].ns = 0;
      copy_text(inner_solves[place].type, sizeof inner_solves[place].type, type);
      copy_text(inner_solves[place].prefix, sizeof inner_solves[place].prefix, prefix);
    }
  }
  if (inner_open < INNER_DEPTH) {
    inner_stack[inner_open].place = place;
    inner_stack[inner_open].frame = frame;
    inner_stack[inner_open].begin_ns = now();
  }
  inner_open++;
}

static void inner_end(void) {
  if (!inner_open || --inner_open >= INNER_DEPTH) return;
  int place = inner_stack[inner_open].place;
  if (place >= MAX_INNER) return;
  inner_solves[place].count++;
  inner_solves[place].ns += now() - inner_stack[inner_open].begin_ns;
}

/* ---- callbacks ---- */

/* `frame`: of the stack, which grows downwards. A solve that ended with an error of PETSc has no end event;
 * what begins as high on the stack as it did is not inside it. */
static void enter_level(int level, void *object, const void *frame) {
  if (level == SNES_LEVEL) {
    for (int i = 0; i < nonlinear_depth && i < MAX_NONLINEAR; i++)
      if (nonlinear[i] == object) nonlinear_depth = i; /* its last solve ended with an error */
    if (nonlinear_depth < MAX_NONLINEAR) nonlinear[nonlinear_depth] = object;
    nonlinear_depth++;
  } else if (level == TS_LEVEL) {
    time_stepper = object;
  } else if (level == SOLVE_LEVEL) {
    int broken = solve.frame <= frame;
    if (broken || object == solve.ksp) end_solve_unfinished();
    if (broken || object == solve.skipped_ksp) solve.skipped_ksp = NULL;
    if (solve.ksp)
      inner_begin(object, frame);
    else if (!solve.skipped_ksp)
      begin_solve(object, frame);
  }
}

static int attached_event_begin(int event, int unused, void *a, void *b, void *c, void *d) {
  if ((unsigned)event < EVENTS && attached.on && session_now() != ENDED && (!session_number() || recording())) {
    if (!event_known[event] && !session_number()) {
      event_known[event] = 1;
      find_names();
    }
    if (event_levels[event]) enter_level(event_levels[event], a, __builtin_frame_address(0));
  }
  return note_event_begin(event, unused, a, b, c, d);
}

static int attached_event_end(int event, int unused, void *a, void *b, void *c, void *d) {
  int error = note_event_end(event, unused, a, b, c, d);
  if ((unsigned)event >= EVENTS || !event_levels[event] || !attached.on || session_now() == ENDED || (session_number() && !recording()))
    return error;
  switch (event_levels[event]) {
  case SNES_LEVEL:
    if (nonlinear_depth) nonlinear_depth--;
    break;
  case TS_LEVEL:
    time_stepper = NULL;
    break;
  case SOLVE_LEVEL:
    if (a == solve.ksp)
      end_solve(1);
    else if (a == solve.skipped_ksp)
      solve.skipped_ksp = NULL;
    else if (solve.ksp)
      inner_end();
  }
  return error;
}

int hindmost_connect_petsc(void) {
  connect_petsc(attached_event_begin, attached_event_end);
  return petsc_kind.connected;
}

/* The program begins to use PETSc. */
static void attach_petsc(void) {
  sigset_t before;
  if (!attached.on || !attached.begun || petsc_kind.connected || !hindmost_connect_petsc()) return;
  stop_finding();
  if (!begin_writing(&before)) return;
  write_program();
  end_writing(&before);
}

/* ---- calls of the program ---- */

/* A static libpetsc has these as well: its own hold then, and its solves are not seen. */
#ifdef HINDMOST_LINKED
#define OF_PETSC __attribute__((weak))
#else
#define OF_PETSC
#endif

OF_PETSC int PetscInitialize(int *argc, char ***argv, const char file[], const char help[]) {
  static int (*real)(int *, char ***, const char *, const char *);
  if (!real) real = petsc_function("PetscInitialize");
  if (!real) return 56; /* PETSC_ERR_SUP; nobody calls this without a libpetsc */
  int error = real(argc, argv, file, help);
  if (!error) attach_petsc();
  return error;
}

/* Forms of which some do not call PetscInitialize where another library could see it. Their arguments
 * are addresses and lengths: eight words are passed on whatever they are. */
#define STARTS_PETSC(name)                                                                    \
  OF_PETSC int name(void *a, void *b, void *c, void *d, void *e, void *f, void *g, void *h) { \
    static int (*real)(void *, void *, void *, void *, void *, void *, void *, void *);       \
    if (!real) real = petsc_function(#name);                                                  \
    if (!real) return 56;                                                                     \
    int error = real(a, b, c, d, e, f, g, h);                                                 \
    attach_petsc();                                                                           \
    return error;                                                                             \
  }
STARTS_PETSC(PetscInitializeNoArguments)
STARTS_PETSC(PetscInitializeNoPointers)
STARTS_PETSC(petscinitializef_)
STARTS_PETSC(petscinitializenoarguments_)
STARTS_PETSC(petscinitialize_)

/* What monitors do is not part of the method. */
OF_PETSC int KSPMonitor(void *ksp, int64_t iteration, double norm) {
  static int (*real)(void *, int64_t, double);
  if (!real) real = petsc_function("KSPMonitor");
  if (!real) return 56;
  if (!attached.on) return real(ksp, iteration, norm);
  enter_monitors(ksp);
  int error = real(ksp, iteration, norm);
  leave_monitors(ksp);
  return error;
}
