#include "settings.h"

#include "activities.h"
#include "attached.h"
#include "inject.h"

#include <stdlib.h>
#include <string.h>
static struct watched *watch_name(const char *name, int solver) {
  if (attached.watched_count == MAX_WATCHED) return NULL;
  struct watched *w = &attached.watched[attached.watched_count++];
  *w = (struct watched){.solver = (int8_t)solver, .id = -1};
  copy_text(w->name, sizeof w->name, name);
  return w;
}

static int call_named(const char *name) {
  for (int i = 0; i < CALL_COUNT; i++)
    if (!strcmp(name, hindmost_call_names[i])) return i;
  return -1;
}

/* The number of an activity and an event of it; number 0 is that of all other work. */
static void read_activity(char *value) {
  char *event;
  const long number = strtol(value, &event, 10);
  struct watched *w = number > 0 && number < MAX_ACTIVITIES && *event == ' ' ? watch_name(event + 1, -1) : NULL;
  if (!w) return;
  w->activity = (int8_t)number;
  if (attached.activity_count <= number) attached.activity_count = (int)number + 1;
}

/* Names of events may end in blanks, so a value goes to the end of its line. */
static void read_setting(const char *key, char *value) {
  struct watched *w;
  if (!strcmp(key, "out")) copy_text(attached.out, sizeof attached.out, value);
  else if (!strcmp(key, "folder")) copy_text(attached.folder, sizeof attached.folder, value);
  else if (!strcmp(key, "about")) attached.about = strdup(value);
  else if (!strcmp(key, "pages")) attached.pages = strdup(value);
  else if (!strcmp(key, "keep")) attached.keep = strdup(value);
  else if (!strcmp(key, "board")) copy_text(attached.board, sizeof attached.board, value);
  else if (!strcmp(key, "only")) copy_text(attached.only, sizeof attached.only, value), attached.has_only = 1;
  else if (!strcmp(key, "every")) attached.every = strtoll(value, NULL, 10);
  else if (!strcmp(key, "most")) attached.most = strtoll(value, NULL, 10);
  else if (!strcmp(key, "most_ns")) attached.max_ns = strtoll(value, NULL, 10);
  else if (!strcmp(key, "memory")) attached.memory_bytes = strtoll(value, NULL, 10);
  else if (!strcmp(key, "budget")) attached.budget = strtoll(value, NULL, 10) / (int64_t)(sizeof(struct record) + sizeof(uint32_t));
  else if (!strcmp(key, "together")) attached.together = strtoll(value, NULL, 10);
  else if (!strcmp(key, "iterate")) attached.marking_call = strcmp(value, "auto") ? call_named(value) : FIND_CALL;
  else if (!strcmp(key, "unless_marked")) attached.unless_marked = 1, attached.marking_call = FIND_CALL;
  else if (!strcmp(key, "nth")) attached.marking_nth = strtoll(value, NULL, 10);
  else if (!strcmp(key, "inject")) read_injection(value);
  else if (!strcmp(key, "inject_ranks")) read_injected_ranks(value);
  else if (!strcmp(key, "detour")) read_injected_detour(value);
  else if (!strcmp(key, "injected")) attached.injected = strdup(value);
  else if (!strcmp(key, "sample")) attached.samples = 1, attached.samples_a_second = strtoll(value, NULL, 10);
  else if (!strcmp(key, "count")) attached.counting = 1;
  else if (!strcmp(key, "origins")) attached.origins = strdup(value);
  else if (!strcmp(key, "halo") && (w = watch_name(value, -1))) w->is_halo = 1;
  else if (!strcmp(key, "inner") && (w = watch_name(value, -1))) w->is_inner = 1;
  else if (!strcmp(key, "activity")) read_activity(value);
  else if (!strcmp(key, "solve") && (w = watch_name(value, -1))) w->is_solve = 1, w->level = SOLVE_LEVEL;
  else if (!strcmp(key, "snes") && (w = watch_name(value, -1))) w->level = SNES_LEVEL;
  else if (!strcmp(key, "ts") && (w = watch_name(value, -1))) w->level = TS_LEVEL;
  else if (!strcmp(key, "solver") && attached.solver_count < MAX_SOLVERS)
    copy_text(attached.solvers[attached.solver_count++], sizeof attached.solvers[0], value);
  else if ((!strcmp(key, "begin") || !strcmp(key, "end")) && attached.solver_count && value[0] && value[1] == ' ' &&
           (w = watch_name(value + 2, attached.solver_count - 1)))
    *(*key == 'b' ? &w->begin_mark : &w->end_mark) = value[0];
}

static void take_settings(FILE *file) {
  char *line = NULL;
  size_t room = 0;
  while (getline(&line, &room, file) > 0) {
    line[strcspn(line, "\n")] = 0;
    char *blank = strchr(line, ' ');
    if (!blank) continue;
    *blank = 0;
    read_setting(line, blank + 1);
  }
  free(line);
  fclose(file);
  if (attached.every < 1) attached.every = 1;
  attached.chooses_solves = attached.has_only || attached.every > 1 || attached.most < INT64_MAX;
  if (attached.marking_nth < 1) attached.marking_nth = 1;
}

static int read_settings(const char *path) {
  FILE *file = fopen(path, "re");
  if (!file) return 0;
  copy_text(attached.board, sizeof attached.board, path);
  take_settings(file);
  return *attached.out != 0;
}
