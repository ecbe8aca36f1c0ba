/* The wrappers that the program calls instead of MPI.
 *
 * calls.def lists the calls with their classes; the macro of a class defines the wrapper. Time counts by
 * the kind of call, wherever it is made:
 *
 *   halo          messages between two ranks and between neighbours of a topology, probes, one-sided
 *                 communication except fences, and the completion of any of these
 *   wait          collectives, and the completion of earlier starts
 *   post          starts of non-blocking and persistent collectives
 *   unclassified  files, and the completion of requests that the table does not contain
 *
 * Inside the halo exchange of a PETSc solve everything is halo. */
#include "bindings.h"
#include "classify.h"
#include "communicators.h"
#include "lock.h"
#include "peers.h"
#include "requests.h"

#include <alloca.h>

/* A wrapper: `before` runs first, `after` when the call has returned without an error; it may set flags
 * and count. */
#define AROUND(name, arguments, before, after, phase)                                       \
  {                                                                                         \
    const enum caller caller = enter(called);                                               \
    const int recorded = caller == RECORDED;                                                \
    int flags = 0, count = 0;                                                               \
    lock_tables();                                                                          \
    before;                                                                                 \
    unlock_tables();                                                                        \
    int64_t begin_ns = time_for(caller);                                                    \
    int error = NEXT(name) arguments;                                                      \
    int64_t end_ns = time_for(caller);                                                      \
    if (!error) {                                                                           \
      lock_tables();                                                                        \
      after;                                                                                \
      unlock_tables();                                                                      \
    }                                                                                       \
    leave(caller, begin_ns, end_ns, called, phase, flags, count);                           \
    return error;                                                                           \
  }
#define NOTHING (void)0

/* ---- messages ---- */

static inline int counts_peers(enum caller caller) {
  return caller == RECORDED || caller == OTHER_THREAD;
}

static inline void count_sent(enum caller caller, MPI_Comm c, int to, int64_t n, MPI_Datatype t) {
  if (counts_peers(caller) && to >= 0) peer_add(peer_place(c, to), 1, bytes_of(n, t));
}

/* Of an epoch on a window: its members hear from this rank when it posts, or completes. */
static void count_members(enum caller caller, MPI_Group group) {
  MPI_Group ours;
  int size = 0, rank;
  if (!counts_peers(caller) || PMPI_Group_size(group, &size) || PMPI_Comm_group(recorded_comm, &ours)) return;
  for (int i = 0; i < size; i++)
    if (!PMPI_Group_translate_ranks(group, 1, &i, ours, &rank) && rank != MPI_UNDEFINED)
      peer_add(peer_place(recorded_comm, rank), 1, 0);
  PMPI_Group_free(&ours);
}

static inline void count_neighbours(enum caller caller, MPI_Comm c) {
  if (counts_peers(caller)) peer_add(peer_place(c, TOPOLOGY), 1, 0);
}

static inline int prepared_peer(MPI_Comm c, int to) {
  return to < 0 && to != TOPOLOGY ? NO_PEER : peer_place(c, to);
}

/* Whether a message is one of this rank to itself: nobody else is waited for. */
static inline int own(int recorded, MPI_Comm c, int other) {
  if (recorded && other >= 0) open_partner = c == MPI_COMM_WORLD ? other : kept_rank(c, other, MPI_COMM_WORLD);
  return other >= 0 && other == own_rank(c) ? OWN : 0;
}

#define SEND_(name, arguments)                                                               \
  AROUND(name, arguments, (flags = own(recorded, c, to), count_sent(caller, c, to, n, t)), \
         count = sends(recorded, c, to, tag, &flags), HALO)

/* A call that sends or receives one message, if that is known: what its record has of it. */
static inline int of_message(int recorded, uint32_t message, int *flags) {
  if (!recorded || (message & 0xffff) == UNKNOWN_MESSAGE) return 0;
  *flags |= GROUP;
  return (int)message;
}

static inline int sends(int recorded, MPI_Comm c, int to, int tag, int *flags) {
  if (!recorded) return 0;
  *flags |= SENT;
  return of_message(1, message_with(c, to, tag), flags);
}

/* A further message of a call, ahead of the record of the call: that may end an iteration. */
static __attribute__((noinline)) void keep_further(int64_t begin_ns, enum call call, uint32_t message, int flags) {
  if (halo_depth > 0) return;
  int count = of_message(1, message, &flags);
  keep(begin_ns, begin_ns, -1 - (int32_t)call, HALO, flags | FURTHER, count);
}

