#include "attached.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct attached attached = {.every = 1, .most = INT64_MAX, .memory_bytes = 256 << 20, .marking_call = NO_CALL, .marking_nth = 1};
static struct petsc_kind petsc_kind = {.real_bytes = 8, .scalar = "real"};
static void copy_text(char *to, size_t room, const char *from) {
  size_t size = strnlen(from, room - 1);
  memcpy(to, from, size);
  to[size] = 0;
}

static int assigned_rank(void) {
  static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *rank = getenv(names[i]);
    if (rank) return atoi(rank);
  }
  return 0;
}

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
static size_t command_line(char **words) {
  if (!command_size) command_size = read_command(command, sizeof command);
  *words = command;
  return command_size;
}

static const char *own_name(void) {
  static char name[80];
  if (!command_size) command_size = read_command(command, sizeof command);
  name_of_program(name, sizeof name, command, command_size);
  return name;
}
