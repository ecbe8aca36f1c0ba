/* What the recorder leaves and others read: records, their flags and marks, the frames of raw files, the counters.
 * tests/harness/test_abi.py holds harness/recorder/library.py and harness/attach/raw.py to it. */
#pragma once

#include <mpi.h>
#include <stdint.h>

#ifdef MPI_ABI_VERSION /* the standard ABI of MPI 5 leaves Fortran's handles to the bindings */
typedef int MPI_Fint;
#define MPI_Comm_f2c MPI_Comm_fromint
#define PMPI_Comm_c2f PMPI_Comm_toint
#endif

/* The first phases of a body in the run file; a body's rest is local. */
enum phase { HALO, WAIT, POST, OTHER, PHASES };

/* How a call ended: it found nothing; it involved only some of the recorded ranks, or this one alone;
 * it completed a collective while an earlier one is still pending. */
enum flag { INCOMPLETE = 1, PART = 2, ALONE = 4, LATE = 8, GROUP = 16, OWN = 32, FURTHER = 64, SENT = 128 };

/* Instants that are no letter of a mark of PETSc's: begin of an iteration of hindmost.record, the error that ended it, its end; a unit of passes whose calls are folded (bounded.h), a pause in which a part was written, an amount of work, and from
 * PHASE_MARKS on the begin and end of each phase that the program names. */
enum mark { ITERATION_MARK = 'I', BEGUN_MARK = 994, FAILED_MARK = 995, FINISHED_MARK = 996, FOLDED_MARK = 997, PAUSE_MARK = 998, WORK_MARK = 999, PHASE_MARKS = 1000 };

/* An interval of MPI (what < 0: minus one less the call's number), a detour that was injected (0), or an
 * instant in the stream of PETSc events (what > 0: the letter of a mark; the end of a monitor's mark is
 * its iteration). */
enum { DETOUR = 0 };
struct record {
  int64_t begin_ns, end_ns;
  int16_t what;
  uint16_t channel; /* of a message: its communicator and tag; see communicators.h */
  int8_t phase;
  uint8_t flags;
  uint16_t count; /* collectives that the call started, or completed; of a GROUP, the rank that stands for it or is needed;
                     of a GROUP of messages, the other rank of one, which is SENT or received: those FURTHER messages that
                     the call sends or receives are in records of no time before it */
};

/* A message as a record has it: the other rank in MPI_COMM_WORLD, and above it the channel, which stands for
 * communicator and tag. Messages between two ranks in a channel are received in the order of sending. */
#define NO_MESSAGE 0xfffeu     /* to or from nobody */
#define UNKNOWN_MESSAGE 0xffffu

#define CLASSES(X)                                                                                  \
  X(SEND) X(RECV) X(PROBE) X(FLAG_TEST) X(IMPROBE) X(IPROBE) X(SENDRECV) X(PREADY) X(NEIGHBOR_COLLECTIVE) X(ISEND) X(IRECV) \
  X(INEIGHBOR_COLLECTIVE) X(SEND_INIT) X(PSEND_INIT) X(RECV_INIT) X(NEIGHBOR_COLLECTIVE_INIT) X(COLLECTIVE)         \
  X(COLLECTIVE_TO_ROOT) X(COLLECTIVE_FROM_ROOT) X(SCAN) X(GROUP_COLLECTIVE) X(WIN_FENCE)            \
  X(COMM_CREATE) X(INTERCOMM_CREATE) X(COMM_IDUP) X(WIN_FREE) X(COMM_FREE) X(ICOLLECTIVE) X(ICOLLECTIVE_FROM_ROOT) X(ICOLLECTIVE_TO_ROOT) X(COLLECTIVE_INIT) \
  X(RECV_MATCHED) X(WIN_WAIT) X(IRECV_MATCHED) X(ISENDRECV)                                                      \
  X(START) X(STARTALL) X(WAIT_ONE) X(WAIT_ALL) X(WAIT_ANY) X(WAIT_SOME) X(TEST_ONE)     \
  X(TEST_ALL) X(TEST_ANY) X(TEST_SOME) X(GET_STATUS) X(REQUEST_FREE) X(RMA) X(RMA_REQUEST) X(WIN_POST) \
  X(WIN_START) X(FILE_IO) X(FILE_IO_REQUEST) X(GET_STATUS_ALL)

