/* Messages and bytes by communicator and destination in a user's loop. Included once, by recorder.c.
 *
 * A send costs a lookup in a small table; ranks are translated after the loop, or when their
 * communicator is freed. If the table is full, sends are counted as unknown. */

enum { PEERS = 1 << 12, PEER_WINDOW = 64, NO_PLACE = -1, NO_PEER = -2, TOPOLOGY = -1000, FORGET = -1001, MOST_NEIGHBOURS = 1024 };

static struct peer {
  MPI_Comm communicator;
  int32_t to;            /* its rank there; TOPOLOGY: all neighbours of its topology */
  int32_t used;
  int64_t messages, bytes;
} peers[PEERS];
static int64_t peers_untold;
static int last_peer;
static int peers_in_solves; /* whether sends in a PETSc solve count: otherwise the matrix says who sends to whom */

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

static inline void peer_add(int at, int64_t messages, int64_t bytes) {
  if (at == NO_PLACE) peers_untold += messages;
  if (at < 0) return;
  peers[at].messages += messages;
  peers[at].bytes += bytes;
}

/* What a program gives to MPI may be wrong, and its own error handler take that: MPI must not find it here. */
static int64_t bytes_of(int64_t n, MPI_Datatype type) {
  int size = 0;
  return type == MPI_DATATYPE_NULL || PMPI_Type_size(type, &size) || size < 0 ? 0 : n * size;
}

/* Translates a rank from one communicator to another; MPI_UNDEFINED if it is not a member, or none. */
static int rank_in(MPI_Comm from, int to, MPI_Comm into) {
  MPI_Group theirs, ours;
  int inter = 0, size = 0, rank = MPI_UNDEFINED;
  if (PMPI_Comm_test_inter(from, &inter)) return MPI_UNDEFINED;
  if (inter ? PMPI_Comm_remote_group(from, &theirs) : PMPI_Comm_group(from, &theirs)) return MPI_UNDEFINED;
  PMPI_Group_size(theirs, &size);
  if (to >= 0 && to < size && !PMPI_Comm_group(into, &ours)) {
    if (PMPI_Group_translate_ranks(theirs, 1, &to, ours, &rank)) rank = MPI_UNDEFINED;
    PMPI_Group_free(&ours);
  }
  PMPI_Group_free(&theirs);
  return rank;
}

/* The rank in one communicator of a rank of another; -1 if it has none. Kept until one is freed. */
static int kept_rank(MPI_Comm from, int rank, MPI_Comm into) {
  static struct { MPI_Comm from, into; int rank, found, used; } kept[64];
  uint64_t key = (uint64_t)(uintptr_t)from * 31 + (uint64_t)(uintptr_t)into * 17 + (uint64_t)(uint32_t)rank;
  int at = (int)((key * 0x9E3779B97F4A7C15u) >> 58);
  if (rank == FORGET) {
    for (int i = 0; i < 64; i++)
      if (kept[i].from == from || kept[i].into == from) kept[i].used = 0;
    return -1;
  }
  if (kept[at].used && kept[at].from == from && kept[at].rank == rank && kept[at].into == into) return kept[at].found;
  int found = rank < 0 ? MPI_UNDEFINED : rank_in(from, rank, into);
  if (found == MPI_UNDEFINED) found = -1;
  kept[at].from = from, kept[at].into = into, kept[at].rank = rank, kept[at].found = found, kept[at].used = 1;
  return found;
}

static int is_inter(MPI_Comm c) {
  int inter = 0;
  return !PMPI_Comm_test_inter(c, &inter) && inter;
}

/* How the ranks of a communicator lie in another: they are the same, in whatever order; some of them; or
 * others, too. */
enum relation { SAME_RANKS, SOME_RANKS, OTHER_RANKS };

static enum relation compared(MPI_Comm one, MPI_Comm other) {
  MPI_Group group, more, both, theirs, common;
  int inter = is_inter(one), size = 0, common_size = 0, their_size = 0;
  if (PMPI_Comm_group(one, &group)) return OTHER_RANKS;
  if (inter && !PMPI_Comm_remote_group(one, &more)) { /* both sides take part */
    PMPI_Group_union(group, more, &both);
    PMPI_Group_free(&group);
    PMPI_Group_free(&more);
    group = both;
  }
  PMPI_Group_size(group, &size);
  if (!PMPI_Comm_group(other, &theirs)) {
    PMPI_Group_size(theirs, &their_size);
    if (!PMPI_Group_intersection(group, theirs, &common)) {
      PMPI_Group_size(common, &common_size);
      if (common != MPI_GROUP_EMPTY) PMPI_Group_free(&common);
    }
    PMPI_Group_free(&theirs);
  }
  PMPI_Group_free(&group);
  if (common_size < size) return OTHER_RANKS;
  return size == their_size ? SAME_RANKS : inter ? OTHER_RANKS : SOME_RANKS;
}

