#include "status.h"

#include "attached.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SUFFIX ".settings"
enum { SAID_SECONDS = 60 };
__attribute__((format(printf, 1, 2))) static void report_status(const char *format, ...) {
  char line[2 * PATH_MAX];
  va_list words;
  if (!*attached.status || !attached.reports) return;
  va_start(words, format);
  int size = vsnprintf(line, sizeof line - 1, format, words);
  va_end(words);
  if (size < 0 || size >= (int)sizeof line - 1) return;
  for (int i = 0; i < size; i++)
    if (line[i] == '\n') line[i] = ' ';
  line[size] = '\n';
  int fd = open(attached.status, O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd < 0) return;
  while (write(fd, line, (size_t)size + 1) < 0 && errno == EINTR);
  close(fd);
}

static void find_status_file(void) {
  const char *status = getenv("HINDMOST_STATUS");
  if (status) copy_text(attached.status, sizeof attached.status, status);
  attached.reports = !assigned_rank();
}

static void name_job(char *job, size_t room) {
  static const char *const names[] = {"PMIX_NAMESPACE", "PMI_JOBID", "SLURM_JOB_ID", "SLURM_STEP_ID"};
  size_t size = 0;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *value = getenv(names[i]);
    for (const char *at = value ? value : ""; *at && size < room - 2; at++) job[size++] = isgraph((unsigned char)*at) ? *at : '_';
    job[size++] = ';';
    if (size > room - 2) break;
  }
  job[size] = 0;
}

__attribute__((format(printf, 1, 2))) static int write_on_board(const char *format, ...) {
  char line[1024];
  va_list words;
  va_start(words, format);
  int size = vsnprintf(line, sizeof line, format, words);
  va_end(words);
  int fd = open(attached.board, O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd < 0) return errno;
  ssize_t written;
  do written = write(fd, line, (size_t)size);
  while (written < 0 && errno == EINTR);
  int failure = written == size ? 0 : written < 0 ? errno : ENOSPC;
  close(fd);
  return failure;
}

/* What stands on the board; it is opened anew, so that a network's file system shows what others wrote. */
static void read_board(void (*take)(char *line, void *to), void *to) {
  char *line = NULL;
  size_t room = 0;
  FILE *file = fopen(attached.board, "re");
  if (!file) return;
  while (getline(&line, &room, file) > 0) {
    line[strcspn(line, "\n")] = 0;
    take(line, to);
  }
  free(line);
  fclose(file);
}

/* ---- one voice ---- */

struct voice {
  char job[256], process[320];
  long now;
  int decided, is_mine;
};

static void take_voice(char *line, void *to) {
  struct voice *voice = to;
  char job[256], process[320];
  long at;
  if (voice->decided || sscanf(line, "said %255s %ld %319s", job, &at, process) != 3) return;
  if (strcmp(job, voice->job) || voice->now - at > SAID_SECONDS) return;
  voice->decided = 1;
  voice->is_mine = !strcmp(process, voice->process);
}

/* Whether this rank is the one to speak: the first, or without it the one that wants to say something first. Where no
 * rank 0 has made the board, the others have one of their own. */
static int has_the_word(void) {
  struct voice voice = {.now = (long)time(NULL)};
  char host[256] = "host";
  if (!assigned_rank()) return 1;
  size_t size = strlen(attached.board);
  if (access(attached.board, F_OK) && size > sizeof SUFFIX && size + 8 < sizeof attached.board) {
    strcpy(attached.board + size - strlen(SUFFIX), "-said" SUFFIX);
    int fd = open(attached.board, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    gethostname(host, sizeof host - 1);
    if (fd >= 0) dprintf(fd, "owner %s %d 0\n", host, (int)getpid()); /* hindmost removes it later */
    close(fd);
  }
  name_job(voice.job, sizeof voice.job);
  gethostname(host, sizeof host - 1);
  snprintf(voice.process, sizeof voice.process, "%s:%d", host, (int)getpid());
  write_on_board("said %s %ld %s\n", voice.job, voice.now, voice.process);
  read_board(take_voice, &voice);
  return !voice.decided || voice.is_mine;
}

__attribute__((format(printf, 1, 2))) static void refuse(const char *format, ...) {
  char line[3 * PATH_MAX];
  va_list words;
  if (!has_the_word()) return;
  va_start(words, format);
  vsnprintf(line, sizeof line, format, words);
  va_end(words);
  attached.reports = 1;
  report_status("refused\t%d", (int)getpid());
  dprintf(STDERR_FILENO, "hindmost: %s\n", line);
}
