/* Every MPI call that can send, wait or create a request, with its class: the single list of wrapped
 * calls. recorder.c and wrappers.h include it several times and define what to make of an entry.
 *
 *   CALL(name, class, (parameters), (arguments))
 *   COUNTING(...)  the same for calls that also exist as MPI_name_c, with large counts, in MPI 4
 *   COUNT, PLACE   the types of counts and of displacements in such calls
 *   PARTITIONS     the type of a list of partitions, which MPICH 4.0 declares without const
 *
 * wrappers.h has one macro for each class, which relies on these parameter names: c communicator, q
 * request or requests, n count, t datatype, to destination rank, w window, f flag, i index or indices,
 * k number of completed requests, or partitions.
 *
 * Not listed, because they return at once: queries, MPI_Cancel (the request must still be completed),
 * MPI_Win_sync, packing, datatypes, groups, attributes. */

/* Messages between two ranks: halo exchange. */
COUNTING(Send, SENDS, (const void *b, COUNT n, MPI_Datatype t, int to, int tag, MPI_Comm c), (b, n,
  t, to, tag, c))
COUNTING(Bsend, SENDS, (const void *b, COUNT n, MPI_Datatype t, int to, int tag, MPI_Comm c), (b, n,
  t, to, tag, c))
COUNTING(Ssend, SENDS, (const void *b, COUNT n, MPI_Datatype t, int to, int tag, MPI_Comm c), (b, n,
  t, to, tag, c))
COUNTING(Rsend, SENDS, (const void *b, COUNT n, MPI_Datatype t, int to, int tag, MPI_Comm c), (b, n,
  t, to, tag, c))
COUNTING(Recv, RECEIVES, (void *b, COUNT n, MPI_Datatype t, int from, int tag, MPI_Comm c,
  MPI_Status *z), (b, n, t, from, tag, c, z))
COUNTING(Mrecv, TAKES, (void *b, COUNT n, MPI_Datatype t, MPI_Message *g, MPI_Status *z), (b, n,
  t, g, z))
COUNTING(Buffer_detach, TAKES, (void *b, COUNT *n), (b, n))
CALL(Probe, PROBES, (int from, int tag, MPI_Comm c, MPI_Status *z), (from, tag, c, z))
CALL(Mprobe, RECEIVES, (int from, int tag, MPI_Comm c, MPI_Message *g, MPI_Status *z), (from, tag,
  c, g, z))
CALL(Iprobe, LOOKS_AT, (int from, int tag, MPI_Comm c, int *f, MPI_Status *z), (from, tag, c, f, z))
CALL(Improbe, LOOKS_FOR, (int from, int tag, MPI_Comm c, int *f, MPI_Message *g, MPI_Status *z), (from,
  tag, c, f, g, z))
COUNTING(Sendrecv, EXCHANGES, (const void *s, COUNT n, MPI_Datatype t, int to, int tag, void *r,
  COUNT m, MPI_Datatype u, int from, int rtag, MPI_Comm c, MPI_Status *z), (s, n, t, to, tag, r, m,
  u, from, rtag, c, z))
COUNTING(Sendrecv_replace, EXCHANGES, (void *b, COUNT n, MPI_Datatype t, int to, int tag, int from,
  int rtag, MPI_Comm c, MPI_Status *z), (b, n, t, to, tag, from, rtag, c, z))
COUNTING(Isend, STARTS_SEND, (const void *b, COUNT n, MPI_Datatype t, int to, int tag, MPI_Comm c,
  MPI_Request *q), (b, n, t, to, tag, c, q))
COUNTING(Ibsend, STARTS_SEND, (const void *b, COUNT n, MPI_Datatype t, int to, int tag, MPI_Comm c,
  MPI_Request *q), (b, n, t, to, tag, c, q))
COUNTING(Issend, STARTS_SEND, (const void *b, COUNT n, MPI_Datatype t, int to, int tag, MPI_Comm c,
  MPI_Request *q), (b, n, t, to, tag, c, q))
COUNTING(Irsend, STARTS_SEND, (const void *b, COUNT n, MPI_Datatype t, int to, int tag, MPI_Comm c,
  MPI_Request *q), (b, n, t, to, tag, c, q))
COUNTING(Irecv, STARTS_RECEIVE, (void *b, COUNT n, MPI_Datatype t, int from, int tag, MPI_Comm c,
  MPI_Request *q), (b, n, t, from, tag, c, q))
COUNTING(Imrecv, STARTS_TAKING, (void *b, COUNT n, MPI_Datatype t, MPI_Message *g, MPI_Request *q),
  (b, n, t, g, q))
#if MPI_VERSION >= 4
COUNTING(Isendrecv, STARTS_EXCHANGE, (const void *s, COUNT n, MPI_Datatype t, int to, int tag, void *r,
  COUNT m, MPI_Datatype u, int from, int rtag, MPI_Comm c, MPI_Request *q), (s, n, t, to, tag, r, m,
  u, from, rtag, c, q))
COUNTING(Isendrecv_replace, STARTS_EXCHANGE, (void *b, COUNT n, MPI_Datatype t, int to, int tag, int
  from, int rtag, MPI_Comm c, MPI_Request *q), (b, n, t, to, tag, from, rtag, c, q))
#endif
COUNTING(Send_init, PREPARES_SEND, (const void *b, COUNT n, MPI_Datatype t, int to, int tag,
  MPI_Comm c, MPI_Request *q), (b, n, t, to, tag, c, q))
