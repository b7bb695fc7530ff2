/* The statements of common/io/store/leader_lock.c, and those that begin a session (store.c). */
#include <assert.h>
#include <string.h>

#include "store_tables.h"

/* ---- leading ---- */

static void try_lock(struct sim_input *input, struct sim_output *output)
{
    sim_output_begin(output, 2);
    sim_output_row(output);
    sim_output_bool(output, 0, sim_session_try_lock(input->transaction->session));
    sim_output_int(output, 1, input->transaction->now_ms);
}

/* $1 holder. A replay by the standby skips the lock: the original statement held it. */
static void take_epoch(struct sim_input *input, struct sim_output *output)
{
    const struct sim_transaction *transaction = input->transaction;
    struct sim_tables *tables = transaction->tables;
    sim_output_begin(output, 3);
    if (transaction->session != NULL && !sim_session_has_lock(transaction->session)) {
        return;
    }
    tables->leader.epoch++;
    tables->leader.holder = sim_text(sim_scalar(input, 1));
    tables->leader.seen_at_ms = transaction->now_ms;
    sim_output_row(output);
    sim_output_int(output, 0, (int64_t)tables->leader.epoch);
    sim_output_int(output, 1, transaction->now_ms);
    sim_output_time(output, 2, tables->leader.swept_at_ms);
}

/* $1 epoch, $2 holder */
static void stop_leading(struct sim_input *input, struct sim_output *output)
{
    struct sim_tables *tables = input->transaction->tables;
    if ((int64_t)tables->leader.epoch == sim_int(sim_scalar(input, 1)) &&
        mg_slice_equal(tables->leader.holder, sim_scalar(input, 2))) {
        tables->leader.holder = mg_slice_of("");
    }
    if (input->transaction->session != NULL) {
        sim_session_unlock(input->transaction->session);
    }
    (void)output;
}

/* ---- the beginning of a session ---- */

/* $1: the idle session time-out, $2: that of a statement */
static void set_up_session(struct sim_input *input, struct sim_output *output)
{
    struct sim_session *session = input->transaction->session;
    struct mg_slice limit = sim_scalar(input, 1), statement_limit = sim_scalar(input, 2);
    assert(mg_slice_is(limit, "10s") || mg_slice_is(limit, "0"));
    assert(mg_slice_is(statement_limit, "10s") || mg_slice_is(statement_limit, "2s"));
    sim_session_set_idle_limit(session, mg_slice_is(limit, "0") ? 0 : 10000);
    sim_session_set_statement_limit(session, mg_slice_is(statement_limit, "2s") ? 2000 : 10000);
    (void)output;
}

static void check_server(struct sim_input *input, struct sim_output *output)
{
    (void)input;
    sim_output_begin(output, 5);
    sim_output_row(output);
    sim_output_word(output, 0, "on");
    sim_output_word(output, 1, "on");
    sim_output_word(output, 2, "on");
    sim_output_bool(output, 3, true);
}

static void check_schema(struct sim_input *input, struct sim_output *output)
{
    sim_output_begin(output, 3);
    sim_output_row(output);
    sim_output_int(output, 0, MG_SCHEMA_VERSION);
    sim_output_int(output, 1, 1);
    sim_output_int(output, 2, input->transaction->now_ms);
}

static void identify_backend(struct sim_input *input, struct sim_output *output)
{
    sim_output_begin(output, 1);
    sim_output_row(output);
    sim_output_int(output, 0, sim_session_pid(input->transaction->session));
}

/* There is no schedule: the answer says so as one that leads no more would. */
static void ask_schedules(struct sim_input *input, struct sim_output *output)
{
    (void)input;
    sim_output_begin(output, 5);
    sim_output_row(output);
    sim_output_bool(output, 0, false);
}

/* No signal of the simulator has a key. */
static void forget_signals(struct sim_input *input, struct sim_output *output)
{
    (void)input;
    sim_output_begin(output, 8);
    sim_output_row(output);
    sim_output_int(output, 0, 0);
    sim_output_int(output, 1, 0);
    sim_output_int(output, 2, 0);
    sim_output_int(output, 4, 0);
}

/* No invariant depends on the numbers of a minute. */
static void count_minutes(struct sim_input *input, struct sim_output *output)
{
    (void)input;
    sim_output_begin(output, 3);
    sim_output_row(output);
    for (int i = 0; i < 3; i++) {
        sim_output_int(output, i, 0);
    }
}

static void find_lost_signals(struct sim_input *input, struct sim_output *output)
{
    (void)input;
    sim_output_begin(output, 3);
}

void sim_no_keys(struct sim_input *input, struct sim_output *output)
{
    (void)input;
    sim_output_begin(output, 1);
}

/* Statements without a name come after the others. Each is recognised by a piece of text that no other has
 * before it. */
const struct sim_statement SIM_LEAD_STATEMENTS[] = {
    SIM_SCALARS("try_lock", try_lock, false),
    SIM_SCALARS("take_epoch", take_epoch, true),
    SIM_SCALARS("stop_leading", stop_leading, true),
    SIM_SCALARS("sweep", sim_sweep, true),
    SIM_SCALARS("sweep_keys", sim_no_keys, false),
    SIM_SCALARS("wake", sim_wake, true),
    SIM_SCALARS("ask_schedules", ask_schedules, false),
    SIM_SCALARS("forget_signals", forget_signals, true),
    SIM_SCALARS("count_minutes", count_minutes, false),
    SIM_SCALARS("find_lost_signals", find_lost_signals, false),
    SIM_SCALARS("wake_keys", sim_no_keys, false),
    SIM_SCALARS("set_config('statement_timeout'", set_up_session, false),
    SIM_SCALARS("current_setting('fsync')", check_server, false),
    SIM_SCALARS("FROM makegood_migration", check_schema, false),
    SIM_SCALARS("pg_backend_pid()", identify_backend, false),
    {.name = NULL},
};
