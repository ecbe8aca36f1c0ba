/* The recorder preloaded into a program that knows nothing of hindmost: `hindmost attach`. Without HINDMOST_ATTACH in the environment all of this does nothing.
 *
 * The variable names a file of settings, one "key value" a line, written by harness/attach/settings.py.
 * Each rank records into memory and writes what it recorded to a raw file of its own when a solve or a
 * loop has ended, outside the recorded time. Nothing is printed: what the waiting process of hindmost
 * has to know is appended to the file "status", a line of fields separated by tabs. */
#include "attach.h"

#include "all_ranks.h"
#include "attached.h"
#include "bindings.h"
#include "classify.h"
#include "inject.h"
#include "libraries.h"
#include "lock.h"
#include "loops.h"
#include "pairs.h"
#include "peers.h"
#include "rank_file.h"
#include "rawfile.h"
#include "recording.h"
#include "sample_frames.h"
#include "sampler.h"
#include "sections.h"
#include "settings.h"
#include "signals.h"
#include "solves.h"
#include "status.h"

#include <ctype.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

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
  __atomic_store_n(&session_id, 0, __ATOMIC_RELEASE);
  if (raw.fd >= 0) close(raw.fd);
  raw.fd = -1;
  sampler_leave_child();
}

#ifdef HINDMOST_LINKED
const int hindmost_linked = 1; /* a recorder that is preloaded as well leaves the program to this one */
#endif
static void add_calls(struct text *text, const char *key, const int64_t counts[]) {
  text_key(text, key);
  text_add(text, "{");
  for (int i = 0; i < CALL_COUNT; i++)
    if (counts[i]) text_number(text, hindmost_call_names[i], counts[i]);
  text_add(text, "}");
}

static int exit_status = -1; /* with which the program called exit; -1: it did not */

static void write_end(const struct ending *how) {
  struct text text = {0};
  int lost = raw.failure;
  sampler_write();
  write_contexts();
  if (tables) raw_frame(RAW_POLLS, tables->polls, (chain_count + 1) * sizeof *tables->polls);
  text_add(&text, "{\"finalized\":%s", how->finalized ? "true" : "false");
  text_number(&text, "clock_ns", instant());
  text_number(&text, "mpi_calls", attached.calls);
  text_number(&text, "solves_seen", attached.solves);
  text_number(&text, "solves_of_other_prefixes", attached.passed);
  text_number(&text, "solves_not_recorded_led", attached.led);
  text_number(&text, "own_recordings", attached.recordings);
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
  if (how->finalized && !attached.about && raw.fd >= 0) fsync(raw.fd); /* else somebody waits for the end, and a busy disk takes a minute */
  raw_close();
  report_status("%s\t%d\t%s\t%d", how->finalized ? "finished" : "ended", attached.rank, attached.folder, raw.failure);
}

/* Writes what is open, between begin_writing and end_writing. Another thread may still be in a call that is
 * recorded: what it has counted is whole, and it counts no other call. */
static void write_open_sections(int complete) {
  const enum session_state open = session_now();
  enter_session(ENDED);
  __atomic_store_n(&session_id, 0, __ATOMIC_RELEASE);
  struct extent to = whole_extent(0);
  to.end_ns = instant();
  if (open != IDLE) disarm(to.end_ns);
  if (open == SOLVE) write_solve(0, to);
  if (open == FINDING || open == LOOP) write_loop(complete, to);
  count_calls();
}

static struct ending break_now;

