/* Connection strings that a service accepts: none that exposes a password or an order on the way. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/pg/dsn.h"
#include "io/store/store.h"
#include "suite.h"

static const struct {
    const char *dsn;
    bool is_good; /* with no variable in the environment */
} DSNS[] = {
    {"", true},
    {"orders", true}, /* the name of a database, through the socket of this machine */
    {"host=/run/postgresql", true},
    {"host=@abstract", true},
    {"host=''", true},
    {"host=localhost password=s3cret", true},
    {"host=::1", true},
    {"host=::ffff:127.0.0.1", true},
    {"postgresql://u:s3cret@[::1]/orders", true},
    {"dbname=postgres://db/x", true}, /* libpq does not look into it */
    {"host=db sslmode=verify-full", true},
    {"service=any sslmode=verify-full", true},
    {"postgres://u:s3cret@db/orders?sslmode=verify-full", true},
    {"host=db password=s3cret", false},
    {"host=db sslmode=require", false},
    {"host=db sslmode=verify-ca", false},
    {"host=db sslmode=verify-full sslmode=disable", false}, /* the last counts */
    {"host=db gssencmode=require", false},
    {"host=0", false},
    {"host=0.0.0.0", false},
    {"host=127.1", false},
    {"host=2130706433", false},
    {"host=::ffff:10.0.0.1", false},
    {"host=fe80::1%lo", false},
    {"host=localhost.", false},
    {"host=localhost,db", false},
    {"host=/tmp,/run hostaddr=,10.0.0.1", false},
    {"host=localhost hostaddr=10.0.0.1", false},
    {"hostaddr=10.0.0.1", false},
    {"service=any", false}, /* names a host in a file that may change */
    {"postgresql:///orders?host=db", false},
    {"postgresql://localhost,db/orders", false},
    {"postgresql://u:s3@cret@localhost/orders", false},
    {"postgresql://u:p@db?sslmode=s3cret@localhost/orders", false},
    {"postgresql://u:s3cret@localhost/orders password=s3cret", false},
    {"postgresql://u:s3cret@localhost/orders\n", false},
    {"password=s3cret host", false},
    {"host= password=s3cret", false}, /* for libpq the password is the host */
    {"host=localhost user= password=s3cret", false},
    {"pasword=s3cret", false},
    {" postgresql://u:s3cret@localhost/orders", false},
    {"\tpostgres://u:s3cret@localhost/orders", false},
    {"\"postgresql://u:s3cret@localhost/orders\"", false},
    {"dsn postgresql://u:s3cret@localhost/orders", false},
    {"u:s3cret@localhost/orders",
     false}, /* for libpq the name of a database, which the server's log quotes */
    {"postgresql:/u:s3cret@localhost/orders", false},
    {"postgresql//u:s3cret@localhost/orders", false},
    {"postgresql:/u:s3cret@localhost/orders?sslmode=verify-full", false},
    {"host=localhost u:s3cret@localhost/orders", false},
};

static void forget_environment(void)
{
    static const char *const names[] = {"PGHOST", "PGHOSTADDR", "PGSSLMODE", "PGSERVICE", "PGSERVICEFILE"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        ck_assert_int_eq(unsetenv(names[i]), 0);
    }
}

/* Catches: a gap in a connection string through which a password leaves the machine in plain text or goes to
 * any server that answers; a refusal that quotes the password. */
START_TEST(only_local_or_verified_connections_are_taken)
{
    struct mg_err err = {MG_OK, ""};
    enum mg_class class = mg_dsn_check(DSNS[_i].dsn, false, &err);
    ck_assert_msg(class == (DSNS[_i].is_good ? MG_OK : MG_BAD_INPUT), "%s: %s", DSNS[_i].dsn, err.text);
    ck_assert_msg(strstr(err.text, "s3cret") == NULL && strstr(err.text, "cret@") == NULL, "%s", err.text);
}
END_TEST

static const struct {
    const char *name, *value, *dsn;
    bool is_good;
} ENVIRONMENTS[] = {
    {"PGHOST", "db", "", false},
    {"PGHOST", "db", "dbname=orders", false},
    {"PGHOST", "db", "orders", false},
    {"PGHOST", "db", "host=", true}, /* named, and empty */
    {"PGHOST", "db", "host=localhost", true},
    {"PGHOST", "db", "sslmode=verify-full", true},
    {"PGHOSTADDR", "10.0.0.1", "host=localhost", false},
    {"PGHOSTADDR", "10.0.0.1", "host=/tmp", false},
    {"PGSSLMODE", "verify-full", "host=db", true},
    {"PGSSLMODE", "verify-full", "host=db sslmode=prefer", false},
    {"PGSERVICE", "away", "dbname=orders", false},
    {"PGSERVICE", "away", "host=localhost", true},
    {"PGSERVICE", "aside", "dbname=orders", false},
    {"PGSERVICE", "verified", "dbname=orders", true},
};

/* Catches: a host or mode that comes in through the environment, past the check. */
START_TEST(the_environment_counts_as_for_libpq)
{
    char path[] = "/tmp/makegood-services-XXXXXX";
    static const char services[] = "[away]\nhost=db\n[aside]\nhost=localhost\nhostaddr=10.0.0.1\n"
                                   "[verified]\nhost=db\nsslmode=verify-full\n";
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, services, sizeof(services) - 1), sizeof(services) - 1);
    ck_assert_int_eq(close(fd), 0);
    ck_assert_int_eq(setenv("PGSERVICEFILE", path, 1), 0);
    ck_assert_int_eq(setenv(ENVIRONMENTS[_i].name, ENVIRONMENTS[_i].value, 1), 0);
    struct mg_err err = {MG_OK, ""};
    enum mg_class class = mg_dsn_check(ENVIRONMENTS[_i].dsn, false, &err);
    (void)unlink(path);
    ck_assert_msg(class == (ENVIRONMENTS[_i].is_good ? MG_OK : MG_BAD_INPUT), "%s=%s, %s: %s",
                  ENVIRONMENTS[_i].name, ENVIRONMENTS[_i].value, ENVIRONMENTS[_i].dsn, err.text);
}
END_TEST

/* Catches: an allowance for private networks that accepts an unreadable connection string. */
START_TEST(allowed_plaintext_is_still_read)
{
    struct mg_err err;
    ck_assert_int_eq(mg_dsn_check("host=db", true, &err), MG_OK);
    ck_assert_int_eq(mg_dsn_check("postgresql://u:p@h/db password=x", true, &err), MG_BAD_INPUT);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("dsn");
    TCase *tests = tcase_create("dsn");
    tcase_add_checked_fixture(tests, forget_environment, NULL);
    tcase_add_loop_test(tests, only_local_or_verified_connections_are_taken, 0,
                        sizeof(DSNS) / sizeof(DSNS[0]));
    tcase_add_loop_test(tests, the_environment_counts_as_for_libpq, 0,
                        sizeof(ENVIRONMENTS) / sizeof(ENVIRONMENTS[0]));
    tcase_add_test(tests, allowed_plaintext_is_still_read);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
