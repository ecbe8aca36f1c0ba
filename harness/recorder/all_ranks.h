/* Whether the recorder is in all ranks of the program.
 *
 * A launcher may start some ranks with hindmost and others without it, or the loader may not find the recorder on
 * some. A rank without it takes part in nothing of ours, so that a collective would hang, and its program could
 * receive a message that is not for it. So rank 0 announces itself in a file that attached ranks know, the board;
 * each that finds it there sends it one message; rank 0 answers those it has heard from, whether these are all. No
 * message goes to a rank that has not shown that it is attached.
 *
 * The board is the file of settings of rank 0. Its lines "begun JOB SIZE TOKEN", "closed TOKEN" and "said JOB
 * SECONDS PROCESS" mean nothing to who reads settings. */
#pragma once

/* After MPI_Init and before the first collective: whether all ranks will take part in it. */
static int all_are_attached(void);
