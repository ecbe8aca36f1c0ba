#include "unwind.h"

#include <string.h>
#include <unwind.h>

#ifdef __x86_64__

enum { RBP = 6, RSP = 7, RETURN_ADDRESS = 16, REMEMBERED = 16 };

struct dwarf_bases {
  void *text, *data, *function;
};

extern const void *_Unwind_Find_FDE(void *, struct dwarf_bases *); /* of libgcc; no header declares it */

static uint64_t read_uleb(const uint8_t **at) {
  uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    uint8_t byte = *(*at)++;
    if (shift < 64) value |= (uint64_t)(byte & 127) << shift;
    if (!(byte & 128)) return value;
  }
}

static int64_t read_sleb(const uint8_t **at) {
  uint64_t value = 0;
  int shift = 0;
  uint8_t byte;
  do {
    byte = *(*at)++;
    if (shift < 64) value |= (uint64_t)(byte & 127) << shift;
    shift += 7;
  } while (byte & 128);
  if (shift < 64 && byte & 64) value |= -(1ull << shift);
  return (int64_t)value;
}

static uint64_t read_bytes(const uint8_t **at, int bytes) {
  uint64_t value = 0;
  memcpy(&value, *at, (size_t)bytes);
  *at += bytes;
  return value;
}

/* Bytes of a pointer in one of DWARF's encodings. */
static int encoded_bytes(uint8_t encoding) {
  int format = encoding & 7;
  return format == 2 ? 2 : format == 3 ? 4 : 8;
}

/* A row of the table that a description stands for, as far as it matters here. */
struct row {
  uint64_t base;        /* the register of the CFA */
  int64_t offset, frame_offset;
  int from_memory, saved, outermost, strange;
};

/* An address as `register + offset`, and perhaps what stands there; else the row is strange. */
static int read_expression(const uint8_t **at, int64_t *offset) {
  const uint8_t *end, *word;
  uint64_t size = read_uleb(at);
  int deref = 0;
  word = *at;
  end = *at += size;
  if (!size || *word++ != 0x70 + RBP) return -1; /* DW_OP_breg6 */
  *offset = read_sleb(&word);
  if (word < end && *word == 0x06) deref = 1, word++; /* DW_OP_deref */
  return word == end ? deref : -1;
}

