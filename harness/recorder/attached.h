/* The recorder preloaded into a program that knows nothing of hindmost: `hindmost attach`. Included
 * once, by recorder.c. Without HINDMOST_ATTACH in the environment all of this does nothing.
 *
 * The variable names a file of settings, one "key value" a line, written by harness/attach/settings.py.
 * Each rank records into memory and writes what it recorded to a raw file of its own when a solve or a
 * loop has ended, outside the recorded time. Nothing is printed: what the waiting process of hindmost
 * has to know is appended to the file "status", a line of fields separated by tabs. */
#include <ctype.h>
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <ucontext.h>

#include "raw_file.h"

#define RECORDS_TOUCHED (1 << 15)
#define CLOCK_TRIPS 20
#define CANNOT_RECORD 4 /* exit status: the environment lacks something */

/* A PETSc event by name. `solver`: the place of the one KSP type for which it matters, -1 for all. */
struct watched {
  char name[40];
  int8_t solver, begin_mark, end_mark, is_halo, is_inner, is_solve;
  uint8_t level; /* enum level */
  int id;        /* -1: not registered so far */
};
enum { MOST_WATCHED = 256, MOST_SOLVERS = 64 };
enum level { NO_LEVEL, SOLVE_LEVEL, SNES_LEVEL, TS_LEVEL }; /* what a PETSc event solves, if anything */

static struct {
  int on, begun, ended, rank, size, has_only, chooses_solves, unless_marked, tells; /* unless_marked: of FIND_CALL */
  pid_t pid;
  MPI_Comm own;
  int64_t every, most, memory_bytes, capacity, most_ns; /* most_ns: 0: no limit */
  int64_t budget; /* records of a loop that are kept; 0: all */
  int64_t finalizing; /* when MPI_Finalize began; 0: it did not */
  int64_t calls, solves, passed, lost_marks; /* passed: solves of other prefixes */
  int64_t led; /* solves that are not recorded of which this is the first rank */
  double load;
  int64_t load_ns;
  char out[PATH_MAX], folder[PATH_MAX], status[PATH_MAX], board[PATH_MAX], only[256], petsc_version[64];
  const char *scalar;
  char *pages;   /* the folder of pairs.h; NULL: there is none */
  char *origins; /* where the program runs, as JSON */
  char *injected; /* the law of injected noise */
  struct record *records;
  uint32_t *contexts; /* of each record; NULL: they are not noted */
  int real_bytes;
  int watched_count, solver_count;
  struct watched watched[MOST_WATCHED];
  char solvers[MOST_SOLVERS][32];
} attached = {.every = 1, .most = INT64_MAX, .memory_bytes = 256 << 20, .real_bytes = 8, .scalar = "real"};

static void copy_text(char *to, size_t room, const char *from) {
  size_t size = strnlen(from, room - 1);
  memcpy(to, from, size);
  to[size] = 0;
}

/* ---- what the waiting process is told ---- */

__attribute__((format(printf, 1, 2))) static void tell(const char *format, ...) {
  char line[2 * PATH_MAX];
  va_list words;
  if (!*attached.status || !attached.tells) return;
  va_start(words, format);
  int size = vsnprintf(line, sizeof line - 1, format, words);
  va_end(words);
  if (size < 0 || size >= (int)sizeof line - 1) return;
  for (int i = 0; i < size; i++)
    if (line[i] == '\n') line[i] = ' ';
  line[size] = '\n';
  int fd = open(attached.status, O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd < 0) return;
  while (write(fd, line, (size_t)size + 1) < 0 && errno == EINTR);
  close(fd);
}

/* The rank that a launcher gave this process; 0 if there was none. */
static int assigned_rank(void) {
  static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *rank = getenv(names[i]);
    if (rank) return atoi(rank);
  }
  return 0;
}

/* The first rank alone tells what goes well: thousands would write into one file. */
static void find_status_file(void) {
  const char *status = getenv("HINDMOST_STATUS");
  if (status) copy_text(attached.status, sizeof attached.status, status);
  attached.tells = !assigned_rank();
}

