#include "ring.h"
const volatile struct state *hindmost_state(void) { return state; }

/* Between two iterations of a loop: the next call starts a new record. */
void hindmost_next_body(void) { idle_record = -1; }

/* Touches the pages of the first `touched` records before the solve begins. */
void hindmost_memory_for(struct record *memory, int64_t capacity, int64_t touched) {
  records = memory;
  record_contexts = NULL;
  state->capacity = capacity;
  for (int64_t i = 0; i < touched; i++) records[i] = (struct record){0};
}
