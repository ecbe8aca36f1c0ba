/* The context of a call: the chain of frames by which the program came to it. Included once, by recorder.c.
 *
 * A chain that was seen before, at the same place of the stack, costs about a nanosecond a frame: what the
 * walk up the stack read is compared with what stands there. Else each frame costs a look-up of its return
 * address and its rule (unwind.h). Places, chains and names are kept once each, numbered, in memory that is
 * there before the program begins; attached.h writes those that are new.
 *
 * A place is a return address in a module, equal on all ranks; or a line of Python. The frames of Python's
 * interpreter are left out, and the frames of Python that it runs stand there; so are those of the recorder
 * and of MPI's Fortran bindings.
 *
 * Only the thread that is recorded comes here. */
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unwind.h>

#include "unwind.h"

/* Room; what comes later has no context. */
enum {
  ADDRESSES = 1 << 16, /* the most places and chains, too */
  CHAIN_PLACES = 1 << 22,
  NAME_BYTES = 1 << 22,
  MOST_MODULES = 1 << 12,
  MOST_CODES = 1 << 14,
  DEEPEST = 256,
  WALKS = 1 << 10,
  MOST_READS = 62, /* of a walk that is kept */
};
enum { OF_PYTHON = -1, OF_NO_FILE = -2, LEFT_OUT = UINT32_MAX, PYTHON_CALL_BITS = 32 };
enum { MOST_STACK_STEP = 64 << 20 };

struct place {
  int64_t offset, function, bytes;
  int32_t module, pad;
};

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
  struct stack_word words[MOST_READS];
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
  struct module modules[MOST_MODULES];
  struct code codes[MOST_CODES];
  char names[NAME_BYTES];
} *tables; /* NULL: no contexts */

/* What is counted is there: counts grow last, since a signal may end the program at any instant. */
#define COUNT_ONE_MORE(count) __atomic_store_n(&(count), (count) + 1, __ATOMIC_RELEASE)
static uint32_t address_count, place_count, chain_count, module_count, code_count, name_bytes;
static uint32_t *record_contexts; /* of each record, its context; NULL: they are not wanted */
static uint32_t context_now;      /* of the last call of the recorded thread */
static int addresses_stale;       /* a library was unloaded */

/* Whether calls from here are those of a Fortran program: see fortran.h. */
static int from_bindings(const void *address);

static inline uint64_t mixed(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
  return hash ^ hash >> 29;
}

/* Keeps a name; empty if there is no room. */
static const char *keep_name(const char *name) {
  size_t bytes = strlen(name) + 1;
  if (name_bytes + bytes > NAME_BYTES) return "";
  char *kept = memcpy(tables->names + name_bytes, name, bytes);
  name_bytes += (uint32_t)bytes;
  return kept;
}

static uint32_t place_numbered(const struct place *place) {
  uint64_t hash = mixed(mixed((uint64_t)(uint32_t)place->module, (uint64_t)place->offset), (uint64_t)place->function);
  for (uint32_t at = (uint32_t)(hash >> 40);; at++) {
    uint32_t *slot = &tables->place_slots[at % (2 * ADDRESSES)];
    if (!*slot) {
      if (place_count == ADDRESSES) return LEFT_OUT;
      tables->places[place_count] = *place;
      COUNT_ONE_MORE(place_count);
      return (*slot = place_count) - 1;
    }
    if (!memcmp(&tables->places[*slot - 1], place, sizeof *place)) return *slot - 1;
  }
}

/* ---- modules ---- */

struct sought {
  uint64_t address, base, begin, end;
  char path[PATH_MAX], identity[80];
  int found;
};

/* The build id among the notes of a loaded file. */
static void read_build_id(const char *at, const char *end, char *identity) {
  ElfW(Nhdr) note;
  while (end - at >= (ptrdiff_t)sizeof note) {
    memcpy(&note, at, sizeof note);
    const char *name = at + sizeof note, *body = name + ((note.n_namesz + 3) & ~3u);
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && !memcmp(name, "GNU", 4) && note.n_descsz <= 32) {
      for (uint32_t i = 0; i < note.n_descsz; i++) sprintf(identity + 2 * i, "%02x", (unsigned char)body[i]);
      return;
    }
    at = body + ((note.n_descsz + 3) & ~3u);
  }
}

