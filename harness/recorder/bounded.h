/* What is kept of a loop when it makes more calls than the budget holds.
 *
 * All calls are kept until half of the budget is used. From then on calls are folded: of a unit of passes of the loop
 * its first and its last call stay, and between them one record for each phase with the time of the others. A unit is kept in full if its number is a multiple
 * of `keep_every`; or if it is one pass that took longer than all before. Whenever half of what was left is used, units
 * become longer and those in full fewer, so that the rest lasts until the program has made about four times as many calls.
 * Both are powers of two of the number of the pass, which is the same on all ranks: what a rank keeps in full is
 * part of what one with more room keeps.
 *
 * Where a pass begins is known at a mark, or from the watcher (pairs.h). Until it is known, a unit is a number of calls. */
#pragma once

#include "pairs.h"
#include "sections.h"

/* Where the records of a loop begin. */
static void begin_bound(void);

/* Where they end: nothing is folded any more. */
static void leave_bound(void);

/* Of so many records, those that stay as they are. */
static int64_t decided(int64_t seen);

/* Passes of a loop that have their sums together; 0 if all calls were kept. */
static int64_t unit_of_passes(void);

/* At a mark, before its record. */
static void bound_at_mark(int64_t number, int64_t t);

/* After a call that was recorded, with the border that it is. */
static void bound_after_call(uint32_t border);

/* At the end of the section: what is open comes into the records, ahead of the last mark if there is one. Returns how far they
 * go. */
static struct extent end_bound(struct extent to, int64_t end_ns);
