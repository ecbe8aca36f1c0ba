/* Samples of threads: their tables, in memory that is there before the program begins, and the chain of a stack.
 *
 * A handler takes no lock and no memory: a slot of a table is claimed by one compare-and-swap and published by one store. What
 * finds a slot that is claimed and not yet published does without it. */
#pragma once

#include "abi.h"
#include "places.h"
#include "unwind.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

enum {
  SAMPLED_THREADS = 512,
  SAMPLES_WAITING = 1 << 16, /* of a thread, until they are written */
  SAMPLE_SLOTS = 1 << 17,    /* of each table; half of them are used */
  MAX_SAMPLE_PLACES = 1 << 16,
  MAX_SAMPLE_CHAINS = 1 << 16,
  MAX_SAMPLE_CONTEXTS = ADDRESSES,
  MAX_SAMPLE_PAIRS = 65534, /* a number of two bytes: 0 is none, the last one a gap */
  SAMPLE_CHAIN_PLACES = 1 << 21,
  SAMPLE_DEPTH = 96,
  SAMPLE_TRIES = 64,
};
enum { SAMPLE_IN_MPI = 1, SAMPLE_CUT = 2, SAMPLE_LAST = 4, SAMPLE_BLOCKED = 8, SAMPLE_GAP = 0xFFFF }; /* CUT: the walk ended early */
#define SAMPLE_OF_PYTHON (1ull << 62)

struct sample_address {
  _Atomic uint64_t key; /* 0: free, 1: claimed */
  uint32_t place;       /* one more than its number, 0: none */
  uint8_t ends, of_recorder, of_python;
  struct rule rule;
};
struct sample {
  int64_t ns;
  uint32_t pair;
};
struct loaded_module {
  uint64_t begin, end, base;
  const uint8_t *table; /* .eh_frame_hdr */
  int32_t number;       /* in the modules of contexts */
};
struct loaded_modules {
  uint32_t count, unloads; /* unloads: before they were read */
  struct loaded_module module[MAX_MODULES];
};
enum thread_state { THREAD_FREE, THREAD_LIVES, THREAD_ENDED, THREAD_WATCHED }; /* the last: samples of blocked_thread */
struct sampled_thread {
  _Atomic int state;
  int tid, event, has_timer, number, silent, noted; /* event: of perf, -1: none; silent: it blocks SIGPROF */
  timer_t timer;
  pthread_t handle;
  uint64_t stack_begin, stack_end, random;
  int64_t cpu_ns, lost, written_lost; /* cpu_ns: when it ended */
  _Atomic uint32_t put, taken; /* places in the ring, not yet reduced */
  struct sample samples[SAMPLES_WAITING];
};

static struct sample_tables {
  struct sample_address addresses[SAMPLE_SLOTS];
  struct place places[MAX_SAMPLE_PLACES]; /* pad: 1, set last */
  struct { _Atomic uint64_t key; uint32_t number; } chain_slots[SAMPLE_SLOTS], pair_slots[SAMPLE_SLOTS];
  uint32_t chain_end[MAX_SAMPLE_CHAINS + 1];
  _Atomic uint8_t chain_ready[MAX_SAMPLE_CHAINS];
  uint32_t chain_places[SAMPLE_CHAIN_PLACES];
  struct sample_pair pairs[MAX_SAMPLE_PAIRS + 1];
  int64_t context_cpu_ns[MAX_SAMPLE_CONTEXTS]; /* processor time from calls of a context to the next ones */
  struct loaded_modules modules[2];
  struct sampled_thread threads[SAMPLED_THREADS];
  uint16_t entries[4 * SAMPLES_WAITING + 64]; /* of a frame that is written */
} *sampled; /* NULL: no samples */

static _Atomic uint32_t sample_places, sample_pairs, sampled_threads;
static _Atomic uint32_t unsampled_threads; /* which block SIGPROF, or of which the system allows no samples */
static _Atomic uint64_t sample_chains; /* how many, times 2^32, and their places */
static _Atomic(struct loaded_modules *) modules_now; /* NULL: not known now */
static uint64_t python_begin, python_end;
static void *(*python_thread_state)(void);
static int64_t sample_period_ns;
static int samples_wanted, samples_began, samples_by_timer;
static int samples_paused; /* the program records a part of it itself */
static const char *no_samples_why = "";
static double sample_cost_ns;
static __thread struct sampled_thread *this_thread __attribute__((tls_model("initial-exec")));
static uint64_t thread_begin; /* the function in which threads of the program begin, when that is known */

/* What may be read of a stack, and how far from there its words are: those of another thread are a copy. */
struct stack_part {
  uint64_t begin, end;
  int64_t shift;
};
struct registers {
  uint64_t address, stack, rbp; /* rbp 0: not known */
};

/* Whether nothing was unloaded since; what is no more must not be read. */
static int modules_are_known(void);
static const struct loaded_module *module_around(uint64_t address);

/* What is loaded now. */
static void refresh_modules(void);

/* The processor time of a thread of this process, by the kernel's number; -1: it is no more. */
static int64_t cpu_of(int tid);

/* Keeps a sample of a thread where its registers are, behind a call of a context. */
static void keep_sample(struct sampled_thread *of, const struct stack_part *part, struct registers at, uint32_t context, uint32_t flags);
