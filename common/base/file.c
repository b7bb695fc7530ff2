/* See file.h. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

ssize_t mg_file_read(const char *path, bool waits, char *ret_bytes, size_t size)
{
    size_t len = 0;
    ssize_t got = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | (waits ? 0 : O_NONBLOCK));
    if (fd < 0) {
        return -1;
    }
    do {
        got = read(fd, ret_bytes + len, size - len);
        if (got > 0) {
            len += (size_t)got;
        }
    } while ((got > 0 && len < size) || (got < 0 && errno == EINTR));
    int read_errno = errno;
    (void)close(fd); /* only read */
    errno = read_errno;
    return got < 0 ? -1 : (ssize_t)len;
}

static bool text_append(int fd, struct mg_buf *ret_text)
{
    char piece[8192];
    ssize_t got = 0;
    do {
        got = read(fd, piece, sizeof(piece));
        if (got > 0) {
            mg_buf_append(ret_text, piece, (size_t)got);
        }
    } while (!ret_text->failed && (got > 0 || (got < 0 && errno == EINTR)));
    return got >= 0;
}

static bool is_regular(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

enum mg_class mg_file_text(const char *path, bool waits, struct mg_buf *ret_text, struct mg_err *err)
{
    bool is_stdin = waits && strcmp(path, "-") == 0;
    int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | (waits ? 0 : O_NONBLOCK));
    if (fd >= 0 && !waits && !is_regular(fd)) {
        (void)close(fd); /* nothing was read */
        return mg_err_set(err, MG_BAD_INPUT, "could not read %s: it is no regular file", path);
    }
    bool is_read = fd >= 0 && text_append(fd, ret_text);
    int read_errno = errno;
    if (fd >= 0 && !is_stdin) {
        (void)close(fd); /* only read */
    }
    if (!is_read) {
        return mg_err_set(err, MG_BAD_INPUT, "could not read %s: %s", path, strerror(read_errno));
    }
    if (ret_text->is_out_of_memory) {
        return mg_err_set(err, MG_TRANSIENT, "could not read %s: no memory", path);
    }
    if (ret_text->failed) {
        return mg_err_set(err, MG_BAD_INPUT, "could not read %s: it is larger than %zu bytes", path,
                          ret_text->max);
    }
    return MG_OK;
}

bool mg_file_programs(char *ret_path, size_t size)
{
    ssize_t len = readlink("/proc/self/exe", ret_path, size - 1);
    char *slash = len > 0 ? memrchr(ret_path, '/', (size_t)len) : NULL;
    if (slash != NULL) {
        *slash = '\0';
    }
    return slash != NULL;
}
