#include "bounded.h"

#include "abi.h"
#include "ring.h"

#include <string.h>
enum { MAX_SEGMENT = 1 << 15, RESERVE = 1 << 9, RECORDS_OF_UNIT = 8, OUTLASTS = 3 };

struct unit {
  int64_t pass;                /* that begins first in it, or next if none has */
  int32_t loop, in_full;       /* loop: 0 where none is known */
  int64_t begin_ns, calls;
  int has_mark, has_first, has_last, has_failed;
  struct record mark, first, last, failed; /* failed: the mark of an iteration that raised */
  uint32_t mark_context, first_context, last_context;
  int64_t ns[MAX_LOOP_PHASES + 1][PHASES]; /* in calls by the program's phase, 0 for none; without the first and the last */
  int64_t phase_ns[MAX_LOOP_PHASES + 1];   /* in a phase of the program, without those two calls */
  int32_t call[PHASES];
  uint32_t context[PHASES];
  int64_t pause_ns, detour_ns, work, works;
  int open_phase;
  int64_t open_ns;
};

static struct {
  int64_t from;       /* records from which on something is to be done after a call; INT64_MAX: nothing */
  int64_t limit;      /* records from which on the next level begins */
  int64_t segment;    /* first record that is not decided on */
  int64_t unit_from;  /* first record of a unit that is kept in full */
  int64_t passes_per_unit, keep_every, calls_per_unit;
  int64_t longest_ns; /* of a pass */
  int64_t mark;       /* number of the last mark */
  int level, busy;    /* level: 0 while all is kept; busy: in what a signal must not repeat */
  struct unit unit;
  struct record out[RESERVE];
  uint32_t out_context[RESERVE];
  int out_count;
} bounded = {.from = INT64_MAX};

static void begin_bound(void) {
  bounded.level = bounded.busy = 0;
  bounded.segment = bounded.mark = 0;
  bounded.passes_per_unit = bounded.keep_every = bounded.calls_per_unit = 1;
  bounded.longest_ns = 0;
  if (!attached.budget) return;
  bounded.limit = state->capacity / 2;
  bounded.from = state->capacity / 16; /* early enough for a watcher to find the loop */
}

static int64_t unit_of_passes(void) { return bounded.level ? bounded.passes_per_unit : 0; }

static void leave_bound(void) { bounded.from = INT64_MAX; }

static int64_t calls_so_far(void) {
  int64_t calls = 0;
  for (int i = 0; i < CALL_COUNT; i++) calls += state->call_count[i];
  return calls;
}

static void next_level(int64_t passes) {
  int64_t left = (state->capacity - state->seen - RESERVE) / 2, calls = calls_so_far();
  if (left < 1) left = 1;
  bounded.level++;
  bounded.limit = state->seen + left;
  const int64_t most = attached.together ? attached.together : 1 << 30;
  double more = OUTLASTS * (double)passes / (double)left, more_calls = OUTLASTS * (double)calls / (double)left;
  while ((double)bounded.passes_per_unit < 2 * RECORDS_OF_UNIT * more && bounded.passes_per_unit < most) bounded.passes_per_unit *= 2;
  while ((double)bounded.keep_every < 2 * more_calls && bounded.keep_every < 1 << 30) bounded.keep_every *= 2;
  while ((double)bounded.calls_per_unit < RECORDS_OF_UNIT * more_calls && bounded.calls_per_unit < 1 << 30) bounded.calls_per_unit *= 2;
}

/* ---- folding ---- */

static void add_to_unit(const struct record *r, uint32_t context, int64_t spent) {
  struct unit *u = &bounded.unit;
  u->ns[u->open_phase][r->phase] += spent;
  u->call[r->phase] = -1 - r->what;
  u->context[r->phase] = context;
}

/* Whether it is a call that the finder of loops sees. */
static int is_whole_call(const struct record *r) {
  return !(r->flags & (INCOMPLETE | FURTHER)) && !is_poll(hindmost_call_classes[-1 - r->what]);
}

/* Adds records to the unit. A pause of the recorder belongs to the call before it where no marks are made, as the
 * reader has it too; else it is apart. */
