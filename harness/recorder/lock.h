/* One thread at a time in what all threads share: contexts, requests, messages. Nothing is locked where MPI was not
 * promised calls of several threads at a time (MPI_THREAD_MULTIPLE). A signal's handler takes no lock. */
#pragma once

#include <sched.h>

static int is_concurrent; /* set in MPI_Init_thread */
static int tables_lock;

static inline void lock_tables(void) {
  if (!is_concurrent) return;
  while (__atomic_exchange_n(&tables_lock, 1, __ATOMIC_ACQUIRE)) sched_yield();
}

/* For a thread that one may wait for who holds the lock. */
static inline int try_lock_tables(void) {
  return !is_concurrent || !__atomic_exchange_n(&tables_lock, 1, __ATOMIC_ACQUIRE);
}

static inline void unlock_tables(void) {
  if (is_concurrent) __atomic_store_n(&tables_lock, 0, __ATOMIC_RELEASE);
}
