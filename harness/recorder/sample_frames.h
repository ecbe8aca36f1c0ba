/* The frames of samples in the raw file. */
#pragma once

/* Says how samples are taken, or why none are. */
static void describe_sampling(void);

/* Writes the samples so far, before write_contexts; between begin_writing and end_writing. */
static void sampler_write(void);

/* What samples refer to is written anew. */
static void sampler_forget_written(void);
