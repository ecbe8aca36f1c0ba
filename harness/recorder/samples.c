#include "samples.h"

#include "clock.h"
#include "contexts.h"
#include "lock.h"
#include "pyframes.h"

#include <link.h>
#include <stdlib.h>
#include <string.h>

/* ---- rules ---- */

/* Whether nothing was unloaded since; what is no more must not be read. */
static int modules_are_known(void) {
  struct loaded_modules *now = atomic_load_explicit(&modules_now, memory_order_acquire);
  return now && now->unloads == __atomic_load_n(&unloads, __ATOMIC_ACQUIRE);
}

static const struct loaded_module *module_around(uint64_t address) {
  struct loaded_modules *now = atomic_load_explicit(&modules_now, memory_order_acquire);
  uint32_t low = 0, high = now ? now->count : 0;
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    if (address < now->module[middle].begin) high = middle;
    else if (address >= now->module[middle].end) low = middle + 1;
    else return &now->module[middle];
  }
  return NULL;
}

/* The slot of a return address (of a line of Python: of its instruction, with its code); NULL if there is none. */
static struct sample_address *sampled_address(uint64_t key, uint64_t code) {
  uint32_t at = (uint32_t)(key * 0x9E3779B97F4A7C15u >> 47);
  for (int tries = 0; tries < SAMPLE_TRIES; tries++, at++) {
    struct sample_address *slot = &sampled->addresses[at % SAMPLE_SLOTS];
    uint64_t found = atomic_load_explicit(&slot->key, memory_order_acquire);
    if (found == key) return slot;
    if (found) continue;
    if (!(key & SAMPLE_OF_PYTHON) && !modules_are_known()) return NULL;
    if (!atomic_compare_exchange_strong(&slot->key, &found, 1)) {
      if (found == key) return slot;
      continue;
    }
    struct place place = {.module = OF_NO_FILE};
    uint64_t function = 0, bytes = 0;
    slot->rule = (struct rule){.kind = CHAIN_ENDS};
    if (key & SAMPLE_OF_PYTHON) {
      place = (struct place){.module = OF_PYTHON, .offset = (int64_t)(key & ~SAMPLE_OF_PYTHON), .function = (int64_t)code};
    } else {
      const struct loaded_module *module = module_around(key - 1);
      if (module) {
        slot->rule = rule_by_table(module->table, key, &function, &bytes);
        place.module = module->number;
        place.offset = (int64_t)(key - module->base);
        place.function = function ? (int64_t)(function - module->base) : 0;
        place.bytes = (int64_t)bytes;
      }
      slot->ends = function && function == thread_begin;
      slot->of_recorder = key - 1 - own_begin < own_bytes;
      slot->of_python = key - 1 - python_begin < python_end - python_begin;
    }
    uint32_t number = atomic_fetch_add(&sample_places, 1);
    if (number < MAX_SAMPLE_PLACES) {
      sampled->places[number] = place;
      __atomic_store_n(&sampled->places[number].pad, 1, __ATOMIC_RELEASE);
      slot->place = number + 1;
    } else
      atomic_store(&sample_places, MAX_SAMPLE_PLACES);
    atomic_store_explicit(&slot->key, key, memory_order_release);
    return slot;
  }
  return NULL;
}

/* ---- chains and pairs ---- */

static uint32_t sampled_chain(const uint32_t chain[], uint32_t count) {
  uint64_t hash = 0x1234567;
  for (uint32_t i = 0; i < count; i++) hash = mixed(hash, chain[i]);
  hash |= 2;
  uint32_t at = (uint32_t)(hash >> 47);
  for (int tries = 0; tries < SAMPLE_TRIES; tries++, at++) {
    __typeof__(sampled->chain_slots[0]) *slot = &sampled->chain_slots[at % SAMPLE_SLOTS];
    uint64_t found = atomic_load_explicit(&slot->key, memory_order_acquire);
    if (found == hash) return slot->number;
    if (found) continue;
    if (!atomic_compare_exchange_strong(&slot->key, &found, 1)) continue;
    uint64_t room = atomic_fetch_add(&sample_chains, (1ull << 32) + count);
    uint32_t number = (uint32_t)(room >> 32), start = (uint32_t)room;
    if (number >= MAX_SAMPLE_CHAINS || start + count > SAMPLE_CHAIN_PLACES) {
      atomic_fetch_sub(&sample_chains, (1ull << 32) + count);
      atomic_store_explicit(&slot->key, 0, memory_order_release);
      return 0;
    }
    memcpy(sampled->chain_places + start, chain, count * sizeof *chain);
    sampled->chain_end[number] = start + count;
    slot->number = number + 1;
    atomic_store_explicit(&sampled->chain_ready[number], 1, memory_order_release);
    atomic_store_explicit(&slot->key, hash, memory_order_release);
    return number + 1;
  }
  return 0;
}

