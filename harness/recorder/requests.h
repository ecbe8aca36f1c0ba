/* The kind of each request, so that the call that completes it counts as that kind.
 *
 * An open-addressing table keyed by the value of MPI_Request. A request lies within WINDOW slots of its
 * hash, so that nothing ever moves and a slot stays valid. If all of these are taken, the request is
 * not stored, and its completion is unclassified and counted. The table exists from the time the
 * library is loaded, because persistent requests are created before a loop is recorded. Slots are
 * claimed atomically: any thread may start and complete requests. */
#pragma once

#include "abi.h"
#include "communicators.h"
#include "peers.h"

#include <stdatomic.h>
enum request_kind { MESSAGE_REQUEST = 1, COLLECTIVE_REQUEST, FILE_REQUEST };

enum { REQUEST_PLACES = 1 << 14, WINDOW = 32, MAX_COMPLETED = 4096 };

static struct request {
  _Atomic uint64_t key;  /* the request's value; 0: free */
  int32_t active;        /* started and not completed; some MPIs share one value between requests */
  int16_t peer;          /* of a persistent send: its slot in the table of peers, or NO_PLACE */
  int8_t kind, persistent, flags; /* flags: of a collective, those of its communicator */
  int8_t sends;          /* whether its message is one that is sent: nothing is needed to complete it */
  int16_t wild;          /* of a receive with a wildcard: 1 + the place of its communicator in communicators.h; else 0 */
  uint16_t wild_uses;    /* of that entry when the receive was posted: its communicator may be freed meanwhile */
  uint32_t message;      /* of an exchange: see communicators.h */
  union {
    int64_t bytes;       /* of a persistent send */
    MPI_Comm *created;   /* of a collective that makes a communicator, whose number is the message; else NULL */
  };
  int64_t serial;        /* of a collective: its number in the order of starts */
} requests[REQUEST_PLACES];
static _Atomic uint8_t request_reach[REQUEST_PLACES]; /* by hash: behind so many slots nothing was ever stored */

static int64_t collectives_started, collectives_active;
static inline uint64_t key_of(MPI_Request request) { return (uint64_t)(uintptr_t)request; }

static inline uint32_t hash_of(uint64_t key) {
  return (uint32_t)((key * 0x9E3779B97F4A7C15u) >> 50) & (REQUEST_PLACES - 1);
}

static inline int request_place(MPI_Request request) {
  if (request == MPI_REQUEST_NULL) return NO_PLACE;
  uint64_t key = key_of(request);
  uint32_t first = hash_of(key);
  for (uint32_t i = 0, reach = atomic_load_explicit(&request_reach[first], memory_order_relaxed); i < reach; i++) {
    uint32_t at = (first + i) & (REQUEST_PLACES - 1);
    if (atomic_load_explicit(&requests[at].key, memory_order_relaxed) == key) return (int)at;
  }
  return NO_PLACE;
}

static inline void count_start(struct request *r) {
  r->active++;
  if (r->kind != COLLECTIVE_REQUEST || r->flags & ALONE) return;
  r->serial = ++collectives_started;
  collectives_active++;
}

static struct request *request_started(MPI_Request request, enum request_kind kind, int flags, uint32_t message);
static struct request *request_prepared(MPI_Request request, enum request_kind kind, int flags, int peer, int64_t bytes,
                                        uint32_t message);
static void request_creates(struct request *r, MPI_Comm *created, uint16_t number);
static void request_freed(MPI_Request request);
static enum phase phase_of_requests(int64_t n, const MPI_Request q[], int room, int places[], int *unknown,
                                    int *self_only, int *wild);
static int requests_completed(const int places[], int room, int64_t done, const int *indices, int *late,
                            uint32_t *messages, int *received, const MPI_Status *statuses);
static int requests_completed_early(int64_t n, const MPI_Request q[], int *late);
static void count_active_collectives(void);

/* The message of a receive with a wildcard is known when it has come. */
static inline void receives_any(struct request *r, MPI_Comm c, int from, int tag) {
  if (!is_wild(from, tag) || !r || from == MPI_PROC_NULL) return;
  struct communicator *entry = communicator_of(c);
  if (!entry) return;
  r->wild = (int16_t)(1 + (entry - communicators));
  r->wild_uses = entry->uses;
}
