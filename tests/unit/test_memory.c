/* The memory limit of a process, by its control groups, and the share of it for messages. */
#include "base/memory.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "suite.h"

#define MIB INT64_C(1048576)

static char folder[] = "/tmp/makegood-test-memory-XXXXXX";

static void setup(void)
{
    memcpy(folder + strlen(folder) - 6, "XXXXXX", 6);
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static int drop(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status;
    (void)kind;
    (void)walk;
    return remove(path);
}

static void teardown(void)
{
    ck_assert_int_eq(nftw(folder, drop, 8, FTW_DEPTH), 0);
}

static const char *place(const char *name)
{
    static char path[2][256];
    static int turn;
    char *to = path[turn++ % 2];
    (void)snprintf(to, sizeof(path[0]), "%s/%s", folder, name);
    return to;
}

static void put(const char *name, const char *text)
{
    char path[256];
    (void)snprintf(path, sizeof(path), "%s", place(name));
    for (char *slash = path + strlen(folder) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        (void)mkdir(path, 0700);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

static int64_t limit(void)
{
    return mg_memory_limit(folder, place("self"));
}

/* Would catch: a process in a container that takes the machine's memory for its own. */
START_TEST(the_least_of_all_groups_counts)
{
    put("self", "12:cpu:/a/b\n4:memory:/a/b\n0::/\n");
    put("memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
    put("memory/a/memory.limit_in_bytes", "268435456\n");
    ck_assert_int_eq(limit(), 256 * MIB);
    put("memory/a/b/memory.limit_in_bytes", "134217728\n");
    ck_assert_int_eq(limit(), 128 * MIB);
    put("memory/memory.limit_in_bytes", "67108864\n");
    ck_assert_int_eq(limit(), 64 * MIB);
}
END_TEST

/* Would catch the same with version 2, where "max" is no limit, and where the path is the host's. */
START_TEST(both_versions_are_read)
{
    put("self", "0::/system.slice/makegood.service\n");
    put("system.slice/makegood.service/memory.max", "max\n");
    put("system.slice/memory.max", "536870912\n");
    ck_assert_int_eq(limit(), 512 * MIB);
    put("self", "0::/docker/0123456789abcdef\n");
    put("memory.max", "268435456\n");
    ck_assert_int_eq(limit(), 256 * MIB);
}
END_TEST

/* Would catch: garbage that is read as a limit of 0. */
START_TEST(without_a_limit_the_machine_s_memory_is_one)
{
    int64_t machine = mg_memory_limit(folder, place("none"));
    ck_assert_int_gt(machine, 64 * MIB);
    put("self", "garbage\n4:memory\n0::/x\n");
    put("x/memory.max", "?\n");
    ck_assert_int_eq(limit(), machine);
    put("x/memory.max", "0\n");
    ck_assert_int_eq(limit(), machine);
}
END_TEST

START_TEST(messages_may_take_half_within_bounds)
{
    ck_assert_uint_eq(mg_memory_budget(0, 256 * MIB), (size_t)(128 * MIB));
    ck_assert_uint_eq(mg_memory_budget(0, 64 * 1024 * MIB), MG_MEMORY_BUDGET_DEFAULT_MAX);
    ck_assert_uint_eq(mg_memory_budget(0, MIB), MG_MEMORY_BUDGET_MIN);
    ck_assert_uint_eq(mg_memory_budget(77 * MIB, 64 * MIB), (size_t)(77 * MIB));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("memory");
    TCase *tests = tcase_create("memory");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, the_least_of_all_groups_counts);
    tcase_add_test(tests, both_versions_are_read);
    tcase_add_test(tests, without_a_limit_the_machine_s_memory_is_one);
    tcase_add_test(tests, messages_may_take_half_within_bounds);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
