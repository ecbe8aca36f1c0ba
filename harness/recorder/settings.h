/* The file of settings that HINDMOST_ATTACH names, one "key value" a line, written by harness/attach/settings.py. */
#pragma once

/* Returns whether there are any. */
static int read_settings(const char *path);