/* A status of one's own, where a wildcard needs it and the program asks for none. */
#define ASK_STATUS(from, tag) \
  MPI_Status status;          \
  if (recorded && is_wild(from, tag) && z == MPI_STATUS_IGNORE) z = &status

#define RECV_(name, arguments)                                                   \
  AROUND(name, arguments, ASK_STATUS(from, tag); flags = own(recorded, c, from), \
         count = of_message(recorded, message_from(c, from, tag, z), &flags), HALO)
#define PROBE_(name, arguments) RECV_(name, arguments)

/* Takes a message that a probe has found. */
#define RECV_MATCHED_(name, arguments) AROUND(name, arguments, NOTHING, count = of_message(recorded, NO_MESSAGE, &flags), HALO)
#define WIN_WAIT_(name, arguments) AROUND(name, arguments, NOTHING, NOTHING, HALO)
#define FLAG_TEST_(name, arguments) AROUND(name, arguments, NOTHING, flags = *f ? 0 : INCOMPLETE, HALO)
#define IPROBE_(name, arguments)                                               \
  AROUND(name, arguments, ASK_STATUS(from, tag), (flags = *f ? 0 : INCOMPLETE, \
         count = *f ? of_message(recorded, message_from(c, from, tag, z), &flags) : 0), HALO)
#define IMPROBE_(name, arguments) IPROBE_(name, arguments)
#define SENDRECV_(name, arguments)                                                                   \
  AROUND(name, arguments, ASK_STATUS(from, rtag);                                                    \
         (flags = own(recorded, c, to) & own(recorded, c, from), count_sent(caller, c, to, n, t)), \
         if (recorded && to != MPI_PROC_NULL)                                                          \
           keep_further(begin_ns, called, message_with(c, to, tag), SENT | flags);                    \
         count = of_message(recorded, message_from(c, from, rtag, z), &flags), HALO)
#define PREADY_(name, arguments) WIN_WAIT_(name, arguments)
#define NEIGHBOR_COLLECTIVE_(name, arguments) AROUND(name, arguments, count_neighbours(caller, c), NOTHING, HALO)
#define ISEND_(name, arguments)                                                              \
  AROUND(name, arguments, (flags = own(recorded, c, to), count_sent(caller, c, to, n, t)), \
         (request_started(*q, MESSAGE_REQUEST, flags, NO_MESSAGE), count = sends(recorded, c, to, tag, &flags)), HALO)
#define IRECV_(name, arguments)                           \
  AROUND(name, arguments, flags = own(recorded, c, from), \
         receives_any(request_started(*q, MESSAGE_REQUEST, flags, recorded ? message_with(c, from, tag) : UNKNOWN_MESSAGE), c, from, tag), HALO)
#define ISENDRECV_(name, arguments) \
  AROUND(name, arguments, (flags = own(recorded, c, to) & own(recorded, c, from), count_sent(caller, c, to, n, t)), \
         (receives_any(request_started(*q, MESSAGE_REQUEST, flags, recorded ? message_with(c, from, rtag) : UNKNOWN_MESSAGE), c, from, rtag), \
          count = sends(recorded, c, to, tag, &flags)), HALO)
#define IRECV_MATCHED_(name, arguments) AROUND(name, arguments, NOTHING, request_started(*q, MESSAGE_REQUEST, 0, NO_MESSAGE), HALO)
#define INEIGHBOR_COLLECTIVE_(name, arguments) \
  AROUND(name, arguments, count_neighbours(caller, c), request_started(*q, MESSAGE_REQUEST, 0, UNKNOWN_MESSAGE), HALO)

/* Persistent requests may be older than what is recorded. */
static inline uint32_t prepared(int recorded, MPI_Comm c, int other, int tag) {
  return recorded || !session_number() ? message_with(c, other, tag) : UNKNOWN_MESSAGE;
}

static inline void mark_as_send(struct request *r) {
  if (r) r->sends = 1;
}

#define SEND_INIT_(name, arguments) \
  AROUND(name, arguments, NOTHING,  \
         mark_as_send(request_prepared(*q, MESSAGE_REQUEST, own(recorded, c, to), prepared_peer(c, to), bytes_of(n, t), prepared(recorded, c, to, tag))), HALO)
#define PSEND_INIT_(name, arguments) \
  AROUND(name, arguments, NOTHING,   \
         mark_as_send(request_prepared(*q, MESSAGE_REQUEST, 0, prepared_peer(c, to), k * bytes_of(n, t), prepared(recorded, c, to, tag))), HALO)
