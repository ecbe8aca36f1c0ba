/* The raw file of the attached ranks of a node, from MPI_Init on, and the sections in it. Included once, by
 * attached.h. */
/* ---- the raw file of this node ---- */

static void name_of_program(char *name, size_t room, char words[], size_t size) {
  const char *chosen = words, *slash;
  if ((slash = strrchr(words, '/'))) chosen = slash + 1;
  if (!strncmp(chosen, "python", 6)) { /* the script, or the module after -m */
    for (char *word = words + strlen(words) + 1; word < words + size && strcmp(word, "-c"); word += strlen(word) + 1) {
      if (*word == '-') continue;
      chosen = (slash = strrchr(word, '/')) ? slash + 1 : word;
      break;
    }
  }
  copy_text(name, room < 64 ? room : 64, *chosen ? chosen : "program");
  char *dot = strrchr(name, '.');
  if (dot && dot > name && !strcmp(dot, ".py")) *dot = 0;
  for (char *at = name; *at; at++)
    if (!((*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || strchr("._-", *at)) ||
        (at == name && (*at == '.' || *at == '-')))
      *at = '_';
}

static size_t read_command(char *words, size_t room) {
  int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  ssize_t size = fd < 0 ? 0 : read(fd, words, room - 1);
  if (fd >= 0) close(fd);
  if (size < 0) size = 0;
  words[size] = 0;
  return (size_t)size;
}

static char command[1 << 16];
static size_t command_size;

/* What people call the program, also where an interpreter runs it. */
static const char *own_name(void) {
  static char name[80];
  if (!command_size) command_size = read_command(command, sizeof command);
  name_of_program(name, sizeof name, command, command_size);
  return name;
}

/* On rank 0: a new folder with the first free number. */
static int make_folder(void) {
  const char *name = own_name();
  for (int number = 0; number < 1000000; number++) {
    int size = snprintf(attached.folder, sizeof attached.folder, "%s/%s-%d.raw", attached.out, name, number);
    if (size < 0 || size >= (int)sizeof attached.folder - 32) return ENAMETOOLONG;
    if (!mkdir(attached.folder, 0777)) return 0;
    if (errno != EEXIST) return errno;
  }
  return EEXIST;
}

/* The cores that this process may use, as in "0-3,8". */
static void add_cpuset(struct text *text) {
  cpu_set_t cores;
  char list[4096] = "";
  size_t size = 0;
  CPU_ZERO(&cores);
  sched_getaffinity(0, sizeof cores, &cores);
  for (int first = 0; first < CPU_SETSIZE && size < sizeof list - 32; first++) {
    if (!CPU_ISSET(first, &cores)) continue;
    int last = first;
    while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &cores)) last++;
    size += (size_t)sprintf(list + size, last > first ? "%s%d-%d" : "%s%d", size ? "," : "", first, last);
    first = last;
  }
  text_string(text, "cpuset", list);
}

/* The frame that says what runs; written again when PETSc has begun: the last one holds. */
static void write_program(void) {
  struct text text = {0};
  char host[256] = "", library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int size = 0;
  struct timespec calendar;
  PMPI_Get_library_version(library, &size);
  gethostname(host, sizeof host - 1);
  clock_gettime(CLOCK_REALTIME, &calendar);
  if (!command_size) command_size = read_command(command, sizeof command);
  text_add(&text, "{\"version\":3");
  text_number(&text, "rank", attached.rank);
  text_number(&text, "size", attached.size);
  text_number(&text, "pid", attached.pid);
  text_string(&text, "host", host);
  text_add(&text, ",\"program\":[");
  for (char *word = command; word < command + command_size; word += strlen(word) + 1) {
    text_add(&text, word == command ? "" : ",");
    text_quoted(&text, word);
  }
  text_add(&text, "]");
  text_string(&text, "mpi_library", library);
  text_string(&text, "petsc_version", attached.petsc_version);
  text_string(&text, "scalar", attached.scalar);
  text_add(&text, ",\"call_names\":[");
  for (int i = 0; i < CALL_COUNT; i++) text_add(&text, "%s\"%s\"", i ? "," : "", hindmost_call_names[i]);
  text_add(&text, "],\"call_classes\":[");
  for (int i = 0; i < CALL_COUNT; i++)
    text_add(&text, "%s\"%s\"", i ? "," : "", hindmost_class_names[hindmost_call_classes[i]]);
  text_add(&text, "]");
  text_number(&text, "cpu", sched_getcpu());
  add_cpuset(&text);
  text_number(&text, "utc_ns", (int64_t)calendar.tv_sec * 1000000000 + calendar.tv_nsec);
  text_string(&text, "mark_call", marking_call == FIND_CALL ? "auto" : marking_call < 0 ? "" : hindmost_call_names[marking_call]);
  text_number(&text, "mark_nth", marking_nth);
  if (attached.has_only) text_string(&text, "only", attached.only);
  text_add(&text, ",\"chooses_solves\":%s", attached.chooses_solves ? "true" : "false");
  if (attached.injected) {
    text_string(&text, "injected", attached.injected);
    text_number(&text, "injection_seed", wanted.seed);
  }
  if (attached.origins && attached.rank == 0) text_add(&text, ",\"origins\":%s", attached.origins);
  text_frame(&text, RAW_PROGRAM);
}

