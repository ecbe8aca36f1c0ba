#include "counters.h"

#include "clock.h"

static int64_t count_capacity;
#ifdef __linux__
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static int event_file[2] = {-1, -1};
static volatile struct perf_event_mmap_page *event_page[2];

/* Reads one counter without a system call; returns 0 if that is not possible now. The kernel changes
 * the page's lock whenever it changes the rest, which reveals a torn reading. */
static int read_register(int event, int64_t *value) {
#if defined(__x86_64__)
  volatile struct perf_event_mmap_page *page = event_page[event];
  uint32_t lock;
  if (!page) return 0;
  do {
    lock = page->lock;
    __asm__ volatile("" ::: "memory");
    uint32_t index = page->index, low, high;
    if (!page->cap_user_rdpmc || index == 0) return 0;
    int64_t offset = page->offset;
    int unused = 64 - page->pmc_width;
    __asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(index - 1));
    uint64_t bits = ((uint64_t)high << 32 | low) << unused;
    *value = offset + ((int64_t)bits >> unused);
    __asm__ volatile("" ::: "memory");
  } while (page->lock != lock);
  return 1;
#else
  (void)event, (void)value;
  return 0;
#endif
}

/* Reads both counters by a system call; both are -1 while the kernel does not count them. */
static struct count read_file(void) {
  struct { uint64_t number, value[2]; } group;
  if (read(event_file[0], &group, sizeof group) != (ssize_t)sizeof group)
    return (struct count){-1, -1};
  return (struct count){(int64_t)group.value[0], (int64_t)group.value[1]};
}

static struct count read_counts(void) {
  struct count count;
  if (read_register(0, &count.first) && read_register(1, &count.second)) return count;
  return read_file();
}

static int open_event(int type, int64_t config, int leader) {
  struct perf_event_attr wanted;
  memset(&wanted, 0, sizeof wanted);
  wanted.size = sizeof wanted;
  wanted.type = (uint32_t)type;
  wanted.config = (uint64_t)config;
  wanted.exclude_kernel = wanted.exclude_hv = 1;
  wanted.pinned = leader < 0;
  wanted.read_format = PERF_FORMAT_GROUP;
  return (int)syscall(SYS_perf_event_open, &wanted, 0, -1, leader, 0UL);
}

void hindmost_close_counters(void) {
  for (int event = 1; event >= 0; event--) {
    if (event_page[event]) munmap((void *)event_page[event], (size_t)sysconf(_SC_PAGESIZE));
    if (event_file[event] >= 0) close(event_file[event]);
    event_page[event] = 0;
    event_file[event] = -1;
  }
}

/* Opens two events by type and number. Returns 0 or the system's error number. */
int hindmost_open_counters(int first_type, int64_t first, int second_type, int64_t second) {
  hindmost_close_counters();
  event_file[0] = open_event(first_type, first, -1);
  if (event_file[0] >= 0) event_file[1] = open_event(second_type, second, event_file[0]);
  if (event_file[1] < 0) {
    int error = errno;
    hindmost_close_counters();
    return error;
  }
  for (int event = 0; event < 2; event++) {
    void *page =
        mmap(0, (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, event_file[event], 0);
    event_page[event] = page == MAP_FAILED ? 0 : page;
  }
  return 0;
}

/* Whether both can be read without a system call and agree with the system call. */
int hindmost_counters_are_quick(void) {
  struct count before = read_file(), quick;
  if (!read_register(0, &quick.first) || !read_register(1, &quick.second)) return 0;
  struct count after = read_file();
  return before.first >= 0 && before.first <= quick.first && quick.first <= after.first &&
         before.second <= quick.second && quick.second <= after.second;
}

#else
static struct count read_counts(void) { return (struct count){-1, -1}; }
void hindmost_close_counters(void) {}
int hindmost_open_counters(int first_type, int64_t first, int second_type, int64_t second) {
  (void)first_type, (void)first, (void)second_type, (void)second;
  return 38; /* ENOSYS */
}

int hindmost_counters_are_quick(void) { return 0; }
#endif

static void count_into(struct count *memory, int64_t capacity) {
  counts = memory;
  count_capacity = memory ? capacity : 0;
  counting = count_capacity > 0;
}

static int64_t count_rows(void) { return marks_seen < count_capacity ? marks_seen : count_capacity; }

static void count_mark(void) {
  int64_t at = marks_seen++;
  if (at < count_capacity) counts[at] = read_counts();
}

/* Mean cost of one reading of both counters, in nanoseconds. */
double hindmost_reading_cost_ns(int64_t readings) {
  int64_t begin = now(), sum = 0;
  for (int64_t i = 0; i < readings; i++) sum += read_counts().first;
  (void)*(volatile int64_t *)&sum;
  return (double)(now() - begin) / (double)readings;
}