static uint32_t sampled_pair(uint32_t before, uint32_t chain, uint32_t flags) {
  uint64_t key = ((uint64_t)before << 24 | (uint64_t)chain << 4 | flags) + 2;
  uint32_t at = (uint32_t)(key * 0x9E3779B97F4A7C15u >> 47);
  for (int tries = 0; tries < SAMPLE_TRIES; tries++, at++) {
    __typeof__(sampled->pair_slots[0]) *slot = &sampled->pair_slots[at % SAMPLE_SLOTS];
    uint64_t found = atomic_load_explicit(&slot->key, memory_order_acquire);
    if (found == key) return slot->number;
    if (found || !atomic_compare_exchange_strong(&slot->key, &found, 1)) continue;
    uint32_t number = atomic_fetch_add(&sample_pairs, 1);
    if (number >= MAX_SAMPLE_PAIRS - 1) {
      atomic_store(&sample_pairs, MAX_SAMPLE_PAIRS - 1);
      atomic_store_explicit(&slot->key, 0, memory_order_release);
      return 0;
    }
    struct sample_pair *pair = &sampled->pairs[number];
    pair->before = before, pair->chain = chain, pair->flags = flags;
    slot->number = number + 1;
    __atomic_store_n(&pair->ready, 1, __ATOMIC_RELEASE);
    atomic_store_explicit(&slot->key, key, memory_order_release);
    return number + 1;
  }
  return 0;
}

/* ---- what is loaded ---- */

static int note_loaded(struct dl_phdr_info *info, size_t size, void *given) {
  struct loaded_modules *all = given;
  const uint8_t *table = NULL;
  (void)size;
  for (int i = 0; i < info->dlpi_phnum; i++)
    if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME) table = (const uint8_t *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
  for (int i = 0; i < info->dlpi_phnum && all->count < MAX_MODULES; i++) {
    const ElfW(Phdr) *part = &info->dlpi_phdr[i];
    uint64_t begin = info->dlpi_addr + part->p_vaddr;
    if (part->p_type == PT_LOAD && part->p_flags & PF_X)
      all->module[all->count++] = (struct loaded_module){begin, begin + part->p_memsz, info->dlpi_addr, table, OF_NO_FILE};
  }
  return 0;
}

static int by_begin(const void *one, const void *other) {
  uint64_t a = ((const struct loaded_module *)one)->begin, b = ((const struct loaded_module *)other)->begin;
  return (a > b) - (a < b);
}

static int loads_changed(struct dl_phdr_info *info, size_t size, void *given) {
  static unsigned long long adds, subs;
  (void)size;
  *(int *)given = info->dlpi_adds != adds || info->dlpi_subs != subs;
  adds = info->dlpi_adds, subs = info->dlpi_subs;
  return 1;
}

/* What is loaded now; left for later while another thread numbers modules, who may be in a handler that waits until this
 * one has written. Only on the recorded thread; a handler in another thread that still reads the other table has left it
 * long before it is written again. */
static void refresh_modules(void) {
  int changed = 1;
  const uint32_t unloads_before = __atomic_load_n(&unloads, __ATOMIC_ACQUIRE);
  if (!try_lock_tables()) return;
  dl_iterate_phdr(loads_changed, &changed);
  if (!changed && modules_are_known()) {
    unlock_tables();
    return;
  }
  struct loaded_modules *next = &sampled->modules[atomic_load(&modules_now) == &sampled->modules[0]];
  next->count = 0;
  next->unloads = unloads_before;
  dl_iterate_phdr(note_loaded, next);
  qsort(next->module, next->count, sizeof next->module[0], by_begin);
  for (uint32_t i = 0; i < next->count; i++) next->module[i].number = module_numbered(next->module[i].begin);
  unlock_tables();
  atomic_store_explicit(&modules_now, next, memory_order_release);
}

/* ---- a sample ---- */

static int on_stack(const struct stack_part *part, uint64_t address) {
  return address - part->begin < part->end - part->begin - 8;
}

