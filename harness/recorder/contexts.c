#include "contexts.h"

#include "bindings.h"
#include "lock.h"
#include "places.h"
#include "pyframes.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unwind.h>

static uint32_t known_unloads;    /* of which the addresses know */
static void learn_address(struct address *slot, uint64_t address) {
  struct place place = {.module = OF_NO_FILE};
  uint64_t function = 0, bytes = 0, base = 0;
  slot->rule = find_rule(address, &function, &bytes);
  if (address - 1 - own_begin < own_bytes || from_bindings((void *)(address - 1))) {
    slot->place = LEFT_OUT;
  } else {
    place.module = module_numbered(address - 1);
    if (place.module >= 0) {
      base = tables->modules[place.module].base;
      place.offset = (int64_t)(address - base);
      place.function = function ? (int64_t)(function - base) : 0;
      place.bytes = (int64_t)bytes;
    }
    slot->place = place_numbered(&place);
  }
  slot->of_interpreter = python.evaluates && place.module >= 0 && base == python.base;
  slot->evaluates = slot->of_interpreter && function == (uint64_t)python.evaluates;
  slot->key = address;
  address_count++;
}

static inline struct address *address_known(uint64_t address) {
  struct address *slot = address_slot(address);
  if (slot && !slot->key) learn_address(slot, address);
  return slot;
}

/* ---- chains ---- */

struct walk {
  struct address *frames[MAX_DEPTH];
  int count, begun;
  uint64_t first;
  int words; /* beyond MAX_READS, or of libgcc's: the walk is not kept */
  struct stack_word word[MAX_READS];
};

static uint64_t read_word(struct walk *walk, uint64_t at) {
  const uint64_t *word = (const uint64_t *)at;
  if (walk->words < MAX_READS) walk->word[walk->words] = (struct stack_word){word, *word};
  walk->words++;
  return *word;
}

static _Unwind_Reason_Code note_frame(struct _Unwind_Context *frame, void *given) {
  struct walk *walk = given;
  uint64_t address = _Unwind_GetIP(frame);
  walk->begun |= address == walk->first;
  if (!walk->begun) return _URC_NO_REASON;
  if (!address || walk->count == MAX_DEPTH) return _URC_END_OF_STACK;
  struct address *known = address_known(address);
  if (!known) return _URC_END_OF_STACK;
  walk->frames[walk->count++] = known;
  return _URC_NO_REASON;
}

/* Follows the stack from the frame of a wrapper, whose own caller is the first. Where a frame keeps rbp does
 * not matter until a rule asks for it: most code keeps other things in it, which change. */
static void walk_stack(struct walk *walk, const uint64_t *frame) {
  uint64_t rbp_at = (uint64_t)frame, stack = (uint64_t)(frame + 2), rbp = 0;
  walk->count = walk->begun = walk->words = 0;
  uint64_t address = walk->first = read_word(walk, (uint64_t)(frame + 1));
  while (address && walk->count < MAX_DEPTH) {
    struct address *known = address_known(address);
    if (!known) return;
    walk->frames[walk->count++] = known;
    const struct rule *rule = &known->rule;
    int asks_rbp = rule->kind == FROM_FRAME || rule->kind == FROM_MEMORY || rule->saved == 2;
    if (asks_rbp && rbp_at) rbp = read_word(walk, rbp_at), rbp_at = 0;
    uint64_t cfa;
    if (rule->kind == FROM_STACK) cfa = stack + (uint64_t)(int64_t)rule->offset;
    else if (rule->kind == FROM_FRAME) cfa = rbp + (uint64_t)(int64_t)rule->offset;
    else if (rule->kind == FROM_MEMORY && rbp - stack < MAX_STACK_STEP) cfa = read_word(walk, rbp + (uint64_t)(int64_t)rule->offset);
    else if (rule->kind == LEFT_TO_LIBGCC) {
      walk->count = 0;
      walk->words = MAX_READS + 1;
      _Unwind_Backtrace(note_frame, walk);
      return;
    } else return;
    if (cfa - stack - 1 >= MAX_STACK_STEP) return; /* the stack grows downwards */
    address = read_word(walk, cfa - 8);
    if (rule->saved) rbp_at = (rule->saved == 1 ? cfa : rbp) + (uint64_t)(int64_t)rule->frame_offset;
    stack = cfa;
  }
}

/* Puts the frames of Python where those of its interpreter are; returns how many places there are. */
static int merge_python(const struct walk *walk, uint32_t chain[]) {
  static uint32_t places[MAX_DEPTH];
  static uint8_t entries[MAX_DEPTH];
  int left = 0, count = 0, at = 0, frames = python_frames(places, entries);
  for (int i = 0; i < walk->count; i++) left += walk->frames[i]->evaluates;
  for (int i = 0; i < walk->count; i++) {
    const struct address *frame = walk->frames[i];
    if (!frame->of_interpreter) {
      if (frame->place != LEFT_OUT && count < MAX_DEPTH) chain[count++] = frame->place;
      continue;
    }
    if (!frame->evaluates) continue;
    left--;
    for (int more = 1; more && at < frames; at++) {
      if (places[at] != LEFT_OUT && count < MAX_DEPTH) chain[count++] = places[at];
      more = !left || !entries[at]; /* the outermost has all that are left */
    }
  }
  return count;
}

