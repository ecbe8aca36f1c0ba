#include "rawfile.h"

#include "clock.h"
#include "session.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static struct raw raw = {.fd = -1};

/* ---- one writer ---- */

enum { WRITER_PATIENCE_MS = 20000 };
static _Thread_local INITIAL_EXEC int cancel_state_before; /* of a thread that writes: it is not cancelled meanwhile */

static int begin_writing(sigset_t *before) {
  sigset_t all;
  sigfillset(&all);
  int cancel_state;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
  pthread_sigmask(SIG_BLOCK, &all, before);
  const int64_t until = system_now() + WRITER_PATIENCE_MS * INT64_C(1000000); /* a nap may last much longer than it should */
  while (__atomic_exchange_n(&raw.busy, 1, __ATOMIC_ACQUIRE)) {
    if (system_now() > until) goto not_now;
    nanosleep(&(struct timespec){0, 1000000}, NULL);
  }
  if (!raw.closed) {
    cancel_state_before = cancel_state;
    return 1;
  }
  __atomic_store_n(&raw.busy, 0, __ATOMIC_RELEASE);
not_now:
  pthread_sigmask(SIG_SETMASK, before, NULL);
  pthread_setcancelstate(cancel_state, NULL);
  return 0;
}

static void end_writing(const sigset_t *before) {
  const int cancel_state = cancel_state_before;
  __atomic_store_n(&raw.busy, 0, __ATOMIC_RELEASE);
  pthread_sigmask(SIG_SETMASK, before, NULL);
  pthread_setcancelstate(cancel_state, NULL);
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

static void raw_back_to(uint32_t frames) { raw_frame(RAW_BACK, &frames, sizeof frames); }

static void raw_close(void) {
  struct stat file;
  raw.closed = 1;
  if (raw.fd < 0) return;
  if (!fstat(raw.fd, &file) && !file.st_nlink) raw.failure = ENOENT; /* it was removed meanwhile */
  close(raw.fd);
  raw.fd = -1;
}

static void text_frame(struct text *text, enum raw_kind kind) {
  text_add(text, "}");
  if (text->at) raw_frame(kind, text->at, text->size);
  if (text->at != text_spare) free(text->at);
  *text = (struct text){0};
}
