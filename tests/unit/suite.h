/* The common end of each test's main(). */
#ifndef MG_TEST_SUITE_H
#define MG_TEST_SUITE_H

#include <check.h>
#include <stdlib.h>

/* Runs the suite and frees it; returns the exit code. */
static inline int run_suite(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif
