#include "sampler.h"

#include "attached.h"
#include "classify.h"
#include "clock.h"
#include "contexts.h"
#include "pyframes.h"
#include "rawfile.h"
#include "recording.h"
#include "sample_frames.h"
#include "samples.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
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

enum { COPIED_STACK = 1 << 13, WATCH_NS = 20000000 }; /* of a thread that is blocked; how often the recorded one is looked at */
enum { MIN_SAMPLES_A_SECOND = 100, MAX_SAMPLES_A_SECOND = 1000, CALIBRATION_NS = 2500000, CALIBRATION_PERIOD_NS = 100000,
       TIMER_PERIOD_NS = 4000000 }; /* TIMER: a tick of most kernels */
#define SAMPLING_COST 0.003 /* of the processor time */
static int notes_last, noted; /* whether the program is about to end, and how many threads have noted where they stand */
static struct sampled_thread *blocked_thread; /* where the recorded thread is blocked, outside of MPI */
static int watch_number; /* of the last watcher */

static void disarm_thread(struct sampled_thread *thread);

static void arm_next(struct sampled_thread *thread) {
  thread->random ^= thread->random << 13, thread->random ^= thread->random >> 7, thread->random ^= thread->random << 17;
  uint64_t period_ns = (uint64_t)sample_period_ns * 3 / 4 + thread->random % ((uint64_t)sample_period_ns / 2 + 1);
  if (thread->event >= 0) ioctl(thread->event, PERF_EVENT_IOC_PERIOD, &period_ns);
  else if (thread->has_timer) {
    struct itimerspec next = {.it_value = {(time_t)(period_ns / 1000000000), (long)(period_ns % 1000000000)}};
    timer_settime(thread->timer, 0, &next, NULL);
  }
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
  thread_begin = (uint64_t)begin_sampled_thread;
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

static void sampler_leave_child(void) {
  if (sampling) sampling = 0, signal(SIGPROF, SIG_DFL);
  samples_wanted = 0;
  call_hooks.before_call = NULL;
  this_thread = NULL;
}
