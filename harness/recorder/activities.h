/* Divides the local work into activities: PETSc events that the caller names.
 *
 * Time counts to the innermost open activity, or to number 0 if none is open; time in MPI and in injected
 * detours counts to none.
 * Every mark stores the running totals; the times of a body are the difference of two of them. */
#pragma once

#include <stdint.h>

enum { MAX_ACTIVITIES = 16 };

static int activities;           /* how many */
static int64_t *activity_memory; /* shape (mark, activity) */

/* How many marks have their totals in the memory. */
static int64_t activity_rows(void);

/* Memory for the totals of `count` activities at `capacity` marks. */
static void note_activities_into(int64_t *memory, int64_t capacity, int count);
static void begin_activities(void);
static void begin_activity(int activity);
static void end_activity(void);
static void note_activities(int64_t t);