static int note_module(struct dl_phdr_info *info, size_t size, void *given) {
  struct sought *sought = given;
  (void)size;
  for (int i = 0; i < info->dlpi_phnum && !sought->found; i++) {
    const ElfW(Phdr) *part = &info->dlpi_phdr[i];
    sought->begin = info->dlpi_addr + part->p_vaddr;
    sought->end = sought->begin + part->p_memsz;
    sought->found = part->p_type == PT_LOAD && sought->address - sought->begin < part->p_memsz;
  }
  if (!sought->found) return 0;
  sought->base = info->dlpi_addr;
  const char *name = info->dlpi_name && *info->dlpi_name ? info->dlpi_name : "/proc/self/exe";
  if (!realpath(name, sought->path)) snprintf(sought->path, sizeof sought->path, "%s", name);
  for (int i = 0; i < info->dlpi_phnum && !*sought->identity; i++) {
    const ElfW(Phdr) *part = &info->dlpi_phdr[i];
    const char *at = (const char *)(info->dlpi_addr + part->p_vaddr);
    if (part->p_type == PT_NOTE) read_build_id(at, at + part->p_memsz, sought->identity);
  }
  struct stat file;
  if (!*sought->identity && !stat(sought->path, &file))
    sprintf(sought->identity, "%lld:%lld", (long long)file.st_size,
            (long long)file.st_mtim.tv_sec * 1000000000 + file.st_mtim.tv_nsec);
  return 1;
}

/* The module that an address lies in; OF_NO_FILE if there is none. */
static int32_t module_numbered(uint64_t address) {
  for (uint32_t i = 0; i < module_count; i++)
    if (address >= tables->modules[i].begin && address < tables->modules[i].end) return (int32_t)i;
  struct sought sought = {.address = address};
  dl_iterate_phdr(note_module, &sought);
  if (!sought.found) return OF_NO_FILE;
  uint32_t number = 0;
  while (number < module_count && (strcmp(tables->modules[number].identity, sought.identity) ||
                                   strcmp(tables->modules[number].path, sought.path)))
    number++;
  if (number == MOST_MODULES) return OF_NO_FILE;
  struct module *module = &tables->modules[number];
  if (number == module_count) {
    *module = (struct module){keep_name(sought.path), keep_name(sought.identity), 0, 0, 0};
    COUNT_ONE_MORE(module_count);
  }
  module->base = sought.base;
  module->begin = sought.begin;
  module->end = sought.end;
  return (int32_t)number;
}

/* ---- Python ---- */

#define PYTHON_FUNCTIONS(X)                                                                               \
  X(PyGILState_Ensure, int, (void)) X(PyGILState_Release, void, (int)) X(PyEval_GetFrame, void *, (void)) \
  X(PyFrame_GetBack, void *, (void *)) X(PyFrame_GetCode, void *, (void *))                               \
  X(PyFrame_GetLineNumber, int, (void *)) X(PyFrame_GetLasti, int, (void *))                              \
  X(PyObject_GetAttrString, void *, (void *, const char *)) X(PyUnicode_AsUTF8, const char *, (void *))   \
  X(PyLong_AsLong, long, (void *)) X(PyErr_Clear, void, (void)) X(Py_IncRef, void, (void *))              \
  X(Py_DecRef, void, (void *)) X(Py_GetVersion, const char *, (void))

static struct {
  void *evaluates; /* the function that runs Python's frames; NULL: there is no Python, or none that is known */
  uint64_t base;   /* of its module */
  int has_entry;   /* a frame says whether that function was called for it, or goes on from that of its caller */
#define X(name, type, parameters) type(*name) parameters;
  PYTHON_FUNCTIONS(X)
#undef X
} python;

static void find_python(void) {
  struct sought sought = {0};
  void *evaluates = dlsym(RTLD_DEFAULT, "_PyEval_EvalFrameDefault");
#define X(name, type, parameters) python.name = (type(*) parameters)dlsym(RTLD_DEFAULT, #name);
  PYTHON_FUNCTIONS(X)
#undef X
  if (!evaluates || !python.PyFrame_GetBack || !python.PyFrame_GetCode || !python.Py_GetVersion) return;
  sought.address = (uint64_t)evaluates;
  dl_iterate_phdr(note_module, &sought);
  python.base = sought.base;
  python.has_entry = !strncmp(python.Py_GetVersion(), "3.11.", 5);
  python.evaluates = sought.found ? evaluates : NULL;
}

