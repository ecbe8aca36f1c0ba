#include "sampler.h"

#include "attached.h"
#include "classify.h"
#include "clock.h"
#include "contexts.h"
#include "json.h"
#include "lock.h"
#include "places.h"
#include "pyframes.h"
#include "rawfile.h"
#include "recording.h"
#include "unwind.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

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
enum { COPIED_STACK = 1 << 13, WATCH_NS = 20000000 }; /* of a thread that is blocked; how often the recorded one is looked at */
enum { MIN_SAMPLES_A_SECOND = 100, MAX_SAMPLES_A_SECOND = 1000, CALIBRATION_NS = 2500000, CALIBRATION_PERIOD_NS = 100000,
       TIMER_PERIOD_NS = 4000000 }; /* TIMER: a tick of most kernels */
#define SAMPLING_COST 0.003 /* of the processor time */
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
static int notes_last, noted; /* whether the program is about to end, and how many threads have noted where they stand */
static struct sampled_thread *blocked_thread; /* where the recorded thread is blocked, outside of MPI */
static int samples_wanted, samples_began, samples_by_timer;
static int samples_paused, watch_number; /* paused: the program records a part of it itself; number: of the last watcher */
static uint32_t python_named; /* places so far whose lines of Python are known */
static const char *no_samples_why = "";
static double sample_cost_ns;
static __thread struct sampled_thread *this_thread __attribute__((tls_model("initial-exec")));
static struct samples_written {
  uint32_t places, chains, pairs;
} samples_written;

static void disarm_thread(struct sampled_thread *thread);

/* ---- rules ---- */

/* Whether nothing was unloaded since; what is no more must not be read. */
static int modules_are_known(void) {
  struct loaded_modules *now = atomic_load_explicit(&modules_now, memory_order_acquire);
  return now && now->unloads == __atomic_load_n(&unloads, __ATOMIC_ACQUIRE);
}

static const struct loaded_module *module_around(uint64_t address) {
  struct loaded_modules *now = atomic_load_explicit(&modules_now, memory_order_acquire);
  uint32_t low = 0, high = now ? now->count : 0;
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    if (address < now->module[middle].begin) high = middle;
    else if (address >= now->module[middle].end) low = middle + 1;
    else return &now->module[middle];
  }
  return NULL;
}

static void *begin_sampled_thread(void *given);

/* The slot of a return address (of a line of Python: of its instruction, with its code); NULL if there is none. */
static struct sample_address *sampled_address(uint64_t key, uint64_t code) {
  uint32_t at = (uint32_t)(key * 0x9E3779B97F4A7C15u >> 47);
  for (int tries = 0; tries < SAMPLE_TRIES; tries++, at++) {
    struct sample_address *slot = &sampled->addresses[at % SAMPLE_SLOTS];
    uint64_t found = atomic_load_explicit(&slot->key, memory_order_acquire);
    if (found == key) return slot;
    if (found) continue;
    if (!(key & SAMPLE_OF_PYTHON) && !modules_are_known()) return NULL;
    if (!atomic_compare_exchange_strong(&slot->key, &found, 1)) {
      if (found == key) return slot;
      continue;
    }
    struct place place = {.module = OF_NO_FILE};
    uint64_t function = 0, bytes = 0;
    slot->rule = (struct rule){.kind = CHAIN_ENDS};
    if (key & SAMPLE_OF_PYTHON) {
      place = (struct place){.module = OF_PYTHON, .offset = (int64_t)(key & ~SAMPLE_OF_PYTHON), .function = (int64_t)code};
    } else {
      const struct loaded_module *module = module_around(key - 1);
      if (module) {
        slot->rule = rule_by_table(module->table, key, &function, &bytes);
        place.module = module->number;
        place.offset = (int64_t)(key - module->base);
        place.function = function ? (int64_t)(function - module->base) : 0;
        place.bytes = (int64_t)bytes;
      }
      slot->ends = function && function == (uint64_t)begin_sampled_thread;
      slot->of_recorder = key - 1 - own_begin < own_bytes;
      slot->of_python = key - 1 - python_begin < python_end - python_begin;
    }
    uint32_t number = atomic_fetch_add(&sample_places, 1);
    if (number < MAX_SAMPLE_PLACES) {
      sampled->places[number] = place;
      __atomic_store_n(&sampled->places[number].pad, 1, __ATOMIC_RELEASE);
      slot->place = number + 1;
    } else
      atomic_store(&sample_places, MAX_SAMPLE_PLACES);
    atomic_store_explicit(&slot->key, key, memory_order_release);
    return slot;
  }
  return NULL;
}

/* ---- chains and pairs ---- */

