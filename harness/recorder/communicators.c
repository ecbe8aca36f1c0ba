#include "communicators.h"

#include "lock.h"
#include "places.h"

#include <stdlib.h>

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

/* The ranks of a group in a communicator, in memory to be freed, NULL if there is none; frees the group. Groups are translated
 * only: MPI need not make others of those of a session and of MPI_COMM_WORLD, and MPICH aborts. */
static int *ranks_of_group(MPI_Group group, MPI_Comm into, int *size) {
  MPI_Group all;
  int *ranks = NULL;
  PMPI_Group_size(group, size);
  if (!PMPI_Comm_group(into, &all)) {
    ranks = malloc(2 * (size_t)*size * sizeof *ranks + 1);
    for (int i = 0; ranks && i < *size; i++) ranks[*size + i] = i;
    if (ranks && PMPI_Group_translate_ranks(group, *size, ranks + *size, all, ranks)) free(ranks), ranks = NULL;
    PMPI_Group_free(&all);
  }
  PMPI_Group_free(&group);
  return ranks;
}

/* Whether all ranks of a group are in a communicator; adds how many they are. Frees the group. */
static int are_in(MPI_Group group, MPI_Comm into, int *count) {
  int size = 0, known = 0, *ranks = ranks_of_group(group, into, &size);
  for (int i = 0; ranks && i < size; i++) known += ranks[i] != MPI_UNDEFINED;
  free(ranks);
  *count += size;
  return known == size;
}

