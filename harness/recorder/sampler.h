/* Where the threads of an attached program spend processor time, and in which stretch between two calls of MPI.
 *
 * The kernel sends a thread SIGPROF after each period of its processor time in user mode: by a software event of perf, or,
 * where that is forbidden, by a timer. A thread in a system call is sent none, so no call is cut short. The handler follows
 * the stack by the rules of unwind.h, keeps the chain of return addresses, and the context of the last call of the
 * recorded thread: that is the stretch.
 *
 * A thread of ours looks 50 times a second where the recorded one is blocked outside of MPI (/proc/self/task): without a
 * signal, by a copy of its stack.
 *
 * Where the program has a handler of SIGPROF, or installs one, there are no samples. Where samples were not asked for,
 * all of this does nothing. */
#pragma once

#include <mpi.h>
#include <stdint.h>

static int sampling; /* whether threads are interrupted */

/* When the recorder is loaded into a process of which samples are asked for: threads that begin from here on are known. */
static void sampler_prepare(void);

/* After MPI_Init, on all ranks: chooses the rate and begins. */
static void sampler_begin(MPI_Comm ranks);

/* Behind each call that is recorded, while `sampling`: the processor time between calls, by the context before. */
static void sampler_leave(int64_t begin_ns, int64_t end_ns);

/* Where recording begins anew: what lies before is between no calls. */
static void sampler_forget_call(void);

/* When a signal is about to end the program, in its handler: notes where each thread stands. */
static void sampler_note_all(const void *context);

/* Where the program records a part of itself: samples of an attached program pause, and go on at the end; else those of the
 * part begin, and end. */
static void sampler_pause(void);
static void sampler_begin_own(MPI_Comm ranks);
static void sampler_end_own(void);

/* In a forked child. */
static void sampler_leave_child(void);
