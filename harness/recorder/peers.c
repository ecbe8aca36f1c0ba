#include "peers.h"

#include "communicators.h"
#include "lock.h"

enum { PEER_WINDOW = 64, MAX_NEIGHBOURS = 1024 };
static int peer_place(MPI_Comm communicator, int to) {
  struct peer *last = &peers[last_peer];
  if (last->used && last->to == to && last->communicator == communicator) return last_peer;
  uint64_t key = (uint64_t)(uintptr_t)communicator * 31 + (uint64_t)(uint32_t)to;
  uint32_t first = (uint32_t)((key * 0x9E3779B97F4A7C15u) >> 52);
  for (uint32_t i = 0; i < PEER_WINDOW; i++) {
    int at = (int)((first + i) & (PEERS - 1));
    struct peer *p = &peers[at];
    if (!p->used) *p = (struct peer){communicator, to, 1, 0, 0};
    if (p->to == to && p->communicator == communicator) return last_peer = at;
  }
  return NO_PLACE;
}

/* What a program gives to MPI may be wrong, and its own error handler take that: MPI must not find it here. */
static int64_t bytes_of(int64_t n, MPI_Datatype type) {
  int size = 0;
  return type == MPI_DATATYPE_NULL || PMPI_Type_size(type, &size) || size < 0 ? 0 : n * size;
}

/* Finds the ranks to which a rank sends in a topology; returns their number. */
static int topology_targets(MPI_Comm communicator, int targets[MAX_NEIGHBOURS]) {
  static int sources[MAX_NEIGHBOURS], weights[2][MAX_NEIGHBOURS];
  int kind = MPI_UNDEFINED, count = 0, incoming = 0, weighted, rank;
  if (PMPI_Topo_test(communicator, &kind) || PMPI_Comm_rank(communicator, &rank)) return 0;
  if (kind == MPI_DIST_GRAPH) {
    if (PMPI_Dist_graph_neighbors_count(communicator, &incoming, &count, &weighted)) return 0;
    if (incoming > MAX_NEIGHBOURS || count > MAX_NEIGHBOURS) return 0;
    return PMPI_Dist_graph_neighbors(communicator, incoming, sources, weights[0], count, targets, weights[1]) ? 0 : count;
  }
  if (kind == MPI_GRAPH) {
    if (PMPI_Graph_neighbors_count(communicator, rank, &count) || count > MAX_NEIGHBOURS) return 0;
    return PMPI_Graph_neighbors(communicator, rank, count, targets) ? 0 : count;
  }
  int dimensions = 0;
  if (kind != MPI_CART || PMPI_Cartdim_get(communicator, &dimensions)) return 0;
  for (int d = 0; d < dimensions && count + 2 <= MAX_NEIGHBOURS; d++) {
    if (PMPI_Cart_shift(communicator, d, 1, &targets[count], &targets[count + 1])) return count;
    count += 2;
  }
  return count;
}

/* Translates the entries of one communicator, or of all if it is null, to another. */
static void resolve_peers(MPI_Comm only, MPI_Comm into) {
  static int targets[MAX_NEIGHBOURS];
  for (int i = 0; i < PEERS; i++) {
    struct peer p = peers[i];
    int here = only != MPI_COMM_NULL ? p.communicator == only : p.communicator != into || p.to == TOPOLOGY;
    if (!p.used || !here) continue;
    int count = 1;
    targets[0] = p.to;
    if (p.to == TOPOLOGY) count = topology_targets(p.communicator, targets);
    peers[i].messages = peers[i].bytes = 0;
    if (only != MPI_COMM_NULL) peers[i].used = 0;
    for (int j = 0; j < count && p.messages; j++) {
      if (targets[j] < 0) continue; /* MPI_PROC_NULL */
      int rank = rank_in(p.communicator, targets[j], into);
      if (rank != MPI_UNDEFINED && rank >= 0) peer_add(peer_place(into, rank), p.messages, p.bytes);
    }
  }
}

static void forget_peers(void) {
  for (int i = 0; i < PEERS; i++) peers[i].messages = peers[i].bytes = 0;
  unattributed_messages = 0;
}

/* Lists the ranks to which this rank sent since it was armed, with messages and bytes; returns their
 * number, -1 if the table was full or there is too little room. */
int hindmost_peers(MPI_Fint communicator, int room, int32_t *rank, int64_t *messages, int64_t *bytes) {
  MPI_Comm comm = MPI_Comm_f2c(communicator);
  int count = 0, is_full = 0;
  lock_tables();
  resolve_peers(MPI_COMM_NULL, comm);
  for (int i = 0; i < PEERS; i++) {
    if (!peers[i].used || peers[i].communicator != comm || !peers[i].messages || peers[i].to < 0) continue;
    if ((is_full = count == room)) break;
    rank[count] = peers[i].to;
    messages[count] = peers[i].messages;
    bytes[count++] = peers[i].bytes;
  }
  if (unattributed_messages || is_full) count = -1;
  unlock_tables();
  return count;
}
