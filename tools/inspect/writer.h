/* Who writes to the store that a read-only mount shows. */
#ifndef BALE_TOOLS_INSPECT_WRITER_H
#define BALE_TOOLS_INSPECT_WRITER_H

#include <stddef.h>

/* Sets name to the writer as its lock names it; empty: there is none, or the store does not answer
 * within a second. */
void bale_writer_find(const char *store, char *name, size_t size);

#endif
