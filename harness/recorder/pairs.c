#include "pairs.h"

#include "attached.h"
#include "clock.h"
#include "contexts.h"
#include "rawfile.h"
#include "sections.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static int io_file = -1;

/* What the process has given to file systems, without the recorder's own; and who takes its signals. Both take some
 * microseconds, so they are asked for every 10 ms. */
static int64_t bytes_written(int64_t t) {
  static int64_t read_at_ns, known;
  char text[512], *found;
  if (t - read_at_ns < 10000000) return known;
  read_at_ns = t;
  for (int number = 1; number < SIGNALS; number++) pairs_page->handler[number] = handler_of(number);
  ssize_t size = io_file < 0 ? -1 : pread(io_file, text, sizeof text - 1, 0);
  if (size <= 0) return known;
  text[size] = 0;
  if ((found = strstr(text, "\nwrite_bytes: "))) known = strtoll(found + 14, NULL, 10) - raw.bytes;
  return known;
}

static void note_iteration(int64_t t, int64_t number) {
  if (!pairs_page || attached.rank) return;
  pairs_page->mark[pairs_page->marks % ITERATION_MARKS] =
      (struct iteration_mark){{t - clock_shift_ns, bytes_written(t)}, number};
  __atomic_store_n(&pairs_page->marks, pairs_page->marks + 1, __ATOMIC_RELEASE);
}

/* Fills a free slot; the watcher reads the contexts in the raw file. */
static __attribute__((noinline)) struct context_pair *new_pair(struct context_pair *slot, uint32_t before, uint32_t after,
                                                               int64_t begin_ns) {
  sigset_t signals;
  if (pairs_page->pairs >= PAIRS / 4 * 3) {
    pairs_page->left_out++;
    return NULL;
  }
  if (attached.pages) {
    if (!begin_writing(&signals)) return NULL;
    write_contexts();
    end_writing(&signals);
  }
  slot->first = (struct instant_written){begin_ns - clock_shift_ns, bytes_written(begin_ns)};
  slot->before = before;
  slot->after = after;
  __atomic_store_n(&pairs_page->pairs, pairs_page->pairs + 1, __ATOMIC_RELEASE);
  return slot;
}

/* Passes of loops, by their number, and which began last. */
static struct {
  int64_t count[LOOP_OF_BORDER + 1], borders; /* borders: as the page had it when they were counted */
  int32_t loop;
} passes;

static void count_passes(void) {
  passes.borders = pairs_page->borders;
  memset(passes.count, 0, sizeof passes.count);
  for (int i = 0; i < PAIRS; i++) passes.count[pairs_page->pair[i].border & LOOP_OF_BORDER] += pairs_page->pair[i].count;
}

static struct pass pass_now(void) {
  if (!pairs_page || !passes.loop || pairs_page->left_out) return (struct pass){0};
  return (struct pass){passes.count[passes.loop], passes.loop};
}

static void ask_for_loop(void) {
  if (pairs_page && !attached.about) pairs_page->asks = 1; /* a program that records itself knows its loop */
}

/* The border that a pair is; a pass that begins there is counted. */
static inline uint32_t border_at(const struct context_pair *pair) {
  const int64_t borders = __atomic_load_n(&pairs_page->borders, __ATOMIC_ACQUIRE);
  if (!borders || pairs_page->left_out) return 0;
  const uint32_t border = pair->border, number = border & LOOP_OF_BORDER;
  if (borders != passes.borders) count_passes();
  else if (number) passes.count[number]++;
  if (number) passes.loop = (int32_t)number;
  return border;
}

/* Since the last call that counts. */
static struct {
  struct context_pair *pair; /* that ended with it */
  uint32_t context;
  int64_t work_ns, in_mpi_ns;
} since;

static void begin_stretches(int64_t t) {
  if (pairs_page) pairs_page->last_end_ns = t;
}

static void note_pause(int64_t until_ns) {
  if (!pairs_page || !since.pair) return;
  since.pair->in_mpi_ns += until_ns - pairs_page->last_end_ns;
  pairs_page->last_end_ns = until_ns;
}

