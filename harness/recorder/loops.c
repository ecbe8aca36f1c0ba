#include "loops.h"

#include "bounded.h"
#include "classify.h"
#include "pairs.h"
#include "rank_file.h"
#include "rawfile.h"
#include "recording.h"
#include "sample_frames.h"
#include "sampler.h"

#include <string.h>
enum { PART_RECORDS = RECORDS_TOUCHED, FIRST_PART_NS = 10000000, PART_NS = 1000000000, PARTS = 256, PHASE_LETTERS = 63 };
static int own_thread(void) { return attached.on && attached.begun && session_now() != ENDED && (!session_number() || recording()); }

static struct marks marks_made(void) { return loop.marks[loop.holds]; }

static void add_names(struct text *text, const char *key, char *const names[], int count) {
  text_key(text, key);
  text_add(text, "[");
  for (int i = 0; i < count; i++) {
    text_add(text, i ? "," : "");
    text_quoted(text, names[i]);
  }
  text_add(text, "]");
}

static void begin_loop_section(struct text *text, int64_t marks) {
  begin_section(text, "loop", loop.load);
  text_string(text, "type", "loop");
  text_string(text, "prefix", "");
  text_number(text, "solve", loop.number);
  text_number(text, "comm_size", attached.size);
  text_number(text, "comm_rank", attached.rank);
  text_number(text, "comm_leader", 0);
  text_number(text, "iterations", marks - 1);
  text_number(text, "unit", unit_of_passes());
  add_names(text, "phases", loop.phase, loop.phases);
  add_names(text, "errors", loop.error, loop.errors);
}

/* A part is written soon after the begin, then at longer and longer times, or after many records. */
static void plan_part(int64_t written_ns) {
  const int64_t passed_ns = written_ns - state->begin_ns, longest_ns = passed_ns / PARTS > PART_NS ? passed_ns / PARTS : PART_NS;
  const int64_t wait_ns = passed_ns + FIRST_PART_NS;
  const int is_full = loop.written == state->capacity;
  loop.due_ns = is_full ? INT64_MAX : written_ns + (wait_ns < longest_ns ? wait_ns : longest_ns);
  loop.due_records = is_full ? INT64_MAX : loop.written + (PART_RECORDS < attached.capacity / 2 ? PART_RECORDS : attached.capacity / 2);
}

static inline int part_is_due(int64_t t) { return t >= loop.due_ns || decided(state->seen) >= loop.due_records; }

/* Writes the records since the last part, and the section as far as it is known at this mark, so that a
 * program that is killed leaves them. A mark says how long that took: it is no part of an iteration. Returns it. */
static int64_t write_part(int64_t mark_ns) {
  struct text text = {0};
  sigset_t before;
  if (!begin_writing(&before)) return 0;
  struct extent to = whole_extent(mark_ns);
  const int64_t kept = to.seen = decided(kept_of(to));
  sampler_write();
  write_contexts();
  write_records(loop.written, kept);
  begin_loop_section(&text, marks_made().count);
  add_counts(&text, to, involuntary_switches() - switches_before, core_wait_so_far(), threads_alive(), others_cpu_so_far(), 0);
  text_frame(&text, RAW_PART);
  loop.written = kept;
  const size_t open = (size_t)(kept_of(whole_extent(0)) - kept);
  memmove(attached.records, records + kept, open * sizeof *records);
  records = attached.records - kept; /* the memory is used again */
  if (record_contexts) {
    memmove(attached.contexts, record_contexts + kept, open * sizeof *record_contexts);
    record_contexts = attached.contexts - kept;
  }
  if (!attached.budget) state->capacity = kept + attached.capacity;
  end_writing(&before);
  hindmost_next_body(); /* the last record is no longer in memory */
  const int64_t written_ns = now();
  plan_part(written_ns);
  keep(written_ns, written_ns - mark_ns, PAUSE_MARK, 0, 0, 0);
  return written_ns - mark_ns;
}

static void open_loop(void) {
  loop.file_frames = raw.frames;
  attach_arm(attached.everybody, attached.size);
  loop.marks[loop.holds] = (struct marks){0};
  loop.open_phase = 0;
  loop.load = load_of_host();
  loop.written = 0;
  state->begin_ns = now();
  if (attached.budget && attached.budget < state->capacity) state->capacity = attached.budget;
  begin_bound();
  plan_part(state->begin_ns);
  halo_depth = 0;
  if (attached.marking_call == FIND_CALL) begin_stretches(state->begin_ns);
  enter_session(attached.marking_call == FIND_CALL ? FINDING : LOOP);
}

/* Where loops are to be found unless the program says where its iterations end: it does, by a mark, by
 * solves of PETSc, or by a recording of its own. What was recorded so far is taken back. */
static void stop_finding(void) {
  sigset_t before;
  if (!attached.unless_marked || attached.marking_call != FIND_CALL || !attached.begun || session_now() == ENDED) return;
  if (session_number() && !recording()) return; /* another thread */
  if (!begin_writing(&before)) return;
  attached.marking_call = NO_CALL;
  if (loop_is_open()) {
    hindmost_disarm();
    count_calls();
    leave_session();
    leave_bound();
    raw_back_to(loop.file_frames);
    forget_written();
  }
  write_program();
  end_writing(&before);
}

/* Where nothing is recorded: the calls of a loop that is to be found, or the first one at which an iteration ends. */
static void await_loop(void) {
  if (attached.marking_call == FIND_CALL) open_loop();
  if (attached.marking_call < 0) return;
  attach_arm(MPI_COMM_WORLD, attached.size);
  state->capacity = 0;
}

