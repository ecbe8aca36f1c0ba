/* The raw file of the attached ranks of a node, from MPI_Init on. */
#pragma once

/* On rank 0: a new folder with the first free number. */
static int make_folder(void);

/* Opens the file of this node, which its first rank makes; collective. */
static int open_raw(void);
static int get_memory(void);

/* The frame that says what runs; written again when PETSc has begun: the last one holds. */
static void write_program(void);
static void write_clock(void);
