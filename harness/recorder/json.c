#include "json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
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
