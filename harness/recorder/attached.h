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
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>

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
  int on, begun, ended, rank, size, has_only;
  pid_t pid;
  MPI_Comm own;
  int64_t every, most, memory_bytes, capacity;
  int64_t sections, calls, solves, skipped, passed, marks, lost_marks; /* passed: solves of other prefixes */
  double load;
  int64_t load_ns;
  char out[PATH_MAX], folder[PATH_MAX], status[PATH_MAX], only[256], petsc_version[64];
  const char *scalar;
  char *origins; /* where the program runs, as JSON */
  struct record *records;
  int real_bytes;
  int watched_count, solver_count;
  struct watched watched[MOST_WATCHED];
  char solvers[MOST_SOLVERS][32];
} attached = {.every = 1, .most = INT64_MAX, .memory_bytes = 256 << 20, .real_bytes = 8, .scalar = "real"};

/* ---- what the waiting process is told ---- */

__attribute__((format(printf, 1, 2))) static void tell(const char *format, ...) {
  char line[2 * PATH_MAX];
  va_list words;
  if (!*attached.status) return;
  va_start(words, format);
  int size = vsnprintf(line, sizeof line - 1, format, words);
  va_end(words);
  if (size < 0 || size >= (int)sizeof line - 1) return;
  for (int i = 0; i < size; i++)
    if (line[i] == '\n') line[i] = ' ';
  line[size] = '\n';
  int fd = open(attached.status, O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd < 0) return;
  write_all(fd, line, (size_t)size + 1);
  close(fd);
}

/* ---- settings ---- */

static void copy_text(char *to, size_t room, const char *from) {
  size_t size = strnlen(from, room - 1);
  memcpy(to, from, size);
  to[size] = 0;
}

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
  else if (!strcmp(key, "status")) copy_text(attached.status, sizeof attached.status, value);
  else if (!strcmp(key, "only")) copy_text(attached.only, sizeof attached.only, value), attached.has_only = 1;
  else if (!strcmp(key, "every")) attached.every = strtoll(value, NULL, 10);
  else if (!strcmp(key, "most")) attached.most = strtoll(value, NULL, 10);
  else if (!strcmp(key, "memory")) attached.memory_bytes = strtoll(value, NULL, 10);
  else if (!strcmp(key, "iterate")) marking_call = call_named(value);
  else if (!strcmp(key, "nth")) marking_nth = strtoll(value, NULL, 10);
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
    tell("foreign\t%s\t%s", mpis->path[of_first], mpis->path[i]);
    _exit(CANNOT_RECORD);
  }
}

/* ---- begin and end of the process ---- */

/* Programs that this one starts later are not recorded. */
static void leave_environment(void) {
  Dl_info mine;
  const char *preloaded = getenv("LD_PRELOAD");
  unsetenv("HINDMOST_ATTACH");
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

__attribute__((constructor)) static void attach_to_process(void) {
  const char *settings = getenv("HINDMOST_ATTACH");
  if (!settings || !read_settings(settings)) return;
  attached.on = 1;
  attached.pid = getpid();
  pthread_atfork(NULL, NULL, leave_child);
  tell("loaded\t%d", (int)attached.pid);
  refuse_another_mpi();
}

/* ---- the raw file of this rank ---- */

static void name_of_program(char *name, size_t room, char words[], size_t size) {
  const char *chosen = words, *slash;
  if ((slash = strrchr(words, '/'))) chosen = slash + 1;
  if (!strncmp(chosen, "python", 6)) { /* the script, or the module after -m */
    for (char *word = words + strlen(words) + 1; word < words + size && strcmp(word, "-c"); word += strlen(word) + 1) {
      if (*word == '-') continue;
      chosen = (slash = strrchr(word, '/')) ? slash + 1 : word;
      break;
    }
  }
  copy_text(name, room < 64 ? room : 64, *chosen ? chosen : "program");
  char *dot = strrchr(name, '.');
  if (dot && dot > name && !strcmp(dot, ".py")) *dot = 0;
  for (char *at = name; *at; at++)
    if (!((*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || strchr("._-", *at)) ||
        (at == name && (*at == '.' || *at == '-')))
      *at = '_';
}

static size_t read_command(char *words, size_t room) {
  int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  ssize_t size = fd < 0 ? 0 : read(fd, words, room - 1);
  if (fd >= 0) close(fd);
  if (size < 0) size = 0;
  words[size] = 0;
  return (size_t)size;
}

static char command[1 << 16];
static size_t command_size;

/* On rank 0: a new folder with the first free number. */
static int make_folder(void) {
  char name[80];
  command_size = read_command(command, sizeof command);
  name_of_program(name, sizeof name, command, command_size);
  for (int number = 0; number < 1000000; number++) {
    int size = snprintf(attached.folder, sizeof attached.folder, "%s/%s-%d.raw", attached.out, name, number);
    if (size < 0 || size >= (int)sizeof attached.folder - 32) return ENAMETOOLONG;
    if (!mkdir(attached.folder, 0777)) return 0;
    if (errno != EEXIST) return errno;
  }
  return EEXIST;
}

/* The cores that this process may use, as in "0-3,8". */
static void add_cpuset(struct text *text) {
  cpu_set_t cores;
  char list[4096] = "";
  size_t size = 0;
  CPU_ZERO(&cores);
  sched_getaffinity(0, sizeof cores, &cores);
  for (int first = 0; first < CPU_SETSIZE && size < sizeof list - 32; first++) {
    if (!CPU_ISSET(first, &cores)) continue;
    int last = first;
    while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &cores)) last++;
    size += (size_t)sprintf(list + size, last > first ? "%s%d-%d" : "%s%d", size ? "," : "", first, last);
    first = last;
  }
  text_string(text, "cpuset", list);
}

