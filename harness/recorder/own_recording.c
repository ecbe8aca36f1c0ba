#include "own_recording.h"

#include "attach.h"
#include "attached.h"
#include "bounded.h"
#include "classify.h"
#include "contexts.h"
#include "inject.h"
#include "loops.h"
#include "pairs.h"
#include "peers.h"
#include "petsc.h"
#include "places.h"
#include "rank_file.h"
#include "rawfile.h"
#include "sampler.h"
#include "recording.h"
#include "requests.h"
#include "sections.h"
#include "session.h"
#include "settings.h"
#include "signals.h"
#include "solves.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What is left alone meanwhile. */
static struct {
  struct attached attached;
  struct raw raw;
  struct loop loop;
  struct written written;
  struct call_hooks hooks;
  struct injection injection;
  struct pairs_page *page;
  int64_t *polls;
  uint32_t chains;
} outer;

static int64_t pause_ns;    /* at the last begin of an iteration */
static int64_t finished_ns; /* the last mark */
static struct attached last; /* whose memory is used again */

static void swap_polls(int begins) {
  if (!tables) return;
  if (begins) {
    outer.chains = chain_count;
    outer.polls = malloc((chain_count + 1) * sizeof *outer.polls);
    if (!outer.polls) return;
    memcpy(outer.polls, tables->polls, (chain_count + 1) * sizeof *outer.polls);
    memset(tables->polls, 0, (chain_count + 1) * sizeof *outer.polls);
    return;
  }
  for (uint32_t i = 0; outer.polls && i <= outer.chains; i++) tables->polls[i] += outer.polls[i];
  free(outer.polls);
  outer.polls = NULL;
}

static void leave_own(void) {
  for (int i = 0; i < loop.phases; i++) free(loop.phase[i]);
  for (int i = 0; i < loop.errors; i++) free(loop.error[i]);
  free(attached.about);
  free(attached.pages);
  free(attached.keep);
  free(attached.origins);
  last = attached;
  end_pairs();
  outer.attached.calls += attached.calls; /* of an attached program, too */
  outer.attached.recordings++;
  outer.attached.solves += attached.solves;
  outer.attached.led += attached.led + (attached.rank ? 0 : attached.taken);
  sampler_end_own();
  attached = outer.attached;
  raw = outer.raw;
  loop = outer.loop;
  written = outer.written;
  call_hooks = outer.hooks;
  injection = outer.injection;
  pairs_page = outer.page;
  swap_polls(0);
  forget_names();
}

static void bound_call(int64_t begin_ns, int64_t end_ns, enum call call, int flags) {
  if (sampling) sampler_leave(begin_ns, end_ns);
  if (pairs_page) note_pair(begin_ns, end_ns, call, flags);
  if (attached.budget) bound_after_call(0);
}

static void note_solver_iteration(void) { note_iteration(now(), BY_PROGRAM); }

static void enter_own(MPI_Comm communicator, void *ksp, char *settings) {
  sampler_pause();
  outer.attached = attached;
  outer.raw = raw;
  outer.loop = loop;
  outer.written = written;
  outer.hooks = call_hooks;
  outer.injection = injection;
  outer.page = pairs_page;
  swap_polls(1);
  attached = (struct attached){.on = 1, .begun = 1, .every = 1, .most = INT64_MAX, .marking_call = NO_CALL, .marking_nth = 1,
                               .own = communicator, .everybody = communicator, .ksp = ksp, .pid = getpid(),
                               .records = last.records, .contexts = last.contexts, .activities = last.activities,
                               .counts = last.counts, .room = last.room};
  raw = (struct raw){.fd = -1};
  loop = (struct loop){0};
  forget_written();
  forget_names();
  injection = (struct injection){0};
  call_hooks = (struct call_hooks){0};
  pairs_page = NULL;
  FILE *file = fmemopen(settings, strlen(settings), "r");
  if (file) take_settings(file);
  PMPI_Comm_rank(communicator, &attached.rank);
  PMPI_Comm_size(communicator, &attached.size);
  if (attached.budget || attached.samples || attached.pages) call_hooks.after_call = bound_call;
}

int hindmost_own_begin(MPI_Fint communicator, void *ksp, char *settings) {
  if (ksp && !hindmost_connect_petsc()) return -1;
  static int catches;
  keep_status();
  if (!attached.on && !catches++) catch_signals(end_at_signal);
  enter_own(MPI_Comm_f2c(communicator), ksp, settings);
  make_crc_tables();
  int failed = *attached.folder ? open_raw() : ENOMEM, any = 0;
  if (!failed) failed = get_memory();
  PMPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, attached.own);
  if (any) {
    raw_close();
    leave_own();
    return any;
  }
  if (attached.pages) begin_pairs();
  begin_stretches(now());
  if (ksp && pairs_page) call_hooks.after_iteration = note_solver_iteration;
  write_program();
  write_clock();
  count_active_collectives();
  if (attached.samples) sampler_begin_own(attached.own);
  PMPI_Barrier(attached.own);
  if (!ksp) open_loop();
  return 0;
}

int hindmost_may_record(void) {
  if (before_recording) before_recording();
  return !session_number() && !attached.about;
}

/* The program's own recording is over, with what it did to write it. */
void hindmost_resume(void) {
  if (attached.begun && !session_number() && session_now() != ENDED) await_loop();
}

int64_t hindmost_own_mark(int what, int64_t number, int error) {
  const int64_t t = what == BEGUN_MARK && error ? finished_ns : now();
  if (!loop_is_open() || !recording()) return t;
  finished_ns = t;
  if (what == BEGUN_MARK)
    pause_ns = loop_mark(t);
  else
    keep(t, number, what, error, 0, 0);
  return t;
}

int64_t hindmost_own_pause(void) { return pause_ns; }

void hindmost_own_note(const char *text) {
  sigset_t before;
  if (!loop_is_open() || !begin_writing(&before)) return;
  raw_frame(RAW_NOTES, text, strlen(text));
  end_writing(&before);
}

static int numbered(char **names, int *count, int most, const char *name) {
  int number = 0;
  while (number < *count && strcmp(names[number], name)) number++;
  if (number < *count) return number;
  if (number == most || !(names[number] = strdup(name))) return -1;
  return (*count)++;
}

int hindmost_own_phase(const char *name) { return numbered(loop.phase, &loop.phases, MAX_LOOP_PHASES, name); }
int hindmost_own_error(const char *name) { return numbered(loop.error, &loop.errors, MAX_LOOP_ERRORS, name); }

int hindmost_own_end(int keeps) {
  sigset_t before;
  leave_solve(keeps);
  if (keeps && loop_is_open() && begin_writing(&before)) {
    write_loop(1, whole_extent(state->end_ns));
    end_writing(&before);
  }
  leave_session();
  if (keeps) {
    write_clock();
    if (begin_writing(&before)) {
      write_end(&(struct ending){.finalized = 1, .aborted = -1});
      end_writing(&before);
    }
  } else
    raw_close();
  int failure = raw.failure;
  leave_own();
  return failure;
}