#define RECV_INIT_(name, arguments) \
  AROUND(name, arguments, NOTHING,  \
         receives_any(request_prepared(*q, MESSAGE_REQUEST, own(recorded, c, from), NO_PEER, 0, prepared(recorded, c, from, tag)), c, from, tag), HALO)
#define NEIGHBOR_COLLECTIVE_INIT_(name, arguments) \
  AROUND(name, arguments, NOTHING, request_prepared(*q, MESSAGE_REQUEST, 0, prepared_peer(c, TOPOLOGY), 0, UNKNOWN_MESSAGE), HALO)

/* ---- collectives ---- */

/* Whether all recorded ranks take part, some of them, or this one alone. As many need not be the same. */
static int flags_of(int recorded, MPI_Comm c) {
  int size = 0;
  if (!recorded || c == recorded_comm || PMPI_Comm_size(c, &size)) return 0;
  return relation_of(c, recorded_comm) == SAME_RANKS ? 0 : size == 1 && !is_inter(c) ? ALONE : PART;
}

static int flags_of_window(int recorded, MPI_Win w) {
  MPI_Group group, ours;
  int size = 0, alike = MPI_UNEQUAL;
  if (!recorded || PMPI_Win_get_group(w, &group)) return 0;
  PMPI_Group_size(group, &size);
  if (size == recorded_size && !PMPI_Comm_group(recorded_comm, &ours)) {
    PMPI_Group_compare(group, ours, &alike);
    PMPI_Group_free(&ours);
  }
  PMPI_Group_free(&group);
  return alike != MPI_UNEQUAL ? 0 : size == 1 ? ALONE : PART;
}

/* Who waits for whom: a collective over some of the recorded ranks, or with a root, is of the group of
 * those that name the same rank for it. Where others take part, it is not known. */
static inline int rank_of_group(int recorded, MPI_Comm c, int rank, int *flags) {
  if (!recorded || (*flags & ALONE)) return 0;
  int found = relation_of(c, recorded_comm) == OTHER_RANKS ? -1 : kept_rank(c, rank, recorded_comm);
  if (found < 0 || found > UINT16_MAX) {
    *flags |= PART;
    return 0;
  }
  *flags |= GROUP;
  return found;
}

#define ROOTED(name, arguments, rank) \
  AROUND(name, arguments,             \
         (flags = flags_of(recorded, c), count = rank_of_group(recorded, c, rank, &flags)), NOTHING, WAIT)
#define COLLECTIVE_(name, arguments)                                                                        \
  AROUND(name, arguments,                                                                                   \
         (flags = flags_of(recorded, c), count = flags & PART ? rank_of_group(recorded, c, 0, &flags) : 0), \
         NOTHING, WAIT)
#define COMM_CREATE_(name, arguments)                                                                       \
  AROUND(name, arguments,                                                                                   \
         (flags = flags_of(recorded, c), count = flags & PART ? rank_of_group(recorded, c, 0, &flags) : 0), \
         number_communicator(*d, next_number(c)), WAIT)
#define INTERCOMM_CREATE_(name, arguments)                                                                  \
  AROUND(name, arguments,                                                                                   \
         (flags = flags_of(recorded, c), count = flags & PART ? rank_of_group(recorded, c, 0, &flags) : 0), \
         number_by_members(*d), WAIT)
#define COLLECTIVE_TO_ROOT_(name, arguments) ROOTED(name, arguments, root)
#define COLLECTIVE_FROM_ROOT_(name, arguments) ROOTED(name, arguments, root)
#define SCAN_(name, arguments) COLLECTIVE_(name, arguments)
#define GROUP_COLLECTIVE_(name, arguments) AROUND(name, arguments, flags = PART, number_by_members(*d), WAIT)
#define WIN_FENCE_(name, arguments) AROUND(name, arguments, flags = flags_of_window(recorded, w), NOTHING, WAIT)
#define WIN_FREE_(name, arguments) AROUND(name, arguments, flags = flags_of_window(recorded, *w), NOTHING, WAIT)
#define COMM_FREE_(name, arguments) \
  AROUND(name, arguments, (resolve_peers(*c, MPI_COMM_WORLD), forget_communicator(*c)), NOTHING, WAIT)
#define ICOLLECTIVE_(name, arguments)                    \
  AROUND(name, arguments, flags = flags_of(recorded, c), \
         (request_started(*q, COLLECTIVE_REQUEST, flags, 0), count = 1), POST)

#define COMM_IDUP_(name, arguments)                                                                               \
  AROUND(name, arguments, flags = flags_of(recorded, c),                                                           \
         (request_creates(request_started(*q, COLLECTIVE_REQUEST, flags, 0), d, next_number(c)), count = 1), POST)