static int64_t loop_mark(int64_t t) {
  int64_t written_ns = 0;
  if (!loop_is_open()) {
    open_loop();
    t = state->begin_ns;
  }
  hindmost_next_body();
  int64_t number = marks_made().count;
  bound_at_mark(number, t);
  keep(t, number, attached.about ? BEGUN_MARK : ITERATION_MARK, 0, 0, 0);
  state->iteration = number;
  loop.marks[!loop.holds] = (struct marks){number + 1, t, state->seen};
  __atomic_store_n(&loop.holds, !loop.holds, __ATOMIC_RELEASE);
  note_iteration(t, BY_PROGRAM);
  if (number > 0 && part_is_due(t)) written_ns = write_part(t);
  if (injection.law && !loop.open_phase) take_detour();
  return written_ns;
}

/* After a call that was recorded, where no marks are made. */
static void write_due_part(int64_t end_ns) {
  if (!loop_is_open()) return;
  write_part(end_ns);
  note_pause(now());
}

/* The end of an iteration, and the begin of the next. */
void hindmost_iteration(void) {
  if (!own_thread()) return;
  stop_finding();
  if (session_now() == SOLVE || attached.marking_call != NO_CALL || (attached.chooses_solves && petsc_kind.connected && !loop_is_open())) {
    attached.lost_marks++;
    return;
  }
  NOTE_CONTEXT;
  loop_mark(now());
}

void hindmost_phase_begin(const char *name) {
  if (!loop_is_open() || !own_thread() || !name) return;
  int number = 0;
  while (number < loop.phases && strncmp(loop.phase[number], name, PHASE_LETTERS)) number++;
  if (number == MAX_LOOP_PHASES) return;
  if (number == loop.phases && !(loop.phase[loop.phases] = strndup(name, PHASE_LETTERS))) return;
  loop.phases += number == loop.phases;
  int64_t t = now();
  if (loop.open_phase) keep(t, 0, PHASE_MARKS + 2 * loop.open_phase - 1, 0, 0, 0);
  loop.open_phase = number + 1;
  keep(t, 0, PHASE_MARKS + 2 * number, 0, 0, 0);
}

void hindmost_phase_end(void) {
  if (!loop_is_open() || !own_thread() || !loop.open_phase) return;
  keep(now(), 0, PHASE_MARKS + 2 * loop.open_phase - 1, 0, 0, 0);
  loop.open_phase = 0;
}

void hindmost_work(double amount) {
  if (!loop_is_open() || !own_thread()) return;
  keep(now(), (int64_t)amount, WORK_MARK, 0, 0, 0);
}

/* Takes back what was counted after the last mark. */
static struct extent up_to_last_mark(struct marks marks, struct extent all) {
  for (int64_t i = marks.last_seen; i < kept_of(all); i++) {
    int32_t call = -1 - records[i].what;
    if (call < 0 || call >= CALL_COUNT) continue;
    int64_t spent = records[i].end_ns - records[i].begin_ns;
    state->phase_ns[records[i].phase] -= spent;
    if (records[i].phase == OTHER) state->other_ns[call] -= spent;
  }
  return (struct extent){marks.last_seen, marks.last_ns};
}

/* Between begin_writing and end_writing, when the recorder is disarmed. */
static void write_loop(int complete, struct extent to) {
  struct marks marks = marks_made();
  struct text text = {0};
  leave_session();
  if (!attached.about && attached.marking_call != FIND_CALL && marks.count < 2) { /* one mark is no iteration */
    leave_bound();
    count_calls();
    return;
  }
  if (!attached.about && attached.marking_call != FIND_CALL) to = up_to_last_mark(marks, to);
  to = end_bound(to, to.end_ns);
  begin_loop_section(&text, marks.count);
  loop.number++;
  end_section(&text, attached.own, loop.written, to, complete);
  if (attached.marking_call == FIND_CALL) write_stretches();
}

void hindmost_loop_end(void) {
  sigset_t before;
  if (!loop_is_open() || !own_thread() || attached.marking_call != NO_CALL || !begin_writing(&before)) return;
  hindmost_disarm();
  write_loop(1, whole_extent(state->end_ns));
  end_writing(&before);
}

/* For a recording by the program itself: what was recorded until then is written. */
static void make_way(void) {
  sigset_t before;
  stop_finding();
  if (!recording() || session_now() == SOLVE || !begin_writing(&before)) return;
  hindmost_disarm();
  if (loop_is_open()) write_loop(1, whole_extent(state->end_ns));
  end_writing(&before);
}

/* After a call that was recorded: whether it is the one at which iterations end. */
static void mark_at_call(int64_t end_ns) {
  static int64_t seen;
  if (session_now() == ENDED || session_now() == SOLVE || seen++ % attached.marking_nth) return;
  if (loop_is_open() || own_thread()) loop_mark(end_ns);
}

static void follow_call(int64_t begin_ns, int64_t end_ns, enum call call, int flags) {
  if (sampling) sampler_leave(begin_ns, end_ns);
  bound_after_call(pairs_page ? note_pair(begin_ns, end_ns, call, flags) : 0);
  if (attached.marking_call == NO_CALL) return;
  if (attached.marking_call == FIND_CALL && part_is_due(end_ns)) write_due_part(end_ns);
  if (flags & (PART | ALONE))
    calls_of_some[call]++;
  else if ((int)call == attached.marking_call && !(flags & INCOMPLETE))
    mark_at_call(end_ns);
}
