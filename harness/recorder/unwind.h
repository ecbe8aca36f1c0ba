/* How to come from a return address to the frame of its caller.
 *
 * Compilers describe it in .eh_frame, also of code without frame pointers and of stripped programs. The
 * description of an address is decoded once, to one of a few rules that take a nanosecond to follow; what
 * none of them says (a signal's frame, a rare expression) is left to libgcc's unwinder.
 *
 * Only x86-64: elsewhere no rule is known, and a chain is the caller of MPI alone. */
#pragma once

#include <stdint.h>
enum rule_kind { CHAIN_ENDS, FROM_STACK, FROM_FRAME, FROM_MEMORY, LEFT_TO_LIBGCC };

/* CFA: the stack pointer in the caller; its return address lies below. FROM_STACK: stack pointer + offset;
 * FROM_FRAME: rbp + offset; FROM_MEMORY: what stands at rbp + offset. rbp of the caller: the same
 * (`saved` 0), at CFA + frame_offset (1), or at rbp + frame_offset (2). */
struct rule {
  int32_t offset, frame_offset;
  uint8_t kind, saved;
};

/* The rule of a return address, and the function that it lies in: begin and bytes, 0 if not known. */
static struct rule find_rule(uint64_t address, uint64_t *function, uint64_t *bytes);

/* The same by the table of its module that the linker made (.eh_frame_hdr): for a signal's handler, which must not wait for
 * a lock of libgcc's. */
static struct rule rule_by_table(const uint8_t *table, uint64_t address, uint64_t *function, uint64_t *bytes);

/* Whether the calls that this thread is in go through the one whose frame lies there and that returns to this address; so, too,
 * where that cannot be seen. */
static int returns_through(const uint64_t *frame, uint64_t address);
