/* The calls and their classes by name. */
#include "abi.h"
const char *const hindmost_class_names[] = {
#define X(name) #name,
     CLASSES(X)
#undef X
};

#define COUNTING CALL
const char *const hindmost_call_names[] = {
#define CALL(name, class, parameters, arguments) "MPI_" #name,
#include "calls.def"
#undef CALL
};

const int32_t hindmost_call_classes[] = {
#define CALL(name, class, parameters, arguments) class,
#include "calls.def"
#undef CALL
};

#undef COUNTING
const int32_t hindmost_call_count = CALL_COUNT;
