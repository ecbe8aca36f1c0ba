/* Samples of where the threads of an attached program spend processor time; see sampler.c.
 *
 * The unit above calls these; where samples were not asked for they do nothing. */
#ifndef HINDMOST_SAMPLER_H
#define HINDMOST_SAMPLER_H

#include <mpi.h>

static int64_t samples_a_second; /* that are asked for; 0: as many as cost little */
/* When the recorder is loaded into a process of which samples are asked for: threads that begin from here on are known. */
static void sampler_prepare(void);
/* After MPI_Init, on all ranks: chooses the rate and begins. */
static void sampler_begin(MPI_Comm ranks);
/* Writes the samples so far; between begin_writing and end_writing. */
static void sampler_write(void);
/* Around each call that is recorded, while `sampling`: the processor time between calls, by the context before. */
static int sampling;
static void sampler_enter(void);
static void sampler_leave(int64_t begin_ns, int64_t end_ns);
/* Where recording begins anew: what lies before is between no calls. */
static void sampler_forget_call(void);
/* In a forked child. */
static void sampler_leave_child(void);

#endif
