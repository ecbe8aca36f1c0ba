/* A program of two functions of work between calls of MPI, of which rank 1 does more of one.
 *
 * sampled STEPS TIMES HOW: rank 1 does TIMES the work in `heavy`. HOW: "plain"; "profiles": the program installs a handler
 * of SIGPROF after a third of its steps, and a signal would end it; "asks": it asks for that handler, and sets the
 * default one; a path: that library is unloaded, and code made at run time runs where it was; "blocks": each step calls what can be interrupted, and
 * what was is counted; "forbids": perf_event_open is forbidden; "threads": two threads more work, in `aside`; "silent": these block SIGPROF; "team":
 * two OpenMP threads share the work of `heavy`; "hangs": rank
 * 1 then waits for ever, one thread for a lock. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <mpi.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 100000, CALLS = 5 };
static volatile double value = 1;
static int stopped, interrupted;

static __attribute__((noinline)) void light(int rounds) {
  for (int i = 0; i < rounds; i++) value = value * 0.999 + 0.001; /* LIGHT */
}

static __attribute__((noinline)) void heavy(int rounds) {
  for (int i = 0; i < rounds; i++) value = value * 0.998 + 0.002; /* HEAVY */
}

/* Two threads share it; the second one has TIMES the work on rank 1. */
static __attribute__((noinline)) void share(int rank, double times) {
#ifdef _OPENMP
#pragma omp parallel num_threads(2)
  heavy(rank == 1 && omp_get_thread_num() == 1 ? (int)(times * ROUNDS) : ROUNDS);
#else
  (void)rank, (void)times;
#endif
}

static __attribute__((noinline)) void *aside(void *unused) {
  (void)unused;
  while (!__atomic_load_n(&stopped, __ATOMIC_RELAXED)) value += 1e-9; /* ASIDE */
  return NULL;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static __attribute__((noinline)) void *stuck(void *unused) {
  pthread_mutex_lock(&lock); /* STUCK */
  value += 1;
  return unused;
}

/* Whether anything but the default action is there. */
static int ask(void) {
  struct sigaction before;
  sigaction(SIGPROF, NULL, &before);
  return before.sa_handler != SIG_DFL || signal(SIGPROF, SIG_DFL) != SIG_DFL;
}

static void run_in_place_of(const char *path) {
  enum { ROOM = 4096, TURNS = 20000000 };
  const unsigned char code[] = {0x89, 0xf8, 0xff, 0xc8, 0x75, 0xfc, 0xc3}; /* counts its argument down */
  void *library = dlopen(path, RTLD_NOW), *place = library ? dlsym(library, "from_library") : NULL;
  if (!place) abort();
  place = (void *)((size_t)place & -(size_t)ROOM);
  MPI_Barrier(MPI_COMM_WORLD); /* MPI sees it loaded */
  dlclose(library);
  place = mmap(place, ROOM, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  for (int at = 0; at < ROOM; at += 256) {
    memcpy((char *)place + at, code, sizeof code);
    ((void (*)(int))((size_t)place + at))(TURNS);
  }
  munmap(place, ROOM);
}

static void end_badly(int number) { _exit(number); }

static void forbid_perf(void) {
  struct sock_filter rules[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
                                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  struct sock_fprog program = {4, rules};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static void block(void) {
  static int epoll = -1;
  static sem_t never;
  if (epoll < 0) epoll = epoll_create1(0), sem_init(&never, 0, 0);
  struct timespec nap = {0, 50000}, until;
  struct timeval wait = {0, 50};
  struct epoll_event event;
  for (int i = 0; i < CALLS; i++) {
    interrupted += nanosleep(&nap, NULL) != 0;
    interrupted += poll(NULL, 0, 1) < 0;
    interrupted += select(0, NULL, NULL, NULL, &wait) < 0;
    interrupted += epoll_wait(epoll, &event, 1, 1) < 0;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec = (until.tv_nsec + 50000) % 1000000000;
    interrupted += sem_timedwait(&never, &until) && errno != ETIMEDOUT;
  }
}

int main(int argc, char **argv) {
  int rank, steps = atoi(argv[1]);
  const double times = atof(argv[2]);
  const char *how = argv[argc - 1];
  pthread_t threads[2];
  if (!strcmp(how, "forbids")) forbid_perf();
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int silent = !strcmp(how, "silent"), more = silent || !strcmp(how, "threads");
  sigset_t profile;
  sigemptyset(&profile), sigaddset(&profile, SIGPROF);
  if (silent) pthread_sigmask(SIG_BLOCK, &profile, NULL);
  for (int i = 0; more && i < 2; i++) pthread_create(&threads[i], NULL, aside, NULL);
  if (silent) pthread_sigmask(SIG_UNBLOCK, &profile, NULL);
  for (int step = 0; step < steps; step++) {
    if (!strcmp(how, "profiles") && step == steps / 3) signal(SIGPROF, end_badly);
    if (!strcmp(how, "asks") && step == steps / 3) interrupted += ask();
    if (*how == '/' && step == steps / 3) run_in_place_of(how);
    light(ROUNDS);
    MPI_Barrier(MPI_COMM_WORLD);
    light(ROUNDS);
    if (!strcmp(how, "team")) share(rank, times);
    else heavy(rank == 1 ? (int)(times * ROUNDS) : ROUNDS);
    if (!strcmp(how, "blocks")) block();
    MPI_Allreduce(MPI_IN_PLACE, &stopped, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }
  if (!strcmp(how, "hangs") && rank == 1) {
    pthread_mutex_lock(&lock);
    pthread_create(&threads[0], NULL, stuck, NULL);
    pthread_create(&threads[1], NULL, aside, NULL);
    pthread_join(threads[0], NULL); /* JOINS */
  }
  if (!strcmp(how, "hangs")) MPI_Barrier(MPI_COMM_WORLD);
  stopped = 1;
  for (int i = 0; more && i < 2; i++) pthread_join(threads[i], NULL);
  printf("%d interrupted\n", interrupted);
  MPI_Finalize();
  return 0;
}
