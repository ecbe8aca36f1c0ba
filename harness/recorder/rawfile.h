/* The raw file that the attached ranks of a node write: frames of a rank with a checksum each. Every frame is
 * one call of writev at the end of the file, which the kernel does not mix with those of other ranks.
 * harness/attach/raw.py reads it.
 *
 * Behind a frame that a rank could not write whole the reader uses only its last one, RAW_END. */
#pragma once

#include "abi.h"
#include "json.h"

#include <signal.h>
static struct raw {
  int fd, failure; /* fd: -1 if not open; failure: the number of the system's error, 0 if there was none */
  uint32_t frames, rank;
  int busy, closed; /* busy: a thread writes; closed: the last frame is written */
  int64_t bytes; /* written so far */
} raw;

/* Frames that belong together are written between these two: by one thread at a time, which no signal
 * interrupts. So what a signal ends has no frame by halves, whichever thread the signal comes in: its handler
 * waits until the frames are whole. Returns whether this thread may write: not behind the last frame, and not
 * where another thread hangs in a write. */
static int begin_writing(sigset_t *before);
static void end_writing(const sigset_t *before);

static void make_crc_tables(void);
static void raw_frame(enum raw_kind kind, const void *payload, size_t bytes);

/* Takes back the frames of this rank from one on. */
static void raw_back_to(uint32_t frames);
static void raw_close(void);

/* Ends the object, writes it as a frame and frees it. */
static void text_frame(struct text *text, enum raw_kind kind);
