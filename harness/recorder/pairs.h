/* Which call contexts follow each other, how often, and when iterations begin: what a process beside the program
 * has to know while it runs. Included once, by attached.h; harness/attach/pairs.py has the same layout.
 *
 * Each rank counts pairs (context of a call, context of the next) in a file that the watching process
 * maps as well. From the pairs and the program's code the watcher knows the loops, and writes into `begins`
 * which pairs begin an iteration of which loop; from then on each such moment is noted. No memory grows with the
 * run. Without "pages" in the settings nothing here
 * does anything. */

enum { PAIRS = 1 << 14, ITERATION_MARKS = 1 << 14, SIGNALS = 32 };

struct context_pair {
  uint32_t before, after; /* contexts; after: 0 in a free slot */
  uint32_t begins, border; /* from the watcher: the loop of which it begins an iteration, 0: of none; and `enum border`, with
                              the loop of whose passes it begins one, 0: of none (see bounded.h) */
  int64_t count;
  struct instant_written { int64_t ns, written_bytes; } first; /* of its first call, as of an iteration below */
};
struct iteration_mark {
  struct instant_written begin; /* by CLOCK_MONOTONIC, and what the process has given to file systems so far */
  int64_t loop;
};
enum border { BORDER = 1 << 8 }; /* the loop, or one around it, is begun, entered or left */
enum { NO_HANDLER, IGNORED, OF_RECORDER, OF_PROGRAM };
static struct pairs_page {
  int64_t pid, pairs, marks, context; /* context: of the last call */
  int64_t left_out;                   /* pairs that found no room */
  int64_t end_ns, must_stop;          /* from the watcher: when time is up, and whether the program is told */
  int64_t asks, borders;              /* asks: for borders; borders: how often the watcher has written them */
  int64_t handler[SIGNALS];           /* by number of the signal */
  struct context_pair pair[PAIRS];
  struct iteration_mark mark[ITERATION_MARKS];
} *pairs_page;
static int io_file = -1;

static int handler_of(int number); /* attached.h knows those of the recorder */

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
  if (!begin_writing(&signals)) return NULL;
  write_contexts();
  end_writing(&signals);
  slot->first = (struct instant_written){begin_ns - clock_shift_ns, bytes_written(begin_ns)};
  slot->before = before;
  slot->after = after;
  __atomic_store_n(&pairs_page->pairs, pairs_page->pairs + 1, __ATOMIC_RELEASE);
  return slot;
}

/* Whether the number of calls of a class depends on when messages arrive. */
static inline int is_poll(int32_t class) {
  return class == LOOKS || class == ASKS || class == TESTS_ONE || class == TESTS_ALL || class == TESTS_ANY ||
         class == TESTS_SOME || class == WAITS_ANY || class == WAITS_SOME;
}

/* Passes of loops, by their number: those of which the page has seen the begin. */
static struct {
  int64_t count[256], borders; /* borders: as the page had it when they were counted */
  int32_t loop;                /* of the last that began */
} passes;

static void count_passes(void) {
  passes.borders = pairs_page->borders;
  memset(passes.count, 0, sizeof passes.count);
  for (int i = 0; i < PAIRS; i++) passes.count[pairs_page->pair[i].border & 0xff] += pairs_page->pair[i].count;
}

static struct pass pass_now(void) {
  if (!pairs_page || !passes.loop || pairs_page->left_out) return (struct pass){0};
  return (struct pass){passes.count[passes.loop], passes.loop};
}

static void ask_for_loop(void) {
  if (pairs_page) pairs_page->asks = 1;
}

/* The border that a pair is, if it is one, with the loop of which a pass begins there; that pass is counted. */
static inline uint32_t border_at(const struct context_pair *pair) {
  if (!pairs_page->borders || pairs_page->left_out) return 0;
  uint32_t border = pair->border, number = border & 0xff;
  if (__atomic_load_n(&pairs_page->borders, __ATOMIC_ACQUIRE) != passes.borders) count_passes();
  else if (number) passes.count[number]++;
  if (number) passes.loop = (int32_t)number;
  return border;
}

/* After each recorded call; returns the border that it is, 0 if none. */
static inline uint32_t note_pair(int64_t begin_ns, int32_t call, int flags) {
  static uint32_t before;
  if (!pairs_page || !record_contexts || flags & INCOMPLETE || is_poll(hindmost_call_classes[call])) return 0;
  uint32_t after = context_now, at = (before * 0x9E3779B1u ^ after * 0x85EBCA77u) >> 7;
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
  before = pairs_page->context = after;
  if (!pair) return 0;
  pair->count++;
  if (pair->begins) note_iteration(begin_ns, pair->begins);
  return border_at(pair);
}

/* When the recorder has begun: the page of this rank, in a folder of the node. */
static void begin_pairs(void) {
  char path[PATH_MAX];
  if (!attached.pages) return;
  snprintf(path, sizeof path, "%s/%d", attached.pages, attached.rank);
  int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file >= 0 && ftruncate(file, sizeof *pairs_page)) {
    close(file);
    file = -1;
  }
  void *memory = file < 0 ? MAP_FAILED : mmap(NULL, sizeof *pairs_page, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (file >= 0) close(file);
  if (memory == MAP_FAILED) return;
  io_file = open("/proc/self/io", O_RDONLY | O_CLOEXEC);
  pairs_page = memory;
  __atomic_store_n(&pairs_page->pid, getpid(), __ATOMIC_RELEASE);
}

/* ---- for programs that ask: collective over MPI_COMM_WORLD, so that all ranks get the same answer ---- */

static void ask_first_rank(double answer[2]) {
  answer[0] = 0, answer[1] = INFINITY;
  if (pairs_page) {
    answer[0] = (double)pairs_page->must_stop;
    if (pairs_page->end_ns) answer[1] = (double)(pairs_page->end_ns - system_now()) * 1e-9;
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
