/* Detours of known length at known times: a signal whose handler spins, and books what it took. */
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#define ROOM 100000
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

void injector_start(int64_t period_us, int64_t length_ns)
{
    struct itimerval every = {{0, period_us}, {0, period_us}};
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = spin;
    action.sa_flags = SA_RESTART;
    wanted_ns = length_ns;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
}

void injector_stop(void)
{
    struct itimerval never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &never, NULL);
}

int64_t injector_count(void) { return count; }
int64_t injector_total_ns(void) { return total_ns; }
int64_t injector_begin_ns(int64_t k) { return begins[k % ROOM]; }
int64_t injector_end_ns(int64_t k) { return ends[k % ROOM]; }
