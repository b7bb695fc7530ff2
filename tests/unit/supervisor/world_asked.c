/* The supervisor's questions to the store besides the sweep: due parked steps, owed statuses, slots of
 * schedules, orders passed by. */
#include <assert.h>
#include <string.h>

#include "world.h"

static mg_store_parked_fn *parked_done;
static mg_store_owed_fn *owed_done;
static mg_store_due_slots_fn *slots_done;

void mg_store_ask_parked(struct mg_store *store, const struct mg_parked_options *options,
                         mg_store_parked_fn *done, void *arg)
{
    (void)store;
    assert(!fake.is_parked_open && arg == fake_supervisor() && options->epoch == 7);
    assert(strcmp(options->holder, "me") == 0 && options->room_count <= FAKE_ROOMS_MAX);
    fake.is_parked_open = true;
    fake.parked_asks++;
    fake.room_count = options->room_count;
    fake.after = options->after;
    for (int i = 0; i < options->room_count; i++) {
        fake.rooms[i] = options->rooms[i];
    }
    parked_done = done;
}

static void answer_parked(const struct mg_parked_answer *answer, const struct mg_err *err)
{
    assert(fake.is_parked_open);
    fake.is_parked_open = false;
    parked_done(fake_supervisor(), answer, err);
}

void fake_answer_parked(const struct mg_parked_queue *queues, int queue_count, const struct mg_due *dues,
                        int due_count)
{
    answer_parked(&(struct mg_parked_answer){.is_leader = true,
                                             .queues = queues,
                                             .queue_count = queue_count,
                                             .dues = dues,
                                             .due_count = due_count},
                  NULL);
}

void fake_answer_parked_failed(void)
{
    struct mg_err err;
    (void)mg_err_set(&err, MG_TRANSIENT, "the database is away");
    answer_parked(NULL, &err);
}

void fake_answer_parked_fenced(void)
{
    answer_parked(&(struct mg_parked_answer){.is_leader = false}, NULL);
}

void mg_store_ask_owed(struct mg_store *store, const struct mg_ask_owed *options, mg_store_owed_fn *done,
                       void *arg)
{
    (void)store;
    assert(!fake.is_owed_open && arg == fake_supervisor());
    assert(options->epoch == 7 && strcmp(options->holder, "me") == 0);
    fake.is_owed_open = true;
    fake.owed_asks++;
    fake.owed_asked = *options;
    owed_done = done;
}

void fake_answer_owed(const struct mg_due *dues, int count)
{
    assert(fake.is_owed_open);
    fake.is_owed_open = false;
    owed_done(fake_supervisor(), true, dues, count, NULL);
}

void fake_answer_owed_failed(void)
{
    struct mg_err err;
    (void)mg_err_set(&err, MG_TRANSIENT, "the database is away");
    assert(fake.is_owed_open);
    fake.is_owed_open = false;
    owed_done(fake_supervisor(), false, NULL, 0, &err);
}

void mg_store_ask_schedules(struct mg_store *store, uint64_t epoch, const char *holder,
                            mg_store_due_slots_fn *done, void *arg)
{
    (void)store;
    assert(!fake.is_slots_open && arg == fake_supervisor());
    assert(epoch == 7 && strcmp(holder, "me") == 0);
    fake.is_slots_open = true;
    fake.slot_asks++;
    slots_done = done;
}

void fake_answer_slots(const struct mg_due_slot *slots, int count)
{
    assert(fake.is_slots_open);
    fake.is_slots_open = false;
    slots_done(fake_supervisor(), true, fake_database_ms(), slots, count, NULL);
}

int mg_store_passed_rows(const struct mg_store *store, struct mg_passed_row *ret_rows, int max)
{
    (void)store;
    if (fake.passed_orders > 0 && max > 0) {
        ret_rows[0] = (struct mg_passed_row){"order", "o-3", "swept", "missing chunk number 0 (XX001)"};
    }
    return fake.passed_orders;
}
