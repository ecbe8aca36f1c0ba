#include "sample_frames.h"

#include "clock.h"
#include "contexts.h"
#include "json.h"
#include "pyframes.h"
#include "rawfile.h"
#include "recording.h"
#include "samples.h"

#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint32_t python_named; /* places so far whose lines of Python are known */
static struct samples_written {
  uint32_t places, chains, pairs;
} samples_written;

static void describe_sampling(void) {
  struct text text = {0};
  text_add(&text, "{\"mechanism\":\"%s\"", !samples_began ? "none" : samples_by_timer ? "timer" : "event");
  text_string(&text, "why_none", no_samples_why);
  text_number(&text, "period_ns", sample_period_ns);
  text_number(&text, "unsampled", atomic_load(&unsampled_threads));
  text_real(&text, "cost_ns", sample_cost_ns);
  text_frame(&text, RAW_SAMPLER);
}

/* Gives places of Python that are new their line and function; one whose code is no more has none. */
static void name_python_places(uint32_t from, uint32_t to, int may_ask) {
  static int (*line_at)(void *, int);
  static void *code_type;
  enum { CODE_TYPE = 8, CODE_INSTRUCTIONS = 184 }; /* of PyCodeObject, 3.11 */
  if (!python_thread_state) return;
  may_ask = may_ask && runs_in_python();
  if (!line_at) line_at = (int (*)(void *, int))dlsym(RTLD_DEFAULT, "PyCode_Addr2Line");
  if (!code_type) code_type = dlsym(RTLD_DEFAULT, "PyCode_Type");
  int gil = may_ask ? python.PyGILState_Ensure() : 0;
  for (uint32_t i = from; i < to; i++) {
    struct place *place = &sampled->places[i];
    char *code = (char *)place->function;
    if (place->module != OF_PYTHON) continue;
    int at = (int)((char *)place->offset - code - CODE_INSTRUCTIONS);
    int64_t number = may_ask && line_at && code_type && *(void **)(code + CODE_TYPE) == code_type ? code_numbered(code) : -1;
    int line = number < 0 ? -1 : line_at(code, at);
    if (line < 0) place->module = OF_NO_FILE, place->function = place->offset = 0;
    else place->function = number, place->offset = (int64_t)line << PYTHON_CALL_BITS | (at / 2 + 1);
  }
  if (may_ask) python.PyGILState_Release(gil);
}

/* The samples of a thread so far: when the first of them was, then microseconds from one to the next with their pairs. */
static void write_thread(struct sampled_thread *thread, int ended) {
  struct samples_head *head = (void *)sampled->entries;
  uint32_t put = atomic_load_explicit(&thread->put, memory_order_acquire), at = thread->taken;
  uint16_t *entry = sampled->entries + sizeof *head / sizeof *entry;
  const uint16_t *const last = sampled->entries + sizeof sampled->entries / sizeof *entry - 4;
  head->begin_ns = put == at ? system_now() + clock_shift_ns : thread->samples[at % SAMPLES_WAITING].ns;
  head->cpu_ns = ended ? thread->cpu_ns : cpu_of(thread->tid);
  head->thread = (uint32_t)thread->number;
  head->lost = (uint32_t)(thread->lost - thread->written_lost);
  thread->written_lost = thread->lost;
  int64_t before_us = 0;
  for (; at != put && entry < last; at++) {
    const struct sample *sample = &thread->samples[at % SAMPLES_WAITING];
    int64_t us = (sample->ns - head->begin_ns) / 1000, passed = us > before_us ? us - before_us : 0;
    if (passed >> 16) *entry++ = (uint16_t)(passed >> 32 ? 0xFFFF : passed >> 16), *entry++ = SAMPLE_GAP;
    *entry++ = (uint16_t)passed, *entry++ = (uint16_t)sample->pair;
    before_us += passed;
  }
  atomic_store_explicit(&thread->taken, at, memory_order_release);
  raw_frame(RAW_SAMPLES, sampled->entries, (size_t)((char *)entry - (char *)sampled->entries));
}

static uint32_t ready_until(uint32_t from, uint32_t count, int (*ready)(uint32_t)) {
  while (from < count && ready(from)) from++;
  return from;
}

static int place_is_ready(uint32_t at) { return __atomic_load_n(&sampled->places[at].pad, __ATOMIC_ACQUIRE); }
static int chain_is_ready(uint32_t at) { return atomic_load_explicit(&sampled->chain_ready[at], memory_order_acquire); }
static int pair_is_ready(uint32_t at) { return (int)__atomic_load_n(&sampled->pairs[at].ready, __ATOMIC_ACQUIRE); }

static void sampler_write(void) {
  static const char *described = "";
  static uint32_t unsampled_described;
  if (!samples_wanted || samples_paused || !atomic_load(&modules_now)) return;
  /* In a signal's handler nothing is asked of the loader, nor of Python: another thread may hold their locks. */
  const int may_ask = syscall(SYS_gettid) == recorded_thread && !text_uses_spare;
  for (int i = 0; i < SAMPLED_THREADS; i++) {
    struct sampled_thread *thread = &sampled->threads[i];
    int state = atomic_load(&thread->state);
    if (state == THREAD_FREE || (state == THREAD_ENDED && !thread->cpu_ns)) continue;
    write_thread(thread, state == THREAD_ENDED);
    if (state == THREAD_ENDED) {
      thread->cpu_ns = 0; /* so that nobody writes it while it begins anew */
      atomic_store(&thread->state, THREAD_FREE);
    }
  }
  if (may_ask) refresh_modules();
  uint32_t places = atomic_load(&sample_places);
  places = ready_until(samples_written.places, places < MAX_SAMPLE_PLACES ? places : MAX_SAMPLE_PLACES, place_is_ready);
  uint32_t chains = ready_until(samples_written.chains, (uint32_t)(atomic_load(&sample_chains) >> 32), chain_is_ready);
  uint32_t pairs = ready_until(samples_written.pairs, atomic_load(&sample_pairs), pair_is_ready);
  name_python_places(python_named, places, may_ask);
  if (places > python_named) python_named = places;
  if (places > samples_written.places)
    raw_frame(RAW_SAMPLE_PLACES, sampled->places + samples_written.places,
              (places - samples_written.places) * sizeof(struct place));
  if (chains > samples_written.chains) {
    uint32_t first = samples_written.chains ? sampled->chain_end[samples_written.chains - 1] : 0;
    raw_frame(RAW_SAMPLE_CHAIN_ENDS, sampled->chain_end + samples_written.chains, (chains - samples_written.chains) * sizeof(uint32_t));
    raw_frame(RAW_SAMPLE_CHAINS, sampled->chain_places + first, (sampled->chain_end[chains - 1] - first) * sizeof(uint32_t));
  }
  if (pairs > samples_written.pairs)
    raw_frame(RAW_SAMPLE_PAIRS, sampled->pairs + samples_written.pairs, (pairs - samples_written.pairs) * sizeof(struct sample_pair));
  samples_written.places = places, samples_written.chains = chains, samples_written.pairs = pairs;
  raw_frame(RAW_CONTEXT_CPU, sampled->context_cpu_ns, (chain_count + 1) * sizeof(int64_t));
  const uint32_t unsampled = atomic_load(&unsampled_threads);
  if (described != no_samples_why || unsampled_described != unsampled) describe_sampling();
  described = no_samples_why, unsampled_described = unsampled;
}

static void sampler_forget_written(void) {
  if (!samples_paused) samples_written = (struct samples_written){0};
}
