/*
 * Two processes write the same orders at the same time, over and over, each from its own copy. The store's
 * answers to each must agree with the tables.
 */
#include "store_fixture.h"

#include <stdio.h>
#include <string.h>

#define ORDERS 40
#define ROUNDS 200

/* One of two processes that write the same orders, each from its own copy. */
struct writer {
    struct rig rig;
    struct mg_order_record records[ORDERS];
    struct mg_event_record events[ORDERS];
    struct mg_order_write writes[ORDERS];
    int count;
};

/* Some orders in random order: new ones, steps of old ones, and now and then one that cannot be stored. */
static void writer_begin(struct writer *writer, uint64_t *random)
{
    writer->count = 0;
    for (int i = 0; i < ORDERS; i++) {
        *random = *random * 6364136223846793005u + 1442695040888963407u;
        if ((*random >> 33) % 3 == 0) {
            continue;
        }
        struct mg_order_record *record = &writer->records[(i * 7 + (int)(*random >> 60)) % ORDERS];
        bool is_twice = false;
        for (int k = 0; k < writer->count; k++) {
            is_twice = is_twice || writer->writes[k].record == record;
        }
        if (is_twice) {
            continue;
        }
        int n = writer->count++;
        record->order.version++;
        writer->writes[n] = write_make(record, record->order.version - 1, &writer->events[n], "c");
        writer->writes[n].changed_steps = 1;
        if ((*random >> 40) % 50 == 0) {
            writer->events[n].transitions = mg_slice_of("no JSON");
        }
    }
    mg_store_commit(writer->rig.store, writer->writes, writer->count, rig_done, &writer->rig);
}

static int writer_end(struct writer *writer)
{
    int done_count = 0;
    rig_wait_answer(&writer->rig);
    ck_assert_msg(writer->rig.err.class == MG_OK, "%s", writer->rig.err.text);
    for (int i = 0; i < writer->count; i++) {
        struct mg_order_record *record = &writer->records[writer->writes[i].record - writer->records];
        if (writer->writes[i].result == MG_WRITE_DONE) {
            record->stored_steps = 1;
            done_count++;
        } else if (writer->writes[i].result == MG_WRITE_REFUSED) {
            ck_assert_ptr_nonnull(strstr(writer->writes[i].text, "22P02"));
            record->order.version--;
        } else {
            const struct mg_order_record *now = rig_load_one(&writer->rig, record->order_id);
            ck_assert_uint_ne(now == NULL ? 0 : now->order.version, record->order.version - 1);
            record->order.version = now == NULL ? 0 : now->order.version;
            record->stored_steps = now == NULL ? 0 : now->stored_steps;
        }
    }
    return done_count;
}

/* Law 4, version guard. Would catch: processes that deadlock on rows, that undo each other's writes, or that
 * get a wrong answer. */
START_TEST(two_writers_at_once_get_true_answers)
{
    static struct writer writers[2];
    uint64_t random = 7;
    int done_count = 0;
    for (int w = 0; w < 2; w++) {
        rig_start(&writers[w].rig);
        for (int i = 0; i < ORDERS; i++) {
            char order_id[16];
            snprintf(order_id, sizeof(order_id), "o-%d", i);
            order_make(&writers[w].records[i], order_id);
            writers[w].records[i].order.version = 0;
        }
    }
    for (int round = 0; round < ROUNDS; round++) {
        writer_begin(&writers[0], &random);
        writer_begin(&writers[1], &random);
        done_count += writer_end(&writers[0]);
        done_count += writer_end(&writers[1]);
    }
    struct rig *looker = &writers[0].rig;
    char counted[16];
    snprintf(counted, sizeof(counted), "%d", done_count);
    ck_assert_str_eq(rig_value(looker, "SELECT count(*) FROM order_event"), counted);
    ck_assert_str_eq(rig_value(looker, "SELECT sum(version) FROM order_process"), counted);
    rig_finish(&writers[0].rig);
    rig_finish(&writers[1].rig);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store races");
    TCase *test = tcase_create("races");
    tcase_set_timeout(test, 120);
    tcase_add_test(test, two_writers_at_once_get_true_answers);
    suite_add_tcase(suite, test);
    return store_main(suite, "store_races");
}