static uint64_t word_at(const struct stack_part *part, uint64_t address) {
  return *(const uint64_t *)(address + (uint64_t)part->shift);
}

/* The frames of Python 3.11 of this thread, as its interpreter keeps them; the instruction of each, with its code. */
static uint32_t sampled_python(uint32_t chain[], uint32_t count) {
  enum { THREAD_CFRAME = 56, CFRAME_FRAME = 8, FRAME_CODE = 32, FRAME_PREVIOUS = 48, FRAME_INSTRUCTION = 56 };
  const char *state = python_thread_state(), *frame = NULL;
  if (state) frame = *(char *const *)(*(char *const *)(state + THREAD_CFRAME) + CFRAME_FRAME);
  for (; frame && count < SAMPLE_DEPTH; frame = *(char *const *)(frame + FRAME_PREVIOUS)) {
    uint64_t code = *(const uint64_t *)(frame + FRAME_CODE), at = *(const uint64_t *)(frame + FRAME_INSTRUCTION);
    if (!code || at - code > 1 << 24) break;
    struct sample_address *known = sampled_address(at | SAMPLE_OF_PYTHON, code);
    if (known && known->place) chain[count++] = known->place - 1;
  }
  return count;
}

/* Follows a stack from the registers of its thread: the chain of places, the innermost first. */
static uint32_t sampled_walk(const struct stack_part *part, struct registers at, uint32_t chain[], uint32_t *flags) {
  uint64_t address = at.address, stack = at.stack, rbp = at.rbp;
  uint32_t count = 0;
  for (int depth = 0; depth < SAMPLE_DEPTH; depth++) {
    struct sample_address *known = address ? sampled_address(address, 0) : NULL;
    if (!address || (known && known->ends)) return count;
    if (!known) break;
    if (known->of_recorder) {
      *flags |= SAMPLE_IN_MPI;
      return 0;
    }
    if (known->of_python && python_thread_state) return sampled_python(chain, count);
    if (known->place && !known->of_python) chain[count++] = known->place - 1;
    uint64_t cfa;
    const struct rule *rule = &known->rule;
    if (rule->kind == FROM_STACK) cfa = stack + (uint64_t)(int64_t)rule->offset;
    else if (rule->kind == FROM_FRAME) cfa = rbp + (uint64_t)(int64_t)rule->offset;
    else if (rule->kind == FROM_MEMORY && on_stack(part, rbp + (uint64_t)(int64_t)rule->offset))
      cfa = word_at(part, rbp + (uint64_t)(int64_t)rule->offset);
    else if (rule->kind == LEFT_TO_LIBGCC && !depth) cfa = stack + 8; /* a stub of the linkage table */
    else if (rule->kind == CHAIN_ENDS) return count;
    else break;
    if (cfa <= stack || !on_stack(part, cfa - 8)) break;
    address = word_at(part, cfa - 8);
    if (rule->saved) {
      uint64_t saved = (rule->saved == 1 ? cfa : rbp) + (uint64_t)(int64_t)rule->frame_offset;
      if (!on_stack(part, saved)) break;
      rbp = word_at(part, saved);
    }
    stack = cfa;
  }
  *flags |= SAMPLE_CUT;
  return count;
}

static void keep_sample(struct sampled_thread *of, const struct stack_part *part, struct registers at, uint32_t context,
                        uint32_t flags) {
  uint32_t chain[SAMPLE_DEPTH + 1], put = atomic_load_explicit(&of->put, memory_order_relaxed);
  if (put - atomic_load_explicit(&of->taken, memory_order_acquire) >= SAMPLES_WAITING) {
    of->lost++;
    return;
  }
  uint32_t count = sampled_walk(part, at, chain, &flags), number = 0;
  if (count) number = sampled_chain(chain, count);
  if (!number) flags |= SAMPLE_CUT;
  of->samples[put % SAMPLES_WAITING] = (struct sample){system_now() + clock_shift_ns, sampled_pair(context, number, flags)};
  atomic_store_explicit(&of->put, put + 1, memory_order_release);
}

static int64_t cpu_of(int tid) {
  struct timespec spent;
  clockid_t clock = (clockid_t)(~(unsigned)tid << 3 | 6); /* the kernel's clock of a thread of this process */
  return clock_gettime(clock, &spent) ? -1 : (int64_t)spent.tv_sec * 1000000000 + spent.tv_nsec;
}
