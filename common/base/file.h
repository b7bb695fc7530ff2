/* Small files that are read whole. These calls block on the disk. */
#ifndef MG_BASE_FILE_H
#define MG_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"

/* Reads up to `size` bytes; a result of `size` means that the file may hold more. -1 with errno: unreadable.
 * `waits`: block until a FIFO has a writer. Without stdio, because its buffers would keep a copy of a
 * secret. */
ssize_t mg_file_read(const char *path, bool waits, char *ret_bytes, size_t size);

/* Appends the whole file; "-" is standard input. `waits`: blocks until the end of a pipe; else a file that is
 * no regular one is refused, as in a folder that a process looks at by itself. MG_BAD_INPUT: unreadable, or
 * above ret_text's maximum. MG_TRANSIENT: out of memory. The error's text names the path. */
enum mg_class mg_file_text(const char *path, bool waits, struct mg_buf *ret_text,
                           struct mg_err *err) MG_MUSTCHECK;

/* The folder of this program and its companions. False, with errno: it is not known. */
bool mg_file_programs(char *ret_path, size_t size);

#endif
