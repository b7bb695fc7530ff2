/* See part_log.h. */
#include "part_log.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"

#define SHOWN_LINES 8
#define SHOWN_BYTES 4096
#define LINE_SIZE   1024
#define LOG_MAX     (16 * 1024 * 1024)

static bool log_path(const char *folder, const char *name, char ret_path[PATH_MAX])
{
    int len = snprintf(ret_path, PATH_MAX, "%s/%s.log", folder, name);
    return len > 0 && len < PATH_MAX;
}

int mg_part_log_open(const char *folder, const char *name, bool is_new)
{
    char path[PATH_MAX];
    if (!log_path(folder, name, path)) {
        return -1;
    }
    return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (is_new ? O_TRUNC : 0), 0600);
}

/* The last bytes of the file, as a text; its length. */
static size_t tail_read(const char *path, char ret_text[SHOWN_BYTES + 1])
{
    struct stat status;
    ssize_t got = -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return 0;
    }
    if (fstat(fd, &status) == 0) {
        got =
            pread(fd, ret_text, SHOWN_BYTES, status.st_size > SHOWN_BYTES ? status.st_size - SHOWN_BYTES : 0);
    }
    (void)close(fd);
    size_t len = got > 0 ? (size_t)got : 0;
    while (len > 0 && ret_text[len - 1] == '\n') {
        len--;
    }
    return len;
}

/* Where the last SHOWN_LINES lines begin. */
static size_t lines_begin(const char *text, size_t len)
{
    int lines = 0;
    for (size_t at = len; at > 0; at--) {
        if (text[at - 1] == '\n' && ++lines == SHOWN_LINES) {
            return at;
        }
    }
    return 0;
}

void mg_part_log_show(const char *folder, const char *name, void (*report)(void *arg, const char *line),
                      void *arg)
{
    char path[PATH_MAX], text[SHOWN_BYTES + 1], plain[LINE_SIZE], line[LINE_SIZE + 80];
    size_t len = log_path(folder, name, path) ? tail_read(path, text) : 0;
    size_t at = lines_begin(text, len);
    while (at < len) {
        const char *end = memchr(text + at, '\n', len - at);
        size_t line_len = end != NULL ? (size_t)(end - text) - at : len - at;
        mg_text_copy_plain((struct mg_slice){text + at, line_len}, plain, sizeof(plain));
        (void)snprintf(line, sizeof(line), "  %s: %s", name, plain);
        report(arg, line);
        at += line_len + 1;
    }
}

void mg_part_logs_bound(const char *folder)
{
    char path[PATH_MAX];
    struct stat status;
    DIR *logs = opendir(folder);
    const struct dirent *entry;
    while (logs != NULL && (entry = readdir(logs)) != NULL) {
        int len = snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        if (len > 0 && len < PATH_MAX && stat(path, &status) == 0 && S_ISREG(status.st_mode) &&
            status.st_size > LOG_MAX) {
            /* The writer appends, so it goes on at the beginning. The next look tries again after a failure.
             */
            int rc = truncate(path, 0);
            (void)rc;
        }
    }
    if (logs != NULL) {
        (void)closedir(logs);
    }
}