/* The frame that says what runs; written again when PETSc has begun: the last one holds. */
static void write_program(void) {
  struct text text = {0};
  char host[256] = "", began[64], library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int size = 0, version = 0, subversion = 0;
  struct timespec calendar;
  struct tm utc;
  PMPI_Get_library_version(library, &size);
  PMPI_Get_version(&version, &subversion);
  gethostname(host, sizeof host - 1);
  clock_gettime(CLOCK_REALTIME, &calendar);
  int64_t clock_ns = now();
  gmtime_r(&calendar.tv_sec, &utc);
  strftime(began, sizeof began, "%Y-%m-%dT%H:%M:%S", &utc);
  if (!command_size) command_size = read_command(command, sizeof command);
  text_add(&text, "{\"version\":1");
  text_number(&text, "rank", attached.rank);
  text_number(&text, "size", attached.size);
  text_number(&text, "pid", attached.pid);
  text_string(&text, "host", host);
  text_add(&text, ",\"program\":[");
  for (char *word = command; word < command + command_size; word += strlen(word) + 1) {
    text_add(&text, word == command ? "" : ",");
    text_quoted(&text, word);
  }
  text_add(&text, "]");
  text_string(&text, "mpi_library", library);
  text_add(&text, ",\"mpi_version\":\"%d.%d\"", version, subversion);
  text_string(&text, "petsc_version", attached.petsc_version);
  text_string(&text, "scalar", attached.scalar);
  text_number(&text, "real_bytes", attached.real_bytes);
  text_add(&text, ",\"call_names\":[");
  for (int i = 0; i < CALL_COUNT; i++) text_add(&text, "%s\"%s\"", i ? "," : "", hindmost_call_names[i]);
  text_add(&text, "],\"call_classes\":[");
  for (int i = 0; i < CALL_COUNT; i++)
    text_add(&text, "%s\"%s\"", i ? "," : "", hindmost_class_names[hindmost_call_classes[i]]);
  text_add(&text, "]");
  text_number(&text, "cpu", sched_getcpu());
  add_cpuset(&text);
  text_number(&text, "utc_ns", (int64_t)calendar.tv_sec * 1000000000 + calendar.tv_nsec);
  text_number(&text, "clock_ns", clock_ns);
  text_add(&text, ",\"began_utc\":\"%s.%06ld+00:00\"", began, calendar.tv_nsec / 1000);
  if (attached.origins && attached.rank == 0) text_add(&text, ",\"origins\":%s", attached.origins);
  text_frame(&text, RAW_PROGRAM);
}

static void write_clock(void) {
  struct {
    int64_t own_ns, root_ns, round_trip_ns;
  } clock;
  int64_t offset, uncertainty;
  hindmost_clock_offset(PMPI_Comm_c2f(attached.own), CLOCK_TRIPS, &offset, &uncertainty, &clock.own_ns);
  clock.root_ns = clock.own_ns + offset;
  clock.round_trip_ns = 2 * uncertainty;
  raw_frame(RAW_CLOCK, &clock, sizeof clock);
}

static void attach_arm(int size);
static void find_bindings(void);
static void catch_signals(void);

static int get_memory(void) {
  int64_t capacity = attached.memory_bytes / (int64_t)sizeof(struct record);
  if (capacity < 1 << 12) capacity = 1 << 12;
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void *memory = mmap(NULL, (size_t)capacity * sizeof(struct record), PROT_READ | PROT_WRITE, flags, -1, 0);
  void *norms = mmap(NULL, MOST_NORMS * sizeof(double), PROT_READ | PROT_WRITE, flags, -1, 0);
  if (memory == MAP_FAILED || norms == MAP_FAILED) return ENOMEM;
  norm_memory = norms;
  hindmost_memory_for(memory, capacity, capacity < RECORDS_TOUCHED ? capacity : RECORDS_TOUCHED);
  attached.records = memory;
  attached.capacity = capacity;
  return 0;
}