/* The same, kept until one of the two is freed. */
static enum relation relation_of(MPI_Comm one, MPI_Comm other) {
  static struct { MPI_Comm one, other; enum relation found; int used; } kept[16];
  uint64_t key = (uint64_t)(uintptr_t)one * 31 + (uint64_t)(uintptr_t)other * 17;
  int at = (int)((key * 0x9E3779B97F4A7C15u) >> 60);
  if (other == MPI_COMM_NULL) {
    for (int i = 0; i < 16; i++)
      if (kept[i].one == one || kept[i].other == one) kept[i].used = 0;
    return OTHER_RANKS;
  }
  if (!kept[at].used || kept[at].one != one || kept[at].other != other) {
    kept[at].found = compared(one, other);
    kept[at].one = one, kept[at].other = other, kept[at].used = 1;
  }
  return kept[at].found;
}

/* Communicators in which messages are sent: a number that is the same on all members, and their ranks in
 * MPI_COMM_WORLD. What creates one is collective over its parent, so the members count the same children.
 * Others, and those for which there is no room, have the number 0 of MPI_COMM_WORLD, the first entry. */
enum { COMMUNICATORS = 256 };
static struct communicator {
  MPI_Comm handle;
  uint32_t used, children;
  uint16_t number;
  int32_t size;      /* 0: ranks are not known yet */
  uint16_t *world;   /* by rank of whom messages are sent to */
} communicators[COMMUNICATORS];

static struct communicator *communicator_of(MPI_Comm c) {
  static struct communicator *last = communicators;
  if (c == MPI_COMM_WORLD) return communicators;
  if (last->used && last->handle == c) return last;
  uint32_t first = (uint32_t)(((uint64_t)(uintptr_t)c * 0x9E3779B97F4A7C15u) >> 56);
  for (uint32_t i = 0; i < COMMUNICATORS; i++) {
    struct communicator *entry = &communicators[(first + i) % COMMUNICATORS];
    if (entry == communicators) continue;
    if (!entry->used && !__atomic_exchange_n(&entry->used, 1, __ATOMIC_ACQ_REL)) entry->handle = c; /* any thread comes here */
    if (entry->handle == c) return last = entry;
  }
  return NULL;
}

/* Numbers a communicator after its parent, and which of its children it is. */
static void number_communicator(MPI_Comm parent, MPI_Comm child) {
  struct communicator *from = communicator_of(parent), *made;
  uint32_t place = from ? __atomic_add_fetch(&from->children, 1, __ATOMIC_RELAXED) : 0;
  if (child != MPI_COMM_NULL && (made = communicator_of(child)) && from) made->number = (uint16_t)(mixed(from->number, place) >> 48 | 1);
}

/* What is kept of a communicator that is freed. Entries stay in use, so that those behind them are found. */
static void forget_communicator(MPI_Comm c) {
  kept_rank(c, FORGET, MPI_COMM_NULL);
  relation_of(c, MPI_COMM_NULL);
  struct communicator *entry = communicator_of(c);
  if (!entry || entry == communicators) return;
  uint16_t *world = entry->world;
  entry->handle = MPI_COMM_NULL;
  entry->world = NULL;
  entry->size = entry->number = entry->children = 0;
  free(world);
}

/* A message as a record has it: the other rank in MPI_COMM_WORLD, and above it the channel, which stands for
 * communicator and tag. Messages between two ranks in a channel are received in the order of sending. */
#define NO_MESSAGE 0xfffeu     /* to or from nobody */
#define UNKNOWN_MESSAGE 0xffffu

static __attribute__((noinline)) uint32_t message_in(struct communicator *entry, int other, int tag) {
  if (other == MPI_PROC_NULL) return NO_MESSAGE;
  if (!entry || other < 0 || (entry != communicators && entry->handle == MPI_COMM_NULL)) return UNKNOWN_MESSAGE;
  MPI_Comm c = entry->handle;
  uint32_t rank = (uint32_t)other;
  if (entry != communicators) {
    if (!entry->size) {
      MPI_Group theirs, all;
      int size = 0;
      entry->size = -1;
      if (is_inter(c) ? PMPI_Comm_remote_group(c, &theirs) : PMPI_Comm_group(c, &theirs))
        return UNKNOWN_MESSAGE;
      if (!PMPI_Comm_group(MPI_COMM_WORLD, &all)) {
        PMPI_Group_size(theirs, &size);
        int *ranks = malloc(2 * (size_t)size * sizeof *ranks), *found = ranks + size;
        entry->world = malloc((size_t)size * sizeof *entry->world);
        for (int i = 0; ranks && i < size; i++) ranks[i] = i;
        if (ranks && entry->world && !PMPI_Group_translate_ranks(theirs, size, ranks, all, found)) {
          entry->size = size;
          for (int i = 0; i < size; i++)
            entry->world[i] = (uint16_t)(found[i] < 0 || found[i] >= (int)NO_MESSAGE ? UNKNOWN_MESSAGE : (unsigned)found[i]);
        }
        free(ranks);
        PMPI_Group_free(&all);
      }
      PMPI_Group_free(&theirs);
    }
    rank = other < entry->size ? entry->world[other] : UNKNOWN_MESSAGE;
  }
  if (rank >= NO_MESSAGE) return UNKNOWN_MESSAGE;
  return rank | (uint32_t)(uint16_t)((uint32_t)tag ^ (uint32_t)tag >> 16 ^ entry->number) << 16;
}

