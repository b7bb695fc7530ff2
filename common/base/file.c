/* See file.h. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

ssize_t mg_file_read(const char *path, bool waits, char *ret_bytes, size_t size)
{
    size_t len = 0;
    ssize_t got = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | (waits ? 0 : O_NONBLOCK));
    if (fd < 0) return -1;
    do {
        got = read(fd, ret_bytes + len, size - len);
        if (got > 0) len += (size_t)got;
    } while ((got > 0 && len < size) || (got < 0 && errno == EINTR));
    int read_errno = errno;
    (void)close(fd); /* only read */
    errno = read_errno;
    return got < 0 ? -1 : (ssize_t)len;
}
