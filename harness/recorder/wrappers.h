/* What everybody else calls in the belief that it is MPI: included by recorder.c, once.
 *
 * Every call that can send or wait and that libpetsc imports stands here; a test holds it against
 * the symbols of libpetsc. */

static inline void finish(int64_t begin_ns, enum call call, enum phase phase) {
  int64_t end_ns = now();
  if (halo_depth > 0) phase = HALO;
  state->phase_ns[phase] += end_ns - begin_ns;
  state->call_count[call]++;
  if (phase == OTHER) state->other_ns[call] += end_ns - begin_ns;
  keep(begin_ns, end_ns, -1 - (int32_t)call, phase);
  mpi_depth--;
}

/* The phase is that of the call outside a halo exchange. An MPI library that calls itself through
 * its public names (mpi_depth) is recorded once, at the outermost call. */
#define RECORD(call, phase, pmpi)              \
  do {                                         \
    if (!armed || mpi_depth) return pmpi;      \
    mpi_depth++;                               \
    int64_t begin_ns = now();                  \
    int error = pmpi;                          \
    finish(begin_ns, call, phase);             \
    return error;                              \
  } while (0)

#define WRAP(name, phase, parameters, arguments) \
  int MPI_##name parameters { RECORD(name, phase, PMPI_##name arguments); }
/* MPI 4 has a second entry for calls that count, with 64-bit counts. */
#if MPI_VERSION >= 4
#define WRAP_COUNT(name, phase, parameters, arguments)                                      \
  int MPI_##name parameters(int) { RECORD(name, phase, PMPI_##name arguments); }            \
  int MPI_##name##_c parameters(MPI_Count) { RECORD(name, phase, PMPI_##name##_c arguments); }
#else
#define WRAP_COUNT(name, phase, parameters, arguments) \
  int MPI_##name parameters(int) { RECORD(name, phase, PMPI_##name arguments); }
#endif

/* Blocking reductions and completions: waiting. */
#define P(N) (const void *s, void *r, N n, MPI_Datatype t, MPI_Op o, MPI_Comm c)
WRAP_COUNT(Allreduce, WAIT, P, (s, r, n, t, o, c))
WRAP_COUNT(Scan, OTHER, P, (s, r, n, t, o, c))
WRAP_COUNT(Exscan, OTHER, P, (s, r, n, t, o, c))
WRAP_COUNT(Reduce_scatter_block, OTHER, P, (s, r, n, t, o, c))
#undef P
WRAP(Barrier, WAIT, (MPI_Comm c), (c))
WRAP(Wait, WAIT, (MPI_Request * q, MPI_Status *s), (q, s))
WRAP(Waitall, WAIT, (int n, MPI_Request q[], MPI_Status s[]), (n, q, s))
WRAP(Waitany, WAIT, (int n, MPI_Request q[], int *i, MPI_Status *s), (n, q, i, s))
WRAP(Waitsome, WAIT, (int n, MPI_Request q[], int *m, int i[], MPI_Status s[]), (n, q, m, i, s))

/* Starts of non-blocking reductions: posting. */
#define P(N) (const void *s, void *r, N n, MPI_Datatype t, MPI_Op o, MPI_Comm c, MPI_Request *q)
WRAP_COUNT(Iallreduce, POST, P, (s, r, n, t, o, c, q))
#undef P
WRAP(Ibarrier, POST, (MPI_Comm c, MPI_Request *q), (c, q))

/* Point to point: halo where PETSc scatters, else counted as fitting no phase. */
WRAP(Test, OTHER, (MPI_Request * q, int *f, MPI_Status *s), (q, f, s))
WRAP(Testall, OTHER, (int n, MPI_Request q[], int *f, MPI_Status s[]), (n, q, f, s))
WRAP(Testany, OTHER, (int n, MPI_Request q[], int *i, int *f, MPI_Status *s), (n, q, i, f, s))
WRAP(Testsome, OTHER, (int n, MPI_Request q[], int *m, int i[], MPI_Status s[]), (n, q, m, i, s))
WRAP(Start, OTHER, (MPI_Request * q), (q))
WRAP(Startall, OTHER, (int n, MPI_Request q[]), (n, q))
#define P(N) (const void *b, N n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *q)
WRAP_COUNT(Isend, OTHER, P, (b, n, t, to, tag, c, q))
#undef P
#define P(N) (void *b, N n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request *q)
WRAP_COUNT(Irecv, OTHER, P, (b, n, t, from, tag, c, q))
#undef P
#define P(N) (const void *b, N n, MPI_Datatype t, int to, int tag, MPI_Comm c)
WRAP_COUNT(Send, OTHER, P, (b, n, t, to, tag, c))
#undef P
#define P(N) (void *b, N n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status *s)
WRAP_COUNT(Recv, OTHER, P, (b, n, t, from, tag, c, s))
#undef P
#define P(N)                                                                                     \
  (const void *b, N n, MPI_Datatype t, int to, int tag, void *rb, N rn, MPI_Datatype rt, int from, \
   int rtag, MPI_Comm c, MPI_Status *s)
