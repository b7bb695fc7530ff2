/*
 * Limits of memory. A control group's limit applies to all groups below it, so all ancestors count. Inside a
 * container the path may be the host's, and only its top is mounted.
 */
#include "base/memory.h"

#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>

#define PATH_SIZE 1024
/* glibc raises this threshold when large pieces are freed, and then keeps them. */
#define LARGE_BYTES (128 * 1024)

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* INT64_MAX: no limit, or no such file. */
static int64_t limit_read(const char *root, const char *branch, const char *path, const char *name)
{
    char file_name[2 * PATH_SIZE];
    int64_t limit = INT64_MAX;
    (void)snprintf(file_name, sizeof(file_name), "%s%s%s/%s", root, branch, path, name);
    FILE *file = fopen(file_name, "re");
    if (file == NULL) {
        return INT64_MAX;
    }
    char text[32] = "";
    if (fgets(text, sizeof(text), file) != NULL) {
        limit = strtoll(text, NULL, 10);
    }
    if (limit <= 0) {
        limit = INT64_MAX; /* "max" */
    }
    (void)fclose(file);
    return limit;
}

/* The least limit of the group and all its ancestors, up to the mount point. */
static int64_t limit_upwards(const char *root, const char *branch, char *path, const char *name)
{
    int64_t limit = INT64_MAX;
    char *slash;
    while ((slash = strrchr(path, '/')) != NULL) {
        limit = least(limit, limit_read(root, branch, path, name));
        *slash = '\0';
    }
    return least(limit, limit_read(root, branch, "", name));
}

/* A line is "4:memory:/path" of version 1, or "0::/path" of version 2. */
static int64_t limit_of_line(const char *root, char *line)
{
    line[strcspn(line, "\n")] = '\0';
    char *controllers = strchr(line, ':');
    char *path = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
    if (path == NULL) {
        return INT64_MAX;
    }
    *path++ = '\0';
    controllers++;
    if (strcmp(controllers, "memory") == 0) {
        return limit_upwards(root, "/memory", path, "memory.limit_in_bytes");
    }
    return controllers[0] == '\0' ? limit_upwards(root, "", path, "memory.max") : INT64_MAX;
}

int64_t mg_memory_limit(const char *root, const char *self)
{
    struct sysinfo info;
    int64_t limit = sysinfo(&info) == 0 ? (int64_t)info.totalram * info.mem_unit : INT64_MAX;
    char line[PATH_SIZE];
    FILE *file = fopen(self != NULL ? self : "/proc/self/cgroup", "re");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        limit = least(limit, limit_of_line(root != NULL ? root : "/sys/fs/cgroup", line));
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return limit;
}

size_t mg_memory_budget(int64_t asked, int64_t limit)
{
    if (asked > 0) {
        return (size_t)asked;
    }
    int64_t half = least(limit / 2, MG_MEMORY_BUDGET_DEFAULT_MAX);
    return (size_t)(half > MG_MEMORY_BUDGET_MIN ? half : MG_MEMORY_BUDGET_MIN);
}

void mg_memory_settle(void)
{
    (void)mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
}
