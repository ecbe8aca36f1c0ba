#include "pyframes.h"

#include "places.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
static void find_python(void) {
  struct sought sought = {0};
  void *evaluates = dlsym(RTLD_DEFAULT, "_PyEval_EvalFrameDefault");
#define X(name, type, parameters) python.name = (type(*) parameters)dlsym(RTLD_DEFAULT, #name);
  PYTHON_FUNCTIONS(X)
#undef X
  if (!evaluates || !python.PyFrame_GetBack || !python.PyFrame_GetCode || !python.Py_GetVersion || !python.Py_IsInitialized ||
      !python.PyGILState_GetThisThreadState)
    return;
  sought.address = (uint64_t)evaluates;
  dl_iterate_phdr(note_module, &sought);
  python.base = sought.base;
  python.has_entry = !strncmp(python.Py_GetVersion(), "3.11.", 5);
  python.evaluates = sought.found ? evaluates : NULL;
}

static int runs_in_python(void) {
  return python.evaluates && python.Py_IsInitialized() && python.PyGILState_GetThisThreadState();
}

/* A text of an object's attribute; the name is kept. */
static const char *python_text(void *object, const char *attribute) {
  void *value = python.PyObject_GetAttrString(object, attribute);
  const char *text = value ? python.PyUnicode_AsUTF8(value) : NULL;
  const char *kept = keep_name(text ? text : "");
  if (!text) python.PyErr_Clear();
  if (value) python.Py_DecRef(value);
  return kept;
}

static int64_t code_numbered(void *object) {
  for (uint32_t i = 0; i < code_count; i++)
    if (tables->codes[i].object == object) return i;
  if (code_count == MAX_CODES) return -1;
  struct code *code = &tables->codes[code_count];
  void *line = python.PyObject_GetAttrString(object, "co_firstlineno");
  code->file = python_text(object, "co_filename");
  code->function = python_text(object, "co_name");
  code->first_line = line ? (int)python.PyLong_AsLong(line) : 0;
  if (line) python.Py_DecRef(line);
  python.Py_IncRef(object); /* so that no other code comes to lie there */
  code->object = object;
  COUNT_ONE_MORE(code_count);
  return code_count - 1;
}

/* The place of a frame of Python. */
static uint32_t python_place(void *frame) {
  void *code = python.PyFrame_GetCode(frame);
  int64_t call = python.PyFrame_GetLasti ? python.PyFrame_GetLasti(frame) / 2 + 1 : python.PyFrame_GetLineNumber(frame);
  struct address *known = address_slot((uint64_t)code | (uint64_t)call << 47); /* above all addresses of a program */
  uint32_t place = LEFT_OUT;
  if (known && known->key) {
    place = known->place;
  } else if (known) {
    struct place found = {.module = OF_PYTHON, .offset = python.PyFrame_GetLineNumber(frame)};
    if (python.PyFrame_GetLasti) found.offset = found.offset << PYTHON_CALL_BITS | call; /* calls of a line differ */
    found.function = code_numbered(code);
    place = found.function < 0 ? LEFT_OUT : place_numbered(&found);
    *known = (struct address){.place = place};
    known->key = (uint64_t)code | (uint64_t)call << 47;
    address_count++;
  }
  python.Py_DecRef(code);
  return place;
}

/* Whether the interpreter was called for a frame by other code, and not by the interpreter itself. */
static int is_entry(const char *frame) {
  const char *own;
  if (!python.has_entry) return 1;
  memcpy(&own, frame + 24, sizeof own); /* f_frame of struct _frame, CPython 3.11 */
  return own[68];                       /* is_entry of _PyInterpreterFrame */
}

static int python_frames(uint32_t places[], uint8_t entries[]) {
  if (!runs_in_python()) return 0;
  int gil = python.PyGILState_Ensure(), count = 0;
  void *frame = python.PyEval_GetFrame(), *held = NULL;
  while (frame && count < MAX_DEPTH) {
    entries[count] = (uint8_t)is_entry(frame);
    places[count++] = python_place(frame);
    frame = python.PyFrame_GetBack(frame);
    if (held) python.Py_DecRef(held);
    held = frame;
  }
  if (held) python.Py_DecRef(held);
  python.PyGILState_Release(gil);
  return count;
}
