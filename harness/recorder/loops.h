/* Loops of any MPI program: what lies between two marks is an iteration.
 *
 * A mark is MPI_Pcontrol(1), HINDMOST_ITERATION() of hindmost.h, or every Nth call of a name given to
 * --iterate-at. The session from the first to the last mark is one section. The first mark decides: a
 * loop that is open is recorded with all solves in it, and a mark inside a recorded solve is not kept. */
#pragma once

#include "sections.h"

/* The marks so far, and when and behind which record the last one was. */
struct marks {
  int64_t count, last_ns, last_seen;
};

static struct loop {
  int64_t number;
  struct marks marks[2]; /* of which one holds: a signal may end the program at any instant */
  int holds;
  int64_t written;             /* records that are in the file */
  int64_t due_ns, due_records; /* when, and behind how many records, the next part is written */
  uint32_t file_frames; /* of this rank when the loop was opened */
  int phases, errors, open_phase; /* open_phase: 1 more than its number, 0: none */
  char *phase[MAX_LOOP_PHASES], *error[MAX_LOOP_ERRORS];
  double load;
} loop;

static int own_thread(void);
static void open_loop(void);

/* An iteration begins. */
static int64_t loop_mark(int64_t t);

/* Between begin_writing and end_writing, when the recorder is disarmed. */
static void write_loop(int complete, struct extent to);
static void stop_finding(void);
static void await_loop(void);
static void make_way(void);

/* After a call that was recorded. */
static void follow_call(int64_t begin_ns, int64_t end_ns, enum call call, int flags);
void hindmost_iteration(void);
void hindmost_phase_begin(const char *name);
void hindmost_phase_end(void);
void hindmost_work(double amount);
void hindmost_loop_end(void);
