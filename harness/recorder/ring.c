#include "ring.h"

/* For tests: requests that were completed, and whose purpose is not known. */
int64_t hindmost_unknown_requests(void) { return state->unknown_requests; }

/* Between two iterations of a loop: the next call starts a new record. */
void hindmost_next_body(void) { idle_record = -1; }
