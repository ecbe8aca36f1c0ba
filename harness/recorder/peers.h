/* Messages and bytes by communicator and destination in a loop or a solve.
 *
 * A send costs a lookup in a small table; ranks are translated after the loop, or when their
 * communicator is freed. If the table is full, sends are counted as unknown. */
#pragma once

#include "abi.h"

#include <stdint.h>
enum { PEERS = 1 << 12, NO_PLACE = -1, NO_PEER = -2, TOPOLOGY = -1000 };
static struct peer {
  MPI_Comm communicator;
  int32_t to;            /* its rank there; TOPOLOGY: all neighbours of its topology */
  int32_t used;
  int64_t messages, bytes;
} peers[PEERS];
static int64_t unattributed_messages;
static int last_peer;

static int peer_place(MPI_Comm communicator, int to);
static int64_t bytes_of(int64_t n, MPI_Datatype type);
static void resolve_peers(MPI_Comm only, MPI_Comm into);
static void forget_peers(void);
int hindmost_peers(MPI_Fint communicator, int room, int32_t *rank, int64_t *messages, int64_t *bytes);
static inline void peer_add(int at, int64_t messages, int64_t bytes) {
  if (at == NO_PLACE) unattributed_messages += messages;
  if (at < 0) return;
  peers[at].messages += messages;
  peers[at].bytes += bytes;
}
