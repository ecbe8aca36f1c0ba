#include "places.h"

#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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
  if (number == MAX_MODULES) return OF_NO_FILE;
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
