/* Detours of known length at known times: a signal whose handler spins, and books what it took. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

#define ROOM 100000
static timer_t timer;
static int64_t wanted_ns, count, total_ns, begins[ROOM], ends[ROOM];

static int64_t now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC_RAW, &at);
    return (int64_t)at.tv_sec * 1000000000 + at.tv_nsec;
}

static void spin(int signal)
{
    int64_t begin = now(), at;
    (void)signal;
    do {
        at = now();
    } while (at - begin < wanted_ns);
    begins[count % ROOM] = begin;
    ends[count % ROOM] = at;
    count += 1;
    total_ns += at - begin;
}

/* The signals go to the calling thread: of a process, any thread would do, and the libraries have
   some that only wait. */
void injector_start(int64_t period_us, int64_t length_ns)
{
    struct itimerspec every = {{0, 1000 * period_us}, {0, 1000 * period_us}};
    struct sigevent to_this;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = spin;
    action.sa_flags = SA_RESTART;
    wanted_ns = length_ns;
    sigaction(SIGALRM, &action, NULL);
    memset(&to_this, 0, sizeof to_this);
    to_this.sigev_notify = SIGEV_THREAD_ID;
    to_this.sigev_signo = SIGALRM;
    to_this.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
    timer_create(CLOCK_MONOTONIC, &to_this, &timer);
    timer_settime(timer, 0, &every, NULL);
}

void injector_stop(void)
{
    timer_delete(timer);
}

int64_t injector_count(void) { return count; }
int64_t injector_total_ns(void) { return total_ns; }
int64_t injector_begin_ns(int64_t k) { return begins[k % ROOM]; }
int64_t injector_end_ns(int64_t k) { return ends[k % ROOM]; }
