/* The live feed: the state of all ranks, reduced during the solve, one line of JSON per frame;
 * docs/adr/0006-live-feed.md explains why it is done here.
 *
 * which the previous frame has announced, and is tested from time to time in later iterations. The
 * ranks wait for it only if the next one is due, and then count it as late. */
#include <fcntl.h>
#pragma once

#include "abi.h"

#include <stddef.h>
#include <stdint.h>
enum {
  LIVE_PHASES = 16,
  LIVE_BINS = 96,     /* four per octave, from LIVE_LEAST_NS; the first and last include everything beyond */
  LIVE_COLUMNS = 256, /* columns of the heat map; more ranks share a column, which shows their maximum */
  LIVE_MIN_NS = 256,
  LIVE_PATIENCE = 8,  /* maximum of iterations between tests */
  LIVE_GROWTH = 8,    /* maximal growth of the iterations between frames */
  LIVE_LINE = 12288,
  LIVE_FORESEEN = 2048, /* characters of a line for the caller's predictions */
  LIVE_ROUNDS = 32      /* tests in a row: a reduction has several rounds */
};

enum live_extreme { MAX_WORK, MIN_WAIT, MAX_WAIT, MAX_HALO, LONGEST, EXTREMA };

struct live_vector {
  double phase_ns[LIVE_PHASES], bins[LIVE_BINS], window_ns, late, spent_ns; /* summed */
  double extreme[EXTREMA][2];                                               /* largest, with its rank */
  double interval, metric, heat[LIVE_COLUMNS];                              /* maxima; of control, rank 0's */
};

#define LIVE_SUMS (offsetof(struct live_vector, extreme) / sizeof(double))
#define LIVE_MAXIMA (offsetof(struct live_vector, interval) / sizeof(double))
static struct live {
  int open, on, broken, phases, rank, size, columns, fd, period_count;
  int64_t of, last, next, interval, least, patience, test_at, frame; /* iterations, but for the number of the frame */
  int64_t begin_ns, last_ns, window_ns, polled_ns;
  int64_t frame_ns, frame_iteration;
  double before_ns[LIVE_PHASES], totals_ns[LIVE_PHASES], norm, frame_norm, longest_ns, spent_ns, told_ns;
  double bins[LIVE_BINS], late, periods_s[16];
  int period, metric, wanted_metric;
  char control[4096], foreseen[LIVE_FORESEEN];
  MPI_Comm comm;
  MPI_Op op;
  MPI_Datatype type;
  MPI_Request request;
  struct live_vector mine, all;
} live;

/* Called for every iteration; one that is reported again, as at a restart, counts once. */
static void live_step(int64_t iteration, double norm, int64_t t_ns, const double *totals_ns);

/* A solve, or a loop, begins at this instant. */
static void live_zero(int64_t t_ns);