static const char *own_name(void);

#include "all_ranks.h"

/* ---- settings ---- */

static struct watched *watch_name(const char *name, int solver) {
  if (attached.watched_count == MOST_WATCHED) return NULL;
  struct watched *w = &attached.watched[attached.watched_count++];
  *w = (struct watched){.solver = (int8_t)solver, .id = -1};
  copy_text(w->name, sizeof w->name, name);
  return w;
}

static int call_named(const char *name) {
  for (int i = 0; i < CALL_COUNT; i++)
    if (!strcmp(name, hindmost_call_names[i])) return i;
  return -1;
}

/* Names of events may end in blanks, so a value goes to the end of its line. */
static void read_setting(const char *key, char *value) {
  struct watched *w;
  if (!strcmp(key, "out")) copy_text(attached.out, sizeof attached.out, value);
  else if (!strcmp(key, "pages")) attached.pages = strdup(value);
  else if (!strcmp(key, "board")) copy_text(attached.board, sizeof attached.board, value);
  else if (!strcmp(key, "only")) copy_text(attached.only, sizeof attached.only, value), attached.has_only = 1;
  else if (!strcmp(key, "every")) attached.every = strtoll(value, NULL, 10);
  else if (!strcmp(key, "most")) attached.most = strtoll(value, NULL, 10);
  else if (!strcmp(key, "most_ns")) attached.most_ns = strtoll(value, NULL, 10);
  else if (!strcmp(key, "memory")) attached.memory_bytes = strtoll(value, NULL, 10);
  else if (!strcmp(key, "budget")) attached.budget = strtoll(value, NULL, 10) / (int64_t)(sizeof(struct record) + sizeof(uint32_t));
  else if (!strcmp(key, "iterate")) marking_call = strcmp(value, "auto") ? call_named(value) : FIND_CALL;
  else if (!strcmp(key, "unless_marked")) attached.unless_marked = 1, marking_call = FIND_CALL;
  else if (!strcmp(key, "nth")) marking_nth = strtoll(value, NULL, 10);
  else if (!strcmp(key, "inject")) read_injection(value);
  else if (!strcmp(key, "inject_ranks")) read_injected_ranks(value);
  else if (!strcmp(key, "detour")) read_injected_detour(value);
  else if (!strcmp(key, "injected")) attached.injected = strdup(value);
  else if (!strcmp(key, "origins")) attached.origins = strdup(value);
  else if (!strcmp(key, "halo") && (w = watch_name(value, -1))) w->is_halo = 1;
  else if (!strcmp(key, "inner") && (w = watch_name(value, -1))) w->is_inner = 1;
  else if (!strcmp(key, "solve") && (w = watch_name(value, -1))) w->is_solve = 1, w->level = SOLVE_LEVEL;
  else if (!strcmp(key, "snes") && (w = watch_name(value, -1))) w->level = SNES_LEVEL;
  else if (!strcmp(key, "ts") && (w = watch_name(value, -1))) w->level = TS_LEVEL;
  else if (!strcmp(key, "solver") && attached.solver_count < MOST_SOLVERS)
    copy_text(attached.solvers[attached.solver_count++], sizeof attached.solvers[0], value);
  else if ((!strcmp(key, "begin") || !strcmp(key, "end")) && attached.solver_count && value[0] && value[1] == ' ' &&
           (w = watch_name(value + 2, attached.solver_count - 1)))
    *(*key == 'b' ? &w->begin_mark : &w->end_mark) = value[0];
}

static int read_settings(const char *path) {
  char *line = NULL;
  size_t room = 0;
  FILE *file = fopen(path, "re");
  if (!file) return 0;
  copy_text(attached.board, sizeof attached.board, path);
  while (getline(&line, &room, file) > 0) {
    line[strcspn(line, "\n")] = 0;
    char *blank = strchr(line, ' ');
    if (!blank) continue;
    *blank = 0;
    read_setting(line, blank + 1);
  }
  free(line);
  fclose(file);
  if (attached.every < 1) attached.every = 1;
  attached.chooses_solves = attached.has_only || attached.every > 1 || attached.most < INT64_MAX;
  if (marking_nth < 1) marking_nth = 1;
  return *attached.out != 0;
}

