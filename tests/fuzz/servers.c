/* See servers.h and owed.h. */
#include "servers.h"

#include <stdlib.h>

#include "owed.h"
#include "process.h"

struct servers servers;

/* ---- open answers ---- */

static struct {
    struct mg_idle *idle;
    struct owed *first, **end;
    int notes, uses_of_notes;
} state;

struct owed *servers_owe(void (*answer)(struct owed *), void (*fn)(void), void *arg)
{
    struct owed *owed = calloc(1, sizeof(*owed));
    FUZZ_REQUIRE(owed != NULL);
    owed->answer = answer;
    owed->fn = fn;
    owed->arg = arg;
    *state.end = owed;
    state.end = &owed->next;
    mg_idle_arm(state.idle);
    return owed;
}

static void answer_all(bool is_end)
{
    struct owed *owed = state.first;
    state.first = NULL;
    state.end = &state.first;
    while (owed != NULL) {
        struct owed *next = owed->next;
        if (!is_end || owed->is_work) {
            owed->answer(owed);
        }
        free(owed);
        owed = next;
    }
}

static void on_idle(void *arg)
{
    (void)arg;
    answer_all(false);
}

void servers_begin(struct mg_loop *loop)
{
    state.end = &state.first;
    state.notes = state.uses_of_notes = servers.changes = 0;
    servers.may_change = false;
    state.idle = mg_idle_create(loop, on_idle, NULL);
    FUZZ_REQUIRE(state.idle != NULL);
}

void servers_end(void)
{
    answer_all(true);
    FUZZ_REQUIRE(state.first == NULL);
    mg_idle_destroy(state.idle);
}

/* ---- the lines of operator_action ---- */

void servers_note(void)
{
    state.notes++;
}

void servers_use_note(void)
{
    FUZZ_REQUIRE(++state.uses_of_notes <= state.notes);
}

/* ---- work for the loop ---- */

/* The work of another thread. */
static void work_answer(struct owed *owed)
{
    ((mg_loop_fn *)owed->fn)(owed->arg);
}

bool __wrap_mg_loop_offload(struct mg_loop *loop, mg_loop_fn *work, mg_loop_fn *done, void *arg);
bool __wrap_mg_loop_offload(struct mg_loop *loop, mg_loop_fn *work, mg_loop_fn *done, void *arg)
{
    (void)loop;
    work(arg);
    servers_owe(work_answer, (void (*)(void))done, arg)->is_work = true;
    return true;
}

/* ---- signals and bulk actions: none come here ---- */

void mg_process_drain_requests(struct mg_process *process)
{
    (void)process;
}

void mg_process_reread(struct mg_process *process, const char *what, bool is_new, const struct mg_err *err)
{
    (void)process, (void)what, (void)is_new, (void)err;
}

void mg_process_reread_file(struct mg_process *process, const char *what, enum mg_class class,
                            const struct mg_err *err)
{
    (void)process, (void)what, (void)class, (void)err;
}

enum mg_class mg_bulk_runner_start(struct mg_loop *loop, const struct mg_bulk_runner_options *options,
                                   struct mg_bulk_runner **ret_runner, struct mg_err *err)
{
    (void)loop, (void)options, (void)ret_runner, (void)err;
    return MG_OK;
}

enum mg_class mg_bulk_runner_set_url(struct mg_bulk_runner *runner, const char *url, struct mg_err *err)
{
    (void)runner, (void)url, (void)err;
    return MG_OK;
}

enum mg_class mg_bulk_runner_set_dsn(struct mg_bulk_runner *runner, const char *dsn, struct mg_err *err)
{
    (void)runner, (void)dsn, (void)err;
    return MG_OK;
}

void mg_bulk_runner_stop(struct mg_bulk_runner *runner)
{
    (void)runner;
}
