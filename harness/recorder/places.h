/* Where calls come from: modules, places in them and names, kept once each, numbered, in memory that is there
 * before the program begins; sections.c writes those that are new. */
#pragma once

#include "abi.h"
#include "unwind.h"

#include <limits.h>
#include <link.h>

/* Room; what comes later has no context. */
enum {
  ADDRESSES = 1 << 16, /* the most places and chains, too */
  CHAIN_PLACES = 1 << 22,
  NAME_BYTES = 1 << 22,
  MAX_MODULES = 1 << 12,
  MAX_CODES = 1 << 14,
  MAX_DEPTH = 256,
  WALKS = 1 << 10,
  MAX_READS = 62, /* of a walk that is kept */
};

enum { OF_PYTHON = -1, OF_NO_FILE = -2, LEFT_OUT = UINT32_MAX, PYTHON_CALL_BITS = 32 };
enum { MAX_STACK_STEP = 64 << 20 };
struct address {
  uint64_t key; /* 0: free */
  uint32_t place; /* or LEFT_OUT */
  uint8_t of_interpreter, evaluates; /* of Python: a frame of it, and of those one that runs Python's frames */
  struct rule rule;
};

struct module {
  const char *path, *identity;
  uint64_t base, begin, end; /* where it is loaded; an empty range: it may be no more */
};

struct code {
  void *object; /* of Python, which is kept alive */
  const char *file, *function;
  int first_line;
};

/* A word of the stack on which the way of a walk depends. */
struct stack_word {
  const uint64_t *at;
  uint64_t value;
};

/* A walk: from the same frame, with the same words, it comes to the same chain. */
struct kept_walk {
  const uint64_t *frame; /* NULL: none */
  uint32_t chain;
  int32_t count;
  struct stack_word words[MAX_READS];
};

static struct tables {
  struct kept_walk walks[WALKS];
  struct address addresses[ADDRESSES];
  uint32_t place_slots[2 * ADDRESSES]; /* one more than its number */
  struct place places[ADDRESSES];
  uint32_t chain_slots[2 * ADDRESSES];
  uint64_t chain_hash[ADDRESSES];
  uint32_t chain_start[ADDRESSES + 1];
  uint32_t chain_places[CHAIN_PLACES];
  int64_t polls[ADDRESSES]; /* calls that found nothing, by context */
  struct module modules[MAX_MODULES];
  struct code codes[MAX_CODES];
  char names[NAME_BYTES];
} *tables; /* NULL: no contexts */

/* What is counted is there: counts grow last, since a signal may end the program at any instant. */
#define COUNT_ONE_MORE(count) __atomic_store_n(&(count), (count) + 1, __ATOMIC_RELEASE)
static uint32_t address_count, place_count, chain_count, module_count, code_count, name_bytes;
static inline uint64_t mixed(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
  return hash ^ hash >> 29;
}

/* The slot of an address, free if it is new; NULL if there is no more room. */
static inline struct address *address_slot(uint64_t key) {
  for (uint32_t at = (uint32_t)(key * 0x9E3779B97F4A7C15u >> 48);; at = (at + 1) % ADDRESSES) {
    struct address *slot = &tables->addresses[at];
    if (slot->key == key) return slot;
    if (!slot->key) return address_count < ADDRESSES / 4 * 3 ? slot : NULL;
  }
}

static const char *keep_name(const char *name);
static uint32_t place_numbered(const struct place *place);
static int note_module(struct dl_phdr_info *info, size_t size, void *given);
static int32_t module_numbered(uint64_t address);
struct sought {
  uint64_t address, base, begin, end;
  char path[PATH_MAX], identity[80];
  int found;
};