/* After MPI_Init: a folder from rank 0, a file in it from each. Where one rank fails, none records. */
static void attach_begin(void) {
  if (!attached.on || attached.begun || getpid() != attached.pid) return;
  attached.begun = 1;
  leave_environment();
  refuse_another_mpi();
  make_crc_tables();
  PMPI_Comm_dup(MPI_COMM_WORLD, &attached.own);
  PMPI_Comm_rank(attached.own, &attached.rank);
  PMPI_Comm_size(attached.own, &attached.size);
  int failed = attached.rank == 0 ? make_folder() : 0, any = 0;
  PMPI_Bcast(&failed, 1, MPI_INT, 0, attached.own);
  PMPI_Bcast(attached.folder, sizeof attached.folder, MPI_CHAR, 0, attached.own);
  if (!failed) {
    char path[PATH_MAX + 32];
    snprintf(path, sizeof path, "%s/rank-%07d.raw", attached.folder, attached.rank);
    raw.fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    failed = raw.fd < 0 ? errno : get_memory();
  }
  PMPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, attached.own);
  if (any) {
    tell("failed\t%d\t%s\t%s", attached.rank, *attached.folder ? attached.folder : attached.out, strerror(any));
    attached.on = 0;
    raw_close();
    return;
  }
  tell("started\t%d\t%d\t%s", attached.rank, attached.size, attached.folder);
  write_program();
  write_clock();
  peers_in_solves = 1;
  find_bindings();
  catch_signals();
  if (marking_call >= 0) attach_arm(attached.size); /* to see the first call at which to mark */
}

/* ---- sections: solves and loops ---- */

static double load_of_host(void) {
  int64_t t = now();
  if (!attached.load_ns || t - attached.load_ns > 1000000000) {
    if (getloadavg(&attached.load, 1) != 1) attached.load = 0.0;
    attached.load_ns = t;
  }
  return attached.load;
}

/* Starts to record on this thread, without meeting the other ranks. */
static void attach_arm(int size) {
  records = attached.records;
  state->capacity = attached.capacity;
  state->seen = marks_seen = 0;
  state->foreign_calls = state->unknown_requests = 0;
  idle_record = -1;
  forget_peers();
  halo_depth = mpi_depth = 0;
  for (int i = 0; i < PHASES; i++) state->phase_ns[i] = 0;
  for (int i = 0; i < CALL_COUNT; i++) state->call_count[i] = state->other_ns[i] = 0;
  recorded_size = size;
  norms_seen = 0;
  state->switches = -involuntary_switches();
  state->iteration = 0;
  state->residual_norm = 0.0;
  prepare_clock();
  begin_events();
  struct timespec calendar;
  clock_gettime(CLOCK_REALTIME, &calendar);
  state->begin_utc_ns = (int64_t)calendar.tv_sec * 1000000000 + calendar.tv_nsec;
  state->begin_ns = state->end_ns = now();
  state->armed = 1;
  stretch = own_stretch = ++stretches;
}

static void begin_section(struct text *text, const char *what, double load_before) {
  text_add(text, "{\"section\":%lld,\"what\":\"%s\"", (long long)attached.sections, what);
  text_real(text, "load_before", load_before);
  text_real(text, "load_after", load_of_host());
}

/* What the recorder has counted, then the frames of the section. */
static void end_section(struct text *text, MPI_Comm communicator, int complete) {
  int64_t kept = state->seen < state->capacity ? state->seen : state->capacity, polls = 0;
  text_number(text, "begin_ns", state->begin_ns);
  text_number(text, "end_ns", state->end_ns);
  text_number(text, "begin_utc_ns", state->begin_utc_ns);
  text_number(text, "seen", state->seen);
  text_number(text, "kept", kept);
  text_number(text, "switches", state->switches);
  text_number(text, "foreign_calls", state->foreign_calls);
  text_number(text, "unknown_requests", state->unknown_requests);
  text_add(text, ",\"other_ns\":{");
  for (int i = 0; i < CALL_COUNT; i++) {
    int32_t class = hindmost_call_classes[i];
    attached.calls += state->call_count[i];
    if (class == LOOKS || class == LOOKS_AT_WINDOW || class == ASKS || class == TESTS_ONE || class == TESTS_ALL ||
        class == TESTS_ANY || class == TESTS_SOME)
      polls += state->call_count[i];
    if (state->other_ns[i] > 0) text_number(text, hindmost_call_names[i], state->other_ns[i]);
  }
  text_add(text, "}");
  text_number(text, "polls", polls);
  text_add(text, ",\"complete\":%s", complete ? "true" : "false");
  text_frame(text, RAW_SECTION);
  raw_frame(RAW_RECORDS, records, (size_t)kept * sizeof(struct record));
  if (norms_seen) raw_frame(RAW_NORMS, norm_memory, (size_t)(norms_seen < MOST_NORMS ? norms_seen : MOST_NORMS) * sizeof(double));
  static int32_t ranks[PEERS];
  static int64_t messages[PEERS], bytes[PEERS];
  static struct {
    int32_t peer, pad;
    int64_t messages, bytes;
  } edges[PEERS];
  int count = complete ? hindmost_peers(PMPI_Comm_c2f(communicator), PEERS, ranks, messages, bytes) : -1;
  for (int i = 0; i < count; i++) {
    edges[i].peer = ranks[i];
    edges[i].messages = messages[i];
    edges[i].bytes = bytes[i];
  }
  if (count >= 0) raw_frame(RAW_EDGES, edges, (size_t)count * sizeof edges[0]);
  attached.sections++;
}

