/* The context of a call: the chain of frames by which the program came to it.
 *
 * A chain that was seen before, at the same place of the stack, costs about a nanosecond a frame: what the
 * walk up the stack read is compared with what stands there. Else each frame costs a look-up of its return
 * address and its rule (unwind.h).
 *
 * A place is a return address in a module, equal on all ranks; or a line of Python. The frames of Python's
 * interpreter are left out, and the frames of Python that it runs stand there; so are those of the recorder
 * and of MPI's Fortran bindings. */
#pragma once

#include <stdint.h>
static uint32_t *record_contexts; /* of each record, its context; NULL: they are not wanted */
static uint32_t context_now;      /* of the last call of the recorded thread */

static uint32_t unloads;         /* changes where a library was, or may have been, unloaded */

static uint64_t own_begin, own_bytes; /* the recorder's code */

static uint32_t context_of(const uint64_t *frame);
#define NOTE_CONTEXT                                                                          \
  do {                                                                                        \
    if (record_contexts) context_now = context_of((const uint64_t *)__builtin_frame_address(0)); \
  } while (0)
static int begin_contexts(void);