COUNTING(Bsend_init, PREPARES_SEND, (const void *b, COUNT n, MPI_Datatype t, int to, int tag,
  MPI_Comm c, MPI_Request *q), (b, n, t, to, tag, c, q))
COUNTING(Ssend_init, PREPARES_SEND, (const void *b, COUNT n, MPI_Datatype t, int to, int tag,
  MPI_Comm c, MPI_Request *q), (b, n, t, to, tag, c, q))
COUNTING(Rsend_init, PREPARES_SEND, (const void *b, COUNT n, MPI_Datatype t, int to, int tag,
  MPI_Comm c, MPI_Request *q), (b, n, t, to, tag, c, q))
COUNTING(Recv_init, PREPARES_RECEIVE, (void *b, COUNT n, MPI_Datatype t, int from, int tag, MPI_Comm
  c, MPI_Request *q), (b, n, t, from, tag, c, q))
#if MPI_VERSION >= 4
CALL(Psend_init, PREPARES_PARTS, (const void *b, int k, MPI_Count n, MPI_Datatype t, int to, int tag,
  MPI_Comm c, MPI_Info info, MPI_Request *q), (b, k, n, t, to, tag, c, info, q))
CALL(Precv_init, PREPARES_RECEIVE, (void *b, int k, MPI_Count n, MPI_Datatype t, int from, int tag,
  MPI_Comm c, MPI_Info info, MPI_Request *q), (b, k, n, t, from, tag, c, info, q))
CALL(Pready, FILLS, (int i, MPI_Request q), (i, q))
CALL(Pready_range, FILLS, (int partition_low, int partition_high, MPI_Request q), (partition_low,
  partition_high, q))
CALL(Pready_list, FILLS, (int length, PARTITIONS array_of_partitions, MPI_Request q), (length,
  array_of_partitions, q))
CALL(Parrived, LOOKS, (MPI_Request q, int i, int *f), (q, i, f))
#endif

/* Between neighbours of a topology: halo exchange. */
COUNTING(Neighbor_allgather, NEIGHBOURS, (const void *s, COUNT n, MPI_Datatype t, void *r, COUNT m,
  MPI_Datatype u, MPI_Comm c), (s, n, t, r, m, u, c))
COUNTING(Neighbor_allgatherv, NEIGHBOURS, (const void *s, COUNT n, MPI_Datatype t, void *r, const
  COUNT m[], const PLACE e[], MPI_Datatype u, MPI_Comm c), (s, n, t, r, m, e, u, c))
COUNTING(Neighbor_alltoall, NEIGHBOURS, (const void *s, COUNT n, MPI_Datatype t, void *r, COUNT m,
  MPI_Datatype u, MPI_Comm c), (s, n, t, r, m, u, c))
COUNTING(Neighbor_alltoallv, NEIGHBOURS, (const void *s, const COUNT n[], const PLACE d[],
  MPI_Datatype t, void *r, const COUNT m[], const PLACE e[], MPI_Datatype u, MPI_Comm c), (s, n, d,
  t, r, m, e, u, c))
COUNTING(Neighbor_alltoallw, NEIGHBOURS, (const void *s, const COUNT n[], const MPI_Aint d[], const
  MPI_Datatype t[], void *r, const COUNT m[], const MPI_Aint e[], const MPI_Datatype u[], MPI_Comm
  c), (s, n, d, t, r, m, e, u, c))
COUNTING(Ineighbor_allgather, STARTS_NEIGHBOURS, (const void *s, COUNT n, MPI_Datatype t, void *r,
  COUNT m, MPI_Datatype u, MPI_Comm c, MPI_Request *q), (s, n, t, r, m, u, c, q))
COUNTING(Ineighbor_allgatherv, STARTS_NEIGHBOURS, (const void *s, COUNT n, MPI_Datatype t, void *r,
  const COUNT m[], const PLACE e[], MPI_Datatype u, MPI_Comm c, MPI_Request *q), (s, n, t, r, m, e,
  u, c, q))
COUNTING(Ineighbor_alltoall, STARTS_NEIGHBOURS, (const void *s, COUNT n, MPI_Datatype t, void *r,
  COUNT m, MPI_Datatype u, MPI_Comm c, MPI_Request *q), (s, n, t, r, m, u, c, q))
COUNTING(Ineighbor_alltoallv, STARTS_NEIGHBOURS, (const void *s, const COUNT n[], const PLACE d[],
  MPI_Datatype t, void *r, const COUNT m[], const PLACE e[], MPI_Datatype u, MPI_Comm c, MPI_Request
  *q), (s, n, d, t, r, m, e, u, c, q))
COUNTING(Ineighbor_alltoallw, STARTS_NEIGHBOURS, (const void *s, const COUNT n[], const MPI_Aint
  d[], const MPI_Datatype t[], void *r, const COUNT m[], const MPI_Aint e[], const MPI_Datatype u[],
  MPI_Comm c, MPI_Request *q), (s, n, d, t, r, m, e, u, c, q))
#if MPI_VERSION >= 4
COUNTING(Neighbor_allgather_init, PREPARES_NEIGHBOURS, (const void *s, COUNT n, MPI_Datatype t, void
  *r, COUNT m, MPI_Datatype u, MPI_Comm c, MPI_Info info, MPI_Request *q), (s, n, t, r, m, u, c,
  info, q))