/* Follows call frame instructions up to an address; returns whether all are known. */
static int follow(const uint8_t *at, const uint8_t *end, struct row *row, const struct row *initial, uint64_t place,
                  uint64_t until, uint64_t code_unit, int64_t data_unit) {
  struct row stack[REMEMBERED];
  int depth = 0, found;
  while (at < end && place <= until) {
    uint8_t op = *at++, low = op & 63;
    uint64_t which;
    if (op >> 6 == 1) { /* DW_CFA_advance_loc */
      place += low * code_unit;
      continue;
    }
    if (op >> 6 == 2) { /* DW_CFA_offset */
      int64_t offset = (int64_t)read_uleb(&at) * data_unit;
      if (low == RBP) row->saved = 1, row->frame_offset = offset;
      continue;
    }
    if (op >> 6 == 3) { /* DW_CFA_restore */
      if (low == RBP) row->saved = initial->saved, row->frame_offset = initial->frame_offset;
      continue;
    }
    switch (low) {
    case 0x00: break;
    case 0x01: place = read_bytes(&at, 8); break; /* set_loc */
    case 0x02: place += read_bytes(&at, 1) * code_unit; break;
    case 0x03: place += read_bytes(&at, 2) * code_unit; break;
    case 0x04: place += read_bytes(&at, 4) * code_unit; break;
    case 0x05: /* offset_extended */
    case 0x11: /* offset_extended_sf */
      which = read_uleb(&at);
      row->frame_offset = which == RBP ? (low == 0x05 ? (int64_t)read_uleb(&at) : read_sleb(&at)) * data_unit
                                       : (read_uleb(&at), row->frame_offset);
      if (which == RBP) row->saved = 1;
      break;
    case 0x06: /* restore_extended */
      if (read_uleb(&at) == RBP) row->saved = initial->saved, row->frame_offset = initial->frame_offset;
      break;
    case 0x07: /* undefined */
      which = read_uleb(&at);
      if (which == RETURN_ADDRESS) row->outermost = 1;
      if (which == RBP) row->saved = 0;
      break;
    case 0x08: /* same_value */
      if (read_uleb(&at) == RBP) row->saved = 0;
      break;
    case 0x09: /* register */
      which = read_uleb(&at);
      read_uleb(&at);
      if (which == RBP || which == RETURN_ADDRESS) row->strange = 1;
      break;
    case 0x0a: /* remember_state */
      if (depth == REMEMBERED) return 0;
      stack[depth++] = *row;
      break;
    case 0x0b: /* restore_state */
      if (!depth) return 0;
      *row = stack[--depth];
      break;
    case 0x0c: /* def_cfa */
      row->base = read_uleb(&at);
      row->offset = (int64_t)read_uleb(&at);
      row->from_memory = 0;
      break;
    case 0x12: /* def_cfa_sf */
      row->base = read_uleb(&at);
      row->offset = read_sleb(&at) * data_unit;
      row->from_memory = 0;
      break;
    case 0x0d: row->base = read_uleb(&at), row->from_memory = 0; break;
    case 0x0e: row->offset = (int64_t)read_uleb(&at); break;
    case 0x13: row->offset = read_sleb(&at) * data_unit; break;
    case 0x0f: /* def_cfa_expression */
      row->base = RBP;
      row->from_memory = 1;
      if (read_expression(&at, &row->offset) != 1) row->strange = 1;
      break;
    case 0x10: /* expression: where a register is */
      which = read_uleb(&at);
      int64_t offset = 0;
      found = read_expression(&at, &offset);
      if (which == RBP && found == 0) row->saved = 2, row->frame_offset = offset;
      else if (which == RBP || which == RETURN_ADDRESS) row->strange = 1;
      break;
    case 0x16: /* val_expression */
      which = read_uleb(&at);
      uint64_t size = read_uleb(&at);
      at += size;
      if (which == RBP || which == RETURN_ADDRESS) row->strange = 1;
      break;
    case 0x2e: read_uleb(&at); break; /* GNU_args_size */
    default: return 0;
    }
  }
  return 1;
}

/* The rule of a return address by the description of the function that it lies in, and that function's bytes. */
static struct rule rule_of(const uint8_t *fde, uint64_t function, uint64_t address, uint64_t *bytes) {
  struct rule rule = {.kind = CHAIN_ENDS};
  uint32_t fde_bytes, cie_bytes;
  int32_t to_cie;
  memcpy(&fde_bytes, fde, 4);
  memcpy(&to_cie, fde + 4, 4);
  const uint8_t *cie = fde + 4 - to_cie, *at = cie + 8;
  memcpy(&cie_bytes, cie, 4);
  uint8_t version = *at++, encoding = 0;
  const char *augmentation = (const char *)at;
  at += strlen(augmentation) + 1;
  uint64_t code_unit = read_uleb(&at);
  int64_t data_unit = read_sleb(&at);
  if (version == 1) at++;
  else read_uleb(&at); /* the register of the return address */
  rule.kind = LEFT_TO_LIBGCC;
  if (*augmentation && *augmentation != 'z') return rule;
  int of_signal = 0;
  if (*augmentation) {
    uint64_t size = read_uleb(&at);
    const uint8_t *datum = at;
    at += size;
    for (const char *letter = augmentation + 1; *letter; letter++) {
      if (*letter == 'R') encoding = *datum++;
      else if (*letter == 'L') datum++;
      else if (*letter == 'P') datum += encoded_bytes(*datum) + 1;
      else if (*letter == 'S') of_signal = 1;
    }
  }
  const uint8_t *own = fde + 8 + encoded_bytes(encoding);
  *bytes = read_bytes(&own, encoded_bytes(encoding));
  if (of_signal) return rule;
  if (*augmentation) {
    uint64_t size = read_uleb(&own);
    own += size;
  }
  struct row row = {.base = RSP, .offset = 8}, initial;
  if (!follow(at, cie + 4 + cie_bytes, &row, &row, 0, 0, code_unit, data_unit)) return rule;
  initial = row;
  if (!follow(own, fde + 4 + fde_bytes, &row, &initial, function, address - 1, code_unit, data_unit)) return rule;
  if (row.outermost) {
    rule.kind = CHAIN_ENDS;
    return rule;
  }
  if (row.strange || (row.base != RBP && row.base != RSP)) return rule;
  rule.kind = row.from_memory ? FROM_MEMORY : row.base == RSP ? FROM_STACK : FROM_FRAME;
  rule.offset = (int32_t)row.offset;
  rule.frame_offset = (int32_t)row.frame_offset;
  rule.saved = (uint8_t)row.saved;
  return rule;
}

