/* Begins and ends sessions, and what Python asks of the recorder. */
#pragma once

#include "abi.h"

#include <stdint.h>

static int recorded_thread; /* the kernel's number of the thread that began the last session */
static int64_t switches_before;
static void (*before_recording)(void); /* of an attached program: it records itself from here on; NULL: nothing */

static int64_t involuntary_switches(void);

/* Its wait for a core in this session; -1 if that is not known. */
static int64_t core_wait_so_far(void);
static int64_t threads_alive(void);
static int64_t others_cpu_so_far(void);

/* Has a process whose MPI calls `exit`, while another rank aborts, end with that status whatever its libraries do then. */
static void keep_status(void);

/* Forgets what the last session has counted, and the calls that it left open. */
static void clear_session(void);

/* Notes when a session begins, by the calendar and by the clock. */
static void note_begin(void);

/* From here on the calls of this thread are recorded; nothing that takes time may follow. */
static void start_recording(void);
static void disarm(int64_t end_ns);
void hindmost_disarm(void);
int hindmost_clock_offset(MPI_Fint communicator, int trips, int64_t *offset_ns, int64_t *uncertainty_ns, int64_t *at_ns);
