/* Shared by the tests of bulk actions: a store that may lead them, orders that failed, and starting. */
#ifndef MG_TESTS_BULK_FIXTURE_H
#define MG_TESTS_BULK_FIXTURE_H

#include "io/store/bulk.h"
#include "store_fixture.h"

#define A "11111111-1111-5111-8111-111111111111"
#define B "22222222-2222-5222-8222-222222222222"
#define C "33333333-3333-5333-8333-333333333333"

extern struct rig rig;
extern struct mg_bulk_started started; /* the last answer */

void bulk_setup(void);
void bulk_teardown(void);
/* Orders o-1 to o-N in error, each with an open failure, o-1's the oldest. They have no step rows; no test
 * needs any. */
void fail_orders(int first, int last, const char *step, const char *service);
struct mg_failure_filter all_failures(void);
void bulk_start(const char *bulk_id, const char *step);
void bulk_start_with(const char *bulk_id, struct mg_failure_filter filter);
void bulk_on_started(void *arg, const struct mg_bulk_started *answer, const struct mg_err *err);

#endif