/* With a root: the one rank whose start this rank needs, itself for nobody; or all, then no GROUP. */
static inline int rank_needed(int recorded, MPI_Comm c, int root, int at_root, int *flags) {
  int own = MPI_PROC_NULL;
  if (!recorded || *flags & PART || (at_root && PMPI_Comm_rank(c, &own)) || own == root) return 1;
  return rank_of_group(recorded, c, at_root ? own : root, flags);
}

#define IROOTED(name, arguments, at_root)                                                          \
  AROUND(name, arguments,                                                                          \
         (flags = flags_of(recorded, c), count = rank_needed(recorded, c, root, at_root, &flags)), \
         request_started(*q, COLLECTIVE_REQUEST, flags, 0), POST)
#define ICOLLECTIVE_FROM_ROOT_(name, arguments) IROOTED(name, arguments, 0)
#define ICOLLECTIVE_TO_ROOT_(name, arguments) IROOTED(name, arguments, 1)
#define COLLECTIVE_INIT_(name, arguments)                \
  AROUND(name, arguments, flags = flags_of(recorded, c), \
         request_prepared(*q, COLLECTIVE_REQUEST, flags, NO_PEER, 0, 0), POST)

/* ---- requests ---- */

/* Starts of persistent requests; those of collectives are counted. */
static enum phase start_requests(enum caller caller, enum call call, int64_t n, const MPI_Request q[], int *flags, int *count) {
  int messages = 0, collectives = 0, others = 0, sent = 0;
  uint32_t message = NO_MESSAGE;
  const int recorded = caller == RECORDED;
  int64_t begin_ns = 0;
  for (int64_t i = 0; i < n; i++) {
    int at = request_place(q[i]);
    if (at == NO_PLACE) continue;
    struct request *r = &requests[at];
    r->active = 0;
    count_start(r);
    if (r->kind == COLLECTIVE_REQUEST) {
      *flags |= r->flags;
      *count += !(r->flags & ALONE);
      collectives++;
      continue;
    }
    messages++;
    others += !(r->flags & OWN);
    if (counts_peers(caller) && r->peer != NO_PEER) peer_add(r->peer, 1, r->bytes);
    if (!recorded || !r->sends) continue;
    if (sent++) keep_further(begin_ns = begin_ns ? begin_ns : now(), call, message, SENT | (r->flags & OWN));
    message = r->message;
  }
  if (messages && !collectives && recorded) {
    *flags |= SENT;
    *count = of_message(1, message, flags);
  }
  if (messages && !others && !collectives) *flags |= OWN;
  return collectives && !messages ? POST : HALO;
}

#define STARTED(name, arguments, number) \
  AROUND(name, arguments,                \
         enum phase started = start_requests(caller, called, number, q, &flags, &count), NOTHING, started)
#define START_(name, arguments) STARTED(name, arguments, 1)
#define STARTALL_(name, arguments) STARTED(name, arguments, n)

static inline int room_for(int64_t n) { return n < 1 ? 1 : n > MAX_COMPLETED ? MAX_COMPLETED : (int)n; }

/* A call that completes requests counts as their kind. They are read before the call, which sets them
 * to null. `few`: so many need no more memory than a wrapper has; `early` completes those whose slots are
 * not stored; `done` is the number of completed ones, and `which` their indices, NULL for all. */
#define COMPLETES(name, arguments, number, few, early, done, which)                                                      \
  {                                                                                                                      \
    const enum caller caller = enter(called);                                                                            \
    const int recorded = caller == RECORDED;                                                                             \
    int room = few == 1 ? 1 : room_for(number), unknown, self_only, wild, late = 0, received = 0;                        \
    int few_places[few], *places = room <= few ? few_places : alloca((size_t)room * sizeof *places);                     \
    uint32_t few_messages[few], *messages = room <= few ? few_messages : alloca((size_t)room * sizeof *messages);        \
    lock_tables();                                                                                                       \
    enum phase phase = phase_of_requests(number, q, room, places, &unknown, &self_only, &wild);                          \
    int ignored = z == MPI_STATUS_IGNORE || z == MPI_STATUSES_IGNORE;                                                    \
    if (recorded && wild && ignored && number <= room) z = alloca((size_t)room * sizeof *z), ignored = 0;                \
    int count = early;                                                                                                   \
    unlock_tables();                                                                                                     \
    int64_t begin_ns = time_for(caller);                                                                                 \
    int error = NEXT(name) arguments;                                                                                   \
    int64_t end_ns = time_for(caller), complete = error ? 0 : (done);                                                    \
    lock_tables();                                                                                                       \
    count += requests_completed(places, room, complete, which, &late, recorded ? messages : NULL, &received,             \
                                ignored ? NULL : z);                                                                     \
    unlock_tables();                                                                                                     \
    int flags = (complete > 0 ? 0 : INCOMPLETE) | (late ? LATE : 0) | self_only;                                         \
    if (recorded) {                                                                                                      \
      state->unknown_requests += unknown;                                                                                \
      if (phase == HALO && complete > 0 && !count && !unknown)                                                           \
        count = number > room ? 0 : of_message(1, received ? messages[0] : NO_MESSAGE, &flags);                          \
      for (int further = 1; further < received; further++) keep_further(begin_ns, called, messages[further], self_only); \
    }                                                                                                                    \
    leave(caller, begin_ns, end_ns, called, phase, flags, count);                                                        \
    return error;                                                                                                        \
  }