/* ---- one MPI in the process ---- */

enum { MOST_LIBRARIES = 16 };
struct libraries {
  const char *begin; /* of the file's name */
  int count;
  char path[MOST_LIBRARIES][PATH_MAX];
};

static int note_library(struct dl_phdr_info *info, size_t size, void *found) {
  (void)size;
  struct libraries *libraries = found;
  const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
  if (slash && !strncmp(slash + 1, libraries->begin, strlen(libraries->begin)) && libraries->count < MOST_LIBRARIES)
    copy_text(libraries->path[libraries->count++], PATH_MAX, info->dlpi_name);
  return 0;
}

/* The libraries of the process whose names begin so. */
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

/* Ends the process before it has begun if it brings another MPI than that of the recorder. */
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

/* After MPI_Init: nor may it use one for which the recorder that is linked into it was not compiled. */
static void refuse_linked_mpi(void) {
  char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int size = 0;
  PMPI_Get_library_version(library, &size);
  if (!strncmp(library, "Open MPI", 8) == !strcmp(COMPILED_FOR, "Open MPI")) return;
  library[strcspn(library, "\t\n,:")] = 0;
  refuse_mpi(COMPILED_FOR, library);
}

/* ---- begin and end of the process ---- */

static void find_bindings(void), tell_of_tool_behind(void);

/* Programs that this one starts later are not recorded. */
static void leave_environment(void) {
  Dl_info mine;
  const char *preloaded = getenv("LD_PRELOAD");
  unsetenv("HINDMOST_ATTACH");
  unsetenv("HINDMOST_STATUS");
  if (!preloaded || !dladdr((void *)leave_environment, &mine) || !mine.dli_fname) return;
  const char *at = strstr(preloaded, mine.dli_fname);
  if (!at) return;
  const char *rest = at + strlen(mine.dli_fname);
  while (*rest == ':' || *rest == ' ') rest++;
  size_t before = (size_t)(at - preloaded), after = strlen(rest);
  char *left = malloc(before + after + 1);
  if (!left) return;
  memcpy(left, preloaded, before);
  memcpy(left + before, rest, after + 1);
  if (*left)
    setenv("LD_PRELOAD", left, 1);
  else
    unsetenv("LD_PRELOAD");
  free(left);
}

/* A forked child is not recorded, and leaves its parent's file alone. */
static void leave_child(void) {
  if (!attached.on) return;
  attached.on = 0;
  stretch = 0;
  if (raw.fd >= 0) close(raw.fd);
  raw.fd = -1;
}

#ifdef HINDMOST_LINKED
const int hindmost_linked = 1; /* a recorder that is preloaded as well leaves the program to this one */
static int other_records(void) { return 0; }
#else
static int other_records(void) { return dlsym(RTLD_DEFAULT, "hindmost_linked") != NULL; }
#endif

__attribute__((constructor)) static void attach_to_process(void) {
  const char *settings = secure_getenv("HINDMOST_ATTACH");
  if (!settings || !read_settings(settings)) return;
  if (other_records()) {
    find_bindings();
    return;
  }
  find_status_file();
  attached.on = 1;
  attached.pid = getpid();
  pthread_atfork(NULL, NULL, leave_child);
  char image[16] = "";
  prctl(PR_GET_NAME, image);
  tell("loaded\t%d\t%s\t%s", (int)attached.pid, own_name(), image);
  refuse_another_mpi();
  find_bindings();
}

#include "attached_rank.h"
#include "attached_petsc.h"
#include "attached_solves.h"
#include "attached_loops.h"
#include "pairs.h"

