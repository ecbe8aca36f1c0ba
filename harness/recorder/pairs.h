/* Which call contexts follow each other, how often, and when iterations begin: what a process beside the program
 * has to know while it runs; harness/attach/pairs.py has the same layout.
 *
 * Each rank counts pairs (context of a call, context of the next) in a file that the watching process
 * maps as well. From the pairs and the program's code the watcher knows the loops, and writes into `begins`
 * which pairs begin an iteration of which loop; from then on each such moment is noted. No memory grows with the
 * run. Where the calls of a program are more than its budget keeps, its pairs say where their time went: so it
 * has them without "pages" in the settings, too, for nobody else. */
#pragma once

#include "abi.h"
#include "signals.h"

#include <limits.h>

enum { PAIRS = 1 << 14, ITERATION_MARKS = 1 << 14 };
enum border { LOOP_OF_BORDER = 0xff, BORDER = 1 << 8 }; /* the loop, or one around it, is begun, entered or left */
enum { BY_PROGRAM = 1 }; /* the loop that the program marks itself; others have numbers from 2 on */
struct context_pair {
  uint32_t before, after; /* contexts; after: 0 in a free slot */
  uint32_t begins, border; /* from the watcher: the loop of which it begins an iteration, 0: of none; and `enum border`, with
                              the loop of whose passes it begins one, 0: of none (bounded.h) */
  int64_t count, work_ns, in_mpi_ns; /* as of a `stretch` */
  struct instant_written { int64_t ns, written_bytes; } first; /* of its first call, as of an iteration below */
};

struct iteration_mark {
  struct instant_written begin; /* by CLOCK_MONOTONIC, and what the process has given to file systems so far */
  int64_t loop;
};

static struct pairs_page {
  int64_t pid, pairs, marks, context; /* context: of the last call */
  int64_t left_out;                   /* pairs that found no room */
  int64_t end_ns, must_stop;          /* from the watcher: when time is up (INT64_MAX: never), and whether the program is told */
  int64_t asks, borders;              /* asks: for borders; borders: how often the watcher has written them */
  int64_t last_end_ns;                /* when the last call ended */
  int64_t phase_ns[PHASES];           /* time in calls so far */
  int64_t handler[SIGNALS];           /* by number of the signal */
  char raw_file[PATH_MAX];            /* of the node */
  struct context_pair pair[PAIRS];
  struct iteration_mark mark[ITERATION_MARKS];
} *pairs_page;

/* A pass of a loop that begins; behind the last one, the next. */
struct pass {
  int64_t number;
  int32_t loop; /* 0: none is known */
};

/* The last one that began. */
static struct pass pass_now(void);
static void ask_for_loop(void);

/* Whether the number of calls of a class depends on when messages arrive. */
static inline int is_poll(int32_t class) {
  return class == FLAG_TEST || class == GET_STATUS || class == GET_STATUS_ALL || class == TEST_ONE || class == TEST_ALL || class == TEST_ANY ||
         class == TEST_SOME || class == WAIT_ANY || class == WAIT_SOME;
}

/* When the recorder has begun: the page of this rank, in a folder of the node. */
static void begin_pairs(void);
static void end_pairs(void);

/* What the first pair begins after; the time of a pause of the recorder counts to the call before it. */
static void begin_stretches(int64_t t);
static void note_pause(int64_t until_ns);
static void write_stretches(void);
static void note_iteration(int64_t t, int64_t number);

/* After each recorded call, where there is a page; returns the border that it is, 0 if none. */
static uint32_t note_pair(int64_t begin_ns, int64_t end_ns, enum call call, enum phase phase, int flags);
int hindmost_should_stop(void);
double hindmost_time_left(void);