#define FEW 16
#define WAIT_ONE_(name, arguments) COMPLETES(name, arguments, 1, 1, 0, 1, NULL)
#define WAIT_ALL_(name, arguments) \
  COMPLETES(name, arguments, n, FEW, requests_completed_early(n - room, q + room, &late), n, NULL)
#define WAIT_ANY_(name, arguments) COMPLETES(name, arguments, n, FEW, 0, *i != MPI_UNDEFINED, i)
#define WAIT_SOME_(name, arguments) COMPLETES(name, arguments, n, FEW, 0, *k == MPI_UNDEFINED ? 0 : *k, i)
#define TEST_ONE_(name, arguments) COMPLETES(name, arguments, 1, 1, 0, *f != 0, NULL)
#define TEST_ALL_(name, arguments) COMPLETES(name, arguments, n, FEW, 0, *f ? n : 0, NULL)
#define TEST_ANY_(name, arguments) COMPLETES(name, arguments, n, FEW, 0, *f && *i != MPI_UNDEFINED, i)
#define TEST_SOME_(name, arguments) COMPLETES(name, arguments, n, FEW, 0, *k == MPI_UNDEFINED ? 0 : *k, i)

/* Tests a request without completing it. */
#define GET_STATUS_(name, arguments)                                                                       \
  AROUND(name, arguments, int place; int unknown; int self_only; int wild;                                 \
         enum phase asked = phase_of_requests(1, &q, 1, &place, &unknown, &self_only, &wild); (void)place, \
         flags = INCOMPLETE, asked)
#define GET_STATUS_ALL_(name, arguments)                                                                   \
  AROUND(name, arguments, int place; int unknown; int self_only; int wild;                                 \
         enum phase asked = phase_of_requests(n, q, 1, &place, &unknown, &self_only, &wild); (void)place,  \
         flags = INCOMPLETE, asked)
#define REQUEST_FREE_(name, arguments) AROUND(name, arguments, request_freed(*q), NOTHING, HALO)

/* ---- one-sided, and files ---- */

#define RMA_(name, arguments) AROUND(name, arguments, NOTHING, NOTHING, HALO)
#define RMA_REQUEST_(name, arguments) AROUND(name, arguments, NOTHING, request_started(*q, MESSAGE_REQUEST, 0, UNKNOWN_MESSAGE), HALO)
#define WIN_POST_(name, arguments) AROUND(name, arguments, count_members(caller, group), NOTHING, HALO)
#define WIN_START_(name, arguments) AROUND(name, arguments, count_members(caller, group), NOTHING, HALO)
#define FILE_IO_(name, arguments) AROUND(name, arguments, NOTHING, NOTHING, OTHER)
#define FILE_IO_REQUEST_(name, arguments) AROUND(name, arguments, NOTHING, request_started(*q, FILE_REQUEST, 0, 0), OTHER)

/* ---- the wrappers themselves ---- */

#define COUNT int
#define PLACE int
#define CALL(name, class, parameters, arguments) \
  int MPI_##name parameters {                    \
    const enum call called = name;               \
    class##_(name, arguments)                    \
  }
#define COUNTING CALL
#include "calls.def"
#undef CALL
#undef COUNTING
#undef COUNT
#undef PLACE

#if MPI_VERSION >= 4
#define COUNT MPI_Count
#define PLACE MPI_Aint
#define CALL(name, class, parameters, arguments)
#define COUNTING(name, class, parameters, arguments) \
  int MPI_##name##_c parameters {                    \
    const enum call called = name;                   \
    class##_(name##_c, arguments)                    \
  }
#include "calls.def"
#undef CALL
#undef COUNTING
#undef COUNT
#undef PLACE
#endif