WRAP_COUNT(Sendrecv, OTHER, P, (b, n, t, to, tag, rb, rn, rt, from, rtag, c, s))
#undef P

/* Other collectives: a Krylov iteration should have none, so they are counted. */
#define P(N) (void *b, N n, MPI_Datatype t, int root, MPI_Comm c)
WRAP_COUNT(Bcast, OTHER, P, (b, n, t, root, c))
#undef P
#define P(N) (const void *s, void *r, N n, MPI_Datatype t, MPI_Op o, int root, MPI_Comm c)
WRAP_COUNT(Reduce, OTHER, P, (s, r, n, t, o, root, c))
#undef P
#define P(N) (const void *s, N n, MPI_Datatype t, void *r, N m, MPI_Datatype u, MPI_Comm c)
WRAP_COUNT(Allgather, OTHER, P, (s, n, t, r, m, u, c))
WRAP_COUNT(Alltoall, OTHER, P, (s, n, t, r, m, u, c))
#undef P
#define P(N) \
  (const void *s, N n, MPI_Datatype t, void *r, N m, MPI_Datatype u, int root, MPI_Comm c)
WRAP_COUNT(Gather, OTHER, P, (s, n, t, r, m, u, root, c))
WRAP_COUNT(Scatter, OTHER, P, (s, n, t, r, m, u, root, c))
#undef P
WRAP(Allgatherv, OTHER,
     (const void *s, int n, MPI_Datatype t, void *r, const int m[], const int d[], MPI_Datatype u,
      MPI_Comm c),
     (s, n, t, r, m, d, u, c))
WRAP(Gatherv, OTHER,
     (const void *s, int n, MPI_Datatype t, void *r, const int m[], const int d[], MPI_Datatype u,
      int root, MPI_Comm c),
     (s, n, t, r, m, d, u, root, c))
WRAP(Scatterv, OTHER,
     (const void *s, const int n[], const int d[], MPI_Datatype t, void *r, int m, MPI_Datatype u,
      int root, MPI_Comm c),
     (s, n, d, t, r, m, u, root, c))
WRAP(Alltoallv, OTHER,
     (const void *s, const int n[], const int d[], MPI_Datatype t, void *r, const int m[],
      const int e[], MPI_Datatype u, MPI_Comm c),
     (s, n, d, t, r, m, e, u, c))
WRAP(Neighbor_alltoallv, OTHER,
     (const void *s, const int n[], const int d[], MPI_Datatype t, void *r, const int m[],
      const int e[], MPI_Datatype u, MPI_Comm c),
     (s, n, d, t, r, m, e, u, c))
WRAP(Ineighbor_alltoallv, OTHER,
     (const void *s, const int n[], const int d[], MPI_Datatype t, void *r, const int m[],
      const int e[], MPI_Datatype u, MPI_Comm c, MPI_Request *q),
     (s, n, d, t, r, m, e, u, c, q))

#define P(N) (const void *b, N n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *q)
WRAP_COUNT(Issend, OTHER, P, (b, n, t, to, tag, c, q))
#undef P
WRAP(Iprobe, OTHER, (int from, int tag, MPI_Comm c, int *f, MPI_Status *s), (from, tag, c, f, s))
WRAP(Probe, OTHER, (int from, int tag, MPI_Comm c, MPI_Status *s), (from, tag, c, s))
#define P(N)                                                                                       \
  (void *b, N n, MPI_Datatype t, int to, int tag, int from, int rtag, MPI_Comm c, MPI_Status *s)
WRAP_COUNT(Sendrecv_replace, OTHER, P, (b, n, t, to, tag, from, rtag, c, s))
#undef P

