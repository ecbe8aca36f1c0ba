/* The recorder with an MPI of one rank whose calls do nothing: what it writes, and how it ends, without the
 * time and the threads of an MPI. Compiled with recorder.c and -DHINDMOST_LINKED.
 *
 *   stub_mpi SHARED HOW [CALLS [NEST [THREADS]]]
 *
 * A loop of iterations of some calls. SHARED is a file of two numbers: iterations that are done, and the
 * kernel's number of a second thread, which sleeps. HOW: "for-ever"; a number of iterations, after which the
 * program goes on as it should; the same and a word for how it ends: "abort", "exit", "fail", "leave" (_exit),
 * "crash", "crash-apart" (in the second thread), "minus" (exit with -1), "handler" (exit in the handler of a signal,
 * whose stack is small). */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define COUNT int
#define PLACE int
#define COUNTING CALL
#define PARTITIONS __typeof__(_Generic(MPI_Pready_list, int (*)(int, const int *, MPI_Request): (const int *)0, default: (int *)0))
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define CALL(name, class, parameters, arguments) \
  __attribute__((weak)) int PMPI_##name parameters { return MPI_SUCCESS; }
#include "../../harness/recorder/calls.def"
#undef CALL
#undef COUNTING
#undef COUNT
#undef PLACE
#if MPI_VERSION >= 4
#define COUNT MPI_Count
#define PLACE MPI_Aint
#define CALL(name, class, parameters, arguments)
#define COUNTING(name, class, parameters, arguments) \
  __attribute__((weak)) int PMPI_##name##_c parameters { return MPI_SUCCESS; }
#include "../../harness/recorder/calls.def"
#endif

int PMPI_Init(int *argc, char ***argv) { return MPI_SUCCESS; }
int PMPI_Init_thread(int *argc, char ***argv, int required, int *provided) { return *provided = required, MPI_SUCCESS; }
int PMPI_Finalize(void) { return MPI_SUCCESS; }
int PMPI_Abort(MPI_Comm c, int code) { exit(code); }
int PMPI_Pcontrol(const int level, ...) { return MPI_SUCCESS; }
int PMPI_Get_library_version(char *version, int *size) {
#ifdef OPEN_MPI
  strcpy(version, "Open MPI of nobody");
#else
  strcpy(version, "MPI of nobody");
#endif
  return *size = (int)strlen(version), MPI_SUCCESS;
}
#ifdef OPEN_MPI /* elsewhere these are macros */
MPI_Fint PMPI_Comm_c2f(MPI_Comm c) { return 0; }
MPI_Comm MPI_Comm_f2c(MPI_Fint c) { return MPI_COMM_WORLD; }
#endif
int PMPI_Comm_rank(MPI_Comm c, int *rank) { return *rank = 0, MPI_SUCCESS; }
int PMPI_Comm_size(MPI_Comm c, int *size) { return *size = 1, MPI_SUCCESS; }
int PMPI_Comm_test_inter(MPI_Comm c, int *is) { return *is = 0, MPI_SUCCESS; }
int PMPI_Comm_group(MPI_Comm c, MPI_Group *group) { return *group = MPI_GROUP_EMPTY, MPI_SUCCESS; }
int PMPI_Group_size(MPI_Group group, int *size) { return *size = 1, MPI_SUCCESS; }
int PMPI_Group_intersection(MPI_Group one, MPI_Group other, MPI_Group *both) { return *both = MPI_GROUP_EMPTY, MPI_SUCCESS; }
int PMPI_Comm_compare(MPI_Comm one, MPI_Comm other, int *found) { return *found = MPI_IDENT, MPI_SUCCESS; }
int PMPI_Group_free(MPI_Group *group) { return *group = MPI_GROUP_NULL, MPI_SUCCESS; }
int PMPI_Group_translate_ranks(MPI_Group one, int n, const int from[], MPI_Group other, int to[]) {
  for (int i = 0; i < n; i++) to[i] = from[i];
  return MPI_SUCCESS;
}
int PMPI_Type_size(MPI_Datatype t, int *size) { return *size = 8, MPI_SUCCESS; }