static uint32_t sampled_chain(const uint32_t chain[], uint32_t count) {
  uint64_t hash = 0x1234567;
  for (uint32_t i = 0; i < count; i++) hash = mixed(hash, chain[i]);
  hash |= 2;
  uint32_t at = (uint32_t)(hash >> 47);
  for (int tries = 0; tries < SAMPLE_TRIES; tries++, at++) {
    __typeof__(sampled->chain_slots[0]) *slot = &sampled->chain_slots[at % SAMPLE_SLOTS];
    uint64_t found = atomic_load_explicit(&slot->key, memory_order_acquire);
    if (found == hash) return slot->number;
    if (found) continue;
    if (!atomic_compare_exchange_strong(&slot->key, &found, 1)) continue;
    uint64_t room = atomic_fetch_add(&sample_chains, (1ull << 32) + count);
    uint32_t number = (uint32_t)(room >> 32), start = (uint32_t)room;
    if (number >= MAX_SAMPLE_CHAINS || start + count > SAMPLE_CHAIN_PLACES) {
      atomic_fetch_sub(&sample_chains, (1ull << 32) + count);
      atomic_store_explicit(&slot->key, 0, memory_order_release);
      return 0;
    }
    memcpy(sampled->chain_places + start, chain, count * sizeof *chain);
    sampled->chain_end[number] = start + count;
    slot->number = number + 1;
    atomic_store_explicit(&sampled->chain_ready[number], 1, memory_order_release);
    atomic_store_explicit(&slot->key, hash, memory_order_release);
    return number + 1;
  }
  return 0;
}

static uint32_t sampled_pair(uint32_t before, uint32_t chain, uint32_t flags) {
  uint64_t key = ((uint64_t)before << 24 | (uint64_t)chain << 4 | flags) + 2;
  uint32_t at = (uint32_t)(key * 0x9E3779B97F4A7C15u >> 47);
  for (int tries = 0; tries < SAMPLE_TRIES; tries++, at++) {
    __typeof__(sampled->pair_slots[0]) *slot = &sampled->pair_slots[at % SAMPLE_SLOTS];
    uint64_t found = atomic_load_explicit(&slot->key, memory_order_acquire);
    if (found == key) return slot->number;
    if (found || !atomic_compare_exchange_strong(&slot->key, &found, 1)) continue;
    uint32_t number = atomic_fetch_add(&sample_pairs, 1);
    if (number >= MAX_SAMPLE_PAIRS - 1) {
      atomic_store(&sample_pairs, MAX_SAMPLE_PAIRS - 1);
      atomic_store_explicit(&slot->key, 0, memory_order_release);
      return 0;
    }
    struct sample_pair *pair = &sampled->pairs[number];
    pair->before = before, pair->chain = chain, pair->flags = flags;
    slot->number = number + 1;
    __atomic_store_n(&pair->ready, 1, __ATOMIC_RELEASE);
    atomic_store_explicit(&slot->key, key, memory_order_release);
    return number + 1;
  }
  return 0;
}

/* ---- a sample ---- */

/* What may be read of a stack, and how far from there its words are: those of another thread are a copy. */
struct stack_part {
  uint64_t begin, end;
  int64_t shift;
};
struct registers {
  uint64_t address, stack, rbp; /* rbp 0: not known */
};

static int on_stack(const struct stack_part *part, uint64_t address) {
  return address - part->begin < part->end - part->begin - 8;
}

static uint64_t word_at(const struct stack_part *part, uint64_t address) {
  return *(const uint64_t *)(address + (uint64_t)part->shift);
}

/* The frames of Python 3.11 of this thread, as its interpreter keeps them; the instruction of each, with its code. */
static uint32_t sampled_python(uint32_t chain[], uint32_t count) {
  enum { THREAD_CFRAME = 56, CFRAME_FRAME = 8, FRAME_CODE = 32, FRAME_PREVIOUS = 48, FRAME_INSTRUCTION = 56 };
  const char *state = python_thread_state(), *frame = NULL;
  if (state) frame = *(char *const *)(*(char *const *)(state + THREAD_CFRAME) + CFRAME_FRAME);
  for (; frame && count < SAMPLE_DEPTH; frame = *(char *const *)(frame + FRAME_PREVIOUS)) {
    uint64_t code = *(const uint64_t *)(frame + FRAME_CODE), at = *(const uint64_t *)(frame + FRAME_INSTRUCTION);
    if (!code || at - code > 1 << 24) break;
    struct sample_address *known = sampled_address(at | SAMPLE_OF_PYTHON, code);
    if (known && known->place) chain[count++] = known->place - 1;
  }
  return count;
}

/* Follows a stack from the registers of its thread: the chain of places, the innermost first. */
static uint32_t sampled_walk(const struct stack_part *part, struct registers at, uint32_t chain[], uint32_t *flags) {
  uint64_t address = at.address, stack = at.stack, rbp = at.rbp;
  uint32_t count = 0;
  for (int depth = 0; depth < SAMPLE_DEPTH; depth++) {
    struct sample_address *known = address ? sampled_address(address, 0) : NULL;
    if (!address || (known && known->ends)) return count;
    if (!known) break;
    if (known->of_recorder) {
      *flags |= SAMPLE_IN_MPI;
      return 0;
    }
    if (known->of_python && python_thread_state) return sampled_python(chain, count);
    if (known->place && !known->of_python) chain[count++] = known->place - 1;
    uint64_t cfa;
    const struct rule *rule = &known->rule;
    if (rule->kind == FROM_STACK) cfa = stack + (uint64_t)(int64_t)rule->offset;
    else if (rule->kind == FROM_FRAME) cfa = rbp + (uint64_t)(int64_t)rule->offset;
    else if (rule->kind == FROM_MEMORY && on_stack(part, rbp + (uint64_t)(int64_t)rule->offset))
      cfa = word_at(part, rbp + (uint64_t)(int64_t)rule->offset);
    else if (rule->kind == LEFT_TO_LIBGCC && !depth) cfa = stack + 8; /* a stub of the linkage table */
    else if (rule->kind == CHAIN_ENDS) return count;
    else break;
    if (cfa <= stack || !on_stack(part, cfa - 8)) break;
    address = word_at(part, cfa - 8);
    if (rule->saved) {
      uint64_t saved = (rule->saved == 1 ? cfa : rbp) + (uint64_t)(int64_t)rule->frame_offset;
      if (!on_stack(part, saved)) break;
      rbp = word_at(part, saved);
    }
    stack = cfa;
  }
  *flags |= SAMPLE_CUT;
  return count;
}