static void write_break(void) {
  int in_other = syscall(SYS_gettid) != recorded_thread;
  text_uses_spare = text_spare != NULL; /* the program's own handler may have come here, too */
  may_ask_mpi = !in_other && open_call < 0;
  if (session_now() != ENDED) write_open_sections(!break_now.signal && break_now.aborted < 0 && !exit_status);
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
static void report_exit(void) {
  struct libraries *mpis = libraries_named("libmpi");
  const char *begun = "";
  for (int i = 0; i < mpis->count && !*begun; i++) {
    void *handle = dlopen(mpis->path[i], RTLD_LAZY | RTLD_NOLOAD);
    int (*initialized)(int *) = handle ? (int (*)(int *))dlsym(handle, "PMPI_Initialized") : NULL;
    int is_begun = 0;
    if (initialized && !initialized(&is_begun) && is_begun) begun = mpis->path[i];
    if (handle) dlclose(handle);
  }
  report_status("exit\t%d\t%s", (int)attached.pid, begun);
}

__attribute__((destructor)) static void leave_process(void) {
  attach_break(-1, 0);
  if (attached.on && !attached.begun && getpid() == attached.pid) report_exit();
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
static void end_at_signal(int number, const void *context) {
  int is_fault = number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL || number == SIGABRT;
  if (!is_fault && attached.on && getpid() == attached.pid && !raw.closed) sampler_note_all(context);
  attach_break(-1, number);
}

/* Has the program ended when its time is up, by a signal as its launcher would send one. */
static void end_in_time(void) {
  struct sigevent by_signal = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGTERM};
  struct itimerspec at = {.it_value = {attached.max_ns / 1000000000, attached.max_ns % 1000000000}};
  timer_t timer;
  if (attached.max_ns > 0 && !timer_create(CLOCK_MONOTONIC, &by_signal, &timer)) timer_settime(timer, 0, &at, NULL);
}

/* After MPI_Init: a folder from rank 0, a file in it from each node. Where one rank fails, none records. */
static void attach_begin(void) {
  if (!attached.on || attached.begun || getpid() != attached.pid) return;
  attached.begun = 1;
  find_bindings(); /* once more: some may have been loaded since */
  leave_environment();
  refuse_another_mpi();
  refuse_linked_mpi();
  make_crc_tables();
  PMPI_Comm_rank(MPI_COMM_WORLD, &attached.rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &attached.size);
  if (!all_are_attached()) {
    attached.on = 0;
    return;
  }
  PMPI_Comm_dup(MPI_COMM_WORLD, &attached.own);
  attached.everybody = MPI_COMM_WORLD;
  int failed = attached.rank == 0 ? make_folder() : 0, any = 0;
  PMPI_Bcast(&failed, 1, MPI_INT, 0, attached.own);
  PMPI_Bcast(attached.folder, sizeof attached.folder, MPI_CHAR, 0, attached.own);
  if (!failed) {
    failed = open_raw();
    if (!failed) failed = get_memory();
  }
  PMPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, attached.own);
  if (any) {
    if (attached.rank == 0)
      refuse("Nothing was recorded of %s: %s: %s. Choose another --out.", own_name(),
             *attached.folder ? attached.folder : attached.out, strerror(any));
    attached.on = 0;
    raw_close();
    return;
  }
  report_status("started\t%d\t%d\t%s", attached.rank, attached.size, attached.folder);
  write_program();
  write_clock();
  inject_as_wanted(attached.rank);
  catch_signals(end_at_signal);
  note_exits();
  end_in_time();
  begin_pairs();
  sampler_begin(attached.own);
  before_recording = make_way;
  const int follows_calls = pairs_page || attached.budget || attached.samples || attached.marking_call != NO_CALL;
  if (follows_calls) call_hooks.after_call = follow_call;
  await_loop();
}

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
  report_status("loaded\t%d\t%s\t%s", (int)attached.pid, own_name(), image);
  refuse_another_mpi();
  find_bindings();
  if (attached.samples) sampler_prepare();
}

/* ---- MPI calls that begin and end a program ---- */

/* Where ranks meet nothing is locked: a signal may come there as anywhere. */
static void attach_end(void) {
  sigset_t before;
  if (!attached.on || !attached.begun || session_now() == ENDED || getpid() != attached.pid) return;
  attached.finalizing = instant();
  if (begin_writing(&before)) { /* else the other ranks go on all the same */
    write_open_sections(1);
    end_writing(&before);
  }
  write_clock();
  if (begin_writing(&before)) {
    write_end(&(struct ending){.finalized = 1, .aborted = -1});
    end_writing(&before);
  }
  PMPI_Barrier(attached.own);
  PMPI_Comm_free(&attached.own);
}

static void report_init(void) {
  if (attached.on && !attached.begun && getpid() == attached.pid) report_status("init\t%d", (int)attached.pid);
}

int MPI_Init(int *argc, char ***argv) {
  report_init();
  int error = NEXT(Init)(argc, argv);
  if (!error) attach_begin();
  return error;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
  report_init();
  int error = NEXT(Init_thread)(argc, argv, required, provided);
  is_concurrent = !error && *provided == MPI_THREAD_MULTIPLE;
  if (!error) attach_begin();
  return error;
}

#if MPI_VERSION >= 4
int MPI_Session_init(MPI_Info info, MPI_Errhandler handler, MPI_Session *session) {
  if (attached.on && !attached.begun && getpid() == attached.pid) report_status("session\t%d", (int)attached.pid);
  return NEXT(Session_init)(info, handler, session);
}

#endif

int MPI_Finalize(void) {
  attach_end();
  return NEXT(Finalize)();
}

int MPI_Abort(MPI_Comm communicator, int code) {
  attach_break(code < 0 ? 1 : code, 0);
  return NEXT(Abort)(communicator, code);
}

int MPI_Pcontrol(const int level, ...) {
  if (level == 1) hindmost_iteration();
  if (level == 0) hindmost_loop_end();
  in_pcontrol++;
  const int error = NEXT(Pcontrol)(level);
  in_pcontrol--;
  return error;
}