static enum relation compared(MPI_Comm one, MPI_Comm other) {
  MPI_Group group;
  int inter = is_inter(one), size = 0, their_size = 0;
  if (PMPI_Comm_group(one, &group) || !are_in(group, other, &size)) return OTHER_RANKS;
  if (inter && (PMPI_Comm_remote_group(one, &group) || !are_in(group, other, &size))) return OTHER_RANKS; /* both sides take part */
  PMPI_Comm_size(other, &their_size);
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

/* The entry of a communicator, a new one if need be: that of one that was freed, where it lies on the way. */
static struct communicator *communicator_of(MPI_Comm c) {
  static struct communicator *last = communicators;
  struct communicator *freed = NULL;
  if (c == MPI_COMM_WORLD) return communicators;
  if (last->used && last->handle == c) return last;
  uint32_t first = (uint32_t)(((uint64_t)(uintptr_t)c * 0x9E3779B97F4A7C15u) >> 56);
  for (uint32_t i = 0; i < COMMUNICATORS; i++) {
    struct communicator *entry = &communicators[(first + i) % COMMUNICATORS];
    if (entry == communicators) continue;
    if (entry->used && entry->handle == c) return last = entry;
    if (entry->used && entry->handle == MPI_COMM_NULL && !freed) freed = entry;
    if (entry->used) continue;
    if (!freed) freed = entry;
    break;
  }
  if (!freed) return NULL;
  freed->used = 1;
  freed->handle = c;
  return last = freed;
}

/* The rank of this process; negative where others' ranks are of another group. */
static int own_rank(MPI_Comm c) {
  struct communicator *entry = c == MPI_COMM_NULL ? NULL : communicator_of(c);
  int rank = -1;
  if (entry && entry->own) return entry->own - 1;
  if (c == MPI_COMM_NULL || PMPI_Comm_rank(c, &rank)) return -1;
  if (is_inter(c)) rank = -2;
  if (entry) entry->own = rank + 1;
  return rank;
}

/* The number of a communicator after its parent, and which of its children it is. */
static uint16_t next_number(MPI_Comm parent) {
  struct communicator *from = communicator_of(parent);
  return from ? (uint16_t)(mixed(from->number, __atomic_add_fetch(&from->children, 1, __ATOMIC_RELAXED)) >> 48 | 1) : 0;
}

static void number_communicator(MPI_Comm c, uint16_t number) {
  struct communicator *made = c == MPI_COMM_NULL ? NULL : communicator_of(c);
  if (made) made->number = number;
}

static uint64_t hash_of_group(MPI_Group group) {
  uint64_t hash = 0;
  int size, *ranks = ranks_of_group(group, MPI_COMM_WORLD, &size);
  for (int i = 0; ranks && i < size; i++) hash = mixed(hash, (uint64_t)ranks[i] + 1);
  free(ranks);
  return hash;
}

static int is_taken(uint16_t number) {
  for (int i = 1; i < COMMUNICATORS; i++)
    if (communicators[i].used && communicators[i].handle != MPI_COMM_NULL && communicators[i].number == number) return 1;
  return 0;
}

/* Numbers a communicator that only its members create, alike on both sides if it has two: after who they are, and after those
 * of the same members that are there already. */
static void number_by_members(MPI_Comm c) {
  MPI_Group group;
  uint64_t hash = 0;
  if (c == MPI_COMM_NULL) return;
  if (!PMPI_Comm_group(c, &group)) hash += hash_of_group(group);
  if (is_inter(c) && !PMPI_Comm_remote_group(c, &group)) hash += hash_of_group(group);
  uint16_t number = (uint16_t)(mixed(hash, 1) >> 48 | 1);
  for (int i = 0; i < COMMUNICATORS && is_taken(number); i++) number = (uint16_t)(number + 2);
  number_communicator(c, number);
}

/* What is kept of a communicator that is freed. Its entry stays in use, so that those behind it are found. */
static void forget_communicator(MPI_Comm c) {
  kept_rank(c, FORGET, MPI_COMM_NULL);
  relation_of(c, MPI_COMM_NULL);
  struct communicator *entry = communicator_of(c);
  if (!entry || entry == communicators) return;
  uint16_t *world = entry->world;
  entry->handle = MPI_COMM_NULL;
  entry->world = NULL;
  entry->own = entry->size = entry->number = entry->children = 0;
  entry->uses++;
  free(world);
}

static __attribute__((noinline)) uint32_t message_in(struct communicator *entry, int other, int tag) {
  if (other == MPI_PROC_NULL) return NO_MESSAGE;
  if (!entry || other < 0 || (entry != communicators && entry->handle == MPI_COMM_NULL)) return UNKNOWN_MESSAGE;
  MPI_Comm c = entry->handle;
  uint32_t rank = (uint32_t)other;
  if (entry != communicators) {
    if (!entry->size) {
      MPI_Group theirs;
      int size = 0;
      entry->size = -1;
      if (is_inter(c) ? PMPI_Comm_remote_group(c, &theirs) : PMPI_Comm_group(c, &theirs)) return UNKNOWN_MESSAGE;
      int *ranks = ranks_of_group(theirs, MPI_COMM_WORLD, &size);
      entry->world = ranks ? malloc((size_t)size * sizeof *entry->world) : NULL;
      for (int i = 0; entry->world && i < size; i++)
        entry->world[i] = (uint16_t)(ranks[i] < 0 || ranks[i] >= (int)NO_MESSAGE ? UNKNOWN_MESSAGE : (unsigned)ranks[i]);
      if (entry->world) entry->size = size;
      free(ranks);
    }
    rank = other < entry->size ? entry->world[other] : UNKNOWN_MESSAGE;
  }
  if (rank >= NO_MESSAGE) return UNKNOWN_MESSAGE;
  return rank | (uint32_t)(uint16_t)((uint32_t)tag ^ (uint32_t)tag >> 16 ^ entry->number) << 16;
}

static __attribute__((noinline)) uint32_t message_elsewhere(MPI_Comm c, int other, int tag) {
  return message_in(communicator_of(c), other, tag);
}

/* Lists the rank in MPI_COMM_WORLD of every rank of a communicator, -1 for none, which a record has. */
void hindmost_world_ranks(MPI_Fint communicator, int size, int32_t rank[]) {
  lock_tables();
  for (int i = 0; i < size; i++) {
    uint32_t message = message_with(MPI_Comm_f2c(communicator), i, 0) & 0xffff;
    rank[i] = message >= NO_MESSAGE ? -1 : (int32_t)message;
  }
  unlock_tables();
}