static void arm_next(struct sampled_thread *thread) {
  thread->random ^= thread->random << 13, thread->random ^= thread->random >> 7, thread->random ^= thread->random << 17;
  uint64_t period_ns = (uint64_t)sample_period_ns * 3 / 4 + thread->random % ((uint64_t)sample_period_ns / 2 + 1);
  if (thread->event >= 0) ioctl(thread->event, PERF_EVENT_IOC_PERIOD, &period_ns);
  else if (thread->has_timer) {
    struct itimerspec next = {.it_value = {(time_t)(period_ns / 1000000000), (long)(period_ns % 1000000000)}};
    timer_settime(thread->timer, 0, &next, NULL);
  }
}

static void keep_sample(struct sampled_thread *of, const struct stack_part *part, struct registers at, uint32_t context,
                        uint32_t flags) {
  uint32_t chain[SAMPLE_DEPTH + 1], put = atomic_load_explicit(&of->put, memory_order_relaxed);
  if (put - atomic_load_explicit(&of->taken, memory_order_acquire) >= SAMPLES_WAITING) {
    of->lost++;
    return;
  }
  uint32_t count = sampled_walk(part, at, chain, &flags), number = 0;
  if (count) number = sampled_chain(chain, count);
  if (!number) flags |= SAMPLE_CUT;
  of->samples[put % SAMPLES_WAITING] = (struct sample){system_now() + clock_shift_ns, sampled_pair(context, number, flags)};
  atomic_store_explicit(&of->put, put + 1, memory_order_release);
}

static void keep_own_sample(const ucontext_t *context, uint32_t flags) {
  struct sampled_thread *me = this_thread;
  const greg_t *registers = context->uc_mcontext.gregs;
  const struct stack_part part = {me->stack_begin, me->stack_end, 0};
  if (me->tid == recorded_thread && open_call >= 0) flags |= SAMPLE_IN_MPI;
  keep_sample(me, &part, (struct registers){(uint64_t)registers[REG_RIP] + 1, (uint64_t)registers[REG_RSP], (uint64_t)registers[REG_RBP]},
              context_now, flags);
}

/* ---- threads that are blocked ---- */

/* Where a thread is blocked in the system, from what the kernel says of it; 0 if it runs. No signal is sent. */
static int blocked_at(int tid, struct registers *at) {
  char path[64], line[256];
  snprintf(path, sizeof path, "/proc/self/task/%d/syscall", tid);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t size = file < 0 ? -1 : read(file, line, sizeof line - 1);
  if (file >= 0) close(file);
  if (size <= 0) return 0;
  line[size] = 0;
  char *address = strrchr(line, ' '), *stack = address;
  if (!address || *line == 'r') return 0; /* running */
  while (stack > line && *--stack != ' ') {}
  *at = (struct registers){strtoull(address, NULL, 16) + 1, strtoull(stack, NULL, 16), 0};
  return at->stack != 0;
}

/* Keeps where a thread is blocked as a sample; not if it or its stack changes meanwhile. */
static void keep_blocked(struct sampled_thread *in, int tid, uint64_t stack_end, uint32_t flags) {
  static uint64_t copies[2][COPIED_STACK / sizeof(uint64_t)]; /* of the watcher, and of what ends the program */
  uint64_t *const copy = copies[flags == SAMPLE_LAST];
  const uint32_t context = context_now;
  struct registers at, again;
  if (!blocked_at(tid, &at) || at.stack >= stack_end) return;
  const size_t wanted = stack_end - at.stack < COPIED_STACK ? stack_end - at.stack : COPIED_STACK;
  struct iovec here = {copy, COPIED_STACK}, there = {(void *)at.stack, wanted};
  const ssize_t size = process_vm_readv(getpid(), &here, 1, &there, 1, 0);
  if (size < 16 || !blocked_at(tid, &again) || again.stack != at.stack || context != context_now) return;
  const struct stack_part part = {at.stack, at.stack + (uint64_t)size, (int64_t)((uint64_t)copy - at.stack)};
  keep_sample(in, &part, at, context, flags);
}

static void take_sample(int signal, siginfo_t *info, void *context) {
  int error = errno;
  struct sampled_thread *me = this_thread;
  (void)signal, (void)info;
  if (me && sampling && atomic_load_explicit(&me->state, memory_order_relaxed) == THREAD_LIVES) {
    int is_last = __atomic_load_n(&notes_last, __ATOMIC_ACQUIRE);
    if (!is_last) keep_own_sample(context, 0), arm_next(me);
    else if (!__atomic_exchange_n(&me->noted, 1, __ATOMIC_ACQ_REL)) {
      keep_own_sample(context, SAMPLE_LAST);
      __atomic_fetch_add(&noted, 1, __ATOMIC_RELEASE);
    }
  }
  errno = error;
}

