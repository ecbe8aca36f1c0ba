#include "signals.h"

#include <dlfcn.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

static void (*at_end)(int number, const void *context);
static const int ending_signals[] = {SIGTERM, SIGINT, SIGHUP,  SIGXCPU, SIGUSR1, SIGUSR2,
                                     SIGSEGV, SIGBUS, SIGFPE, SIGILL,  SIGABRT};
enum { ENDING_SIGNALS = sizeof ending_signals / sizeof *ending_signals };
static struct sigaction actions_before[ENDING_SIGNALS];

static void end_by_signal(int number, siginfo_t *info, void *context) {
  at_end(number, context);
  for (int i = 0; i < ENDING_SIGNALS; i++)
    if (ending_signals[i] == number) sigaction(number, &actions_before[i], NULL);
  int is_fault = number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL;
  if (!is_fault || info->si_code <= 0) raise(number); /* else the instruction fails once more */
}

/* Of MPI, or PETSc, which sleeps on all ranks but one and then aborts. */
static int is_of_library(const struct sigaction *action) {
  Dl_info place;
  if (!dladdr(action->sa_flags & SA_SIGINFO ? (void *)action->sa_sigaction : (void *)action->sa_handler, &place))
    return 0;
  const char *slash = place.dli_fname ? strrchr(place.dli_fname, '/') : NULL;
  return slash && (!strncmp(slash, "/libmpi", 7) || !strncmp(slash, "/libopen-", 9) || !strncmp(slash, "/libpetsc", 9));
}

static void catch_signals(void (*then)(int number, const void *context)) {
  at_end = then;
  struct sigaction ours = {.sa_sigaction = end_by_signal, .sa_flags = SA_SIGINFO};
  sigfillset(&ours.sa_mask);
  for (int i = 0; i < ENDING_SIGNALS; i++) {
    struct sigaction before;
    if (sigaction(ending_signals[i], NULL, &before)) continue;
    int is_plain = !(before.sa_flags & SA_SIGINFO);
    if (is_plain && before.sa_handler == SIG_IGN) continue;
    if ((is_plain && before.sa_handler == SIG_DFL) || is_of_library(&before)) {
      actions_before[i] = before;
      sigaction(ending_signals[i], &ours, NULL);
    }
  }
}

static void catch_signals_of_petsc(void) {
  static int is_known;
  if (at_end && !is_known++) catch_signals(at_end);
}

static int handler_of(int number) {
  struct sigaction action;
  if (sigaction(number, NULL, &action)) return NO_HANDLER;
  int is_plain = !(action.sa_flags & SA_SIGINFO);
  if (is_plain && action.sa_handler == SIG_DFL) return NO_HANDLER;
  if (is_plain && action.sa_handler == SIG_IGN) return IGNORED;
  return action.sa_sigaction == end_by_signal || is_of_library(&action) ? OF_RECORDER : OF_PROGRAM;
}

static void with_stack(void (*function)(void)) {
#ifdef __GLIBC__
  static char memory[1 << 18] __attribute__((aligned(64)));
  static ucontext_t here, there;
  stack_t stack;
  if (!sigaltstack(NULL, &stack) && stack.ss_flags & SS_ONSTACK && !getcontext(&there)) {
    there.uc_stack.ss_sp = memory;
    there.uc_stack.ss_size = sizeof memory;
    there.uc_link = &here;
    makecontext(&there, function, 0);
    if (!swapcontext(&here, &there)) return;
  }
#endif
  function();
}