#include "attached_solves.h"
#include "attached_loops.h"

/* The last frame. `aborted` < 0: not by MPI_Abort. */
static void write_end(int finalized, int64_t aborted) {
  struct text text = {0};
  text_add(&text, "{\"finalized\":%s", finalized ? "true" : "false");
  text_number(&text, "clock_ns", now());
  text_number(&text, "sections", attached.sections);
  text_number(&text, "mpi_calls", attached.calls);
  text_number(&text, "solves_seen", attached.solves);
  text_number(&text, "solves_skipped", attached.skipped);
  text_number(&text, "solves_of_other_prefixes", attached.passed);
  text_number(&text, "marks", attached.marks);
  text_number(&text, "marks_in_solves", attached.lost_marks);
  if (aborted >= 0)
    text_number(&text, "aborted", aborted);
  else
    text_add(&text, ",\"aborted\":null");
  text_frame(&text, RAW_END);
  raw_close();
  tell("%s\t%d\t%lld\t%lld\t%lld\t%lld\t%lld\t%s\t%s", finalized ? "finished" : "ended", attached.rank,
       (long long)attached.sections, (long long)attached.solves, (long long)attached.skipped, (long long)attached.passed,
       (long long)attached.marks, attached.petsc_version,
       raw.failure ? strerror(raw.failure) : "");
}

/* Keeps what can be kept when the program ends otherwise than by MPI_Finalize. */
static void attach_break(int64_t aborted) {
  if (!attached.on || !attached.begun || attached.ended || getpid() != attached.pid) return;
  attached.ended = 1;
  end_solve_unfinished();
  end_loop(0);
  write_end(0, aborted);
}

__attribute__((destructor)) static void leave_process(void) { attach_break(-1); }

/* What a signal ends is kept as well. Only signals whose action is the default, which is then taken, so
 * that the program ends as without hindmost. No memory is asked for: the program may be doing that. */
static void end_by_signal(int number) {
  static char room[1 << 17];
  text_spare = room;
  text_spare_size = sizeof room;
  attach_break(-1);
  signal(number, SIG_DFL);
  raise(number);
}

static void catch_signals(void) {
  static const int numbers[] = {SIGTERM, SIGINT, SIGHUP, SIGXCPU, SIGUSR1, SIGUSR2, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
  struct sigaction action, ours = {.sa_handler = end_by_signal, .sa_flags = (int)SA_RESETHAND};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    if (!sigaction(numbers[i], NULL, &action) && !(action.sa_flags & SA_SIGINFO) && action.sa_handler == SIG_DFL)
      sigaction(numbers[i], &ours, NULL);
}

/* ---- MPI calls that begin and end a program ---- */

static void attach_end(void) {
  if (!attached.on || !attached.begun || attached.ended || getpid() != attached.pid) return;
  attached.ended = 1;
  end_solve_unfinished();
  end_loop(1);
  if (stretch) hindmost_disarm();
  write_clock();
  write_end(1, -1);
  PMPI_Barrier(attached.own);
  PMPI_Comm_free(&attached.own);
}

int MPI_Init(int *argc, char ***argv) {
  int error = PMPI_Init(argc, argv);
  if (!error) attach_begin();
  return error;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
  int error = PMPI_Init_thread(argc, argv, required, provided);
  if (!error) attach_begin();
  return error;
}

int MPI_Finalize(void) {
  attach_end();
  return PMPI_Finalize();
}

int MPI_Abort(MPI_Comm communicator, int code) {
  attach_break(code < 0 ? 1 : code);
  return PMPI_Abort(communicator, code);
}

int MPI_Pcontrol(const int level, ...) {
  if (level == 1) hindmost_iteration();
  if (level == 0) hindmost_loop_end();
  return PMPI_Pcontrol(level);
}

#include "fortran.h"
