/* An object of JSON as it grows. */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

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

__attribute__((format(printf, 2, 3))) static void text_add(struct text *text, const char *format, ...);
static void text_quoted(struct text *text, const char *string);
static void text_key(struct text *text, const char *key);
static void text_string(struct text *text, const char *key, const char *value);
static void text_number(struct text *text, const char *key, int64_t value);
static void text_real(struct text *text, const char *key, double value);
