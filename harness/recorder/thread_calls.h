/* The MPI calls of threads other than the one that began the session: by thread and call site, how many and how long.
 * Every number is added to and read as a whole; the recorded thread reads them while they grow. */
#pragma once

#include "abi.h"

enum { MAX_THREADS = 64, MAX_SITES = 256 };

/* Calls of a kind from one context. What finds no room counts to no site. */
struct call_site {
  uint32_t context;
  int32_t call;
  int64_t count, ns;
};

static struct thread_calls {
  int64_t session, thread; /* the kernel's number of the thread; those that find no room share the last entry */
  int64_t calls, phase_ns[PHASES];
  int64_t sites;
  struct call_site site[MAX_SITES];
} thread_calls[MAX_THREADS];

/* A call of such a thread begins, from the frame of its wrapper. */
static void enter_of_thread(const uint64_t *frame);
static void finish_of_thread(int64_t begin_ns, int64_t end_ns, enum call call, enum phase phase);
/* How many entries there are; those of earlier sessions, too. */
static int thread_entries(void);