/* A thread that blocks signals does not answer, and is not waited for long; the kernel says where it is blocked. */
static void sampler_note_all(const void *context) {
  enum { PATIENCE_MS = 1000 };
  int asked = 0;
  if (!sampling) return;
  for (int i = 0; i < SAMPLED_THREADS; i++)
    if (atomic_load(&sampled->threads[i].state) == THREAD_LIVES) disarm_thread(&sampled->threads[i]);
  __atomic_store_n(&notes_last, 1, __ATOMIC_RELEASE);
  for (int i = 0; i < SAMPLED_THREADS; i++) {
    struct sampled_thread *thread = &sampled->threads[i];
    if (thread == this_thread || thread->silent || atomic_load(&thread->state) != THREAD_LIVES) continue;
    asked += !syscall(SYS_tgkill, getpid(), thread->tid, SIGPROF);
  }
  if (this_thread) keep_own_sample(context, SAMPLE_LAST);
  for (int ms = 0; ms < PATIENCE_MS && __atomic_load_n(&noted, __ATOMIC_ACQUIRE) < asked; ms++)
    nanosleep(&(struct timespec){0, 1000000}, NULL);
  for (int i = 0; i < SAMPLED_THREADS; i++) {
    struct sampled_thread *thread = &sampled->threads[i];
    if (thread == this_thread || atomic_load(&thread->state) != THREAD_LIVES) continue;
    if (!__atomic_exchange_n(&thread->noted, 1, __ATOMIC_ACQ_REL)) keep_blocked(thread, thread->tid, thread->stack_end, SAMPLE_LAST);
  }
}

/* ---- processor time between calls ---- */

/* The thread's clock costs more than a call, so it is read only around what takes long; in short calls and between them a
 * thread is taken to run. */
enum { CLOCK_WORTH_NS = 200000 };
static struct {
  int64_t end_ns, cpu_ns; /* of the last call: when it ended, 0: none; and the thread's processor time then */
  uint32_t context;
} left;

static int64_t thread_cpu(void) {
  struct timespec spent;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
  return (int64_t)spent.tv_sec * 1000000000 + spent.tv_nsec;
}

static void refresh_modules(void);

static void note_gap(void) {
  if (!modules_are_known()) refresh_modules();
  if (!left.end_ns) return;
  int64_t passed = system_now() + clock_shift_ns - left.end_ns;
  int64_t cpu_ns = passed < CLOCK_WORTH_NS ? left.cpu_ns + (passed > 0 ? passed : 0) : thread_cpu();
  if (cpu_ns > left.cpu_ns) sampled->context_cpu_ns[left.context % MAX_SAMPLE_CONTEXTS] += cpu_ns - left.cpu_ns;
  left.cpu_ns = cpu_ns;
}

static void sampler_leave(int64_t begin_ns, int64_t end_ns) {
  left.cpu_ns = left.end_ns && end_ns - begin_ns < CLOCK_WORTH_NS ? left.cpu_ns + end_ns - begin_ns : thread_cpu();
  left.end_ns = end_ns;
  left.context = context_now;
}

static void sampler_forget_call(void) { left.end_ns = 0; }

/* ---- threads ---- */

static int64_t cpu_of(int tid) {
  struct timespec spent;
  clockid_t clock = (clockid_t)(~(unsigned)tid << 3 | 6); /* the kernel's clock of a thread of this process */
  return clock_gettime(clock, &spent) ? -1 : (int64_t)spent.tv_sec * 1000000000 + spent.tv_nsec;
}

static int open_thread_event(int tid, int64_t period_ns) {
  struct perf_event_attr wanted = {.size = sizeof wanted, .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_TASK_CLOCK,
                                   .sample_period = (uint64_t)period_ns, .wakeup_events = 1, .exclude_kernel = 1, .exclude_hv = 1};
  struct f_owner_ex owner = {F_OWNER_TID, tid};
  int event = (int)syscall(SYS_perf_event_open, &wanted, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
  if (event < 0) return -1;
  fcntl(event, F_SETSIG, SIGPROF);
  fcntl(event, F_SETOWN_EX, &owner);
  fcntl(event, F_SETFL, O_ASYNC | O_NONBLOCK);
  return event;
}

/* Lets the kernel interrupt a thread that is known; whether it does. */
static int arm_thread(struct sampled_thread *thread) {
  if (!samples_by_timer) thread->event = open_thread_event(thread->tid, sample_period_ns);
  else {
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF};
    clockid_t clock;
    event._sigev_un._tid = thread->tid;
    thread->has_timer = !pthread_getcpuclockid(thread->handle, &clock) && !timer_create(clock, &event, &thread->timer);
    arm_next(thread);
  }
  return thread->event >= 0 || thread->has_timer;
}

/* Another thread may do it at the same time. A child that was forked may keep an event open, so it is disabled. */
static void disarm_thread(struct sampled_thread *thread) {
  const int event = __atomic_exchange_n(&thread->event, -1, __ATOMIC_ACQ_REL);
  if (event >= 0) ioctl(event, PERF_EVENT_IOC_DISABLE, 0), close(event);
  if (__atomic_exchange_n(&thread->has_timer, 0, __ATOMIC_ACQ_REL)) timer_delete(thread->timer);
}