static void fold_records(int64_t from, int64_t to) {
  struct unit *u = &bounded.unit;
  for (int64_t i = from; i < to; i++) {
    struct record r = records[i];
    uint32_t context = record_contexts ? record_contexts[i] : 0;
    int64_t spent = r.end_ns - r.begin_ns;
    if (r.what < 0) {
      if (attached.marking_call == FIND_CALL && i + 1 < to && records[i + 1].what == PAUSE_MARK)
        r.end_ns = records[i + 1].begin_ns, spent = r.end_ns - r.begin_ns;
      u->calls++;
      if (attached.marking_call != FIND_CALL || !is_whole_call(&r)) {
        add_to_unit(&r, context, spent);
        continue;
      }
      u->phase_ns[u->open_phase] -= spent;
      if (!u->has_first) {
        u->has_first = 1, u->first = r, u->first_context = context;
        continue;
      }
      if (u->has_last) {
        int64_t before = u->last.end_ns - u->last.begin_ns;
        u->phase_ns[u->open_phase] += before;
        add_to_unit(&u->last, u->last_context, before);
      }
      u->has_last = 1, u->last = r, u->last_context = context;
    } else if (r.what == DETOUR) {
      u->detour_ns += spent;
    } else if (r.what == ITERATION_MARK || r.what == BEGUN_MARK) {
      if (!u->has_mark) u->has_mark = 1, u->mark = r, u->mark_context = context;
    } else if (r.what == FAILED_MARK) {
      u->has_failed = 1, u->failed = r;
    } else if (r.what == PAUSE_MARK && attached.marking_call != FIND_CALL) {
      int64_t before_ns = !i ? r.begin_ns : records[i - 1].what <= 0 ? records[i - 1].end_ns : records[i - 1].begin_ns;
      int64_t pause = r.begin_ns - before_ns < r.end_ns ? r.begin_ns - before_ns : r.end_ns;
      u->pause_ns += pause;
      u->open_ns += pause;
    } else if (r.what == WORK_MARK) {
      u->works++, u->work += r.end_ns;
    } else if (r.what >= PHASE_MARKS) {
      int number = (r.what - PHASE_MARKS) / 2 + 1, begins = !((r.what - PHASE_MARKS) & 1);
      if (!begins && u->open_phase == number) u->phase_ns[number] += r.begin_ns - u->open_ns;
      u->open_phase = begins ? number : 0;
      u->open_ns = r.begin_ns;
    }
  }
}

static void put(struct record r, uint32_t context) {
  if (bounded.out_count == RESERVE) return;
  bounded.out_context[bounded.out_count] = context;
  bounded.out[bounded.out_count++] = r;
}

static void put_mark(int64_t t, int64_t value, int what, uint32_t more) {
  put((struct record){t, value, (int16_t)what, (uint16_t)(more >> 16), 0, 0, (uint16_t)more}, 0);
}

/* Sums by phase as records of calls that found nothing, one after the other from an instant on. */
static int64_t put_sums(int64_t t, int64_t until, int phase_of_program) {
  const struct unit *u = &bounded.unit;
  for (int phase = 0; phase < PHASES; phase++) {
    int64_t spent = u->ns[phase_of_program][phase];
    if (spent > until - t) spent = until - t;
    if (spent <= 0) continue;
    put((struct record){t, t + spent, (int16_t)(-1 - u->call[phase]), 0, (int8_t)phase, INCOMPLETE, 0}, u->context[phase]);
    t += spent;
  }
  return t;
}

/* The records of the unit; it ended before an instant. */
static void write_unit(struct pass to, int64_t until) {
  struct unit *u = &bounded.unit;
  int64_t t = u->begin_ns, passes = to.loop == u->loop && u->loop ? to.number - u->pass : 0;
  bounded.out_count = 0;
  if (u->has_last) until = u->last.begin_ns;
  if (u->has_mark) put(u->mark, u->mark_context), t = u->mark.begin_ns;
  if (u->has_first) put(u->first, u->first_context), t = u->first.end_ns;
  if (u->has_last || attached.marking_call != FIND_CALL)
    put_mark(t, u->pass * 256 + u->loop, FOLDED_MARK, passes < 0 ? 0 : passes > UINT32_MAX ? UINT32_MAX : (uint32_t)passes);
  if (u->has_failed) u->failed.begin_ns = t, put(u->failed, 0);
  if (u->pause_ns) put_mark(t += u->pause_ns, u->pause_ns, PAUSE_MARK, 0);
  if (u->detour_ns) {
    put((struct record){t, t + u->detour_ns, DETOUR, 0, 0, 0, 0}, 0);
    t += u->detour_ns;
  }
  t = put_sums(t, until, 0);
  for (int number = 1; number <= MAX_LOOP_PHASES; number++) {
    int64_t end = t + u->phase_ns[number];
    if (end > until) end = until;
    if (u->phase_ns[number] <= 0) continue;
    put_mark(t, 0, PHASE_MARKS + 2 * (number - 1), 0);
    put_sums(t, end, number);
    put_mark(t = end, 0, PHASE_MARKS + 2 * (number - 1) + 1, 0);
  }
  if (u->works) put_mark(t, u->work, WORK_MARK, 0);
  if (u->has_last) put(u->last, u->last_context);
}

