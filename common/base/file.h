/* Small files that are read whole. Blocks on the disk. */
#ifndef MG_BASE_FILE_H
#define MG_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The file's bytes, up to `size`: if so many came there may be more. -1, and errno: it cannot be read.
 * `waits`: for who writes into a FIFO. Without stdio, whose buffers would keep a copy of a secret. */
ssize_t mg_file_read(const char *path, bool waits, char *ret_bytes, size_t size);

#endif