/* Notes this thread; one that blocks SIGPROF, to wait for signals, say, is not interrupted. */
static void know_thread(void) {
  pthread_attr_t attributes;
  void *begin;
  size_t size;
  sigset_t blocked;
  pthread_sigmask(SIG_BLOCK, NULL, &blocked);
  const int silent = sigismember(&blocked, SIGPROF);
  if (silent) atomic_fetch_add(&unsampled_threads, 1);
  if (pthread_getattr_np(pthread_self(), &attributes)) return;
  pthread_attr_getstack(&attributes, &begin, &size);
  pthread_attr_destroy(&attributes);
  for (int i = 0; i < SAMPLED_THREADS; i++) {
    struct sampled_thread *thread = &sampled->threads[i];
    int expected = THREAD_FREE;
    if (!atomic_compare_exchange_strong(&thread->state, &expected, THREAD_ENDED)) continue; /* nobody writes it before it lives */
    thread->tid = (int)syscall(SYS_gettid);
    thread->handle = pthread_self();
    thread->event = -1, thread->has_timer = 0, thread->silent = silent, thread->noted = 0;
    thread->stack_begin = (uint64_t)begin, thread->stack_end = (uint64_t)begin + size;
    thread->lost = thread->written_lost = thread->cpu_ns = 0;
    thread->number = (int)atomic_fetch_add(&sampled_threads, 1);
    thread->random = 88172645463325252u ^ (uint64_t)thread->tid << 20 ^ (uint64_t)thread->number;
    this_thread = thread;
    atomic_store(&thread->state, THREAD_LIVES);
    if (sampling && !silent && !arm_thread(thread)) atomic_fetch_add(&unsampled_threads, 1);
    return;
  }
}

static void forget_thread(void *unused) {
  struct sampled_thread *me = this_thread;
  (void)unused;
  if (!me) return;
  disarm_thread(me);
  me->cpu_ns = cpu_of(me->tid);
  this_thread = NULL;
  atomic_store(&me->state, THREAD_ENDED); /* and free when its samples are written */
}

struct thread_start {
  void *(*function)(void *);
  void *argument;
};

static void *begin_sampled_thread(void *given) {
  struct thread_start start = *(struct thread_start *)given;
  void *result;
  free(given);
  know_thread();
  pthread_cleanup_push(forget_thread, NULL);
  result = start.function(start.argument);
  pthread_cleanup_pop(1);
  return result;
}

#ifdef HINDMOST_LINKED
#define create_thread pthread_create
#else
static int create_thread(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *), void *argument) {
  static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  if (!real) real = (__typeof__(real))dlsym(RTLD_NEXT, "pthread_create");
  return real(thread, attributes, function, argument);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *), void *argument) {
  struct thread_start *start = samples_wanted ? malloc(sizeof *start) : NULL;
  if (!start) return create_thread(thread, attributes, function, argument);
  *start = (struct thread_start){function, argument};
  int error = create_thread(thread, attributes, begin_sampled_thread, start);
  if (error) free(start);
  return error;
}
#endif

/* ---- the watcher ---- */

static void *watch_blocked(void *unused) {
  const struct sampled_thread *recorded = &sampled->threads[0];
  const int number = __atomic_load_n(&watch_number, __ATOMIC_ACQUIRE);
  uint64_t random = 88172645463325252u;
  while (number == __atomic_load_n(&watch_number, __ATOMIC_ACQUIRE)) {
    random ^= random << 13, random ^= random >> 7, random ^= random << 17;
    nanosleep(&(struct timespec){0, (long)(WATCH_NS * 3 / 4 + random % (WATCH_NS / 2))}, NULL);
    if (sampling && !__atomic_load_n(&notes_last, __ATOMIC_ACQUIRE) && __atomic_load_n(&open_call, __ATOMIC_RELAXED) < 0)
      keep_blocked(blocked_thread, recorded->tid, recorded->stack_end, SAMPLE_BLOCKED);
  }
  return unused;
}

