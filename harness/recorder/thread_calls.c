#include "thread_calls.h"

#include "contexts.h"
#include "lock.h"
#include "places.h"
#include "ring.h"
#include "session.h"

#include <sys/syscall.h>
#include <unistd.h>

static int thread_count;                                 /* threads that ever made a call in a session */
static _Thread_local INITIAL_EXEC struct thread_calls *own_calls;
static _Thread_local INITIAL_EXEC uint32_t own_context; /* of its call */
static _Thread_local INITIAL_EXEC int64_t counted;      /* the last session in which this thread was counted */

#define NUMBER_OF(place) __atomic_load_n(&(place), __ATOMIC_RELAXED)
#define ADD_TO(place, more) __atomic_fetch_add(&(place), (more), __ATOMIC_RELAXED)

/* The entry of this thread, empty where the session is new. */
static void begin_entry(int64_t session) {
  if (!own_calls) {
    const int number = ADD_TO(thread_count, 1);
    own_calls = &thread_calls[number < MAX_THREADS ? number : MAX_THREADS - 1];
    __atomic_store_n(&own_calls->thread, syscall(SYS_gettid), __ATOMIC_RELAXED);
  }
  lock_tables();
  if (NUMBER_OF(own_calls->session) != session) {
    __atomic_store_n(&own_calls->calls, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&own_calls->sites, 0, __ATOMIC_RELAXED);
    for (int i = 0; i < PHASES; i++) __atomic_store_n(&own_calls->phase_ns[i], 0, __ATOMIC_RELAXED);
    __atomic_store_n(&own_calls->session, session, __ATOMIC_RELEASE);
  }
  unlock_tables();
  ADD_TO(state->foreign_threads, 1);
  counted = session;
}

static void enter_of_thread(const uint64_t *frame) {
  const int64_t session = session_number();
  ADD_TO(state->foreign_calls, 1);
  if (counted != session) begin_entry(session);
  own_context = tables ? context_of(frame) : 0;
}

/* The site of a call from this thread's context; NULL if there is no room. */
static struct call_site *own_site(enum call call) {
  const int64_t known = __atomic_load_n(&own_calls->sites, __ATOMIC_ACQUIRE);
  for (int64_t i = 0; i < known; i++)
    if (own_calls->site[i].context == own_context && own_calls->site[i].call == (int32_t)call) return &own_calls->site[i];
  lock_tables();
  const int64_t place = own_calls->sites;
  if (place < MAX_SITES) {
    own_calls->site[place] = (struct call_site){.context = own_context, .call = (int32_t)call};
    __atomic_store_n(&own_calls->sites, place + 1, __ATOMIC_RELEASE);
  }
  unlock_tables();
  return place < MAX_SITES ? &own_calls->site[place] : NULL;
}

static void finish_of_thread(int64_t begin_ns, int64_t end_ns, enum call call, enum phase phase) {
  if (session_number() != counted || NUMBER_OF(own_calls->session) != counted) return; /* its session has ended */
  struct call_site *site = own_site(call);
  ADD_TO(own_calls->calls, 1);
  ADD_TO(own_calls->phase_ns[phase], end_ns - begin_ns);
  if (!site) return;
  ADD_TO(site->count, 1);
  ADD_TO(site->ns, end_ns - begin_ns);
}

static int thread_entries(void) {
  const int count = NUMBER_OF(thread_count);
  return count < MAX_THREADS ? count : MAX_THREADS;
}
