#include "sections.h"

#include "activities.h"
#include "classify.h"
#include "communicators.h"
#include "counters.h"
#include "inject.h"
#include "peers.h"
#include "petsc_events.h"
#include "rawfile.h"
#include "recording.h"
#include "sample_frames.h"
#include "sampler.h"
#include "session.h"
#include "thread_calls.h"

#include <stdlib.h>
#include <string.h>
static double load_of_host(void) {
  if (text_uses_spare) return attached.load; /* in a signal's handler */
  int64_t t = now();
  if (!attached.load_ns || t - attached.load_ns > 1000000000) {
    if (getloadavg(&attached.load, 1) != 1) attached.load = 0.0;
    attached.load_ns = t;
  }
  return attached.load;
}

static void count_calls(void) {
  for (int i = 0; i < CALL_COUNT; i++) {
    calls_passed[i] += state->call_count[i];
    state->call_count[i] = 0;
  }
}

static void attach_arm(MPI_Comm comm, int size) {
  sigset_t before;
  if (!begin_writing(&before)) return;
  record_contexts = attached.contexts;
  records = attached.records; /* the program may use hindmost itself, and its memory be gone */
  state->capacity = attached.capacity;
  count_into(attached.counting ? attached.counts : NULL, MAX_NORMS);
  note_activities_into(attached.activities, MAX_NORMS, attached.activity_count);
  count_calls();
  clear_session();
  recorded_comm = comm;
  recorded_size = size;
  norms_seen = 0;
  prepare_clock();
  note_begin();
  if (attached.about)
    begin_injection(state->begin_ns);
  else
    resume_injection();
  begin_activities();
  sampler_forget_call();
  if (session_now() != ENDED) start_recording();
  end_writing(&before);
}

static void begin_section(struct text *text, const char *what, double load_before) {
  text_add(text, "{\"what\":\"%s\"", what);
  text_real(text, "load_before", load_before);
  text_real(text, "load_after", load_of_host());
}

static void add_module(struct text *text, uint32_t number) {
  text_string(text, "path", tables->modules[number].path);
  text_string(text, "identity", tables->modules[number].identity);
}

static void add_code(struct text *text, uint32_t number) {
  text_string(text, "file", tables->codes[number].file);
  text_string(text, "function", tables->codes[number].function);
  text_number(text, "first_line", tables->codes[number].first_line);
}

/* The entries from *written on, as a frame. */
static void write_names(enum raw_kind kind, uint32_t *written, uint32_t count, void (*add)(struct text *, uint32_t)) {
  struct text text = {0};
  if (*written == count) return;
  text_add(&text, "{\"first\":%u,\"entries\":[", *written);
  for (uint32_t i = *written; i < count; i++) {
    text_add(&text, i == *written ? "{" : ",{");
    add(&text, i);
    text_add(&text, "}");
  }
  text_add(&text, "]");
  text_frame(&text, kind);
  *written = count;
}

static void forget_written(void) {
  memset(&written, 0, sizeof written);
  sampler_forget_written();
}

/* Other threads may add some meanwhile: chains are counted first, since what they name is there before them. */
static void write_contexts(void) {
  if (!tables) return;
  const uint32_t chains = __atomic_load_n(&chain_count, __ATOMIC_ACQUIRE), places = __atomic_load_n(&place_count, __ATOMIC_ACQUIRE);
  write_names(RAW_MODULES, &written.modules, __atomic_load_n(&module_count, __ATOMIC_ACQUIRE), add_module);
  write_names(RAW_CODES, &written.codes, __atomic_load_n(&code_count, __ATOMIC_ACQUIRE), add_code);
  if (written.places < places)
    raw_frame(RAW_PLACES, tables->places + written.places, (places - written.places) * sizeof(struct place));
  written.places = places;
  if (written.chains < chains) { /* where each ends among all places of chains, then these places */
    uint32_t first = tables->chain_start[written.chains], last = tables->chain_start[chains];
    raw_frame(RAW_CHAIN_ENDS, tables->chain_start + written.chains + 1, (chains - written.chains) * sizeof(uint32_t));
    raw_frame(RAW_CHAINS, tables->chain_places + first, (last - first) * sizeof(uint32_t));
  }
  written.chains = chains;
}

static struct extent whole_extent(int64_t end_ns) {
  return (struct extent){__atomic_load_n(&state->seen, __ATOMIC_ACQUIRE), end_ns};
}

static int64_t kept_of(struct extent to) { return to.seen < state->capacity ? to.seen : state->capacity; }

/* The calls of other threads in this session, as far as they have returned. */
static void add_threads(struct text *text) {
  const int64_t session = sessions_begun;
  int written = 0;
  text_add(text, ",\"threads\":[");
  for (int i = 0; i < thread_entries(); i++) {
    const struct thread_calls *thread = &thread_calls[i];
    if (__atomic_load_n(&thread->session, __ATOMIC_ACQUIRE) != session) continue;
    text_add(text, written++ ? ",{" : "{");
    text_number(text, "thread", __atomic_load_n(&thread->thread, __ATOMIC_RELAXED));
    text_number(text, "calls", __atomic_load_n(&thread->calls, __ATOMIC_RELAXED));
    text_add(text, ",\"phase_ns\":[");
    for (int phase = 0; phase < PHASES; phase++)
      text_add(text, phase ? ",%lld" : "%lld", (long long)__atomic_load_n(&thread->phase_ns[phase], __ATOMIC_RELAXED));
    text_add(text, "],\"sites\":[");
    const int64_t sites = __atomic_load_n(&thread->sites, __ATOMIC_ACQUIRE);
    for (int64_t site = 0; site < sites; site++) {
      text_add(text, site ? ",{" : "{");
      text_number(text, "context", thread->site[site].context);
      text_number(text, "call", thread->site[site].call);
      text_number(text, "count", __atomic_load_n(&thread->site[site].count, __ATOMIC_RELAXED));
      text_number(text, "ns", __atomic_load_n(&thread->site[site].ns, __ATOMIC_RELAXED));
      text_add(text, "}");
    }
    text_add(text, "]}");
  }
  text_add(text, "]");
}

