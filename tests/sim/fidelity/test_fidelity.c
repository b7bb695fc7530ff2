/*
 * The simulated database against PostgreSQL: the same sequence of calls, drawn by a seed, on both; every
 * answer is compared. PostgreSQL's clock is the test's: its function has the same name and is found first.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../integration/store_fixture.h"
#include "fidelity.h"
#include "io/store/store_private.h"

#define SEEDS      6
#define LINE_SIZE  4096
#define KEPT_LINES 3

static struct real_side {
    struct fidelity_peer peer;
    struct rig rig;
} sides[FIDELITY_PEERS];

struct fidelity_peer *fidelity_peer(int index)
{
    return &sides[index].peer;
}

static struct real_side *side_of(const struct fidelity_peer *peer)
{
    int index = 0;
    while (&sides[index].peer != peer) {
        index++;
    }
    return &sides[index];
}

static bool is_answered(const struct rig *rig)
{
    for (int i = 0; i < FIDELITY_PEERS; i++) {
        if (&sides[i].rig == rig) {
            return sides[i].peer.is_answered;
        }
    }
    return false;
}

void fidelity_wait(struct fidelity_peer *peer)
{
    rig_wait(&side_of(peer)->rig, is_answered);
}

void fidelity_wake(struct fidelity_peer *peer)
{
    mg_loop_stop(side_of(peer)->rig.loop);
}

static bool is_down(const struct rig *rig)
{
    return rig->downs > 0;
}

static bool is_up_again(const struct rig *rig)
{
    return rig->ups > 0;
}

void fidelity_lose(struct fidelity_peer *peer)
{
    struct rig *rig = &side_of(peer)->rig;
    char sql[128];
    rig->downs = rig->ups = 0;
    /* Waits until the session, and its lock, are gone. */
    (void)snprintf(sql, sizeof(sql), "SELECT pg_terminate_backend(%d, 5000)",
                   mg_pg_backend_pid(peer->store->pg));
    rig_admin(rig, sql);
    rig_wait(rig, is_down);
    rig_wait(rig, is_up_again);
}

void fidelity_set_clock(int64_t now_ms)
{
    char sql[128];
    (void)snprintf(sql, sizeof(sql), "UPDATE test_clock SET now = to_timestamp(%lld / 1000.0)",
                   (long long)now_ms);
    rig_admin(&sides[0].rig, sql);
}

/* Runs after the migration, so it sets the columns' defaults anew. */
static const char OWN_CLOCK[] =
    "CREATE TABLE IF NOT EXISTS test_clock (now timestamptz);"
    "DELETE FROM test_clock; INSERT INTO test_clock VALUES ('epoch');"
    "CREATE OR REPLACE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE"
    " AS 'SELECT now FROM public.test_clock';"
    "DO $$ DECLARE found record; BEGIN"
    " EXECUTE format('ALTER DATABASE %I SET search_path = public, pg_catalog', current_database());"
    " FOR found IN SELECT table_name, column_name FROM information_schema.columns"
    "  WHERE table_schema = 'public' AND column_default LIKE '%clock_timestamp()' LOOP"
    "  EXECUTE format('ALTER TABLE %I ALTER %I SET DEFAULT public.clock_timestamp()', found.table_name,"
    "   found.column_name);"
    " END LOOP; END $$";

static void setup(void)
{
    rig_open(&sides[0].rig);
    rig_admin(&sides[0].rig, OWN_CLOCK);
    PQfinish(sides[0].rig.admin);
    mg_arena_destroy(sides[0].rig.arena);
    mg_loop_destroy(sides[0].rig.loop);
    for (int i = 0; i < FIDELITY_PEERS; i++) {
        struct rig *rig = &sides[i].rig;
        if (i == 0) {
            rig_start(rig);
        } else {
            rig_open(rig);
            rig_start_with(rig, (struct mg_store_options){.is_leader_session = i >= 2}, true);
        }
        sides[i].peer.store = rig->store;
    }
}

static void teardown(void)
{
    for (int i = 0; i < FIDELITY_PEERS; i++) {
        rig_finish(&sides[i].rig);
    }
}

/* Compares both line by line. The first difference fails the test and prints the lines before it. */
static void compare(int seed, FILE *real, FILE *sim)
{
    static char kept[KEPT_LINES][LINE_SIZE], said[LINE_SIZE];
    int count = 0;
    for (;; count++) {
        char *line = kept[count % KEPT_LINES];
        const char *other = fgets(said, LINE_SIZE, sim);
        if (fgets(line, LINE_SIZE, real) == NULL) {
            ck_assert_msg(other == NULL, "seed %d: the simulated database returns more: %s", seed, said);
            break;
        }
        if (other == NULL || strcmp(line, said) != 0) {
            ck_abort_msg("seed %d, line %d\nbefore: %s%spostgresql: %ssimulated:  %s", seed, count + 1,
                         kept[(count + 1) % KEPT_LINES], kept[(count + 2) % KEPT_LINES], line,
                         other == NULL ? "nothing more\n" : said);
        }
    }
    ck_assert_msg(count > FIDELITY_STEPS, "seed %d: only %d lines", seed, count);
}

/* Would catch: a simulated statement that differs from its SQL. */
START_TEST(the_simulated_database_answers_as_postgresql_does)
{
    char command[1024];
    FILE *real = tmpfile();
    ck_assert_ptr_nonnull(real);
    fidelity_play((uint64_t)_i, real);
    rewind(real);
    (void)snprintf(command, sizeof(command), "'%s' %d", getenv("MAKEGOOD_FIDELITY_SIM"), _i);
    FILE *sim = popen(command, "r"); /* NOLINT(cert-env33-c): a program of this test, and a number */
    ck_assert_ptr_nonnull(sim);
    compare(_i, real, sim);
    ck_assert_int_eq(pclose(sim), 0);
    (void)fclose(real);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("simulated database");
    TCase *test = tcase_create("fidelity");
    tcase_set_timeout(test, 120);
    tcase_add_checked_fixture(test, setup, teardown);
    tcase_add_loop_test(test, the_simulated_database_answers_as_postgresql_does, 0, SEEDS);
    suite_add_tcase(suite, test);
    return store_main(suite, "fidelity");
}