static uint32_t chain_numbered(const uint32_t chain[], int count, uint64_t hash) {
  for (uint32_t at = (uint32_t)(hash >> 40);; at++) {
    uint32_t *slot = &tables->chain_slots[at % (2 * ADDRESSES)], number = *slot;
    if (!number) {
      uint32_t start = tables->chain_start[chain_count];
      if (chain_count + 1 == ADDRESSES || start + (uint32_t)count > CHAIN_PLACES) return 0;
      memcpy(tables->chain_places + start, chain, (size_t)count * sizeof *chain);
      tables->chain_hash[chain_count] = hash;
      tables->chain_start[chain_count + 1] = start + (uint32_t)count;
      COUNT_ONE_MORE(chain_count);
      return *slot = chain_count;
    }
    uint32_t start = tables->chain_start[number - 1];
    if (tables->chain_hash[number - 1] == hash && tables->chain_start[number] - start == (uint32_t)count &&
        !memcmp(tables->chain_places + start, chain, (size_t)count * sizeof *chain))
      return number;
  }
}

/* The chain of a kept walk; 0 if the stack is another. Each word is where the words before it say. */
static inline uint32_t chain_kept(const struct kept_walk *kept, const uint64_t *frame) {
  if (kept->frame != frame) return 0;
  for (int i = 0; i < kept->count; i++)
    if (*kept->words[i].at != kept->words[i].value) return 0;
  return kept->chain;
}

static uint32_t find_context(const uint64_t *frame) {
  struct walk walk;
  uint32_t chain[MAX_DEPTH];
  uint64_t hash = 0;
  int count = 0, runs_python = 0;
  const uint32_t unloads_now = __atomic_load_n(&unloads, __ATOMIC_ACQUIRE);
  if (unloads_now != known_unloads) {
    known_unloads = unloads_now;
    memset(tables->addresses, 0, sizeof tables->addresses);
    for (int i = 0; i < WALKS; i++) tables->walks[i].frame = NULL;
    address_count = 0;
    for (uint32_t i = 0; i < module_count; i++) tables->modules[i].begin = tables->modules[i].end = 0;
  }
  struct kept_walk *kept = &tables->walks[mixed((uint64_t)frame, frame[1]) % WALKS];
  uint32_t number = chain_kept(kept, frame);
  if (number) return number;
  walk_stack(&walk, frame);
  for (int i = 0; i < walk.count; i++) {
    runs_python |= walk.frames[i]->evaluates;
    if (walk.frames[i]->place != LEFT_OUT) chain[count++] = walk.frames[i]->place;
  }
  if (runs_python) count = merge_python(&walk, chain);
  for (int i = 0; i < count; i++) hash = mixed(hash, chain[i]);
  number = count ? chain_numbered(chain, count, hash) : 0;
  if (number && !runs_python && walk.words <= MAX_READS) {
    kept->frame = frame;
    kept->chain = number;
    kept->count = walk.words;
    memcpy(kept->words, walk.word, (size_t)walk.words * sizeof *walk.word);
  }
  return number;
}

/* Another thread may hold the interpreter's lock while it waits for ours: that one is taken first. */
static __attribute__((noinline)) uint32_t context_among_threads(const uint64_t *frame) {
  const int runs_python = runs_in_python(), gil = runs_python ? python.PyGILState_Ensure() : 0;
  lock_tables();
  const uint32_t number = find_context(frame);
  unlock_tables();
  if (runs_python) python.PyGILState_Release(gil);
  return number;
}

/* The context of a call, by the frame of its wrapper. */
static __attribute__((noinline)) uint32_t context_of(const uint64_t *frame) {
  return is_concurrent ? context_among_threads(frame) : find_context(frame);
}

/* Memory for contexts; returns whether there is any. */
static int begin_contexts(void) {
  if (tables) return 1;
  struct sought own = {.address = (uint64_t)begin_contexts};
  void *memory = mmap(NULL, sizeof *tables, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return 0;
  tables = memory;
#ifndef HINDMOST_LINKED
  dl_iterate_phdr(note_module, &own);
  own_begin = own.begin;
  own_bytes = own.end - own.begin;
#else
  (void)own;
#endif
  find_python();
  return 1;
}

#ifndef HINDMOST_LINKED

/* Another library may come to lie where one was unloaded. */
int dlclose(void *handle) {
  static int (*real)(void *);
  if (!real) real = (int (*)(void *))dlsym(RTLD_NEXT, "dlclose");
  __atomic_fetch_add(&unloads, 1, __ATOMIC_SEQ_CST);
  int error = real(handle);
  __atomic_fetch_add(&unloads, 1, __ATOMIC_SEQ_CST);
  return error;
}

#endif