/* A text of an object's attribute; the name is kept. */
static const char *python_text(void *object, const char *attribute) {
  void *value = python.PyObject_GetAttrString(object, attribute);
  const char *text = value ? python.PyUnicode_AsUTF8(value) : NULL;
  const char *kept = keep_name(text ? text : "");
  if (!text) python.PyErr_Clear();
  if (value) python.Py_DecRef(value);
  return kept;
}

static int64_t code_numbered(void *object) {
  for (uint32_t i = 0; i < code_count; i++)
    if (tables->codes[i].object == object) return i;
  if (code_count == MOST_CODES) return -1;
  struct code *code = &tables->codes[code_count];
  void *line = python.PyObject_GetAttrString(object, "co_firstlineno");
  code->file = python_text(object, "co_filename");
  code->function = python_text(object, "co_name");
  code->first_line = line ? (int)python.PyLong_AsLong(line) : 0;
  if (line) python.Py_DecRef(line);
  python.Py_IncRef(object); /* so that no other code comes to lie there */
  code->object = object;
  COUNT_ONE_MORE(code_count);
  return code_count - 1;
}

static struct address *address_slot(uint64_t key);

/* The place of a frame of Python. */
static uint32_t python_place(void *frame) {
  void *code = python.PyFrame_GetCode(frame);
  int64_t call = python.PyFrame_GetLasti ? python.PyFrame_GetLasti(frame) / 2 + 1 : python.PyFrame_GetLineNumber(frame);
  struct address *known = address_slot((uint64_t)code | (uint64_t)call << 47); /* above all addresses of a program */
  uint32_t place = LEFT_OUT;
  if (known && known->key) {
    place = known->place;
  } else if (known) {
    struct place found = {.module = OF_PYTHON, .offset = python.PyFrame_GetLineNumber(frame)};
    if (python.PyFrame_GetLasti) found.offset = found.offset << PYTHON_CALL_BITS | call; /* calls of a line differ */
    found.function = code_numbered(code);
    place = found.function < 0 ? LEFT_OUT : place_numbered(&found);
    *known = (struct address){.place = place};
    known->key = (uint64_t)code | (uint64_t)call << 47;
    address_count++;
  }
  python.Py_DecRef(code);
  return place;
}

/* Whether the interpreter was called for a frame by other code, and not by the interpreter itself. */
static int is_entry(const char *frame) {
  const char *own;
  if (!python.has_entry) return 1;
  memcpy(&own, frame + 24, sizeof own); /* f_frame of struct _frame, CPython 3.11 */
  return own[68];                       /* is_entry of _PyInterpreterFrame */
}

/* The frames of Python, the innermost first. */
static int python_frames(uint32_t places[], uint8_t entries[]) {
  int gil = python.PyGILState_Ensure(), count = 0;
  void *frame = python.PyEval_GetFrame(), *held = NULL;
  while (frame && count < DEEPEST) {
    entries[count] = (uint8_t)is_entry(frame);
    places[count++] = python_place(frame);
    frame = python.PyFrame_GetBack(frame);
    if (held) python.Py_DecRef(held);
    held = frame;
  }
  if (held) python.Py_DecRef(held);
  python.PyGILState_Release(gil);
  return count;
}

/* ---- addresses ---- */

static uint64_t own_begin, own_bytes; /* the recorder's code */

/* The slot of an address, free if it is new; NULL if there is no more room. */
static inline struct address *address_slot(uint64_t key) {
  for (uint32_t at = (uint32_t)(key * 0x9E3779B97F4A7C15u >> 48);; at = (at + 1) % ADDRESSES) {
    struct address *slot = &tables->addresses[at];
    if (slot->key == key) return slot;
    if (!slot->key) return address_count < ADDRESSES / 4 * 3 ? slot : NULL;
  }
}

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
  struct address *frames[DEEPEST];
  int count, begun;
  uint64_t first;
  int words; /* beyond MOST_READS, or of libgcc's: the walk is not kept */
  struct stack_word word[MOST_READS];
};