static void add_calls(struct text *text, const char *key, const int64_t counts[]) {
  text_key(text, key);
  text_add(text, "{");
  for (int i = 0; i < CALL_COUNT; i++)
    if (counts[i]) text_number(text, hindmost_call_names[i], counts[i]);
  text_add(text, "}");
}

/* How the program ended, as far as that is known. */
struct ending {
  int finalized, signal, other_thread; /* signal: 0 if none; other_thread: it came in another than the recorded one */
  int64_t aborted, since_ns; /* aborted: the code of MPI_Abort, -1 if it was not called; since_ns: when the call
                                began that the program is in, or the last one ended */
};

static int exit_status = -1; /* with which the program called exit; -1: it did not */

/* The last frame; it is tried also where one before it could not be written. */
static void write_end(const struct ending *how) {
  struct text text = {0};
  int lost = raw.failure;
  write_contexts();
  if (tables) raw_frame(RAW_POLLS, tables->polls, (chain_count + 1) * sizeof *tables->polls);
  text_add(&text, "{\"finalized\":%s", how->finalized ? "true" : "false");
  text_number(&text, "clock_ns", instant());
  text_number(&text, "mpi_calls", attached.calls);
  text_number(&text, "solves_seen", attached.solves);
  text_number(&text, "solves_of_other_prefixes", attached.passed);
  text_number(&text, "solves_not_recorded_led", attached.led);
  text_number(&text, "marks_in_solves", attached.lost_marks);
  add_calls(&text, "calls", calls_passed);
  add_calls(&text, "calls_of_some", calls_of_some);
  const char *in_call = attached.finalizing ? "MPI_Finalize" : open_call >= 0 ? hindmost_call_names[open_call] : NULL;
  if (in_call) text_string(&text, "in_call", in_call);
  if (in_call && !attached.finalizing) text_number(&text, "partner", open_partner);
  if (last_call >= 0) text_string(&text, "last_call", hindmost_call_names[last_call]);
  if (last_call >= 0 || in_call) text_number(&text, "since_ns", how->since_ns);
  text_number(&text, "last_context", context_now);
  text_number(&text, "signal", how->signal);
  text_add(&text, ",\"other_thread\":%s", how->other_thread ? "true" : "false");
  text_number(&text, "exit_status", exit_status);
  text_number(&text, "failure", lost);
  if (how->aborted >= 0)
    text_number(&text, "aborted", how->aborted);
  else
    text_add(&text, ",\"aborted\":null");
  raw.failure = 0;
  text_frame(&text, RAW_END);
  if (lost) raw.failure = lost;
  if (how->finalized && raw.fd >= 0) fsync(raw.fd); /* else somebody waits for the end, and a busy disk takes a minute */
  raw_close();
  tell("%s\t%d\t%s\t%d", how->finalized ? "finished" : "ended", attached.rank, attached.folder, raw.failure);
}

/* Writes what is open, between begin_writing and end_writing. Another thread may still be in a call that is
 * recorded: what it has counted is whole, and it counts no other call. */
static void write_open_sections(int complete) {
  attached.ended = 1;
  state->armed = stretch = 0;
  struct extent to = whole_extent(0);
  to.end_ns = instant();
  if (solve.ksp || loop.open) disarm(to.end_ns);
  if (solve.ksp) write_solve(0, to);
  if (loop.open) write_loop(complete, to);
  count_calls();
}

/* Calls a function, on a stack of its own if this thread is on that of a signal's handler, which may be small. Only
 * between begin_writing and end_writing. */
static void with_stack(void (*function)(void)) {
#ifdef __GLIBC__
  static char memory[1 << 18] __attribute__((aligned(64)));
  static ucontext_t here, there;
  stack_t stack;
  if (!sigaltstack(NULL, &stack) && stack.ss_flags & SS_ONSTACK && !getcontext(&there)) {
    there.uc_stack.ss_sp = memory;
    there.uc_stack.ss_size = sizeof memory;
    there.uc_link = &here;
    makecontext(&there, function, 0);
    if (!swapcontext(&here, &there)) return;
  }
#endif
  function();
}

