/* Actions that a hardened process can no longer do. Each test is a process of its own, because hardening
 * cannot be taken back. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/harden.h"

static char folder[] = "/tmp/makegood-harden-XXXXXX";
static char kept[64], fresh[64];
static char what[MG_HARDENING_SIZE];

/* Runs outside of the tests' processes, so it can still remove files that these may not. */
static void set_up(void)
{
    memcpy(folder + sizeof(folder) - 7, "XXXXXX", 6);
    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(kept, sizeof(kept), "%s/kept", folder);
    (void)snprintf(fresh, sizeof(fresh), "%s/fresh", folder);
    int fd = open(kept, O_CREAT | O_WRONLY | O_CLOEXEC, 0700);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(close(fd), 0);
}

static void tear_down(void)
{
    (void)unlink(kept);
    (void)unlink(fresh);
    (void)rmdir(folder);
}

/* Catches: a crash that writes orders and passwords to disk, or shows them to a tracer. */
START_TEST(nothing_is_dumped)
{
    struct rlimit limit = {1, 1};
    mg_harden(what);
    ck_assert_int_eq(getrlimit(RLIMIT_CORE, &limit), 0);
    ck_assert_uint_eq(limit.rlim_cur, 0);
    ck_assert_uint_eq(limit.rlim_max, 0);
    ck_assert_int_eq(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 1);
    ck_assert_ptr_nonnull(strstr(what, "no core files"));
    ck_assert_ptr_nonnull(strstr(what, "no new privileges"));
    bool is_dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0;
    ck_assert_int_eq(is_dumpable, strstr(what, "not dumpable") == NULL);
}
END_TEST

/* Catches: a process that can be made to write or run files although it never needs to. */
START_TEST(no_file_is_written_made_removed_or_run)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    mg_harden(what);
    ck_assert_int_eq(strstr(what, "Landlock") != NULL, version > 0);
    if (version < 1) {
        return; /* this kernel has none */
    }
    ck_assert_int_eq(open(kept, O_WRONLY | O_CLOEXEC), -1);
    ck_assert_int_eq(errno, EACCES);
    ck_assert_int_eq(open(kept, O_RDWR | O_CLOEXEC), -1);
    ck_assert_int_eq(open(fresh, O_CREAT | O_WRONLY | O_CLOEXEC, 0600), -1);
    ck_assert_int_eq(mkdir(fresh, 0700), -1);
    ck_assert_int_eq(symlink(kept, fresh), -1);
    ck_assert_int_eq(unlink(kept), -1);
    ck_assert_int_eq(errno, EACCES);
    char *const words[] = {kept, NULL};
    ck_assert_int_eq(execve("/bin/true", words, words + 1), -1);
    ck_assert_int_eq(errno, EACCES);
}
END_TEST

/* Catches: an export of the archive that can never run its command. */
START_TEST(a_process_that_may_run_programs_can)
{
    mg_harden_but_files(what);
    ck_assert_ptr_null(strstr(what, "Landlock"));
    ck_assert_int_eq(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 1);
    char *const words[] = {kept, NULL};
    execve("/bin/true", words, words + 1);
    ck_abort_msg("%s", strerror(errno));
}
END_TEST

/* Catches: a service that can no longer read its secrets, or write to the log it was given. */
START_TEST(reading_and_what_is_open_go_on)
{
    int log = open(kept, O_WRONLY | O_APPEND | O_CLOEXEC);
    ck_assert_int_ge(log, 0);
    mg_harden(what);
    ck_assert_int_eq(write(log, "line\n", 5), 5);
    int fd = open(kept, O_RDONLY | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    char text[8];
    ck_assert_int_eq(read(fd, text, sizeof(text)), 5);
}
END_TEST

/* Catches: a queue of events or a socket that gets the number of a closed standard descriptor, into which
 * libraries then print; and a print into nothing that passes for done. */
START_TEST(closed_standard_descriptors_are_held_and_fail)
{
    for (int fd = 0; fd <= 2; fd++) {
        (void)close(fd);
    }
    mg_harden(what);
    ck_assert_int_gt(open(kept, O_RDONLY | O_CLOEXEC), 2);
    for (int fd = 1; fd <= 2; fd++) {
        ck_assert_int_eq(write(fd, "x", 1), -1);
        ck_assert_int_eq(errno, EBADF);
    }
    char byte;
    ck_assert_int_eq(read(0, &byte, 1), -1);
    ck_assert_ptr_nonnull(strstr(what, "closed standard descriptors replaced"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("harden");
    TCase *tests = tcase_create("harden");
    tcase_add_unchecked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, nothing_is_dumped);
    tcase_add_test(tests, no_file_is_written_made_removed_or_run);
    tcase_add_test(tests, a_process_that_may_run_programs_can);
    tcase_add_test(tests, reading_and_what_is_open_go_on);
    tcase_add_test(tests, closed_standard_descriptors_are_held_and_fail);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_set_fork_status(runner, CK_FORK);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
