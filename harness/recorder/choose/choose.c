/* Puts the recorder of the MPI that a program loads before that MPI. It is preloaded where recorders for several
 * MPIs were built ahead ('hindmost doctor --build-recorders'): choose-VERSION.so stands next to
 * recorder-VERSION-SONAME.so, where SONAME is that of an MPI library, as libmpi.so.40.
 *
 * A program that is linked with an MPI is started again with its recorder in this one's place: what is preloaded
 * is set before a process begins. One that loads MPI later, as Python does, gets the recorder into its global scope
 * before that. A program without MPI, or with an MPI for which there is no recorder, runs as it is. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define BEGIN "libmpi"
static const char *const not_mpi[] = {"libmpi_mpifh", "libmpi_usempi", "libmpi_cxx", "libmpifort", "libmpicxx",
                                      "libmpichfort", "libmpichcxx"};

static char own_path[PATH_MAX], recorder[PATH_MAX + NAME_MAX];
static int is_on; /* 1 until a recorder has been chosen, or cannot be */
static void *(*load)(const char *path, int mode); /* the loader's dlopen */

/* ---- which MPI ---- */

static int is_mpi(const char *name) {
  if (strncmp(name, BEGIN, strlen(BEGIN)) || !strstr(name, ".so")) return 0;
  for (size_t i = 0; i < sizeof not_mpi / sizeof *not_mpi; i++)
    if (!strncmp(name, not_mpi[i], strlen(not_mpi[i]))) return 0;
  return 1;
}

static const char *file_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static int note_mpi(struct dl_phdr_info *info, size_t size, void *soname) {
  (void)size;
  const char *name = file_name(info->dlpi_name ? info->dlpi_name : "");
  if (!is_mpi(name)) return 0;
  snprintf(soname, NAME_MAX + 1, "%s", name);
  return 1;
}

/* The place in a file of an address in memory; 0 if the file has none. */
static size_t file_offset(const ElfW(Phdr) *parts, int count, ElfW(Addr) address) {
  for (int i = 0; i < count; i++)
    if (parts[i].p_type == PT_LOAD && address - parts[i].p_vaddr < parts[i].p_filesz)
      return address - parts[i].p_vaddr + parts[i].p_offset;
  return 0;
}

/* What a library that is about to be loaded says of the MPI that it is or needs. */
struct need {
  char soname[NAME_MAX + 1]; /* empty: no MPI */
  char before[PATH_MAX], after[PATH_MAX]; /* where the loader looks for it, before and after LD_LIBRARY_PATH */
};

/* From the library's file in memory. */
static void read_need(const char *data, size_t size, struct need *need) {
  const ElfW(Ehdr) *head = (const void *)data;
  if (size < sizeof *head || memcmp(head->e_ident, ELFMAG, SELFMAG) || head->e_phentsize != sizeof(ElfW(Phdr)) ||
      head->e_phoff > size || (size - head->e_phoff) / sizeof(ElfW(Phdr)) < head->e_phnum)
    return;
  const ElfW(Phdr) *parts = (const void *)(data + head->e_phoff);
  for (int i = 0; i < head->e_phnum; i++) {
    if (parts[i].p_type != PT_DYNAMIC || parts[i].p_offset > size || parts[i].p_filesz > size - parts[i].p_offset) continue;
    const ElfW(Dyn) *entries = (const void *)(data + parts[i].p_offset);
    size_t count = parts[i].p_filesz / sizeof *entries, strings = 0;
    for (size_t k = 0; k < count && entries[k].d_tag != DT_NULL; k++)
      if (entries[k].d_tag == DT_STRTAB) strings = file_offset(parts, head->e_phnum, entries[k].d_un.d_ptr);
    for (size_t k = 0; strings && k < count && entries[k].d_tag != DT_NULL; k++) {
      if (strings >= size || entries[k].d_un.d_val >= size - strings) continue;
      const char *text = data + strings + entries[k].d_un.d_val;
      if (!memchr(text, 0, size - strings - entries[k].d_un.d_val)) continue;
      if (entries[k].d_tag == DT_RPATH) snprintf(need->before, sizeof need->before, "%s", text);
      if (entries[k].d_tag == DT_RUNPATH) snprintf(need->after, sizeof need->after, "%s", text);
      if ((entries[k].d_tag == DT_NEEDED || entries[k].d_tag == DT_SONAME) && is_mpi(text))
        snprintf(need->soname, sizeof need->soname, "%s", text);
    }
  }
  if (*need->after) *need->before = 0; /* as the loader has it */
}

static void need_of(const char *path, struct need *need) {
  struct stat status;
  if (!strchr(path, '/')) { /* the loader looks for it */
    if (is_mpi(path)) snprintf(need->soname, sizeof need->soname, "%s", path);
    return;
  }
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  if (!fstat(file, &status) && S_ISREG(status.st_mode) && status.st_size > 0) {
    void *data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (data != MAP_FAILED) {
      read_need(data, (size_t)status.st_size, need);
      munmap(data, (size_t)status.st_size);
    }
  }
  close(file);
}

/* ---- its recorder ---- */

/* A line for `hindmost attach`, as the recorder writes them. */
static void report_status(const char *what, const char *more) {
  const char *path = getenv("HINDMOST_STATUS"), *rank = getenv("OMPI_COMM_WORLD_RANK");
  if (!rank) rank = getenv("PMI_RANK");
  if (!path || (rank && strcmp(rank, "0"))) return;
  int file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file < 0) return;
  dprintf(file, "%s\t%d%s\n", what, (int)getpid(), more);
  close(file);
}