/* What a call does; wrap.c has one macro for each class. */
enum class {
#define X(name) name,
  CLASSES(X)
#undef X
};

extern const char *const hindmost_class_names[];

/* See calls.def. */
#define PARTITIONS                                                                                        \
  __typeof__(_Generic(MPI_Pready_list, int (*)(int, const int *, MPI_Request): (const int *)0, default: (int *)0))

#define COUNTING CALL
enum call {
#define CALL(name, class, parameters, arguments) name,
#include "calls.def"
#undef CALL
  CALL_COUNT
};

#undef COUNTING

extern const char *const hindmost_call_names[];
extern const int32_t hindmost_call_classes[]; /* the class of each call */
extern const int32_t hindmost_call_count;

/* Of a session. */
struct state {
  int64_t begin_ns, end_ns;         /* of the last session */
  int64_t begin_utc_ns;             /* its begin since 1970, by the system's calendar */
  int64_t switches;                 /* involuntary context switches of the process in it */
  int64_t core_wait_ns;             /* its thread's wait for a core in it; -1 if not known */
  int64_t threads;                  /* of the process at its end, those of MPI too; -1 if not known */
  int64_t others_cpu_ns;            /* processor time in it of all threads but its own; -1 if not known */
  int64_t iteration;                /* the last that the solver reported to its monitors */
  int64_t seen, capacity;           /* records requested, and room for records */
  int64_t phase_ns[PHASES];         /* running totals */
  int64_t foreign_calls;            /* MPI calls of threads that are not recorded */
  int64_t foreign_threads;          /* how many these are */
  int64_t unknown_requests;         /* completed, of unknown purpose */
  int64_t between_polls_ns;         /* from calls that found nothing to the next one, without other calls */
  int64_t call_count[CALL_COUNT];   /* of each MPI call */
  int64_t other_ns[CALL_COUNT];     /* unclassified time of each MPI call */
};

/* ---- raw files ---- */

enum raw_kind { RAW_PROGRAM = 1, RAW_CLOCK, RAW_SECTION, RAW_RECORDS, RAW_NORMS, RAW_EDGES, RAW_END, RAW_OPTIONS,
                RAW_PART, RAW_PART_RECORDS, RAW_MODULES, RAW_CODES, RAW_PLACES, RAW_CHAIN_ENDS, RAW_CHAINS, RAW_CONTEXTS,
                RAW_PART_CONTEXTS, RAW_POLLS, RAW_BACK, RAW_WORLD_RANKS, RAW_SAMPLER, RAW_SAMPLE_PLACES, RAW_SAMPLE_CHAIN_ENDS,
                RAW_SAMPLE_CHAINS, RAW_SAMPLE_PAIRS, RAW_SAMPLES, RAW_ACTIVITIES, RAW_CONTEXT_CPU, RAW_STRETCHES,
                RAW_COUNTS, RAW_NOTES };

enum { RAW_VERSION = 4 };
enum { RAW_MAX_BYTES = 1 << 30 }; /* of a frame: one call writes it */

struct raw_head {
  char magic[4]; /* HMRN */
  uint32_t kind;
  uint64_t bytes;        /* of the payload, which follows */
  uint32_t number, rank; /* number: of the frame among those of the rank, from 0 */
  uint32_t unused, crc;  /* crc: of what is before it, and of the payload */
};

/* When rank 0's clock showed `root_ns`, that of this rank showed `own_ns`. */
struct clock_offset {
  int64_t own_ns, root_ns, round_trip_ns;
};

/* What this rank sent to another. */
struct edge {
  int32_t peer, pad;
  int64_t messages, bytes;
};

/* All calls of a context that come next after those of another (0: after the begin of the section). */
struct stretch {
  uint32_t before, after;
  int64_t calls, work_ns, in_mpi_ns; /* work: until they begin; in MPI: in them, and in calls before them that found nothing */
};

/* Equal samples of a thread: the context of the last call of the recorded thread, and the chain of places. */
struct sample_pair {
  uint32_t before, chain, flags, ready; /* ready: set last */
};

/* Before the samples of a thread: when the first was taken, its processor time so far, its number, samples without room. */
struct samples_head {
  int64_t begin_ns, cpu_ns;
  uint32_t thread, lost;
};

/* A place in the program: a return address in a module, or a line of Python (contexts.h). */
struct place {
  int64_t offset, function, bytes;
  int32_t module, pad;
};
