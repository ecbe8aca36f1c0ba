/* The raw file that the attached ranks of a node write: frames of a rank with a checksum each. Every frame is
 * one call of writev at the end of the file, which the kernel does not mix with those of other ranks. Included
 * once, by attached.h; harness/attach/raw.py reads it.
 *
 * Behind a frame that a rank could not write whole the reader uses only its last one, RAW_END. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <sys/stat.h>
#include <sys/uio.h>

enum raw_kind { RAW_PROGRAM = 1, RAW_CLOCK, RAW_SECTION, RAW_RECORDS, RAW_NORMS, RAW_EDGES, RAW_END, RAW_OPTIONS,
                RAW_PART, RAW_PART_RECORDS, RAW_MODULES, RAW_CODES, RAW_PLACES, RAW_CHAIN_ENDS, RAW_CHAINS, RAW_CONTEXTS,
                RAW_PART_CONTEXTS, RAW_POLLS, RAW_BACK, RAW_WORLD_RANKS, RAW_SAMPLER, RAW_SAMPLE_PLACES, RAW_SAMPLE_CHAIN_ENDS,
                RAW_SAMPLE_CHAINS, RAW_SAMPLE_PAIRS, RAW_SAMPLES, RAW_CONTEXT_CPU };

enum { RAW_MOST_BYTES = 1 << 30 }; /* of a frame: one call writes it */

struct raw_head {
  char magic[4]; /* HMRN */
  uint32_t kind;
  uint64_t bytes;        /* of the payload, which follows */
  uint32_t number, rank; /* number: of the frame among those of the rank, from 0 */
  uint32_t unused, crc;  /* crc: of what is before it, and of the payload */
};

static struct {
  int fd, failure; /* fd: -1 if not open; failure: the number of the system's error, 0 if there was none */
  uint32_t frames, rank;
  int busy, closed; /* busy: a thread writes; closed: the last frame is written */
  int64_t bytes; /* written so far */
} raw = {.fd = -1};

/* ---- one writer ---- */

enum { WRITER_PATIENCE_MS = 20000 };

/* Frames that belong together are written between these two: by one thread at a time, which no signal
 * interrupts. So what a signal ends has no frame by halves, whichever thread the signal comes in: its handler
 * waits until the frames are whole. Returns whether this thread may write: not behind the last frame, and not
 * where another thread hangs in a write. */
static int begin_writing(sigset_t *before) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, before);
  const int64_t until = system_now() + WRITER_PATIENCE_MS * INT64_C(1000000); /* a nap may last much longer than it should */
  while (__atomic_exchange_n(&raw.busy, 1, __ATOMIC_ACQUIRE)) {
    if (system_now() > until) goto not_now;
    nanosleep(&(struct timespec){0, 1000000}, NULL);
  }
  if (!raw.closed) return 1;
  __atomic_store_n(&raw.busy, 0, __ATOMIC_RELEASE);
not_now:
  pthread_sigmask(SIG_SETMASK, before, NULL);
  return 0;
}

static void end_writing(const sigset_t *before) {
  __atomic_store_n(&raw.busy, 0, __ATOMIC_RELEASE);
  pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* ---- CRC-32 as zlib's, eight bytes at a time ---- */

static uint32_t crc_tables[8][256];

static void make_crc_tables(void) {
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; bit++) value = value & 1 ? value >> 1 ^ 0xEDB88320u : value >> 1;
    crc_tables[0][i] = value;
  }
  for (int t = 1; t < 8; t++)
    for (int i = 0; i < 256; i++)
      crc_tables[t][i] = crc_tables[t - 1][i] >> 8 ^ crc_tables[0][crc_tables[t - 1][i] & 0xFF];
}