static void add_counts(struct text *text, struct extent to, int64_t switches, int64_t core_wait_ns, int64_t threads, int64_t others_cpu_ns,
                       int complete) {
  int64_t polls = 0;
  text_number(text, "begin_ns", state->begin_ns);
  text_number(text, "end_ns", to.end_ns);
  text_number(text, "begin_utc_ns", state->begin_utc_ns);
  text_number(text, "seen", to.seen);
  text_number(text, "kept", kept_of(to));
  text_number(text, "switches", switches);
  text_number(text, "core_wait_ns", core_wait_ns);
  text_number(text, "thread_count", threads);
  text_number(text, "others_cpu_ns", others_cpu_ns);
  text_number(text, "foreign_calls", __atomic_load_n(&state->foreign_calls, __ATOMIC_RELAXED));
  text_number(text, "foreign_threads", __atomic_load_n(&state->foreign_threads, __ATOMIC_RELAXED));
  add_threads(text);
  text_add(text, ",\"other_ns\":{");
  for (int i = 0; i < CALL_COUNT; i++) {
    int32_t class = hindmost_call_classes[i];
    if (class == FLAG_TEST || class == IPROBE || class == IMPROBE || class == GET_STATUS || class == GET_STATUS_ALL || class == TEST_ONE || class == TEST_ALL ||
        class == TEST_ANY || class == TEST_SOME)
      polls += state->call_count[i];
    if (state->other_ns[i] > 0) text_number(text, hindmost_call_names[i], state->other_ns[i]);
  }
  text_add(text, "}");
  text_number(text, "polls", polls);
  text_number(text, "between_polls_ns", state->between_polls_ns);
  text_add(text, ",\"complete\":%s", complete ? "true" : "false");
}

static void write_records(int64_t from, int64_t to) {
  raw_frame(RAW_PART_RECORDS, records + from, (size_t)(to - from) * sizeof(struct record));
  if (record_contexts) raw_frame(RAW_PART_CONTEXTS, record_contexts + from, (size_t)(to - from) * sizeof(uint32_t));
}

static int may_ask_mpi = 1; /* not in a call of the program, whose handler may have come, nor in another thread */
static void end_section(struct text *text, MPI_Comm communicator, int64_t written, struct extent to, int complete) {
  const int64_t most = RAW_MAX_BYTES / (int64_t)sizeof(struct record);
  for (int i = 0; i < CALL_COUNT; i++) attached.calls += state->call_count[i];
  const int64_t kept = kept_of(to);
  add_counts(text, to, state->switches, state->core_wait_ns, state->threads, state->others_cpu_ns, complete);
  count_calls();
  for (; kept - written > most; written += most) write_records(written, written + most);
  text_frame(text, RAW_SECTION);
  sampler_write();
  write_contexts();
  size_t left = (size_t)(kept - written);
  raw_frame(RAW_RECORDS, records + written, left * sizeof(struct record));
  if (record_contexts) raw_frame(RAW_CONTEXTS, record_contexts + written, left * sizeof(uint32_t));
  if (activity_rows())
    raw_frame(RAW_ACTIVITIES, activity_memory, (size_t)(activity_rows() * activities) * sizeof *activity_memory);
  if (count_rows()) raw_frame(RAW_COUNTS, counts, (size_t)count_rows() * sizeof *counts);
  if (norms_seen) raw_frame(RAW_NORMS, norm_memory, (size_t)(norms_seen < MAX_NORMS ? norms_seen : MAX_NORMS) * sizeof(double));
  static int32_t ranks[PEERS];
  static int64_t messages[PEERS], bytes[PEERS];
  static struct edge edges[PEERS];
  int count = complete && may_ask_mpi ? hindmost_peers(PMPI_Comm_c2f(communicator), PEERS, ranks, messages, bytes) : -1;
  for (int i = 0; i < count; i++) {
    edges[i].peer = ranks[i];
    edges[i].messages = messages[i];
    edges[i].bytes = bytes[i];
  }
  if (count >= 0) raw_frame(RAW_EDGES, edges, (size_t)count * sizeof edges[0]);
  int same = MPI_UNEQUAL, size = 0;
  if (count < 0 || PMPI_Comm_compare(communicator, MPI_COMM_WORLD, &same) || same == MPI_IDENT || same == MPI_CONGRUENT) return;
  if (PMPI_Comm_size(communicator, &size)) return;
  int32_t *world = malloc((size_t)size * sizeof *world);
  if (!world) return;
  hindmost_world_ranks(PMPI_Comm_c2f(communicator), size, world);
  raw_frame(RAW_WORLD_RANKS, world, (size_t)size * sizeof *world);
  free(world);
}
