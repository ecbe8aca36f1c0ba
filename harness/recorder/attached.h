/* An attached program: what the settings say, and what is known of it. */
#pragma once

#include "abi.h"

#include <limits.h>
#include <sys/types.h>
#define RECORDS_TOUCHED (1 << 15)

/* A PETSc event by name. `solver`: the place of the one KSP type for which it matters, -1 for all. */
struct watched {
  char name[40];
  int8_t solver, begin_mark, end_mark, is_halo, is_inner, is_solve, activity;
  uint8_t level; /* enum level */
  int id;        /* -1: not registered so far */
};

enum { MAX_WATCHED = 256, MAX_SOLVERS = 64 };
enum level { NO_LEVEL, SOLVE_LEVEL, SNES_LEVEL, TS_LEVEL }; /* what a PETSc event solves, if anything */

/* The call at which the iterations of an attached program end. */
enum { NO_CALL = -1, FIND_CALL = -2 }; /* the second: all calls are recorded, and it is found later */

#define RAW_FILE "%s/node-%07d.raw" /* folder, and the first rank of a node */
static struct attached {
  int on, begun, rank, size, has_only, chooses_solves, unless_marked, reports, samples; /* unless_marked: of FIND_CALL */
  int counting, options_written; /* counting: instructions, by counters that are open */
  int first_of_node; /* the first rank */
  pid_t pid;
  MPI_Comm own, everybody; /* everybody: of the recorded ranks, as the program has it */
  char *about; /* of hindmost.record and record_ksp, in JSON; their loop has marks at both ends of iterations. NULL: it is another */
  void *ksp; /* of record_ksp, whose next solve is recorded; NULL: there is none */
  int64_t every, most, memory_bytes, capacity, room, max_ns; /* records: to keep, and memory for them; max_ns: 0: no limit */
  int64_t budget; /* records of a loop that are kept; 0: all */
  int64_t together; /* most iterations that have their sums together; 0: no limit */
  int64_t finalizing; /* when MPI_Finalize began; 0: it did not */
  int64_t samples_a_second; /* 0: as many as cost little */
  int64_t calls, solves, passed, chosen, taken, lost_marks; /* passed: solves of other prefixes; chosen: the others, of which each Nth is taken */
  int64_t recordings; /* that the program made of itself */
  int64_t led; /* solves that are not recorded of which this is the first rank */
  double load;
  int64_t load_ns;
  char out[PATH_MAX], folder[PATH_MAX], status[PATH_MAX], board[PATH_MAX], only[256];
  char *origins; /* where the program runs, as JSON */
  char *injected; /* the law of injected noise */
  int marking_call; /* at which iterations end, and of these each Nth; NO_CALL, FIND_CALL */
  int64_t marking_nth;
  char *keep; /* the share of ranks that keep full records; NULL: all */
  char *pages; /* the folder of the pages of ranks (pairs.h); NULL: there is none */
  struct record *records;
  uint32_t *contexts; /* of each record; NULL: they are not noted */
  int64_t *activities; /* memory for the times of activities at each mark */
  struct count *counts; /* the same for counted instructions; NULL: they are not counted */
  int activity_count;
  int watched_count, solver_count;
  struct watched watched[MAX_WATCHED];
  char solvers[MAX_SOLVERS][32];
} attached;

/* The PETSc of the process, once it calls the recorder at its events. */
static struct petsc_kind {
  int connected, real_bytes;
  const char *scalar;
  char version[64];
} petsc_kind;

static void copy_text(char *to, size_t room, const char *from);

/* The rank that a launcher gave this process; 0 if there was none. */
static int assigned_rank(void);

/* What people call the program, also where an interpreter runs it. */
static const char *own_name(void);

/* Its command line, words that end with a zero. */
static size_t command_line(char **words);