/* The checksum of what `crc` is that of, followed by some bytes. */
static uint32_t crc_of(uint32_t crc, const void *memory, size_t bytes) {
  const uint8_t *at = memory;
  crc ^= 0xFFFFFFFFu;
  for (; bytes >= 8; bytes -= 8, at += 8) {
    uint32_t low = crc ^ ((uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24);
    crc = crc_tables[7][low & 0xFF] ^ crc_tables[6][low >> 8 & 0xFF] ^ crc_tables[5][low >> 16 & 0xFF] ^
          crc_tables[4][low >> 24] ^ crc_tables[3][at[4]] ^ crc_tables[2][at[5]] ^ crc_tables[1][at[6]] ^
          crc_tables[0][at[7]];
  }
  while (bytes--) crc = crc >> 8 ^ crc_tables[0][(crc ^ *at++) & 0xFF];
  return crc ^ 0xFFFFFFFFu;
}

/* ---- frames ---- */

static void raw_frame(enum raw_kind kind, const void *payload, size_t bytes) {
  if (raw.fd < 0 || raw.failure) return;
  struct raw_head head = {{'H', 'M', 'R', 'N'}, kind, bytes, raw.frames, raw.rank, 0, 0};
  struct iovec parts[] = {{&head, sizeof head}, {(void *)payload, bytes}};
  ssize_t written;
  head.crc = crc_of(crc_of(0, &head, offsetof(struct raw_head, crc)), payload, bytes);
  do written = writev(raw.fd, parts, 2);
  while (written < 0 && errno == EINTR);
  raw.frames++;
  if (written > 0) raw.bytes += written;
  if (written != (ssize_t)(sizeof head + bytes)) raw.failure = written < 0 ? errno : ENOSPC;
}

/* Takes back the frames of this rank from one on. */
static void raw_back_to(uint32_t frames) { raw_frame(RAW_BACK, &frames, sizeof frames); }

static void raw_close(void) {
  struct stat file;
  raw.closed = 1;
  if (raw.fd < 0) return;
  if (!fstat(raw.fd, &file) && !file.st_nlink) raw.failure = ENOENT; /* it was removed meanwhile */
  close(raw.fd);
  raw.fd = -1;
}

/* ---- JSON ---- */

/* An object of JSON as it grows. The caller adds the opening brace, `text_frame` the closing one, writes
 * the object and frees it. What finds no memory is left out, and the reader refuses what is then not JSON. */
struct text {
  char *at;
  size_t size, room;
  int apart; /* in memory of its own, beside another text */
};

enum { SPARE_BYTES = 32 << 20 };
static char *text_spare; /* SPARE_BYTES for what is written between begin_writing and end_writing: a thread whose signal's
                            handler waits for that may hold malloc's lock */
static int text_uses_spare; /* in what may be a signal's handler */

static int text_room(struct text *text, size_t more) {
  if (text->size + more + 1 <= text->room) return 1;
  if (text_spare && !text->apart) {
    text->at = text_spare;
    text->room = SPARE_BYTES;
    return text->size + more + 1 <= text->room;
  }
  size_t room = 2 * (text->size + more) + 256;
  char *moved = realloc(text->at, room);
  if (!moved) return 0;
  text->at = moved;
  text->room = room;
  return 1;
}

__attribute__((format(printf, 2, 3))) static void text_add(struct text *text, const char *format, ...) {
  va_list words, again;
  va_start(words, format);
  va_copy(again, words);
  int size = vsnprintf(NULL, 0, format, again);
  va_end(again);
  if (size > 0 && text_room(text, (size_t)size)) {
    vsnprintf(text->at + text->size, (size_t)size + 1, format, words);
    text->size += (size_t)size;
  }
  va_end(words);
}

/* Bytes of the character of UTF-8 that begins here, 0 if none does. */
static int utf8_length(const unsigned char *at) {
  int length = *at < 0x80 ? 1 : *at >= 0xC2 && *at < 0xE0 ? 2 : *at >= 0xE0 && *at < 0xF0 ? 3 : *at >= 0xF0 && *at < 0xF5 ? 4 : 0;
  for (int i = 1; i < length; i++)
    if ((at[i] & 0xC0) != 0x80) return 0;
  if ((*at == 0xE0 && at[1] < 0xA0) || (*at == 0xED && at[1] > 0x9F) || (*at == 0xF0 && at[1] < 0x90) ||
      (*at == 0xF4 && at[1] > 0x8F))
    return 0;
  return length;
}

/* A string of JSON; what is not UTF-8 becomes a question mark. */
static void text_quoted(struct text *text, const char *string) {
  text_add(text, "\"");
  for (const unsigned char *at = (const unsigned char *)(string ? string : ""); *at;) {
    int length = utf8_length(at);
    if (length == 1 && (*at < 0x20 || *at == 0x7F || *at == '"' || *at == '\\'))
      text_add(text, "\\u%04x", *at);
    else if (length)
      text_add(text, "%.*s", length, (const char *)at);
    else
      text_add(text, "?");
    at += length ? length : 1;
  }
  text_add(text, "\"");
}

static void text_key(struct text *text, const char *key) {
  text_add(text, "%s\"%s\":", text->size && text->at[text->size - 1] == '{' ? "" : ",", key);
}

static void text_string(struct text *text, const char *key, const char *value) {
  text_key(text, key);
  text_quoted(text, value);
}

static void text_number(struct text *text, const char *key, int64_t value) {
  text_key(text, key);
  text_add(text, "%lld", (long long)value);
}

/* A number of C that JSON has; else null. */
static void text_real(struct text *text, const char *key, double value) {
  text_key(text, key);
  if (isfinite(value))
    text_add(text, "%.17g", value);
  else
    text_add(text, "null");
}

/* Ends the object, writes it as a frame and frees it. */
static void text_frame(struct text *text, enum raw_kind kind) {
  text_add(text, "}");
  if (text->at) raw_frame(kind, text->at, text->size);
  if (text->at != text_spare) free(text->at);
  *text = (struct text){0};
}