static void write_clock(void) {
  struct {
    int64_t own_ns, root_ns, round_trip_ns;
  } clock;
  int64_t offset, uncertainty;
  hindmost_clock_offset(PMPI_Comm_c2f(attached.own), CLOCK_TRIPS, &offset, &uncertainty, &clock.own_ns);
  clock.root_ns = clock.own_ns + offset;
  clock.round_trip_ns = 2 * uncertainty;
  sigset_t before;
  if (!begin_writing(&before)) return;
  raw_frame(RAW_CLOCK, &clock, sizeof clock);
  end_writing(&before);
}

static void attach_arm(MPI_Comm comm, int size);
static void open_loop(void);
static void catch_signals(void);
static void note_exits(void);
static void begin_pairs(void);

static int get_memory(void) {
  int64_t capacity = attached.memory_bytes / (int64_t)sizeof(struct record);
  if (capacity < 1 << 12) capacity = 1 << 12;
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void *memory = mmap(NULL, (size_t)capacity * sizeof(struct record), PROT_READ | PROT_WRITE, flags, -1, 0);
  void *norms = mmap(NULL, MOST_NORMS * sizeof(double), PROT_READ | PROT_WRITE, flags, -1, 0);
  void *contexts = mmap(NULL, (size_t)capacity * sizeof(uint32_t), PROT_READ | PROT_WRITE, flags, -1, 0);
  void *spare = mmap(NULL, SPARE_BYTES, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (memory == MAP_FAILED || norms == MAP_FAILED || contexts == MAP_FAILED || spare == MAP_FAILED) return ENOMEM;
  text_spare = spare;
  attached.contexts = begin_contexts() ? contexts : NULL;
  norm_memory = norms;
  hindmost_memory_for(memory, capacity, capacity < RECORDS_TOUCHED ? capacity : RECORDS_TOUCHED);
  attached.records = memory;
  attached.capacity = capacity;
  return 0;
}

/* Has the program ended when its time is up, by a signal as its launcher would send one. */
static void end_in_time(void) {
  struct sigevent by_signal = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGTERM};
  struct itimerspec at = {.it_value = {attached.most_ns / 1000000000, attached.most_ns % 1000000000}};
  timer_t timer;
  if (attached.most_ns > 0 && !timer_create(CLOCK_MONOTONIC, &by_signal, &timer)) timer_settime(timer, 0, &at, NULL);
}

/* Opens the file of this node, which its first rank makes; collective. */
static int open_raw(void) {
  MPI_Comm node;
  char path[PATH_MAX + 32];
  int first = attached.rank, place, failed = 0, flags = O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC;
  PMPI_Comm_split_type(attached.own, MPI_COMM_TYPE_SHARED, attached.rank, MPI_INFO_NULL, &node);
  PMPI_Comm_rank(node, &place);
  PMPI_Bcast(&first, 1, MPI_INT, 0, node);
  snprintf(path, sizeof path, "%s/node-%07d.raw", attached.folder, first);
  raw.rank = (uint32_t)attached.rank;
  if (place == 0 && (raw.fd = open(path, flags | O_CREAT | O_EXCL, 0666)) < 0) failed = errno;
  PMPI_Bcast(&failed, 1, MPI_INT, 0, node);
  if (place > 0 && !failed && (raw.fd = open(path, flags)) < 0) failed = errno;
  PMPI_Comm_free(&node);
  return failed;
}