/* Finds the recorder; says once for a program that there is none. */
static int find_recorder(const char *soname) {
  static const char *const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"};
  const char *own = file_name(own_path), *version = strchr(own, '-'), *dot = strrchr(own, '.');
  is_on = 0;
  if (!version || !dot || version > dot) return 0;
  snprintf(recorder, sizeof recorder, "%.*s/recorder%.*s-%s.so", (int)(own - own_path - 1), own_path,
           (int)(dot - version), version, soname);
  if (!access(recorder, R_OK)) return 1;
  for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
    const char *rank = getenv(ranks[i]);
    if (rank && strcmp(rank, "0")) return 0;
  }
  dprintf(STDERR_FILENO,
          "hindmost: warning: the program loads %s, and there is no recorder for it in %.*s: it runs unrecorded. Build "
          "one: hindmost doctor --build-recorders %.*s --mpicc MPICC\n",
          soname, (int)(own - own_path - 1), own_path, (int)(own - own_path - 1), own_path);
  report_status("refused", "");
  return 0;
}

/* Loads a library of this name from the first of some folders that has it; $ORIGIN is the folder of another. */
static void *load_from(const char *folders, const char *soname, const char *user) {
  char path[2 * PATH_MAX];
  while (folders && *folders) {
    size_t length = strcspn(folders, ":");
    const char *origin = !strncmp(folders, "$ORIGIN", 7) ? folders + 7 : !strncmp(folders, "${ORIGIN}", 9) ? folders + 9 : NULL;
    if (origin)
      snprintf(path, sizeof path, "%.*s%.*s/%s", (int)(file_name(user) - user), user, (int)(folders + length - origin), origin, soname);
    else
      snprintf(path, sizeof path, "%.*s/%s", (int)length, folders, soname);
    void *library = length ? load(path, RTLD_LAZY | RTLD_LOCAL) : NULL;
    if (library) return library;
    folders += length + (folders[length] == ':');
  }
  return NULL;
}

/* Before a library that needs an MPI, or is one: that MPI, as the library would load it, then its recorder. */
static void load_recorder(const char *path) {
  struct need need = {0};
  char *error;
  need_of(path, &need);
  if (!*need.soname || !find_recorder(need.soname)) return;
  void *mpi = is_mpi(file_name(path)) ? load(path, RTLD_LAZY | RTLD_LOCAL) : load_from(need.before, need.soname, path);
  if (!mpi) mpi = load_from(getenv("LD_LIBRARY_PATH"), need.soname, path);
  if (!mpi) mpi = load_from(need.after, need.soname, path);
  if (!mpi) mpi = load(need.soname, RTLD_LAZY | RTLD_LOCAL);
  if (!mpi || load(recorder, RTLD_LAZY | RTLD_GLOBAL)) return;
  error = dlerror();
  dprintf(STDERR_FILENO, "hindmost: warning: %s cannot be loaded (%s): the program runs unrecorded.\n", recorder, error ? error : "?");
}

/* Starts the program again with the recorder in this library's place among what is preloaded. */
static void start_again(char *words[]) {
  char program[PATH_MAX];
  struct stat running, named;
  const char *preloaded = getenv("LD_PRELOAD"), *own = preloaded ? strstr(preloaded, own_path) : NULL;
  const char *asked = (const char *)getauxval(AT_EXECFN);
  ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  if (!own || length < 0 || !asked) return;
  program[length] = 0;
  /* A tool that runs the program in its own process, as valgrind, is not started again. */
  if (stat("/proc/self/exe", &running) || stat(asked, &named) || running.st_dev != named.st_dev ||
      running.st_ino != named.st_ino)
    return;
  size_t room = strlen(preloaded) + strlen(recorder) + 1;
  char *changed = malloc(room);
  if (!changed) return;
  snprintf(changed, room, "%.*s%s%s", (int)(own - preloaded), preloaded, recorder, own + strlen(own_path));
  if (!setenv("LD_PRELOAD", changed, 1)) execv(asked, words);
  setenv("LD_PRELOAD", preloaded, 1); /* it was not: the program runs as it is */
}

__attribute__((constructor)) static void choose(int count, char *words[]) {
  char soname[NAME_MAX + 1] = "", image[16] = "", more[PATH_MAX + 32];
  Dl_info own;
  (void)count;
  if (!secure_getenv("HINDMOST_ATTACH") || !dladdr((void *)choose, &own) || !own.dli_fname) return;
  snprintf(own_path, sizeof own_path, "%s", own.dli_fname);
  is_on = 1;
  prctl(PR_GET_NAME, image);
  snprintf(more, sizeof more, "\t%s\t%s", file_name(words[0] ? words[0] : image), image);
  report_status("loaded", more);
  dl_iterate_phdr(note_mpi, soname);
  if (!*soname) return; /* it may load one later */
  if (find_recorder(soname)) start_again(words);
}

__attribute__((destructor)) static void leave(void) {
  if (is_on) report_status("exit", "\t");
}

/* A library that needs an MPI gets its recorder first. The loader takes the caller's folders from the return address:
 * its own dlopen is jumped to. */
__attribute__((optimize("O2", "optimize-sibling-calls"))) void *dlopen(const char *path, int mode) {
  if (!load) load = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
  if (is_on && path) load_recorder(path);
  return load(path, mode);
}

/* For those who build recorders: the name of the MPI that a library is or needs; empty if it needs none. */
__attribute__((visibility("default"))) const char *hindmost_mpi_of(const char *path) {
  static struct need need;
  *need.soname = 0;
  need_of(path, &need);
  return need.soname;
}
