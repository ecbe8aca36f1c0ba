/* Frames of Python, in the place of those of its interpreter. */
#pragma once

#include <stdint.h>
#define PYTHON_FUNCTIONS(X)                                                                               \
  X(PyGILState_Ensure, int, (void)) X(PyGILState_Release, void, (int)) X(PyEval_GetFrame, void *, (void)) \
  X(PyFrame_GetBack, void *, (void *)) X(PyFrame_GetCode, void *, (void *))                               \
  X(PyFrame_GetLineNumber, int, (void *)) X(PyFrame_GetLasti, int, (void *))                              \
  X(PyObject_GetAttrString, void *, (void *, const char *)) X(PyUnicode_AsUTF8, const char *, (void *))   \
  X(PyLong_AsLong, long, (void *)) X(PyErr_Clear, void, (void)) X(Py_IncRef, void, (void *))              \
  X(PyGILState_GetThisThreadState, void *, (void)) X(Py_DecRef, void, (void *)) X(Py_GetVersion, const char *, (void)) X(Py_IsInitialized, int, (void))

static struct python {
  void *evaluates; /* the function that runs Python's frames; NULL: there is no Python, or none that is known */
  uint64_t base;   /* of its module */
  int has_entry;   /* a frame says whether that function was called for it, or goes on from that of its caller */
#define X(name, type, parameters) type(*name) parameters;
  PYTHON_FUNCTIONS(X)
#undef X
} python;

static void find_python(void);

/* Whether this thread may take the interpreter's lock: not at the end of Python, and not in a thread of other code, for
 * which one may wait who has the lock. */
static int runs_in_python(void);

/* The number of a code object, which is kept alive; -1 if there is no room. */
static int64_t code_numbered(void *object);

/* The frames of Python, the innermost first. */
static int python_frames(uint32_t places[], uint8_t entries[]);