COUNTING(Neighbor_allgatherv_init, PREPARES_NEIGHBOURS, (const void *s, COUNT n, MPI_Datatype t,
  void *r, const COUNT m[], const PLACE e[], MPI_Datatype u, MPI_Comm c, MPI_Info info, MPI_Request
  *q), (s, n, t, r, m, e, u, c, info, q))
COUNTING(Neighbor_alltoall_init, PREPARES_NEIGHBOURS, (const void *s, COUNT n, MPI_Datatype t, void
  *r, COUNT m, MPI_Datatype u, MPI_Comm c, MPI_Info info, MPI_Request *q), (s, n, t, r, m, u, c,
  info, q))
COUNTING(Neighbor_alltoallv_init, PREPARES_NEIGHBOURS, (const void *s, const COUNT n[], const PLACE
  d[], MPI_Datatype t, void *r, const COUNT m[], const PLACE e[], MPI_Datatype u, MPI_Comm c,
  MPI_Info info, MPI_Request *q), (s, n, d, t, r, m, e, u, c, info, q))
COUNTING(Neighbor_alltoallw_init, PREPARES_NEIGHBOURS, (const void *s, const COUNT n[], const
  MPI_Aint d[], const MPI_Datatype t[], void *r, const COUNT m[], const MPI_Aint e[], const
  MPI_Datatype u[], MPI_Comm c, MPI_Info info, MPI_Request *q), (s, n, d, t, r, m, e, u, c, info,
  q))
#endif

/* Collectives: blocking forms count as wait, starts as post. */
CALL(Barrier, MEETS, (MPI_Comm c), (c))
COUNTING(Bcast, MEETS_FROM_ROOT, (void *b, COUNT n, MPI_Datatype t, int root, MPI_Comm c), (b, n, t, root, c))
COUNTING(Gather, MEETS_AT_ROOT, (const void *s, COUNT n, MPI_Datatype t, void *r, COUNT m, MPI_Datatype u,
  int root, MPI_Comm c), (s, n, t, r, m, u, root, c))
COUNTING(Gatherv, MEETS_AT_ROOT, (const void *s, COUNT n, MPI_Datatype t, void *r, const COUNT m[], const
  PLACE e[], MPI_Datatype u, int root, MPI_Comm c), (s, n, t, r, m, e, u, root, c))
COUNTING(Scatter, MEETS_FROM_ROOT, (const void *s, COUNT n, MPI_Datatype t, void *r, COUNT m, MPI_Datatype u,
  int root, MPI_Comm c), (s, n, t, r, m, u, root, c))
COUNTING(Scatterv, MEETS_FROM_ROOT, (const void *s, const COUNT n[], const PLACE e[], MPI_Datatype t, void *r,
  COUNT m, MPI_Datatype u, int root, MPI_Comm c), (s, n, e, t, r, m, u, root, c))
COUNTING(Allgather, MEETS, (const void *s, COUNT n, MPI_Datatype t, void *r, COUNT m, MPI_Datatype
  u, MPI_Comm c), (s, n, t, r, m, u, c))
COUNTING(Allgatherv, MEETS, (const void *s, COUNT n, MPI_Datatype t, void *r, const COUNT m[], const
  PLACE e[], MPI_Datatype u, MPI_Comm c), (s, n, t, r, m, e, u, c))
COUNTING(Alltoall, MEETS, (const void *s, COUNT n, MPI_Datatype t, void *r, COUNT m, MPI_Datatype u,
  MPI_Comm c), (s, n, t, r, m, u, c))
COUNTING(Alltoallv, MEETS, (const void *s, const COUNT n[], const PLACE d[], MPI_Datatype t, void
  *r, const COUNT m[], const PLACE e[], MPI_Datatype u, MPI_Comm c), (s, n, d, t, r, m, e, u, c))
COUNTING(Alltoallw, MEETS, (const void *s, const COUNT n[], const PLACE d[], const MPI_Datatype t[],
  void *r, const COUNT m[], const PLACE e[], const MPI_Datatype u[], MPI_Comm c), (s, n, d, t, r, m,
  e, u, c))
COUNTING(Reduce, MEETS_AT_ROOT, (const void *s, void *r, COUNT n, MPI_Datatype t, MPI_Op o, int root,
  MPI_Comm c), (s, r, n, t, o, root, c))
COUNTING(Allreduce, MEETS, (const void *s, void *r, COUNT n, MPI_Datatype t, MPI_Op o, MPI_Comm c),
  (s, r, n, t, o, c))
COUNTING(Reduce_scatter, MEETS, (const void *s, void *r, const COUNT m[], MPI_Datatype t, MPI_Op o,
  MPI_Comm c), (s, r, m, t, o, c))
COUNTING(Reduce_scatter_block, MEETS, (const void *s, void *r, COUNT m, MPI_Datatype t, MPI_Op o,
  MPI_Comm c), (s, r, m, t, o, c))
