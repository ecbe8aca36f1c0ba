/* Whose calls of PMPI are the program's: libraries of bindings for Fortran, and another tool in front. */
#pragma once

#include <stdint.h>

#ifdef HINDMOST_LINKED
#define NEXT(name) PMPI_##name
static inline int from_bindings(const void *address) { return (void)address, 0; }
static inline void find_bindings(void) {}
static inline int other_records(void) { return 0; }
#else
struct code_range {
  uintptr_t begin, size;
};

static struct code_range own_code;
static int leaves_to_linked; /* to a recorder that is linked into the program */

static int from_bindings(const void *address);

/* Looks for them, once the program is loaded. */
static void find_bindings(void);

/* Whether a call of PMPI from here is one of MPI by the program. */
static int is_of_program(const void *address);
static int other_records(void);

/* The function of MPI that a wrapper passes its call to: that of another tool behind the recorder, or of MPI itself. */
#define NEXT(name)                                                                   \
  ({                                                                                 \
    static __typeof__(&PMPI_##name) next;                                            \
    if (__builtin_expect(!next, 0)) next = (__typeof__(next))next_of("PMPI_" #name); \
    next;                                                                            \
  })
static void *next_of(const char *name);
#endif