/* After MPI_Init: a folder from rank 0, a file in it from each node. Where one rank fails, none records. */
static void attach_begin(void) {
  if (!attached.on || attached.begun || getpid() != attached.pid) return;
  attached.begun = 1;
  leave_environment();
  refuse_another_mpi();
  refuse_linked_mpi();
  make_crc_tables();
  PMPI_Comm_rank(MPI_COMM_WORLD, &attached.rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &attached.size);
  if (!all_are_attached()) {
    attached.on = 0;
    return;
  }
  PMPI_Comm_dup(MPI_COMM_WORLD, &attached.own);
  int failed = attached.rank == 0 ? make_folder() : 0, any = 0;
  PMPI_Bcast(&failed, 1, MPI_INT, 0, attached.own);
  PMPI_Bcast(attached.folder, sizeof attached.folder, MPI_CHAR, 0, attached.own);
  if (!failed) {
    failed = open_raw();
    if (!failed) failed = get_memory();
  }
  PMPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, attached.own);
  if (any) {
    if (attached.rank == 0)
      refuse("Nothing was recorded of %s: %s: %s. Choose another --out.", own_name(),
             *attached.folder ? attached.folder : attached.out, strerror(any));
    attached.on = 0;
    raw_close();
    return;
  }
  tell("started\t%d\t%d\t%s", attached.rank, attached.size, attached.folder);
  tell_of_tool_behind();
  write_program();
  write_clock();
  peers_in_solves = 1;
  inject_as_wanted(attached.rank);
  catch_signals();
  note_exits();
  end_in_time();
  begin_pairs();
  sampler_begin(attached.own);
  if (marking_call == FIND_CALL) open_loop();
  if (marking_call < 0) return;
  attach_arm(MPI_COMM_WORLD, attached.size); /* to see the first call at which to mark */
  state->capacity = 0;
}

/* ---- sections: solves and loops ---- */

static double load_of_host(void) {
  if (text_uses_spare) return attached.load; /* in a signal's handler */
  int64_t t = now();
  if (!attached.load_ns || t - attached.load_ns > 1000000000) {
    if (getloadavg(&attached.load, 1) != 1) attached.load = 0.0;
    attached.load_ns = t;
  }
  return attached.load;
}

/* Adds what was counted since the recorder was armed. Not later: the program may use hindmost itself, and
 * the memory of the state be gone. */
static void count_calls(void) {
  for (int i = 0; i < CALL_COUNT; i++) {
    calls_passed[i] += state->call_count[i];
    state->call_count[i] = 0;
  }
}

/* Starts to record on this thread, without meeting the other ranks. Not while another thread writes what was
 * recorded before, whose memory is used again, nor behind the end. */
