/* See harden.h. prctl(2), setrlimit(2), landlock(7). */
#include "base/harden.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Since Linux 6.2; headers may be older than the kernel. */
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif

#if defined(__SANITIZE_ADDRESS__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED 0
#endif

/* Every operation that changes the file system or runs a program; reading stays allowed. */
#define FILES_FIRST                                                                                          \
    (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |            \
     LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR |           \
     LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |             \
     LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM)

/* The version of Landlock in force; 0: the kernel has none, or it is disabled. */
static long landlock_close_files(void)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (version < 1) {
        return 0;
    }
    struct landlock_ruleset_attr rules = {.handled_access_fs = FILES_FIRST};
    if (version >= 2) {
        rules.handled_access_fs |= LANDLOCK_ACCESS_FS_REFER;
    }
    if (version >= 3) {
        rules.handled_access_fs |= LANDLOCK_ACCESS_FS_TRUNCATE;
    }
    int fd = (int)syscall(SYS_landlock_create_ruleset, &rules, sizeof(rules), 0);
    if (fd < 0) {
        return 0;
    }
    bool is_on = syscall(SYS_landlock_restrict_self, fd, 0) == 0;
    (void)close(fd);
    return is_on ? version : 0;
}

static void note(char what[MG_HARDENING_SIZE], const char *part)
{
    size_t len = strlen(what);
    (void)snprintf(what + len, MG_HARDENING_SIZE - len, "%s%s", len > 0 ? ", " : "", part);
}

/* A closed one would be the number of the next file, socket or queue of events. Reads and writes of the
 * replacement fail, as those of a closed descriptor do. */
static bool descriptors_open(void)
{
    bool is_opened = false;
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) {
            is_opened = open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) == fd || is_opened;
        }
    }
    return is_opened;
}

void mg_harden_but_files(char ret_what[MG_HARDENING_SIZE])
{
    const struct rlimit none = {0, 0};
    ret_what[0] = '\0';
    if (descriptors_open()) {
        note(ret_what, "closed standard descriptors replaced");
    }
    if (setrlimit(RLIMIT_CORE, &none) == 0) {
        note(ret_what, "no core files");
    }
    if (!IS_SANITIZED && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0) {
        note(ret_what, "not dumpable");
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) {
        note(ret_what, "no new privileges");
    }
}

void mg_harden(char ret_what[MG_HARDENING_SIZE])
{
    mg_harden_but_files(ret_what);
    long version = landlock_close_files();
    if (version > 0) {
        char landlock[32];
        (void)snprintf(landlock, sizeof(landlock), "Landlock %ld", version);
        note(ret_what, landlock);
    }
}