COUNTING(Scan, MEETS_IN_ORDER, (const void *s, void *r, COUNT n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (s,
  r, n, t, o, c))
COUNTING(Exscan, MEETS_IN_ORDER, (const void *s, void *r, COUNT n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (s,
  r, n, t, o, c))
CALL(Ibarrier, STARTS_MEETING, (MPI_Comm c, MPI_Request *q), (c, q))
COUNTING(Ibcast, STARTS_FROM_ROOT, (void *b, COUNT n, MPI_Datatype t, int root, MPI_Comm c,
  MPI_Request *q), (b, n, t, root, c, q))
COUNTING(Igather, STARTS_AT_ROOT, (const void *s, COUNT n, MPI_Datatype t, void *r, COUNT m,
  MPI_Datatype u, int root, MPI_Comm c, MPI_Request *q), (s, n, t, r, m, u, root, c, q))
COUNTING(Igatherv, STARTS_AT_ROOT, (const void *s, COUNT n, MPI_Datatype t, void *r, const COUNT
  m[], const PLACE e[], MPI_Datatype u, int root, MPI_Comm c, MPI_Request *q), (s, n, t, r, m, e, u,
  root, c, q))
COUNTING(Iscatter, STARTS_FROM_ROOT, (const void *s, COUNT n, MPI_Datatype t, void *r, COUNT m,
  MPI_Datatype u, int root, MPI_Comm c, MPI_Request *q), (s, n, t, r, m, u, root, c, q))
COUNTING(Iscatterv, STARTS_FROM_ROOT, (const void *s, const COUNT n[], const PLACE e[], MPI_Datatype
  t, void *r, COUNT m, MPI_Datatype u, int root, MPI_Comm c, MPI_Request *q), (s, n, e, t, r, m, u,
  root, c, q))
COUNTING(Iallgather, STARTS_MEETING, (const void *s, COUNT n, MPI_Datatype t, void *r, COUNT m,
  MPI_Datatype u, MPI_Comm c, MPI_Request *q), (s, n, t, r, m, u, c, q))
COUNTING(Iallgatherv, STARTS_MEETING, (const void *s, COUNT n, MPI_Datatype t, void *r, const COUNT
  m[], const PLACE e[], MPI_Datatype u, MPI_Comm c, MPI_Request *q), (s, n, t, r, m, e, u, c, q))
COUNTING(Ialltoall, STARTS_MEETING, (const void *s, COUNT n, MPI_Datatype t, void *r, COUNT m,
  MPI_Datatype u, MPI_Comm c, MPI_Request *q), (s, n, t, r, m, u, c, q))
COUNTING(Ialltoallv, STARTS_MEETING, (const void *s, const COUNT n[], const PLACE d[], MPI_Datatype
  t, void *r, const COUNT m[], const PLACE e[], MPI_Datatype u, MPI_Comm c, MPI_Request *q), (s, n,
  d, t, r, m, e, u, c, q))
COUNTING(Ialltoallw, STARTS_MEETING, (const void *s, const COUNT n[], const PLACE d[], const
  MPI_Datatype t[], void *r, const COUNT m[], const PLACE e[], const MPI_Datatype u[], MPI_Comm c,
  MPI_Request *q), (s, n, d, t, r, m, e, u, c, q))
COUNTING(Ireduce, STARTS_AT_ROOT, (const void *s, void *r, COUNT n, MPI_Datatype t, MPI_Op o, int
  root, MPI_Comm c, MPI_Request *q), (s, r, n, t, o, root, c, q))
COUNTING(Iallreduce, STARTS_MEETING, (const void *s, void *r, COUNT n, MPI_Datatype t, MPI_Op o,
  MPI_Comm c, MPI_Request *q), (s, r, n, t, o, c, q))
COUNTING(Ireduce_scatter, STARTS_MEETING, (const void *s, void *r, const COUNT m[], MPI_Datatype t,
  MPI_Op o, MPI_Comm c, MPI_Request *q), (s, r, m, t, o, c, q))
COUNTING(Ireduce_scatter_block, STARTS_MEETING, (const void *s, void *r, COUNT m, MPI_Datatype t,
  MPI_Op o, MPI_Comm c, MPI_Request *q), (s, r, m, t, o, c, q))
COUNTING(Iscan, STARTS_MEETING, (const void *s, void *r, COUNT n, MPI_Datatype t, MPI_Op o, MPI_Comm
  c, MPI_Request *q), (s, r, n, t, o, c, q))
COUNTING(Iexscan, STARTS_MEETING, (const void *s, void *r, COUNT n, MPI_Datatype t, MPI_Op o,
  MPI_Comm c, MPI_Request *q), (s, r, n, t, o, c, q))
#if MPI_VERSION >= 4
CALL(Barrier_init, PREPARES_MEETING, (MPI_Comm c, MPI_Info info, MPI_Request *q), (c, info, q))
COUNTING(Bcast_init, PREPARES_MEETING, (void *b, COUNT n, MPI_Datatype t, int root, MPI_Comm c,
  MPI_Info info, MPI_Request *q), (b, n, t, root, c, info, q))
COUNTING(Gather_init, PREPARES_MEETING, (const void *s, COUNT n, MPI_Datatype t, void *r, COUNT m,
  MPI_Datatype u, int root, MPI_Comm c, MPI_Info info, MPI_Request *q), (s, n, t, r, m, u, root, c,
  info, q))
COUNTING(Gatherv_init, PREPARES_MEETING, (const void *s, COUNT n, MPI_Datatype t, void *r, const
  COUNT m[], const PLACE e[], MPI_Datatype u, int root, MPI_Comm c, MPI_Info info, MPI_Request *q),
  (s, n, t, r, m, e, u, root, c, info, q))
COUNTING(Scatter_init, PREPARES_MEETING, (const void *s, COUNT n, MPI_Datatype t, void *r, COUNT m,
  MPI_Datatype u, int root, MPI_Comm c, MPI_Info info, MPI_Request *q), (s, n, t, r, m, u, root, c,
  info, q))
COUNTING(Scatterv_init, PREPARES_MEETING, (const void *s, const COUNT n[], const PLACE e[],
  MPI_Datatype t, void *r, COUNT m, MPI_Datatype u, int root, MPI_Comm c, MPI_Info info, MPI_Request
  *q), (s, n, e, t, r, m, u, root, c, info, q))
COUNTING(Allgather_init, PREPARES_MEETING, (const void *s, COUNT n, MPI_Datatype t, void *r, COUNT
  m, MPI_Datatype u, MPI_Comm c, MPI_Info info, MPI_Request *q), (s, n, t, r, m, u, c, info, q))
COUNTING(Allgatherv_init, PREPARES_MEETING, (const void *s, COUNT n, MPI_Datatype t, void *r, const
  COUNT m[], const PLACE e[], MPI_Datatype u, MPI_Comm c, MPI_Info info, MPI_Request *q), (s, n, t,
  r, m, e, u, c, info, q))
COUNTING(Alltoall_init, PREPARES_MEETING, (const void *s, COUNT n, MPI_Datatype t, void *r, COUNT m,
  MPI_Datatype u, MPI_Comm c, MPI_Info info, MPI_Request *q), (s, n, t, r, m, u, c, info, q))
COUNTING(Alltoallv_init, PREPARES_MEETING, (const void *s, const COUNT n[], const PLACE d[],
  MPI_Datatype t, void *r, const COUNT m[], const PLACE e[], MPI_Datatype u, MPI_Comm c, MPI_Info
  info, MPI_Request *q), (s, n, d, t, r, m, e, u, c, info, q))
COUNTING(Alltoallw_init, PREPARES_MEETING, (const void *s, const COUNT n[], const PLACE d[], const
  MPI_Datatype t[], void *r, const COUNT m[], const PLACE e[], const MPI_Datatype u[], MPI_Comm c,
  MPI_Info info, MPI_Request *q), (s, n, d, t, r, m, e, u, c, info, q))
COUNTING(Reduce_init, PREPARES_MEETING, (const void *s, void *r, COUNT n, MPI_Datatype t, MPI_Op o,
  int root, MPI_Comm c, MPI_Info info, MPI_Request *q), (s, r, n, t, o, root, c, info, q))
COUNTING(Allreduce_init, PREPARES_MEETING, (const void *s, void *r, COUNT n, MPI_Datatype t, MPI_Op
  o, MPI_Comm c, MPI_Info info, MPI_Request *q), (s, r, n, t, o, c, info, q))
COUNTING(Reduce_scatter_init, PREPARES_MEETING, (const void *s, void *r, const COUNT m[],
  MPI_Datatype t, MPI_Op o, MPI_Comm c, MPI_Info info, MPI_Request *q), (s, r, m, t, o, c, info, q))
COUNTING(Reduce_scatter_block_init, PREPARES_MEETING, (const void *s, void *r, COUNT m, MPI_Datatype
  t, MPI_Op o, MPI_Comm c, MPI_Info info, MPI_Request *q), (s, r, m, t, o, c, info, q))
COUNTING(Scan_init, PREPARES_MEETING, (const void *s, void *r, COUNT n, MPI_Datatype t, MPI_Op o,
  MPI_Comm c, MPI_Info info, MPI_Request *q), (s, r, n, t, o, c, info, q))
COUNTING(Exscan_init, PREPARES_MEETING, (const void *s, void *r, COUNT n, MPI_Datatype t, MPI_Op o,
  MPI_Comm c, MPI_Info info, MPI_Request *q), (s, r, n, t, o, c, info, q))
#endif

/* Communicators, topologies and windows are created and freed collectively. */
CALL(Comm_dup, CREATES, (MPI_Comm c, MPI_Comm *d), (c, d))
CALL(Comm_dup_with_info, CREATES, (MPI_Comm c, MPI_Info info, MPI_Comm *d), (c, info, d))
CALL(Comm_split, CREATES, (MPI_Comm c, int color, int key, MPI_Comm *d), (c, color, key, d))
CALL(Comm_split_type, CREATES, (MPI_Comm c, int split_type, int key, MPI_Info info, MPI_Comm *d), (c,
  split_type, key, info, d))
CALL(Comm_create, CREATES, (MPI_Comm c, MPI_Group group, MPI_Comm *d), (c, group, d))
CALL(Cart_create, CREATES, (MPI_Comm c, int ndims, const int dims[], const int periods[], int reorder,
  MPI_Comm *d), (c, ndims, dims, periods, reorder, d))
CALL(Cart_sub, CREATES, (MPI_Comm c, const int remain_dims[], MPI_Comm *d), (c, remain_dims, d))
CALL(Graph_create, CREATES, (MPI_Comm c, int nnodes, const int i[], const int edges[], int reorder,
  MPI_Comm *d), (c, nnodes, i, edges, reorder, d))
CALL(Dist_graph_create, CREATES, (MPI_Comm c, int n, const int sources[], const int degrees[], const
  int destinations[], const int *weights, MPI_Info info, int reorder, MPI_Comm *d), (c, n, sources,
  degrees, destinations, weights, info, reorder, d))
CALL(Dist_graph_create_adjacent, CREATES, (MPI_Comm c, int indegree, const int sources[], const int
  *sourceweights, int outdegree, const int destinations[], const int *destweights, MPI_Info info,
  int reorder, MPI_Comm *d), (c, indegree, sources, sourceweights, outdegree, destinations,
  destweights, info, reorder, d))
CALL(Intercomm_create, MEETS, (MPI_Comm c, int local_leader, MPI_Comm peer, int remote_leader, int
  tag, MPI_Comm *d), (c, local_leader, peer, remote_leader, tag, d))
CALL(Intercomm_merge, CREATES, (MPI_Comm c, int high, MPI_Comm *d), (c, high, d))
CALL(Comm_spawn, MEETS, (const char *command, char *argv[], int maxprocs, MPI_Info info, int root,
  MPI_Comm c, MPI_Comm *d, int array_of_errcodes[]), (command, argv, maxprocs, info, root, c, d,
  array_of_errcodes))
CALL(Comm_spawn_multiple, MEETS, (int n, char *array_of_commands[], char **array_of_argv[], const
  int array_of_maxprocs[], const MPI_Info array_of_info[], int root, MPI_Comm c, MPI_Comm *d, int
  array_of_errcodes[]), (n, array_of_commands, array_of_argv, array_of_maxprocs, array_of_info,
  root, c, d, array_of_errcodes))
CALL(Comm_accept, MEETS, (const char *port_name, MPI_Info info, int root, MPI_Comm c, MPI_Comm *d),
  (port_name, info, root, c, d))
CALL(Comm_connect, MEETS, (const char *port_name, MPI_Info info, int root, MPI_Comm c, MPI_Comm *d),
  (port_name, info, root, c, d))
COUNTING(Win_create, MEETS, (void *base, MPI_Aint size, PLACE disp_unit, MPI_Info info, MPI_Comm c,
  MPI_Win *w), (base, size, disp_unit, info, c, w))
COUNTING(Win_allocate, MEETS, (MPI_Aint size, PLACE disp_unit, MPI_Info info, MPI_Comm c, void
  *baseptr, MPI_Win *w), (size, disp_unit, info, c, baseptr, w))
COUNTING(Win_allocate_shared, MEETS, (MPI_Aint size, PLACE disp_unit, MPI_Info info, MPI_Comm c,
  void *baseptr, MPI_Win *w), (size, disp_unit, info, c, baseptr, w))
CALL(Win_create_dynamic, MEETS, (MPI_Info info, MPI_Comm c, MPI_Win *w), (info, c, w))
CALL(Comm_idup, STARTS_MEETING, (MPI_Comm c, MPI_Comm *d, MPI_Request *q), (c, d, q))
#if MPI_VERSION >= 4
CALL(Comm_idup_with_info, STARTS_MEETING, (MPI_Comm c, MPI_Info info, MPI_Comm *d, MPI_Request *q),
  (c, info, d, q))
#endif
CALL(Comm_create_group, MEETS_SOME, (MPI_Comm c, MPI_Group group, int tag, MPI_Comm *d), (c, group,
  tag, d))
#if MPI_VERSION >= 4
CALL(Comm_create_from_group, MEETS_SOME, (MPI_Group group, const char *stringtag, MPI_Info info,
  MPI_Errhandler errhandler, MPI_Comm *d), (group, stringtag, info, errhandler, d))
CALL(Intercomm_create_from_groups, MEETS_SOME, (MPI_Group group, int leader, MPI_Group remote,
  int remote_leader, const char *stringtag, MPI_Info info, MPI_Errhandler errhandler, MPI_Comm *d),
  (group, leader, remote, remote_leader, stringtag, info, errhandler, d))
#endif
CALL(Comm_join, MEETS_SOME, (int fd, MPI_Comm *d), (fd, d))
CALL(Comm_free, FREES, (MPI_Comm *c), (c))
CALL(Comm_disconnect, FREES, (MPI_Comm *c), (c))
CALL(Win_fence, MEETS_AT_WINDOW, (int assert, MPI_Win w), (assert, w))
CALL(Win_free, FREES_WINDOW, (MPI_Win *w), (w))

/* Requests: a call that completes one counts as its kind. */
CALL(Start, STARTS_ONE, (MPI_Request *q), (q))
CALL(Startall, STARTS_ALL, (int n, MPI_Request q[]), (n, q))
CALL(Wait, WAITS_ONE, (MPI_Request *q, MPI_Status *z), (q, z))
CALL(Waitall, WAITS_ALL, (int n, MPI_Request q[], MPI_Status *z), (n, q, z))
CALL(Waitany, WAITS_ANY, (int n, MPI_Request q[], int *i, MPI_Status *z), (n, q, i, z))
CALL(Waitsome, WAITS_SOME, (int n, MPI_Request q[], int *k, int i[], MPI_Status *z), (n, q, k, i,
  z))
CALL(Test, TESTS_ONE, (MPI_Request *q, int *f, MPI_Status *z), (q, f, z))
CALL(Testall, TESTS_ALL, (int n, MPI_Request q[], int *f, MPI_Status *z), (n, q, f, z))
CALL(Testany, TESTS_ANY, (int n, MPI_Request q[], int *i, int *f, MPI_Status *z), (n, q, i, f, z))
CALL(Testsome, TESTS_SOME, (int n, MPI_Request q[], int *k, int i[], MPI_Status *z), (n, q, k, i,
  z))
CALL(Request_get_status, ASKS, (MPI_Request q, int *f, MPI_Status *z), (q, f, z))
CALL(Request_free, FORGETS, (MPI_Request *q), (q))

/* One-sided communication between two ranks: halo exchange, although the rank waited for is unknown. */
COUNTING(Put, TARGETS, (const void *b, COUNT n, MPI_Datatype t, int to, MPI_Aint at, COUNT m,
  MPI_Datatype u, MPI_Win w), (b, n, t, to, at, m, u, w))
COUNTING(Get, TARGETS, (void *b, COUNT n, MPI_Datatype t, int to, MPI_Aint at, COUNT m, MPI_Datatype
  u, MPI_Win w), (b, n, t, to, at, m, u, w))
COUNTING(Accumulate, TARGETS, (const void *b, COUNT n, MPI_Datatype t, int to, MPI_Aint at, COUNT m,
  MPI_Datatype u, MPI_Op o, MPI_Win w), (b, n, t, to, at, m, u, o, w))
COUNTING(Get_accumulate, TARGETS, (const void *b, COUNT n, MPI_Datatype t, void *r, COUNT rn,
  MPI_Datatype rt, int to, MPI_Aint at, COUNT m, MPI_Datatype u, MPI_Op o, MPI_Win w), (b, n, t, r,
  rn, rt, to, at, m, u, o, w))
CALL(Fetch_and_op, TARGETS, (const void *b, void *r, MPI_Datatype t, int to, MPI_Aint at, MPI_Op o,
  MPI_Win w), (b, r, t, to, at, o, w))
CALL(Compare_and_swap, TARGETS, (const void *b, const void *compare_addr, void *r, MPI_Datatype t,
  int to, MPI_Aint at, MPI_Win w), (b, compare_addr, r, t, to, at, w))
COUNTING(Rput, STARTS_TARGET, (const void *b, COUNT n, MPI_Datatype t, int to, MPI_Aint at, COUNT m,
  MPI_Datatype u, MPI_Win w, MPI_Request *q), (b, n, t, to, at, m, u, w, q))
COUNTING(Rget, STARTS_TARGET, (void *b, COUNT n, MPI_Datatype t, int to, MPI_Aint at, COUNT m,
  MPI_Datatype u, MPI_Win w, MPI_Request *q), (b, n, t, to, at, m, u, w, q))
COUNTING(Raccumulate, STARTS_TARGET, (const void *b, COUNT n, MPI_Datatype t, int to, MPI_Aint at,
  COUNT m, MPI_Datatype u, MPI_Op o, MPI_Win w, MPI_Request *q), (b, n, t, to, at, m, u, o, w, q))
COUNTING(Rget_accumulate, STARTS_TARGET, (const void *b, COUNT n, MPI_Datatype t, void *r, COUNT rn,
  MPI_Datatype rt, int to, MPI_Aint at, COUNT m, MPI_Datatype u, MPI_Op o, MPI_Win w, MPI_Request
  *q), (b, n, t, r, rn, rt, to, at, m, u, o, w, q))
CALL(Win_lock, TARGETS, (int lock_type, int rank, int assert, MPI_Win w), (lock_type, rank, assert,
  w))
CALL(Win_lock_all, TARGETS, (int assert, MPI_Win w), (assert, w))
CALL(Win_unlock, TARGETS, (int rank, MPI_Win w), (rank, w))
CALL(Win_unlock_all, TARGETS, (MPI_Win w), (w))
CALL(Win_flush, TARGETS, (int rank, MPI_Win w), (rank, w))
CALL(Win_flush_all, TARGETS, (MPI_Win w), (w))
CALL(Win_flush_local, TARGETS, (int rank, MPI_Win w), (rank, w))
CALL(Win_flush_local_all, TARGETS, (MPI_Win w), (w))
/* A post and a complete send to those who start and wait. */
CALL(Win_start, ACCESSES, (MPI_Group group, int assert, MPI_Win w), (group, assert, w))
CALL(Win_complete, TARGETS, (MPI_Win w), (w))
CALL(Win_post, EXPOSES, (MPI_Group group, int assert, MPI_Win w), (group, assert, w))
CALL(Win_wait, AWAITS, (MPI_Win w), (w))
CALL(Win_test, LOOKS, (MPI_Win w, int *f), (w, f))

/* Files: neither halo exchange nor waiting alone, so unclassified. */
#if !defined(OMPI_PROVIDE_MPI_FILE_INTERFACE) || OMPI_PROVIDE_MPI_FILE_INTERFACE
CALL(File_open, FILES, (MPI_Comm c, const char *filename, int amode, MPI_Info info, MPI_File *h),
  (c, filename, amode, info, h))
CALL(File_close, FILES, (MPI_File *h), (h))
CALL(File_delete, FILES, (const char *filename, MPI_Info info), (filename, info))
CALL(File_set_atomicity, FILES, (MPI_File h, int f), (h, f))
CALL(File_set_info, FILES, (MPI_File h, MPI_Info info), (h, info))
CALL(File_seek_shared, FILES, (MPI_File h, MPI_Offset at, int whence), (h, at, whence))
CALL(File_get_position_shared, FILES, (MPI_File h, MPI_Offset *at), (h, at))
CALL(File_sync, FILES, (MPI_File h), (h))
CALL(File_set_size, FILES, (MPI_File h, MPI_Offset size), (h, size))
CALL(File_preallocate, FILES, (MPI_File h, MPI_Offset size), (h, size))
CALL(File_set_view, FILES, (MPI_File h, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype,
  const char *datarep, MPI_Info info), (h, disp, etype, filetype, datarep, info))
COUNTING(File_read, FILES, (MPI_File h, void *b, COUNT n, MPI_Datatype t, MPI_Status *z), (h, b, n,
  t, z))
COUNTING(File_read_all, FILES, (MPI_File h, void *b, COUNT n, MPI_Datatype t, MPI_Status *z), (h, b,
  n, t, z))
COUNTING(File_read_at, FILES, (MPI_File h, MPI_Offset at, void *b, COUNT n, MPI_Datatype t,
  MPI_Status *z), (h, at, b, n, t, z))
COUNTING(File_read_at_all, FILES, (MPI_File h, MPI_Offset at, void *b, COUNT n, MPI_Datatype t,
  MPI_Status *z), (h, at, b, n, t, z))
COUNTING(File_read_shared, FILES, (MPI_File h, void *b, COUNT n, MPI_Datatype t, MPI_Status *z), (h,
  b, n, t, z))
COUNTING(File_read_ordered, FILES, (MPI_File h, void *b, COUNT n, MPI_Datatype t, MPI_Status *z),
  (h, b, n, t, z))
COUNTING(File_write, FILES, (MPI_File h, const void *b, COUNT n, MPI_Datatype t, MPI_Status *z), (h,
  b, n, t, z))
COUNTING(File_write_all, FILES, (MPI_File h, const void *b, COUNT n, MPI_Datatype t, MPI_Status *z),
  (h, b, n, t, z))
COUNTING(File_write_at, FILES, (MPI_File h, MPI_Offset at, const void *b, COUNT n, MPI_Datatype t,
  MPI_Status *z), (h, at, b, n, t, z))
COUNTING(File_write_at_all, FILES, (MPI_File h, MPI_Offset at, const void *b, COUNT n, MPI_Datatype
  t, MPI_Status *z), (h, at, b, n, t, z))
COUNTING(File_write_shared, FILES, (MPI_File h, const void *b, COUNT n, MPI_Datatype t, MPI_Status
  *z), (h, b, n, t, z))
COUNTING(File_write_ordered, FILES, (MPI_File h, const void *b, COUNT n, MPI_Datatype t, MPI_Status
  *z), (h, b, n, t, z))
COUNTING(File_read_all_begin, FILES, (MPI_File h, void *b, COUNT n, MPI_Datatype t), (h, b, n, t))
CALL(File_read_all_end, FILES, (MPI_File h, void *b, MPI_Status *z), (h, b, z))
COUNTING(File_read_at_all_begin, FILES, (MPI_File h, MPI_Offset at, void *b, COUNT n, MPI_Datatype
  t), (h, at, b, n, t))
CALL(File_read_at_all_end, FILES, (MPI_File h, void *b, MPI_Status *z), (h, b, z))
COUNTING(File_read_ordered_begin, FILES, (MPI_File h, void *b, COUNT n, MPI_Datatype t), (h, b, n,
  t))
CALL(File_read_ordered_end, FILES, (MPI_File h, void *b, MPI_Status *z), (h, b, z))
COUNTING(File_write_all_begin, FILES, (MPI_File h, const void *b, COUNT n, MPI_Datatype t), (h, b,
  n, t))
CALL(File_write_all_end, FILES, (MPI_File h, const void *b, MPI_Status *z), (h, b, z))
COUNTING(File_write_at_all_begin, FILES, (MPI_File h, MPI_Offset at, const void *b, COUNT n,
  MPI_Datatype t), (h, at, b, n, t))
CALL(File_write_at_all_end, FILES, (MPI_File h, const void *b, MPI_Status *z), (h, b, z))
COUNTING(File_write_ordered_begin, FILES, (MPI_File h, const void *b, COUNT n, MPI_Datatype t), (h,
  b, n, t))
CALL(File_write_ordered_end, FILES, (MPI_File h, const void *b, MPI_Status *z), (h, b, z))
COUNTING(File_iread, STARTS_FILE, (MPI_File h, void *b, COUNT n, MPI_Datatype t, MPI_Request *q),
  (h, b, n, t, q))
COUNTING(File_iread_all, STARTS_FILE, (MPI_File h, void *b, COUNT n, MPI_Datatype t, MPI_Request
  *q), (h, b, n, t, q))
COUNTING(File_iread_at, STARTS_FILE, (MPI_File h, MPI_Offset at, void *b, COUNT n, MPI_Datatype t,
  MPI_Request *q), (h, at, b, n, t, q))
COUNTING(File_iread_at_all, STARTS_FILE, (MPI_File h, MPI_Offset at, void *b, COUNT n, MPI_Datatype
  t, MPI_Request *q), (h, at, b, n, t, q))
COUNTING(File_iread_shared, STARTS_FILE, (MPI_File h, void *b, COUNT n, MPI_Datatype t, MPI_Request
  *q), (h, b, n, t, q))
COUNTING(File_iwrite, STARTS_FILE, (MPI_File h, const void *b, COUNT n, MPI_Datatype t, MPI_Request
  *q), (h, b, n, t, q))
COUNTING(File_iwrite_all, STARTS_FILE, (MPI_File h, const void *b, COUNT n, MPI_Datatype t,
  MPI_Request *q), (h, b, n, t, q))
COUNTING(File_iwrite_at, STARTS_FILE, (MPI_File h, MPI_Offset at, const void *b, COUNT n,
  MPI_Datatype t, MPI_Request *q), (h, at, b, n, t, q))
COUNTING(File_iwrite_at_all, STARTS_FILE, (MPI_File h, MPI_Offset at, const void *b, COUNT n,
  MPI_Datatype t, MPI_Request *q), (h, at, b, n, t, q))
COUNTING(File_iwrite_shared, STARTS_FILE, (MPI_File h, const void *b, COUNT n, MPI_Datatype t,
  MPI_Request *q), (h, b, n, t, q))
#endif