static int64_t *shared; /* iterations; the second thread */
static int crash_apart;

static void *second(void *unused) {
  (void)unused;
  __atomic_store_n(&shared[1], syscall(SYS_gettid), __ATOMIC_SEQ_CST);
  while (!__atomic_load_n(&crash_apart, __ATOMIC_RELAXED)) usleep(1000);
  *(volatile int *)8 = 1;
  return NULL;
}

static _Atomic uintptr_t next_request = 16;

/* A ring of messages with itself, as a thread of its own that the recorder does not record in full. */
static void *call_along(void *given) {
  const int64_t calls = *(int64_t *)given;
  double a = 1.0, b;
  for (int64_t i = 0; i < calls; i++) {
    MPI_Request requests[2];
    for (int j = 0; j < 2; j++) requests[j] = (MPI_Request)(next_request += 16);
    MPI_Irecv(&b, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(&a, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Allreduce(&a, &b, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
  }
  return NULL;
}

/* So deep that contexts are many, and new ones come as long as the program runs. */
static __attribute__((noinline)) void call_from(int depth) {
  double a = 1.0, b;
  if (depth > 0) {
    call_from(depth - 1);
    __asm__ volatile("");
    return;
  }
  MPI_Sendrecv(&a, 1, MPI_DOUBLE, 0, 0, &b, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void fail(int unused) {
  (void)unused;
  exit(5);
}

/* As those do that tell of a stack overflow. Below the handler's stack nothing is mapped. */
static void exit_in_handler(void) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), size = (8192 + page - 1) / page * page;
  char *memory = mmap(NULL, page + size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  stack_t stack = {.ss_sp = memory + page, .ss_size = size};
  struct sigaction action = {.sa_handler = fail, .sa_flags = SA_ONSTACK};
  mprotect(stack.ss_sp, size, PROT_READ | PROT_WRITE);
  sigaltstack(&stack, NULL);
  sigaction(SIGUSR1, &action, NULL);
  raise(SIGUSR1);
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  int file = open(argv[1], O_RDWR), calls = argc > 3 ? atoi(argv[3]) : 20, nest = argc > 4 ? atoi(argv[4]) : 0;
  char *how;
  int64_t most = strtoll(argv[2], &how, 10);
  shared = mmap(NULL, 2 * sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (shared == MAP_FAILED) return 2;
  pthread_t thread;
  pthread_create(&thread, NULL, second, NULL);
  int threads = argc > 5 ? atoi(argv[5]) : 0, provided;
  MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  pthread_t others[16];
  double a = 1.0, b;
  for (int64_t i = 0; how == argv[2] || i < most; i++) {
    MPI_Pcontrol(1);
    shared[0] = i;
    if (i == 1)
      for (int j = 0; j < threads; j++) pthread_create(&others[j], NULL, call_along, &most);
    for (int j = 0; j < calls; j++) call_from(nest ? (int)(i / 64 + j) % nest : 0);
    MPI_Allreduce(&a, &b, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  for (int j = 0; j < threads; j++) pthread_join(others[j], NULL);
  if (!strcmp(how, "abort")) MPI_Abort(MPI_COMM_WORLD, 3);
  if (!strcmp(how, "exit")) exit(0);
  if (!strcmp(how, "fail")) exit(5);
  if (!strcmp(how, "minus")) exit(-1);
  if (!strcmp(how, "handler")) exit_in_handler();
  if (!strcmp(how, "leave")) _exit(0);
  if (!strcmp(how, "crash")) *(volatile int *)8 = 1;
  if (!strcmp(how, "crash-apart")) __atomic_store_n(&crash_apart, 1, __ATOMIC_RELAXED), pause();
  MPI_Finalize();
  return 0;
}