static uint64_t read_word(struct walk *walk, uint64_t at) {
  const uint64_t *word = (const uint64_t *)at;
  if (walk->words < MOST_READS) walk->word[walk->words] = (struct stack_word){word, *word};
  walk->words++;
  return *word;
}

static _Unwind_Reason_Code note_frame(struct _Unwind_Context *frame, void *given) {
  struct walk *walk = given;
  uint64_t address = _Unwind_GetIP(frame);
  walk->begun |= address == walk->first;
  if (!walk->begun) return _URC_NO_REASON;
  if (!address || walk->count == DEEPEST) return _URC_END_OF_STACK;
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
  while (address && walk->count < DEEPEST) {
    struct address *known = address_known(address);
    if (!known) return;
    walk->frames[walk->count++] = known;
    const struct rule *rule = &known->rule;
    int asks_rbp = rule->kind == FROM_FRAME || rule->kind == FROM_MEMORY || rule->saved == 2;
    if (asks_rbp && rbp_at) rbp = read_word(walk, rbp_at), rbp_at = 0;
    uint64_t cfa;
    if (rule->kind == FROM_STACK) cfa = stack + (uint64_t)(int64_t)rule->offset;
    else if (rule->kind == FROM_FRAME) cfa = rbp + (uint64_t)(int64_t)rule->offset;
    else if (rule->kind == FROM_MEMORY && rbp - stack < MOST_STACK_STEP) cfa = read_word(walk, rbp + (uint64_t)(int64_t)rule->offset);
    else if (rule->kind == LEFT_TO_LIBGCC) {
      walk->count = 0;
      walk->words = MOST_READS + 1;
      _Unwind_Backtrace(note_frame, walk);
      return;
    } else return;
    if (cfa - stack - 1 >= MOST_STACK_STEP) return; /* the stack grows downwards */
    address = read_word(walk, cfa - 8);
    if (rule->saved) rbp_at = (rule->saved == 1 ? cfa : rbp) + (uint64_t)(int64_t)rule->frame_offset;
    stack = cfa;
  }
}

/* Puts the frames of Python where those of its interpreter are; returns how many places there are. */
static int merge_python(const struct walk *walk, uint32_t chain[]) {
  static uint32_t places[DEEPEST];
  static uint8_t entries[DEEPEST];
  int left = 0, count = 0, at = 0, frames = python_frames(places, entries);
  for (int i = 0; i < walk->count; i++) left += walk->frames[i]->evaluates;
  for (int i = 0; i < walk->count; i++) {
    const struct address *frame = walk->frames[i];
    if (!frame->of_interpreter) {
      if (frame->place != LEFT_OUT && count < DEEPEST) chain[count++] = frame->place;
      continue;
    }
    if (!frame->evaluates) continue;
    left--;
    for (int more = 1; more && at < frames; at++) {
      if (places[at] != LEFT_OUT && count < DEEPEST) chain[count++] = places[at];
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

/* The context of a call, by the frame of its wrapper. */
static __attribute__((noinline)) uint32_t context_of(const uint64_t *frame) {
  struct walk walk;
  uint32_t chain[DEEPEST];
  uint64_t hash = 0;
  int count = 0, runs_python = 0;
  if (__atomic_load_n(&addresses_stale, __ATOMIC_RELAXED)) {
    __atomic_store_n(&addresses_stale, 0, __ATOMIC_SEQ_CST);
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
  if (number && !runs_python && walk.words <= MOST_READS) {
    kept->frame = frame;
    kept->chain = number;
    kept->count = walk.words;
    memcpy(kept->words, walk.word, (size_t)walk.words * sizeof *walk.word);
  }
  return number;
}

#define NOTE_CONTEXT                                                                          \
  do {                                                                                        \
    if (record_contexts) context_now = context_of((const uint64_t *)__builtin_frame_address(0)); \
  } while (0)

/* Memory for contexts; returns whether there is any. */
static int begin_contexts(void) {
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
  int error = real(handle);
  __atomic_store_n(&addresses_stale, 1, __ATOMIC_SEQ_CST);
  return error;
}
#endif