/* Puts the unit in place of the records from `segment` to `at`; those behind move. While that is done, a signal's handler
 * finds the records before it only. */
static void replace_segment(int64_t at) {
  int64_t tail = state->seen - at, to = bounded.segment + bounded.out_count;
  if (to + tail > state->capacity) { /* never, as levels end before */
    bounded.out_count = 0;
    to = bounded.segment;
  }
  __atomic_store_n(&state->seen, bounded.segment, __ATOMIC_RELEASE);
  memmove(records + to, records + at, (size_t)tail * sizeof *records);
  memcpy(records + bounded.segment, bounded.out, (size_t)bounded.out_count * sizeof *records);
  if (record_contexts) {
    memmove(record_contexts + to, record_contexts + at, (size_t)tail * sizeof *record_contexts);
    memcpy(record_contexts + bounded.segment, bounded.out_context, (size_t)bounded.out_count * sizeof *record_contexts);
  }
  bounded.segment = to;
  bounded.out_count = 0;
  idle_record = -1;
  __atomic_store_n(&state->seen, to + tail, __ATOMIC_RELEASE);
}

static int64_t decided(int64_t seen) { return bounded.level && bounded.segment < seen ? bounded.segment : seen; }

/* ---- units ---- */

static void begin_unit(struct pass pass, int64_t t) {
  int open_phase = bounded.unit.open_phase;
  if (state->seen >= bounded.limit) next_level(pass.number);
  memset(&bounded.unit, 0, sizeof bounded.unit);
  bounded.unit.open_phase = open_phase; /* of the program; its time counts from here on */
  bounded.unit.open_ns = bounded.unit.begin_ns = t;
  bounded.unit.pass = pass.number;
  bounded.unit.loop = pass.loop;
  bounded.unit_from = bounded.segment;
  bounded.unit.in_full = pass.loop && pass.number / bounded.passes_per_unit % bounded.keep_every == 0;
}

/* Whether a unit that is kept in full takes more than a part of the room that is left. */
static int is_too_long(int64_t seen) { return seen - bounded.unit_from > (state->capacity - bounded.unit_from) / 4; }

/* At the first call of a pass, or at another place where the loop is entered or left, whose first record is `at`. `counts`: a pass
 * begins. */
static void cut_at(int64_t at, struct pass pass, int counts, int64_t t) {
  struct unit *u = &bounded.unit;
  int64_t units = bounded.passes_per_unit;
  int ends = !counts || pass.loop != u->loop || pass.number / units != u->pass / units;
  bounded.busy = 1;
  if (!u->in_full && units == 1 && counts && ends && !u->calls && pass.number == u->pass + 1 &&
      t - u->begin_ns > bounded.longest_ns) { /* the slowest pass so far stays */
    bounded.longest_ns = t - u->begin_ns;
    bounded.segment = at;
  } else if (u->in_full) {
    bounded.segment = at;
    if (!ends && is_too_long(at)) {
      begin_unit(pass, t);
      u->in_full = 0;
    }
  } else {
    fold_records(bounded.segment, at);
    bounded.out_count = 0;
    if (ends) write_unit(pass, t);
    replace_segment(at);
  }
  if (ends) begin_unit(pass, t);
  bounded.busy = 0;
}

/* Whether something was begun that is not in the records. */
static int unit_is_open(void) { return bounded.level && !bounded.unit.in_full && !bounded.busy; }