static void attach_arm(MPI_Comm comm, int size) {
  sigset_t before;
  if (!begin_writing(&before)) return;
  record_contexts = attached.contexts;
  records = attached.records; /* the program may use hindmost itself, and its memory be gone */
  state->capacity = attached.capacity;
  hindmost_count_memory(NULL, 0);
  hindmost_activity_memory(NULL, 0, 0);
  count_calls();
  clear_stretch();
  recorded_comm = comm;
  recorded_size = size;
  norms_seen = 0;
  prepare_clock();
  resume_injection();
  begin_events();
  note_begin();
  sampler_forget_call();
  if (!attached.ended) start_recording();
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

/* What of the contexts is in the file. */
static struct {
  uint32_t modules, codes, places, chains;
} written;

/* Writes what is new among the names, places and chains to which contexts of records refer. */
static void write_contexts(void) {
  if (!tables) return;
  write_names(RAW_MODULES, &written.modules, module_count, add_module);
  write_names(RAW_CODES, &written.codes, code_count, add_code);
  if (written.places < place_count)
    raw_frame(RAW_PLACES, tables->places + written.places, (place_count - written.places) * sizeof(struct place));
  written.places = place_count;
  if (written.chains < chain_count) { /* where each ends among all places of chains, then these places */
    uint32_t first = tables->chain_start[written.chains], last = tables->chain_start[chain_count];
    raw_frame(RAW_CHAIN_ENDS, tables->chain_start + written.chains + 1, (chain_count - written.chains) * sizeof(uint32_t));
    raw_frame(RAW_CHAINS, tables->chain_places + first, (last - first) * sizeof(uint32_t));
  }
  written.chains = chain_count;
}

/* How far a section goes: to a record, and to a time. */
struct extent {
  int64_t seen, end_ns;
};

/* As far as the recorder has counted. */
static struct extent whole_extent(int64_t end_ns) {
  return (struct extent){__atomic_load_n(&state->seen, __ATOMIC_ACQUIRE), end_ns};
}

static int64_t kept_of(struct extent to) { return to.seen < state->capacity ? to.seen : state->capacity; }

static void add_counts(struct text *text, struct extent to, int64_t switches, int64_t core_wait_ns, int complete) {
  int64_t polls = 0;
  text_number(text, "begin_ns", state->begin_ns);
  text_number(text, "end_ns", to.end_ns);
  text_number(text, "begin_utc_ns", state->begin_utc_ns);
  text_number(text, "seen", to.seen);
  text_number(text, "kept", kept_of(to));
  text_number(text, "switches", switches);
  text_number(text, "core_wait_ns", core_wait_ns);
  text_number(text, "foreign_calls", state->foreign_calls);
  text_number(text, "foreign_threads", state->foreign_threads);
  text_add(text, ",\"other_ns\":{");
  for (int i = 0; i < CALL_COUNT; i++) {
    int32_t class = hindmost_call_classes[i];
    if (class == LOOKS || class == LOOKS_AT || class == LOOKS_FOR || class == ASKS || class == TESTS_ONE || class == TESTS_ALL ||
        class == TESTS_ANY || class == TESTS_SOME)
      polls += state->call_count[i];
    if (state->other_ns[i] > 0) text_number(text, hindmost_call_names[i], state->other_ns[i]);
  }
  text_add(text, "}");
  text_number(text, "polls", polls);
  text_number(text, "between_polls_ns", state->between_polls_ns);
  text_add(text, ",\"complete\":%s", complete ? "true" : "false");
}

/* Writes records, and their contexts, ahead of what is said of their section. */
static void write_records(int64_t from, int64_t to) {
  raw_frame(RAW_PART_RECORDS, records + from, (size_t)(to - from) * sizeof(struct record));
  if (record_contexts) raw_frame(RAW_PART_CONTEXTS, record_contexts + from, (size_t)(to - from) * sizeof(uint32_t));
}

static int may_ask_mpi = 1; /* not in a call of the program, whose handler may have come, nor in another thread */

/* The frames of the section; `written`: records of it that are in the file already. */
static void end_section(struct text *text, MPI_Comm communicator, int64_t written, struct extent to, int complete) {
  const int64_t most = RAW_MOST_BYTES / (int64_t)sizeof(struct record);
  for (int i = 0; i < CALL_COUNT; i++) attached.calls += state->call_count[i];
  const int64_t kept = kept_of(to);
  add_counts(text, to, state->switches, state->core_wait_ns, complete);
  count_calls();
  for (; kept - written > most; written += most) write_records(written, written + most);
  text_frame(text, RAW_SECTION);
  sampler_write();
  write_contexts();
  size_t left = (size_t)(kept - written);
  raw_frame(RAW_RECORDS, records + written, left * sizeof(struct record));
  if (record_contexts) raw_frame(RAW_CONTEXTS, record_contexts + written, left * sizeof(uint32_t));
  if (norms_seen) raw_frame(RAW_NORMS, norm_memory, (size_t)(norms_seen < MOST_NORMS ? norms_seen : MOST_NORMS) * sizeof(double));
  static int32_t ranks[PEERS];
  static int64_t messages[PEERS], bytes[PEERS];
  static struct {
    int32_t peer, pad;
    int64_t messages, bytes;
  } edges[PEERS];
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