static struct ending break_now;

static void write_break(void) {
  int in_other = syscall(SYS_gettid) != recorded_thread;
  text_uses_spare = text_spare != NULL; /* the program's own handler may have come here, too */
  may_ask_mpi = !in_other && open_call < 0;
  if (!attached.ended) write_open_sections(!break_now.signal && break_now.aborted < 0 && !exit_status);
  break_now.other_thread = break_now.signal && in_other;
  write_end(&break_now);
}

/* Keeps what can be kept when the program ends otherwise than by MPI_Finalize, which may have begun. A program
 * that gave 0 to exit had left its loop. */
static void attach_break(int64_t aborted, int signal) {
  sigset_t before;
  if (!attached.on || !attached.begun || getpid() != attached.pid || raw.closed) return;
  int64_t since_ns = attached.finalizing ? attached.finalizing : read_ns;
  if (!begin_writing(&before)) return;
  break_now = (struct ending){.signal = signal, .aborted = aborted, .since_ns = since_ns};
  with_stack(write_break);
  end_writing(&before);
}

/* For one who asks why nothing was recorded: the library whose MPI was begun past the recorder, if one was. */
static void tell_of_exit(void) {
  struct libraries *mpis = libraries_named("libmpi");
  const char *begun = "";
  for (int i = 0; i < mpis->count && !*begun; i++) {
    void *handle = dlopen(mpis->path[i], RTLD_LAZY | RTLD_NOLOAD);
    int (*initialized)(int *) = handle ? (int (*)(int *))dlsym(handle, "PMPI_Initialized") : NULL;
    int is_begun = 0;
    if (initialized && !initialized(&is_begun) && is_begun) begun = mpis->path[i];
    if (handle) dlclose(handle);
  }
  tell("exit\t%d\t%s", (int)attached.pid, begun);
}

__attribute__((destructor)) static void leave_process(void) {
  attach_break(-1, 0);
  if (attached.on && !attached.begun && getpid() == attached.pid) tell_of_exit();
}

#ifdef __GLIBC__
static void note_status(int status, void *unused) {
  (void)unused;
  exit_status = status & 0xff; /* as the system has it: -1 is 255 */
}

static void note_exits(void) {
  on_exit(note_status, NULL);
  at_quick_exit(leave_process);
}
#else
static void note_exits(void) {}
#endif

#ifndef HINDMOST_LINKED
/* Ends of the process that call no destructor. */
__attribute__((noreturn)) static void end_here(int status) {
  if (getpid() == attached.pid) exit_status = status & 0xff; /* a child of vfork has its parent's memory */
  attach_break(-1, 0);
  for (;;) syscall(SYS_exit_group, status);
}

__attribute__((noreturn)) void _exit(int status) { end_here(status); }
__attribute__((noreturn)) void _Exit(int status) { end_here(status); }
#endif

/* What a signal ends is kept as well. Only signals whose action is the default, or MPI's own, which ends
 * the program after a report. That action is then taken, so that the program ends as without hindmost.
 * No memory is asked for: the program may be doing that. Where other threads write, begin_writing waits. */
static const int ending_signals[] = {SIGTERM, SIGINT, SIGHUP,  SIGXCPU, SIGUSR1, SIGUSR2,
                                     SIGSEGV, SIGBUS, SIGFPE, SIGILL,  SIGABRT};
enum { ENDING_SIGNALS = sizeof ending_signals / sizeof *ending_signals };
static struct sigaction actions_before[ENDING_SIGNALS];

static void end_by_signal(int number, siginfo_t *info, void *unused) {
  (void)unused;
  attach_break(-1, number);
  for (int i = 0; i < ENDING_SIGNALS; i++)
    if (ending_signals[i] == number) sigaction(number, &actions_before[i], NULL);
  int is_fault = number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL;
  if (!is_fault || info->si_code <= 0) raise(number); /* else the instruction fails once more */
}