/* Records of a unit after which they are folded so far. */
static int64_t max_segment(void) {
  const int64_t part = (state->capacity - bounded.segment) / 4;
  return part < MAX_SEGMENT ? part : MAX_SEGMENT;
}

/* In the middle of a pass: its records take no more room. */
static void fold_so_far(void) {
  bounded.busy = 1;
  bounded.unit.in_full = 0;
  fold_records(bounded.segment, state->seen);
  bounded.out_count = 0;
  replace_segment(state->seen);
  bounded.busy = 0;
}

/* While the loop is not known, all that memory holds is kept: a watcher on a busy node takes its time. */
static int has_more_room(void) {
  if (state->capacity >= attached.capacity) return 0;
  state->capacity = 2 * state->capacity < attached.capacity ? 2 * state->capacity : attached.capacity;
  bounded.from = bounded.limit = state->capacity / 2;
  return 1;
}

/* Begins to fold, from a record on. */
static void begin_folding(int64_t at, struct pass pass, int64_t t) {
  bounded.segment = at;
  bounded.from = 0;
  begin_unit(pass, t);
}

static void bound_at_mark(int64_t number, int64_t t) {
  bounded.mark = number;
  if (state->seen < bounded.from) return;
  if (bounded.level) cut_at(state->seen, (struct pass){number, BY_PROGRAM}, 1, t);
  else if (state->seen >= bounded.limit) begin_folding(state->seen, (struct pass){number, BY_PROGRAM}, t);
}

/* After a call; `border`: whether it is the first one behind a place where the loop is begun, entered or left. */
static __attribute__((noinline)) void bound_at_call(int border, int counts) {
  struct record *last = &records[state->seen - 1];
  int64_t t = last->begin_ns, at = state->seen - 1;
  if (!bounded.level) {
    if (state->seen < bounded.limit) {
      bounded.from = bounded.limit;
      ask_for_loop();
      return;
    }
    if (attached.marking_call != FIND_CALL) { /* marks are late: from here on the pass is folded */
      if (state->seen > bounded.limit + max_segment()) {
        begin_folding(state->seen, (struct pass){bounded.mark + 1, BY_PROGRAM}, last->end_ns);
        bounded.unit.in_full = 0;
      }
      return;
    }
  }
  if (attached.marking_call == FIND_CALL && last->what < 0) {
    struct pass pass = pass_now();
    if (!counts) pass.number++;
    while (at > bounded.segment && records[at - 1].flags & FURTHER && records[at - 1].what < 0) at--;
    if (!bounded.level) {
      if (!pass.loop && has_more_room()) return;
      if (border || !pass.loop) begin_folding(at, pass, t);
      else if (state->seen > bounded.limit + max_segment()) begin_folding(at, (struct pass){0}, t);
      return;
    }
    if (border) {
      cut_at(at, pass, counts, t);
      return;
    }
    if (!bounded.unit.loop && state->seen - bounded.segment + bounded.unit.calls >= bounded.calls_per_unit) {
      cut_at(at, (struct pass){0}, 0, t);
      return;
    }
  }
  if (bounded.unit.in_full ? is_too_long(state->seen) : state->seen - bounded.segment > max_segment()) fold_so_far();
}

static void bound_after_call(uint32_t border) {
  if (state->seen >= bounded.from) bound_at_call(border != 0, border & LOOP_OF_BORDER);
}

static struct extent end_bound(struct extent to, int64_t end_ns) {
  leave_bound();
  if (!unit_is_open()) return to;
  int marks = attached.marking_call != FIND_CALL;
  int64_t tail = marks && to.seen > bounded.segment ? to.seen - 1 : to.seen; /* the mark that ends the last pass */
  if (attached.about) /* it may be followed by calls behind the loop */
    while (tail > bounded.segment && records[tail].what != FINISHED_MARK) tail--;
  if (tail < bounded.segment) return to;
  if (!marks || attached.about) fold_records(bounded.segment, tail);
  if (attached.about && tail < to.seen) end_ns = records[tail].begin_ns;
  struct pass pass = marks ? (struct pass){bounded.mark, BY_PROGRAM} : pass_now();
  if (!marks || attached.about) pass.number++; /* the last one ends here */
  write_unit(pass, end_ns);
  __atomic_store_n(&state->seen, to.seen, __ATOMIC_RELEASE);
  replace_segment(tail);
  to.seen = state->seen;
  return to;
}
