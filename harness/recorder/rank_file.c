#include "rank_file.h"

#include "activities.h"
#include "attached.h"
#include "contexts.h"
#include "counters.h"
#include "inject.h"
#include "petsc_events.h"
#include "rawfile.h"
#include "recording.h"
#include "ring.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CLOCK_TRIPS 20
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

static void write_program(void) {
  struct text text = {0};
  char host[256] = "", library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int size = 0;
  struct timespec calendar;
  PMPI_Get_library_version(library, &size);
  gethostname(host, sizeof host - 1);
  clock_gettime(CLOCK_REALTIME, &calendar);
  char *command;
  const size_t command_size = command_line(&command);
  text_add(&text, "{\"version\":%d", RAW_VERSION);
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
  text_string(&text, "petsc_version", petsc_kind.version);
  text_string(&text, "scalar", petsc_kind.scalar);
  text_add(&text, ",\"call_names\":[");
  for (int i = 0; i < CALL_COUNT; i++) text_add(&text, "%s\"%s\"", i ? "," : "", hindmost_call_names[i]);
  text_add(&text, "],\"call_classes\":[");
  for (int i = 0; i < CALL_COUNT; i++)
    text_add(&text, "%s\"%s\"", i ? "," : "", hindmost_class_names[hindmost_call_classes[i]]);
  text_add(&text, "]");
  text_number(&text, "cpu", sched_getcpu());
  add_cpuset(&text);
  text_number(&text, "utc_ns", (int64_t)calendar.tv_sec * 1000000000 + calendar.tv_nsec);
  text_string(&text, "mark_call", attached.marking_call == FIND_CALL ? "auto" : attached.marking_call < 0 ? "" : hindmost_call_names[attached.marking_call]);
  text_number(&text, "mark_nth", attached.marking_nth);
  if (attached.has_only) text_string(&text, "only", attached.only);
  text_add(&text, ",\"chooses_solves\":%s", attached.chooses_solves ? "true" : "false");
  if (attached.injected) {
    text_string(&text, "injected", attached.injected);
    text_number(&text, "injection_seed", injection_seed());
  }
  if (attached.keep) text_add(&text, ",\"keep\":%s", attached.keep);
  if (attached.about) text_add(&text, ",\"recording\":%s", attached.about);
  if (attached.origins && attached.rank == 0) text_add(&text, ",\"origins\":%s", attached.origins);
  text_frame(&text, RAW_PROGRAM);
}

static void write_clock(void) {
  struct clock_offset clock;
  int64_t offset, uncertainty;
  hindmost_clock_offset(PMPI_Comm_c2f(attached.own), CLOCK_TRIPS, &offset, &uncertainty, &clock.own_ns);
  clock.root_ns = clock.own_ns + offset;
  clock.round_trip_ns = 2 * uncertainty;
  sigset_t before;
  if (!begin_writing(&before)) return;
  raw_frame(RAW_CLOCK, &clock, sizeof clock);
  end_writing(&before);
}

/* NULL if there is none. Pages that are never touched take no memory. */
static void *new_memory(int64_t count, size_t size) {
  void *memory = mmap(NULL, (size_t)count * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? NULL : memory;
}

/* What is there already is used again. */
static int get_memory(void) {
  attached.capacity = attached.memory_bytes / (int64_t)sizeof(struct record);
  if (attached.capacity < 1 << 6) attached.capacity = 1 << 6;
  if (!norm_memory) norm_memory = new_memory(MAX_NORMS, sizeof *norm_memory);
  if (!text_spare) text_spare = new_memory(SPARE_BYTES, 1);
  if (!attached.activities) attached.activities = new_memory(MAX_NORMS, MAX_ACTIVITIES * sizeof *attached.activities);
  if (attached.counting && !attached.counts) attached.counts = new_memory(MAX_NORMS, sizeof *attached.counts);
  if (attached.room < attached.capacity) {
    if (attached.records) munmap(attached.records, (size_t)attached.room * sizeof *attached.records);
    if (attached.contexts) munmap(attached.contexts, (size_t)attached.room * sizeof *attached.contexts);
    attached.room = attached.capacity;
    attached.records = new_memory(attached.room, sizeof *attached.records);
    attached.contexts = begin_contexts() ? new_memory(attached.room, sizeof *attached.contexts) : NULL;
    const int64_t touched = attached.room < RECORDS_TOUCHED ? attached.room : RECORDS_TOUCHED;
    for (int64_t i = 0; attached.records && i < touched; i++) attached.records[i] = (struct record){0};
  }
  if (!attached.records) attached.room = 0;
  return attached.room && attached.activities && norm_memory && text_spare ? 0 : ENOMEM;
}

static int open_raw(void) {
  MPI_Comm node;
  char path[PATH_MAX + 32];
  int first = attached.rank, place, failed = 0, flags = O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC;
  PMPI_Comm_split_type(attached.own, MPI_COMM_TYPE_SHARED, attached.rank, MPI_INFO_NULL, &node);
  PMPI_Comm_rank(node, &place);
  PMPI_Bcast(&first, 1, MPI_INT, 0, node);
  attached.first_of_node = first;
  snprintf(path, sizeof path, RAW_FILE, attached.folder, first);
  raw.rank = (uint32_t)attached.rank;
  if (place == 0 && (raw.fd = open(path, flags | O_CREAT | O_EXCL, 0666)) < 0) failed = errno;
  PMPI_Bcast(&failed, 1, MPI_INT, 0, node);
  if (place > 0 && !failed && (raw.fd = open(path, flags)) < 0) failed = errno;
  PMPI_Comm_free(&node);
  return failed;
}