static int is_of_mpi(const struct sigaction *action) {
  Dl_info place;
  if (!dladdr(action->sa_flags & SA_SIGINFO ? (void *)action->sa_sigaction : (void *)action->sa_handler, &place))
    return 0;
  const char *slash = place.dli_fname ? strrchr(place.dli_fname, '/') : NULL;
  return slash && (!strncmp(slash, "/libmpi", 7) || !strncmp(slash, "/libopen-", 9));
}

static void catch_signals(void) {
  struct sigaction ours = {.sa_sigaction = end_by_signal, .sa_flags = SA_SIGINFO};
  sigfillset(&ours.sa_mask);
  for (int i = 0; i < ENDING_SIGNALS; i++) {
    struct sigaction *before = &actions_before[i];
    if (sigaction(ending_signals[i], NULL, before)) continue;
    int is_plain = !(before->sa_flags & SA_SIGINFO);
    if (is_plain && before->sa_handler == SIG_IGN) continue;
    if ((is_plain && before->sa_handler == SIG_DFL) || is_of_mpi(before)) sigaction(ending_signals[i], &ours, NULL);
  }
}

/* Who takes a signal. */
static int handler_of(int number) {
  struct sigaction action;
  if (sigaction(number, NULL, &action)) return NO_HANDLER;
  int is_plain = !(action.sa_flags & SA_SIGINFO);
  if (is_plain && action.sa_handler == SIG_DFL) return NO_HANDLER;
  if (is_plain && action.sa_handler == SIG_IGN) return IGNORED;
  return action.sa_sigaction == end_by_signal || is_of_mpi(&action) ? OF_RECORDER : OF_PROGRAM;
}

/* ---- MPI calls that begin and end a program ---- */

/* Where ranks meet nothing is locked: a signal may come there as anywhere. */
static void attach_end(void) {
  sigset_t before;
  if (!attached.on || !attached.begun || attached.ended || getpid() != attached.pid) return;
  attached.finalizing = instant();
  if (!begin_writing(&before)) return;
  write_open_sections(1);
  end_writing(&before);
  write_clock();
  if (begin_writing(&before)) {
    write_end(&(struct ending){.finalized = 1, .aborted = -1});
    end_writing(&before);
  }
  PMPI_Barrier(attached.own);
  PMPI_Comm_free(&attached.own);
}

static void tell_of_init(void) {
  if (attached.on && !attached.begun && getpid() == attached.pid) tell("init\t%d", (int)attached.pid);
}

int MPI_Init(int *argc, char ***argv) {
  tell_of_init();
  int error = PMPI_Init(argc, argv);
  if (!error) attach_begin();
  return error;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
  tell_of_init();
  int error = PMPI_Init_thread(argc, argv, required, provided);
  if (!error) attach_begin();
  return error;
}

#if MPI_VERSION >= 4
int MPI_Session_init(MPI_Info info, MPI_Errhandler handler, MPI_Session *session) {
  if (attached.on && !attached.begun && getpid() == attached.pid) tell("session\t%d", (int)attached.pid);
  return PMPI_Session_init(info, handler, session);
}
#endif

int MPI_Finalize(void) {
  attach_end();
  return PMPI_Finalize();
}

int MPI_Abort(MPI_Comm communicator, int code) {
  attach_break(code < 0 ? 1 : code, 0);
  return PMPI_Abort(communicator, code);
}

static int note_pcontrol(int level) {
  if (level == 1) hindmost_iteration();
  if (level == 0) hindmost_loop_end();
#ifdef HINDMOST_LINKED
  return PMPI_Pcontrol(level);
#else
  static int (*real)(const int, ...);
  if (!real) real = (int (*)(const int, ...))dlsym(RTLD_NEXT, "PMPI_Pcontrol");
  return real(level);
#endif
}

int MPI_Pcontrol(const int level, ...) { return note_pcontrol(level); }

#include "fortran.h"