static __attribute__((noinline)) uint32_t message_elsewhere(MPI_Comm c, int other, int tag) {
  return message_in(communicator_of(c), other, tag);
}

static inline uint32_t message_with(MPI_Comm c, int other, int tag) {
  if (c != MPI_COMM_WORLD || other < 0 || other >= (int)NO_MESSAGE) return message_elsewhere(c, other, tag);
  return (uint32_t)other | ((uint32_t)tag ^ (uint32_t)tag >> 16) << 16;
}

static inline int is_wild(int from, int tag) { return from == MPI_ANY_SOURCE || tag == MPI_ANY_TAG; }

/* The message that was received, which a wildcard leaves to the status. */
static inline uint32_t message_from(MPI_Comm c, int from, int tag, const MPI_Status *status) {
  if (!is_wild(from, tag) || from == MPI_PROC_NULL) return message_with(c, from, tag);
  return status == MPI_STATUS_IGNORE ? UNKNOWN_MESSAGE : message_with(c, status->MPI_SOURCE, status->MPI_TAG);
}

/* Lists the rank in MPI_COMM_WORLD of every rank of a communicator, -1 for none, which a record has. */
void hindmost_world_ranks(MPI_Fint communicator, int size, int32_t rank[]) {
  for (int i = 0; i < size; i++) {
    uint32_t message = message_with(MPI_Comm_f2c(communicator), i, 0) & 0xffff;
    rank[i] = message >= NO_MESSAGE ? -1 : (int32_t)message;
  }
}

/* Finds the ranks to which a rank sends in a topology; returns their number. */
static int topology_targets(MPI_Comm communicator, int targets[MOST_NEIGHBOURS]) {
  static int sources[MOST_NEIGHBOURS], weights[2][MOST_NEIGHBOURS];
  int kind = MPI_UNDEFINED, count = 0, incoming = 0, weighted, rank;
  if (PMPI_Topo_test(communicator, &kind) || PMPI_Comm_rank(communicator, &rank)) return 0;
  if (kind == MPI_DIST_GRAPH) {
    if (PMPI_Dist_graph_neighbors_count(communicator, &incoming, &count, &weighted)) return 0;
    if (incoming > MOST_NEIGHBOURS || count > MOST_NEIGHBOURS) return 0;
    return PMPI_Dist_graph_neighbors(communicator, incoming, sources, weights[0], count, targets, weights[1]) ? 0 : count;
  }
  if (kind == MPI_GRAPH) {
    if (PMPI_Graph_neighbors_count(communicator, rank, &count) || count > MOST_NEIGHBOURS) return 0;
    return PMPI_Graph_neighbors(communicator, rank, count, targets) ? 0 : count;
  }
  int dimensions = 0;
  if (kind != MPI_CART || PMPI_Cartdim_get(communicator, &dimensions)) return 0;
  for (int d = 0; d < dimensions && count + 2 <= MOST_NEIGHBOURS; d++) {
    if (PMPI_Cart_shift(communicator, d, 1, &targets[count], &targets[count + 1])) return count;
    count += 2;
  }
  return count;
}

/* Translates the entries of one communicator, or of all if it is null, to another. */
static void resolve_peers(MPI_Comm only, MPI_Comm into) {
  static int targets[MOST_NEIGHBOURS];
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
  peers_untold = 0;
}

/* Lists the ranks to which this rank sent since it was armed, with messages and bytes; returns their
 * number, -1 if the table was full or there is too little room. */
int hindmost_peers(MPI_Fint communicator, int room, int32_t *rank, int64_t *messages, int64_t *bytes) {
  MPI_Comm comm = MPI_Comm_f2c(communicator);
  int count = 0;
  resolve_peers(MPI_COMM_NULL, comm);
  for (int i = 0; i < PEERS; i++) {
    if (!peers[i].used || peers[i].communicator != comm || !peers[i].messages || peers[i].to < 0) continue;
    if (count == room || peers_untold) return -1;
    rank[count] = peers[i].to;
    messages[count] = peers[i].messages;
    bytes[count++] = peers[i].bytes;
  }
  return peers_untold ? -1 : count;
}
