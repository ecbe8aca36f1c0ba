/* Ranks of one communicator in another, and messages as records have them. */
#pragma once

#include "abi.h"

enum { FORGET = -1001 };

/* How the ranks of a communicator lie in another: they are the same, in whatever order; some of them; or
 * others, too. */
enum relation { SAME_RANKS, SOME_RANKS, OTHER_RANKS };

/* Communicators in which messages are sent: a number that is the same on all members, and their ranks in
 * MPI_COMM_WORLD. What creates one is collective over its parent, so the members count the same children; or over
 * its own members, then they make the number. Those for which there is no room have the number 0 of MPI_COMM_WORLD, the first entry. */
enum { COMMUNICATORS = 256 };
static struct communicator {
  MPI_Comm handle;
  uint32_t used, children;
  uint16_t number, uses; /* uses: how many communicators had this entry before */
  int32_t own;       /* one more than the rank of this process, -1 between groups; 0: not known yet */
  int32_t size;      /* 0: ranks are not known yet */
  uint16_t *world;   /* by rank of whom messages are sent to */
} communicators[COMMUNICATORS];
static int rank_in(MPI_Comm from, int to, MPI_Comm into);
static int kept_rank(MPI_Comm from, int rank, MPI_Comm into);
static int is_inter(MPI_Comm c);
static int own_rank(MPI_Comm c);
static enum relation relation_of(MPI_Comm one, MPI_Comm other);
static struct communicator *communicator_of(MPI_Comm c);
static uint16_t next_number(MPI_Comm parent);
static void number_communicator(MPI_Comm c, uint16_t number);
static void number_by_members(MPI_Comm c);
static void forget_communicator(MPI_Comm c);
static uint32_t message_in(struct communicator *entry, int other, int tag);
static uint32_t message_elsewhere(MPI_Comm c, int other, int tag);
void hindmost_world_ranks(MPI_Fint communicator, int size, int32_t rank[]);
static inline uint32_t message_with(MPI_Comm c, int other, int tag) {
  if (other == MPI_PROC_NULL) return NO_MESSAGE;
  if (c != MPI_COMM_WORLD || other < 0 || other >= (int)NO_MESSAGE) return message_elsewhere(c, other, tag);
  return (uint32_t)other | ((uint32_t)tag ^ (uint32_t)tag >> 16) << 16;
}

static inline int is_wild(int from, int tag) { return from == MPI_ANY_SOURCE || tag == MPI_ANY_TAG; }

/* The message that was received, which a wildcard leaves to the status. */
static inline uint32_t message_from(MPI_Comm c, int from, int tag, const MPI_Status *status) {
  if (!is_wild(from, tag) || from == MPI_PROC_NULL) return message_with(c, from, tag);
  return status == MPI_STATUS_IGNORE ? UNKNOWN_MESSAGE : message_with(c, status->MPI_SOURCE, status->MPI_TAG);
}
