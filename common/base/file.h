/* Small files that are read whole. These calls block on the disk. */
#ifndef MG_BASE_FILE_H
#define MG_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Reads up to `size` bytes; a result of `size` means that the file may hold more. -1 with errno: unreadable.
 * `waits`: block until a FIFO has a writer. Without stdio, because its buffers would keep a copy of a
 * secret. */
ssize_t mg_file_read(const char *path, bool waits, char *ret_bytes, size_t size);

#endif
