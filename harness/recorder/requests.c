#include "requests.h"

#include "session.h"

/* Returns the slot of a request, a new one if necessary; NO_PLACE if there is no room. */
static int request_enter(MPI_Request request) {
  int known = request_place(request);
  if (known != NO_PLACE || request == MPI_REQUEST_NULL) return known;
  uint64_t key = key_of(request);
  uint32_t first = hash_of(key);
  for (uint32_t i = 0; i < WINDOW; i++) {
    uint32_t at = (first + i) & (REQUEST_PLACES - 1);
    uint64_t nothing = 0;
    if (atomic_load_explicit(&requests[at].key, memory_order_relaxed)) continue;
    if (atomic_compare_exchange_strong(&requests[at].key, &nothing, key)) {
      uint8_t reach = atomic_load_explicit(&request_reach[first], memory_order_relaxed);
      while (reach <= i && !atomic_compare_exchange_weak(&request_reach[first], &reach, (uint8_t)(i + 1))) {}
      requests[at].active = 0;
      return (int)at;
    }
  }
  return NO_PLACE;
}

/* Stores a request that is active from now on. What a thread starts that is not recorded has no place in the
 * order of collectives: that of this thread, and of the communicator on all ranks, is not known. */
static struct request *request_started(MPI_Request request, enum request_kind kind, int flags, uint32_t message) {
  int at = request_enter(request);
  if (at == NO_PLACE) return NULL;
  const int64_t session = session_number();
  if (session && own_session != session) flags |= ALONE;
  struct request *r = &requests[at];
  if (r->kind != (int8_t)kind || r->persistent) r->active = 0; /* formerly another request's value */
  r->kind = (int8_t)kind;
  r->persistent = 0;
  r->flags = (int8_t)flags;
  r->message = r->active > 0 && r->message != message ? UNKNOWN_MESSAGE : message;
  r->sends = 0;
  r->wild = 0;
  r->bytes = 0;
  count_start(r);
  return r;
}

/* A communicator is known when its request completes. */
static void request_creates(struct request *r, MPI_Comm *created, uint16_t number) {
  if (r) r->created = created, r->message = number;
}

/* Stores a persistent request that is not yet started; for a send, with destination and bytes. */
static struct request *request_prepared(MPI_Request request, enum request_kind kind, int flags, int peer, int64_t bytes,
                                        uint32_t message) {
  int at = request_enter(request);
  if (at == NO_PLACE) return NULL;
  struct request *r = &requests[at];
  r->active = 0;
  r->kind = (int8_t)kind;
  r->persistent = 1;
  r->flags = (int8_t)flags;
  r->peer = (int16_t)peer;
  r->bytes = bytes;
  r->message = message;
  r->sends = 0;
  r->wild = 0;
  return r;
}

static void request_freed(MPI_Request request) {
  int at = request_place(request);
  if (at == NO_PLACE) return;
  if (--requests[at].active <= 0 || requests[at].persistent)
    atomic_store_explicit(&requests[at].key, 0, memory_order_release);
}

/* The common kind of several requests: halo if any of them is halo. Null and inactive requests do not
 * count. Stores the slots of the first `room`; whether all are of this rank with itself; whether the
 * status of any is needed. */
static enum phase phase_of_requests(int64_t n, const MPI_Request q[], int room, int places[], int *unknown,
                                    int *self_only, int *wild) {
  int exchange = 0, meeting = 0, other = 0, strangers = 0;
  *unknown = *wild = 0;
  for (int64_t i = 0; i < n; i++) {
    int at = request_place(q[i]);
    if (i < room) places[i] = at;
    if (q[i] == MPI_REQUEST_NULL) continue;
    if (at == NO_PLACE) ++*unknown;
    else if (!requests[at].active) continue;
    else if (requests[at].kind == MESSAGE_REQUEST)
      exchange = 1, strangers |= !(requests[at].flags & OWN), *wild |= requests[at].wild;
    else if (requests[at].kind == COLLECTIVE_REQUEST) meeting = 1;
    else other = 1;
  }
  *self_only = exchange && !strangers && !meeting && !other && !*unknown ? OWN : 0;
  if (exchange) return HALO;
  if (meeting) return WAIT;
  return other || *unknown ? OTHER : HALO;
}

/* Marks `done` requests as complete, those at the indices, or all if these are NULL. Returns the number
 * of collectives of several ranks among them; sets *late if an earlier one is still active. Lists the
 * messages that were received, unless that is NULL; statuses are asked for those with a wildcard. */
static int requests_completed(const int places[], int room, int64_t done, const int *indices, int *late,
                            uint32_t *messages, int *received, const MPI_Status *statuses) {
  int collectives = 0;
  int64_t newest = 0;
  for (int64_t i = 0; i < done; i++) {
    int64_t which = indices ? indices[i] : i;
    if (which < 0 || which >= room || places[which] == NO_PLACE) continue;
    struct request *r = &requests[places[which]];
    if (r->active <= 0) continue;
    if (r->kind == MESSAGE_REQUEST && !r->sends && messages) {
      uint32_t message = r->message;
      if (r->wild)
        message = statuses && communicators[r->wild - 1].uses == r->wild_uses
                      ? message_in(&communicators[r->wild - 1], statuses[i].MPI_SOURCE, statuses[i].MPI_TAG)
                      : UNKNOWN_MESSAGE;
      if (message != NO_MESSAGE) messages[(*received)++] = message;
    }
    if (r->kind == COLLECTIVE_REQUEST && !(r->flags & ALONE)) {
      collectives++;
      collectives_active--;
      if (r->active == 1 && r->serial > newest) newest = r->serial;
    }
    if (r->kind == COLLECTIVE_REQUEST && r->created) number_communicator(*r->created, (uint16_t)r->message);
    if (--r->active == 0 && !r->persistent) atomic_store_explicit(&r->key, 0, memory_order_release);
  }
  if (newest && newest > collectives_started - collectives_active) *late = 1;
  return collectives;
}

/* The same for a call that completes all of them, more than there are slots to store. */
static int requests_completed_early(int64_t n, const MPI_Request q[], int *late) {
  int collectives = 0, place;
  for (int64_t i = 0; i < n; i++) {
    place = request_place(q[i]);
    collectives += requests_completed(&place, 1, 1, NULL, late, NULL, NULL, NULL);
  }
  return collectives;
}

static void count_active_collectives(void) {
  collectives_active = 0;
  for (int i = 0; i < REQUEST_PLACES; i++)
    if (requests[i].key && requests[i].kind == COLLECTIVE_REQUEST && !(requests[i].flags & ALONE))
      collectives_active += requests[i].active;
}