/* Non-blocking collectives that are no reductions over all ranks. */
#define P(N) (void *b, N n, MPI_Datatype t, int root, MPI_Comm c, MPI_Request *q)
WRAP_COUNT(Ibcast, OTHER, P, (b, n, t, root, c, q))
#undef P
#define P(N)                                                                                       \
  (const void *s, void *r, N n, MPI_Datatype t, MPI_Op o, int root, MPI_Comm c, MPI_Request *q)
WRAP_COUNT(Ireduce, OTHER, P, (s, r, n, t, o, root, c, q))
#undef P
#define P(N)                                                                                       \
  (const void *s, N n, MPI_Datatype t, void *r, N m, MPI_Datatype u, MPI_Comm c, MPI_Request *q)
WRAP_COUNT(Iallgather, OTHER, P, (s, n, t, r, m, u, c, q))
WRAP_COUNT(Ialltoall, OTHER, P, (s, n, t, r, m, u, c, q))
#undef P
#define P(N)                                                                                       \
  (const void *s, N n, MPI_Datatype t, void *r, N m, MPI_Datatype u, int root, MPI_Comm c,         \
   MPI_Request *q)
WRAP_COUNT(Igather, OTHER, P, (s, n, t, r, m, u, root, c, q))
WRAP_COUNT(Iscatter, OTHER, P, (s, n, t, r, m, u, root, c, q))
#undef P
WRAP(Iallgatherv, OTHER,
     (const void *s, int n, MPI_Datatype t, void *r, const int m[], const int d[], MPI_Datatype u,
      MPI_Comm c, MPI_Request *q),
     (s, n, t, r, m, d, u, c, q))
WRAP(Igatherv, OTHER,
     (const void *s, int n, MPI_Datatype t, void *r, const int m[], const int d[], MPI_Datatype u,
      int root, MPI_Comm c, MPI_Request *q),
     (s, n, t, r, m, d, u, root, c, q))
WRAP(Iscatterv, OTHER,
     (const void *s, const int n[], const int d[], MPI_Datatype t, void *r, int m, MPI_Datatype u,
      int root, MPI_Comm c, MPI_Request *q),
     (s, n, d, t, r, m, u, root, c, q))
WRAP(Reduce_scatter, OTHER,
     (const void *s, void *r, const int n[], MPI_Datatype t, MPI_Op o, MPI_Comm c),
     (s, r, n, t, o, c))
WRAP(Comm_dup, OTHER, (MPI_Comm c, MPI_Comm *d), (c, d))
WRAP(Comm_split, OTHER, (MPI_Comm c, int colour, int key, MPI_Comm *d), (c, colour, key, d))

/* One-sided communication: PETSc's scatters use it on request (-sf_type window). */
#define TARGET MPI_Aint at, int m, MPI_Datatype u
WRAP(Get, OTHER, (void *b, int n, MPI_Datatype t, int to, TARGET, MPI_Win w),
     (b, n, t, to, at, m, u, w))
WRAP(Rget, OTHER, (void *b, int n, MPI_Datatype t, int to, TARGET, MPI_Win w, MPI_Request *q),
     (b, n, t, to, at, m, u, w, q))
WRAP(Accumulate, OTHER, (const void *b, int n, MPI_Datatype t, int to, TARGET, MPI_Op o, MPI_Win w),
     (b, n, t, to, at, m, u, o, w))
WRAP(Get_accumulate, OTHER,
     (const void *b, int n, MPI_Datatype t, void *r, int rn, MPI_Datatype rt, int to, TARGET,
      MPI_Op o, MPI_Win w),
     (b, n, t, r, rn, rt, to, at, m, u, o, w))
#undef TARGET
WRAP(Win_fence, OTHER, (int assertion, MPI_Win w), (assertion, w))
WRAP(Win_lock, OTHER, (int type, int to, int assertion, MPI_Win w), (type, to, assertion, w))
WRAP(Win_unlock, OTHER, (int to, MPI_Win w), (to, w))
WRAP(Win_start, OTHER, (MPI_Group g, int assertion, MPI_Win w), (g, assertion, w))
WRAP(Win_complete, OTHER, (MPI_Win w), (w))
WRAP(Win_post, OTHER, (MPI_Group g, int assertion, MPI_Win w), (g, assertion, w))
WRAP(Win_wait, OTHER, (MPI_Win w), (w))
