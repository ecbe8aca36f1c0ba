/* Counts instructions and cycles at every mark, if the kernel allows it.
 *
 * Two events of perf_event_open(2) are counted as one group, in user mode, on
 * the calling thread. If the processor allows user-space reads (rdpmc), a reading costs some ten
 * nanoseconds; otherwise it is a system call. */
#pragma once

#include <stdint.h>
struct count { int64_t first, second; };
static int64_t marks_seen;
static int counting;

static struct count *counts; /* by mark */

/* Memory for the counts of `capacity` marks; without memory nothing is counted. */
static void count_into(struct count *memory, int64_t capacity);
static void count_mark(void);

/* How many marks have their counts in the memory. */
static int64_t count_rows(void);