/* None where some pairs found no room. */
static void write_stretches(void) {
  static struct stretch stretch[PAIRS];
  size_t count = 0;
  if (!pairs_page || pairs_page->left_out) return;
  for (int i = 0; i < PAIRS; i++) {
    const struct context_pair *pair = &pairs_page->pair[i];
    if (pair->count) stretch[count++] = (struct stretch){pair->before, pair->after, pair->count, pair->work_ns, pair->in_mpi_ns};
  }
  raw_frame(RAW_STRETCHES, stretch, count * sizeof *stretch);
}

static uint32_t note_pair(int64_t begin_ns, int64_t end_ns, enum call call, enum phase phase, int flags) {
  since.work_ns += begin_ns - pairs_page->last_end_ns;
  since.in_mpi_ns += end_ns - begin_ns;
  pairs_page->phase_ns[phase] += end_ns - begin_ns;
  pairs_page->last_end_ns = end_ns;
  if (!record_contexts || flags & INCOMPLETE || is_poll(hindmost_call_classes[call])) return 0;
  const uint32_t before = since.context, after = context_now;
  uint32_t at = (before * 0x9E3779B1u ^ after * 0x85EBCA77u) >> 7;
  struct context_pair *pair;
  if (!after) return 0;
  for (;; at++) {
    pair = &pairs_page->pair[at % PAIRS];
    if (pair->before == before && pair->after == after) break;
    if (!pair->after) {
      pair = new_pair(pair, before, after, begin_ns);
      break;
    }
  }
  since.context = pairs_page->context = after;
  since.pair = pair;
  if (!pair) return 0;
  pair->count++;
  pair->work_ns += since.work_ns;
  pair->in_mpi_ns += since.in_mpi_ns;
  since.work_ns = since.in_mpi_ns = 0;
  if (pair->begins) note_iteration(begin_ns, pair->begins);
  return border_at(pair);
}

static void begin_pairs(void) {
  char path[PATH_MAX];
  int file = -1;
  if (!attached.pages && !attached.budget) return;
  if (attached.pages) { /* without a process that follows the ranks of this node there is no such folder */
    snprintf(path, sizeof path, "%s/%d", attached.pages, attached.rank);
    file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  }
  const int shared = file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  const int has_room = file < 0 || !ftruncate(file, sizeof *pairs_page);
  struct pairs_page *memory = has_room ? mmap(NULL, sizeof *pairs_page, PROT_READ | PROT_WRITE, shared, file, 0) : MAP_FAILED;
  if (file >= 0) close(file);
  if (memory == MAP_FAILED) return;
  if (file < 0) memory->end_ns = INT64_MAX;
  if (io_file < 0) io_file = open("/proc/self/io", O_RDONLY | O_CLOEXEC);
  pairs_page = memory;
  snprintf(pairs_page->raw_file, sizeof pairs_page->raw_file, RAW_FILE, attached.folder, attached.first_of_node);
  memset(&since, 0, sizeof since);
  __atomic_store_n(&pairs_page->pid, getpid(), __ATOMIC_RELEASE);
}

static void end_pairs(void) {
  if (!pairs_page) return;
  munmap(pairs_page, sizeof *pairs_page);
  pairs_page = NULL;
  memset(&since, 0, sizeof since);
}

/* ---- for programs that ask: collective over MPI_COMM_WORLD, so that all ranks get the same answer ---- */

static void ask_first_rank(double answer[2]) {
  answer[0] = 0, answer[1] = INFINITY;
  if (pairs_page && !attached.rank) {
    answer[0] = (double)pairs_page->must_stop;
    if (pairs_page->end_ns != INT64_MAX) answer[1] = (double)(pairs_page->end_ns - system_now()) * 1e-9;
  }
  if (attached.on && attached.begun && attached.own != MPI_COMM_NULL) /* so on all ranks, or none; not behind MPI_Finalize */
    PMPI_Bcast(answer, 2, MPI_DOUBLE, 0, attached.own);
}

/* Whether to stop after this iteration. */
int hindmost_should_stop(void) {
  double answer[2];
  ask_first_rank(answer);
  return answer[0] != 0;
}

/* Seconds until the program must have ended; infinite if there is no limit. */
double hindmost_time_left(void) {
  double answer[2];
  ask_first_rank(answer);
  return answer[1];
}