/* A thread of ours looks now and then where the recorded one is blocked; it takes no signal. */
static void begin_watching(void) {
  pthread_attr_t attributes;
  pthread_t watcher;
  sigset_t all, before;
  if (this_thread != &sampled->threads[0]) return;
  for (int i = 1; i < SAMPLED_THREADS && !blocked_thread; i++) {
    int expected = THREAD_FREE;
    if (atomic_compare_exchange_strong(&sampled->threads[i].state, &expected, THREAD_WATCHED)) blocked_thread = &sampled->threads[i];
  }
  if (!blocked_thread) return;
  blocked_thread->tid = this_thread->tid, blocked_thread->number = 0, blocked_thread->event = -1;
  __atomic_add_fetch(&watch_number, 1, __ATOMIC_ACQ_REL);
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  create_thread(&watcher, &attributes, watch_blocked, NULL);
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- begin and end ---- */

static void describe_sampling(void) {
  struct text text = {0};
  text_add(&text, "{\"mechanism\":\"%s\"", !samples_began ? "none" : samples_by_timer ? "timer" : "event");
  text_string(&text, "why_none", no_samples_why);
  text_number(&text, "period_ns", sample_period_ns);
  text_number(&text, "unsampled", atomic_load(&unsampled_threads));
  text_real(&text, "cost_ns", sample_cost_ns);
  text_frame(&text, RAW_SAMPLER);
}

static void stop_sampling(const char *why) {
  if (!sampling) return;
  sampling = 0;
  __atomic_add_fetch(&watch_number, 1, __ATOMIC_ACQ_REL);
  call_hooks.before_call = NULL;
  for (int i = 0; i < SAMPLED_THREADS; i++)
    if (atomic_load(&sampled->threads[i].state) == THREAD_LIVES) disarm_thread(&sampled->threads[i]);
  no_samples_why = why;
}

#ifndef HINDMOST_LINKED
/* The program's own handler of SIGPROF takes the signal from here on. */
static void give_signal_back(void) { stop_sampling("the program installed a handler of SIGPROF of its own"); }

/* While samples are taken the program has the default action, as far as it can see. */
int sigaction(int number, const struct sigaction *action, struct sigaction *before) {
  static int (*real)(int, const struct sigaction *, struct sigaction *);
  int error = 0;
  if (!real) real = (__typeof__(real))dlsym(RTLD_NEXT, "sigaction");
  if (number != SIGPROF || !sampling) return real(number, action, before);
  if (action && action->sa_handler != SIG_DFL) {
    give_signal_back();
    error = real(number, action, NULL);
  }
  if (before && !error) *before = (struct sigaction){.sa_handler = SIG_DFL};
  return error;
}

typedef void (*signal_handler)(int);

static signal_handler install(signal_handler (*real)(int, signal_handler), int number, signal_handler handler) {
  if (number != SIGPROF || !sampling) return real(number, handler);
  if (handler == SIG_DFL) return SIG_DFL;
  give_signal_back();
  return real(number, handler) == SIG_ERR ? SIG_ERR : SIG_DFL;
}

/* What `signal` is in most programs, and in those compiled for C alone. */
#define INTERPOSE_SIGNAL(name)                                                        \
  signal_handler name(int number, signal_handler handler) {                           \
    static signal_handler (*real)(int, signal_handler);                               \
    if (!real) real = (__typeof__(real))dlsym(RTLD_NEXT, #name);                      \
    return install(real, number, handler);                                            \
  }
INTERPOSE_SIGNAL(signal)
INTERPOSE_SIGNAL(__sysv_signal)
#endif

/* Rounds of a loop that fit into some processor time of this thread. */
static int64_t rounds_within(int64_t ns) {
  volatile uint64_t value = 1;
  int64_t rounds = 0, until = cpu_of(this_thread->tid) + ns;
  do
    for (int i = 0; i < 2000; i++, rounds++) value = value * 6364136223846793005u + 1;
  while (cpu_of(this_thread->tid) < until);
  return rounds;
}

/* What a sample costs: how many rounds less a loop does while it is interrupted often. */
static double measured_cost_ns(void) {
  int64_t alone = 0, interrupted = 0;
  const uint32_t before = this_thread->put;
  for (int turn = 0; turn < 4; turn++) {
    alone += rounds_within(CALIBRATION_NS);
    sample_period_ns = CALIBRATION_PERIOD_NS;
    sampling = 1;
    arm_thread(this_thread);
    interrupted += rounds_within(CALIBRATION_NS);
    sampling = 0;
    disarm_thread(this_thread);
  }
  const double taken = (double)(uint32_t)(this_thread->put - before), lost = 1.0 - (double)interrupted / (double)alone;
  this_thread->taken = this_thread->put;
  return taken < 1 ? 0 : lost > 0 ? 4.0 * CALIBRATION_NS * lost / taken : 0;
}

static void sampler_prepare(void) {
  void *memory = sampled ? sampled : mmap(NULL, sizeof *sampled, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return;
  sampled = memory;
  samples_wanted = 1;
  if (!this_thread) know_thread();
}

static void find_python_frames(void) {
  if (!python.evaluates || !python.has_entry) return; /* 3.11, whose frames are known */
  const struct loaded_module *module = module_around((uint64_t)python.evaluates);
  if (!module) return;
  python_begin = module->begin, python_end = module->end;
  python_thread_state = (void *(*)(void))dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
}

static void sampler_begin(MPI_Comm ranks) {
  if (!samples_wanted) return;
  struct sigaction ours = {.sa_sigaction = take_sample, .sa_flags = SA_RESTART | SA_SIGINFO}, before;
  const int ends[] = {SIGTERM, SIGINT, SIGHUP, SIGXCPU, SIGUSR1, SIGUSR2};
  int64_t period_ns = 1000000000 / MIN_SAMPLES_A_SECOND;
  sigemptyset(&ours.sa_mask); /* an end asks where the program is, and is told so once the handler has returned */
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) sigaddset(&ours.sa_mask, ends[i]);
  sigaction(SIGPROF, NULL, &before);
  if (before.sa_flags & SA_SIGINFO ? before.sa_sigaction != take_sample : before.sa_handler != SIG_DFL)
    no_samples_why = "the program has a handler of SIGPROF of its own";
  else if (!this_thread || this_thread->silent || this_thread->number)
    no_samples_why = "the recorded thread blocks SIGPROF, or is not the first one";
  else {
    refresh_modules();
    find_python_frames();
    sigaction(SIGPROF, &ours, NULL);
    int event = open_thread_event(0, 1000000);
    samples_by_timer = event < 0;
    if (event >= 0) close(event);
    if (!samples_by_timer) {
      sample_cost_ns = measured_cost_ns();
      double rate = SAMPLING_COST * 1e9 / (sample_cost_ns > 1 ? sample_cost_ns : 1);
      rate = rate < MIN_SAMPLES_A_SECOND ? MIN_SAMPLES_A_SECOND : rate > MAX_SAMPLES_A_SECOND ? MAX_SAMPLES_A_SECOND : rate;
      period_ns = (int64_t)(1e9 / rate);
    }
    if (attached.samples_a_second) period_ns = 1000000000 / attached.samples_a_second;
    if (samples_by_timer && period_ns < TIMER_PERIOD_NS) period_ns = TIMER_PERIOD_NS;
    samples_began = 1;
  }
  PMPI_Allreduce(&period_ns, &sample_period_ns, 1, MPI_INT64_T, MPI_MAX, ranks);
  sigset_t signals;
  if (begin_writing(&signals)) {
    describe_sampling();
    end_writing(&signals);
  }
  if (!samples_began) return;
  call_hooks.before_call = note_gap;
  sampling = 1;
  for (int i = 0; i < SAMPLED_THREADS; i++)
    if (atomic_load(&sampled->threads[i].state) == THREAD_LIVES && !sampled->threads[i].silent && sampled->threads[i].event < 0 &&
        !arm_thread(&sampled->threads[i]))
      atomic_fetch_add(&unsampled_threads, 1);
  begin_watching();
}

static void sampler_pause(void) {
  if (!samples_wanted) return;
  samples_paused = 1 + sampling;
  sampling = 0;
}

static void sampler_begin_own(MPI_Comm ranks) {
  if (samples_paused) return;
  sampler_prepare();
  if (!samples_wanted) return;
  memset(sampled->context_cpu_ns, 0, (chain_count + 1) * sizeof(int64_t));
  samples_began = 0, no_samples_why = "";
  sampler_begin(ranks);
}

static void sampler_end_own(void) {
  if (samples_paused) {
    sampling = samples_paused - 1, samples_paused = 0;
    return;
  }
  if (sampling) stop_sampling("");
  samples_wanted = 0;
}

static void sampler_forget_written(void) {
  if (!samples_paused) samples_written = (struct samples_written){0};
}

static void sampler_leave_child(void) {
  if (sampling) sampling = 0, signal(SIGPROF, SIG_DFL);
  samples_wanted = 0;
  call_hooks.before_call = NULL;
  this_thread = NULL;
}

/* ---- writing ---- */

static int note_loaded(struct dl_phdr_info *info, size_t size, void *given) {
  struct loaded_modules *all = given;
  const uint8_t *table = NULL;
  (void)size;
  for (int i = 0; i < info->dlpi_phnum; i++)
    if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME) table = (const uint8_t *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
  for (int i = 0; i < info->dlpi_phnum && all->count < MAX_MODULES; i++) {
    const ElfW(Phdr) *part = &info->dlpi_phdr[i];
    uint64_t begin = info->dlpi_addr + part->p_vaddr;
    if (part->p_type == PT_LOAD && part->p_flags & PF_X)
      all->module[all->count++] = (struct loaded_module){begin, begin + part->p_memsz, info->dlpi_addr, table, OF_NO_FILE};
  }
  return 0;
}

static int by_begin(const void *one, const void *other) {
  uint64_t a = ((const struct loaded_module *)one)->begin, b = ((const struct loaded_module *)other)->begin;
  return (a > b) - (a < b);
}

static int loads_changed(struct dl_phdr_info *info, size_t size, void *given) {
  static unsigned long long adds, subs;
  (void)size;
  *(int *)given = info->dlpi_adds != adds || info->dlpi_subs != subs;
  adds = info->dlpi_adds, subs = info->dlpi_subs;
  return 1;
}

/* What is loaded now; left for later while another thread numbers modules, who may be in a handler that waits until this
 * one has written. Only on the recorded thread; a handler in another thread that still reads the other table has left it
 * long before it is written again. */
static void refresh_modules(void) {
  int changed = 1;
  const uint32_t unloads_before = __atomic_load_n(&unloads, __ATOMIC_ACQUIRE);
  if (!try_lock_tables()) return;
  dl_iterate_phdr(loads_changed, &changed);
  if (!changed && modules_are_known()) {
    unlock_tables();
    return;
  }
  struct loaded_modules *next = &sampled->modules[atomic_load(&modules_now) == &sampled->modules[0]];
  next->count = 0;
  next->unloads = unloads_before;
  dl_iterate_phdr(note_loaded, next);
  qsort(next->module, next->count, sizeof next->module[0], by_begin);
  for (uint32_t i = 0; i < next->count; i++) next->module[i].number = module_numbered(next->module[i].begin);
  unlock_tables();
  atomic_store_explicit(&modules_now, next, memory_order_release);
}

/* Gives places of Python that are new their line and function; one whose code is no more has none. */
static void name_python_places(uint32_t from, uint32_t to, int may_ask) {
  static int (*line_at)(void *, int);
  static void *code_type;
  enum { CODE_TYPE = 8, CODE_INSTRUCTIONS = 184 }; /* of PyCodeObject, 3.11 */
  if (!python_thread_state) return;
  may_ask = may_ask && runs_in_python();
  if (!line_at) line_at = (int (*)(void *, int))dlsym(RTLD_DEFAULT, "PyCode_Addr2Line");
  if (!code_type) code_type = dlsym(RTLD_DEFAULT, "PyCode_Type");
  int gil = may_ask ? python.PyGILState_Ensure() : 0;
  for (uint32_t i = from; i < to; i++) {
    struct place *place = &sampled->places[i];
    char *code = (char *)place->function;
    if (place->module != OF_PYTHON) continue;
    int at = (int)((char *)place->offset - code - CODE_INSTRUCTIONS);
    int64_t number = may_ask && line_at && code_type && *(void **)(code + CODE_TYPE) == code_type ? code_numbered(code) : -1;
    int line = number < 0 ? -1 : line_at(code, at);
    if (line < 0) place->module = OF_NO_FILE, place->function = place->offset = 0;
    else place->function = number, place->offset = (int64_t)line << PYTHON_CALL_BITS | (at / 2 + 1);
  }
  if (may_ask) python.PyGILState_Release(gil);
}

/* The samples of a thread so far: when the first of them was, then microseconds from one to the next with their pairs. */
static void write_thread(struct sampled_thread *thread, int ended) {
  struct samples_head *head = (void *)sampled->entries;
  uint32_t put = atomic_load_explicit(&thread->put, memory_order_acquire), at = thread->taken;
  uint16_t *entry = sampled->entries + sizeof *head / sizeof *entry;
  const uint16_t *const last = sampled->entries + sizeof sampled->entries / sizeof *entry - 4;
  head->begin_ns = put == at ? system_now() + clock_shift_ns : thread->samples[at % SAMPLES_WAITING].ns;
  head->cpu_ns = ended ? thread->cpu_ns : cpu_of(thread->tid);
  head->thread = (uint32_t)thread->number;
  head->lost = (uint32_t)(thread->lost - thread->written_lost);
  thread->written_lost = thread->lost;
  int64_t before_us = 0;
  for (; at != put && entry < last; at++) {
    const struct sample *sample = &thread->samples[at % SAMPLES_WAITING];
    int64_t us = (sample->ns - head->begin_ns) / 1000, passed = us > before_us ? us - before_us : 0;
    if (passed >> 16) *entry++ = (uint16_t)(passed >> 32 ? 0xFFFF : passed >> 16), *entry++ = SAMPLE_GAP;
    *entry++ = (uint16_t)passed, *entry++ = (uint16_t)sample->pair;
    before_us += passed;
  }
  atomic_store_explicit(&thread->taken, at, memory_order_release);
  raw_frame(RAW_SAMPLES, sampled->entries, (size_t)((char *)entry - (char *)sampled->entries));
}

static uint32_t ready_until(uint32_t from, uint32_t count, int (*ready)(uint32_t)) {
  while (from < count && ready(from)) from++;
  return from;
}

static int place_is_ready(uint32_t at) { return __atomic_load_n(&sampled->places[at].pad, __ATOMIC_ACQUIRE); }
static int chain_is_ready(uint32_t at) { return atomic_load_explicit(&sampled->chain_ready[at], memory_order_acquire); }
static int pair_is_ready(uint32_t at) { return (int)__atomic_load_n(&sampled->pairs[at].ready, __ATOMIC_ACQUIRE); }

static void sampler_write(void) {
  static const char *described = "";
  static uint32_t unsampled_described;
  if (!samples_wanted || samples_paused || !atomic_load(&modules_now)) return;
  /* In a signal's handler nothing is asked of the loader, nor of Python: another thread may hold their locks. */
  const int may_ask = syscall(SYS_gettid) == recorded_thread && !text_uses_spare;
  for (int i = 0; i < SAMPLED_THREADS; i++) {
    struct sampled_thread *thread = &sampled->threads[i];
    int state = atomic_load(&thread->state);
    if (state == THREAD_FREE || (state == THREAD_ENDED && !thread->cpu_ns)) continue;
    write_thread(thread, state == THREAD_ENDED);
    if (state == THREAD_ENDED) {
      thread->cpu_ns = 0; /* so that nobody writes it while it begins anew */
      atomic_store(&thread->state, THREAD_FREE);
    }
  }
  if (may_ask) refresh_modules();
  uint32_t places = atomic_load(&sample_places);
  places = ready_until(samples_written.places, places < MAX_SAMPLE_PLACES ? places : MAX_SAMPLE_PLACES, place_is_ready);
  uint32_t chains = ready_until(samples_written.chains, (uint32_t)(atomic_load(&sample_chains) >> 32), chain_is_ready);
  uint32_t pairs = ready_until(samples_written.pairs, atomic_load(&sample_pairs), pair_is_ready);
  name_python_places(python_named, places, may_ask);
  if (places > python_named) python_named = places;
  if (places > samples_written.places)
    raw_frame(RAW_SAMPLE_PLACES, sampled->places + samples_written.places,
              (places - samples_written.places) * sizeof(struct place));
  if (chains > samples_written.chains) {
    uint32_t first = samples_written.chains ? sampled->chain_end[samples_written.chains - 1] : 0;
    raw_frame(RAW_SAMPLE_CHAIN_ENDS, sampled->chain_end + samples_written.chains, (chains - samples_written.chains) * sizeof(uint32_t));
    raw_frame(RAW_SAMPLE_CHAINS, sampled->chain_places + first, (sampled->chain_end[chains - 1] - first) * sizeof(uint32_t));
  }
  if (pairs > samples_written.pairs)
    raw_frame(RAW_SAMPLE_PAIRS, sampled->pairs + samples_written.pairs, (pairs - samples_written.pairs) * sizeof(struct sample_pair));
  samples_written.places = places, samples_written.chains = chains, samples_written.pairs = pairs;
  raw_frame(RAW_CONTEXT_CPU, sampled->context_cpu_ns, (chain_count + 1) * sizeof(int64_t));
  const uint32_t unsampled = atomic_load(&unsampled_threads);
  if (described != no_samples_why || unsampled_described != unsampled) describe_sampling();
  described = no_samples_why, unsampled_described = unsampled;
}