static struct rule find_rule(uint64_t address, uint64_t *function, uint64_t *bytes) {
  struct dwarf_bases bases = {0};
  *function = *bytes = 0;
  const uint8_t *fde = _Unwind_Find_FDE((void *)(address - 1), &bases);
  if (!fde) return (struct rule){.kind = CHAIN_ENDS};
  *function = (uint64_t)bases.function;
  return rule_of(fde, *function, address, bytes);
}

static struct rule rule_by_table(const uint8_t *table, uint64_t address, uint64_t *function, uint64_t *bytes) {
  const struct rule none = {.kind = CHAIN_ENDS};
  enum { BY_TABLE = 0x3b, FOUR_BYTES = 3 }; /* how all linkers write its rows, and their count */
  *function = *bytes = 0;
  if (!table || table[0] != 1 || table[3] != BY_TABLE || table[2] != FOUR_BYTES) return none;
  const uint8_t *at = table + 4 + encoded_bytes(table[1]);
  int64_t low = 0, high = (int64_t)read_bytes(&at, 4);
  const struct { int32_t begin, description; } *rows = (const void *)at;
  const int64_t wanted = (int64_t)(address - 1 - (uint64_t)table);
  while (high - low > 1) {
    int64_t middle = (low + high) / 2;
    if (rows[middle].begin <= wanted) low = middle;
    else high = middle;
  }
  if (high <= low || rows[low].begin > wanted) return none;
  uint64_t begin = (uint64_t)table + (uint64_t)(int64_t)rows[low].begin;
  struct rule rule = rule_of(table + rows[low].description, begin, address, bytes);
  if (address - 1 - begin >= *bytes) { /* between functions */
    *bytes = 0;
    return none;
  }
  *function = begin;
  return rule;
}

#else

static struct rule find_rule(uint64_t address, uint64_t *function, uint64_t *bytes) {
  (void)address;
  *function = *bytes = 0;
  return (struct rule){.kind = CHAIN_ENDS};
}

static struct rule rule_by_table(const uint8_t *table, uint64_t address, uint64_t *function, uint64_t *bytes) {
  (void)table;
  return find_rule(address, function, bytes);
}

#endif

struct sought_call {
  uint64_t frame, address;
  int is_there;
};

/* The first frame above is that of its caller. */
static _Unwind_Reason_Code compare_frame(struct _Unwind_Context *context, void *given) {
  struct sought_call *sought = given;
  if (_Unwind_GetCFA(context) <= sought->frame) return _URC_NO_REASON;
  sought->is_there = _Unwind_GetIP(context) == sought->address;
  return _URC_END_OF_STACK;
}

static __attribute__((noinline)) int returns_through(const uint64_t *frame, uint64_t address) {
  struct sought_call sought = {(uint64_t)frame, address, 1};
  _Unwind_Backtrace(compare_frame, &sought);
  return sought.is_there;
}
