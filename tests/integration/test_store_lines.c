/*
 * Lines: places in the order of a batch, turns to the next, and a place and a turn that are written at the
 * same moment by two sessions.
 */
#include "store_fixture.h"

#include <stdio.h>
#include <string.h>

#define ROUNDS 300

static struct rig rig;

static void setup(void)
{
    rig_start(&rig);
}

static void teardown(void)
{
    rig_finish(&rig);
}

/* An order with its writes. */
struct place {
    struct mg_order_record record;
    struct mg_event_record event;
    struct mg_order_write write;
};

static struct mg_order_write *place_move(struct place *place, struct mg_line_move move)
{
    uint64_t expected = place->record.order.version++;
    place->write = write_make(&place->record, expected, &place->event, "c");
    place->write.line = move;
    return &place->write;
}

static struct mg_order_write *join(struct place *place, const char *order_id, const char *key)
{
    order_make(&place->record, order_id);
    place->record.order.version = 0;
    return place_move(place, (struct mg_line_move){.joins = true, .key = mg_slice_of(key)});
}

static struct mg_order_write *leave(struct place *place)
{
    return place_move(
        place, (struct mg_line_move){.leaves = true, .left_generation = place->record.order.generation});
}

static void commit_one(struct mg_order_write *write)
{
    rig_commit(&rig, write, 1);
    ck_assert_int_eq(rig.err.class, MG_OK);
    ck_assert_msg(write->result == MG_WRITE_DONE, "%s", write->text);
}

static struct place places[4];

/* Three orders of one key in one batch: their ids are in another order than their acceptance. */
static void three_join(void)
{
    static const char *const IDS[] = {"c", "a", "b"};
    struct mg_order_write writes[3];
    for (int i = 0; i < 3; i++) {
        writes[i] = *join(&places[i], IDS[i], "k");
    }
    rig_commit(&rig, writes, 3);
    ck_assert_int_eq(rig.err.class, MG_OK);
    ck_assert_str_eq(writes[0].turn.order_id, "c");
    ck_assert_str_eq(writes[1].turn.order_id, "");
    ck_assert_str_eq(writes[2].turn.order_id, "");
}

START_TEST(places_are_given_in_the_order_of_the_batch)
{
    three_join();
    ck_assert_str_eq(rig_value(&rig, "SELECT string_agg(order_id, ',' ORDER BY place) FROM sequence_place"),
                     "c,a,b");
    ck_assert_str_eq(rig_value(&rig, "SELECT format('%s %s %s %s', tail, length, order_id, is_called) FROM "
                                     "sequence_key"),
                     "3 3 c f");
}
END_TEST

START_TEST(an_end_passes_the_turn_to_the_next_and_an_empty_line_is_gone)
{
    three_join();
    commit_one(place_move(&places[0], (struct mg_line_move){.begins = true}));
    ck_assert_str_eq(rig_value(&rig, "SELECT is_called FROM sequence_key"), "t");
    ck_assert_str_eq(places[0].write.turn.order_id, "");
    commit_one(leave(&places[0]));
    ck_assert_str_eq(places[0].write.turn.order_id, "a");
    ck_assert_str_eq(rig_value(&rig, "SELECT is_called FROM sequence_key"), "f");
    commit_one(leave(&places[2])); /* from the middle */
    ck_assert_str_eq(places[2].write.turn.order_id, "");
    commit_one(leave(&places[1]));
    ck_assert_str_eq(places[1].write.turn.order_id, "");
    ck_assert_str_eq(rig_value(&rig, "SELECT count(*) FROM sequence_key"), "0");
    ck_assert_str_eq(rig_value(&rig, "SELECT count(*) FROM sequence_place"), "0");
}
END_TEST

START_TEST(a_restarted_order_takes_the_last_place_under_its_new_generation)
{
    three_join();
    places[0].record.order.generation = 1;
    commit_one(place_move(&places[0],
                          (struct mg_line_move){.leaves = true, .joins = true, .key = mg_slice_of("k")}));
    ck_assert_str_eq(places[0].write.turn.order_id, "a");
    ck_assert_str_eq(rig_value(&rig, "SELECT string_agg(order_id || generation, ',' ORDER BY place) FROM "
                                     "sequence_place"),
                     "a0,b0,c1");
    ck_assert_str_eq(rig_value(&rig, "SELECT length FROM sequence_key"), "3");
}
END_TEST

/* Catches: an order that was released, ends later, and takes the turn of the one that runs. */
START_TEST(an_order_without_a_place_leaves_nothing)
{
    three_join();
    commit_one(leave(&places[0]));
    commit_one(leave(&places[0]));
    ck_assert_str_eq(places[0].write.turn.order_id, "");
    commit_one(place_move(&places[0], (struct mg_line_move){.begins = true}));
    ck_assert_str_eq(
        rig_value(&rig, "SELECT format('%s %s %s', length, order_id, is_called) FROM sequence_key"), "2 a f");
}
END_TEST

START_TEST(a_write_in_conflict_moves_no_place)
{
    three_join();
    struct mg_order_write writes[2] = {*leave(&places[0]), *leave(&places[1])};
    writes[1].expected_version = 7;
    rig_commit(&rig, writes, 2);
    ck_assert_int_eq(writes[1].result, MG_WRITE_CONFLICT);
    ck_assert_str_eq(writes[0].turn.order_id, "a");
    ck_assert_str_eq(rig_value(&rig, "SELECT string_agg(order_id, ',' ORDER BY place) FROM sequence_place"),
                     "a,b");
}
END_TEST

static int64_t lengths_seen[2];

static void on_lengths(void *arg, const int64_t *lengths, const struct mg_err *err)
{
    if (lengths != NULL) {
        memcpy(lengths_seen, lengths, sizeof(lengths_seen));
    }
    rig_done(arg, err);
}

START_TEST(a_line_s_length_is_found_by_its_key)
{
    three_join();
    const struct mg_slice keys[] = {mg_slice_of("other"), mg_slice_of("k")};
    mg_store_line_lengths(rig.store, keys, 2, on_lengths, &rig);
    rig_wait_answer(&rig);
    ck_assert_int_eq(lengths_seen[0], 0);
    ck_assert_int_eq(lengths_seen[1], 3);
}
END_TEST

START_TEST(a_turn_that_was_not_taken_is_reported)
{
    three_join();
    static const char *const PARAMS[] = {"3000", "10"};
    ck_assert_str_eq(rig_report(&rig, MG_REPORT_LINE_TURNS, PARAMS, 2), "");
    rig_admin(&rig, "UPDATE sequence_key SET since = now() - interval '4 s'");
    assert_has(rig_report(&rig, MG_REPORT_LINE_TURNS, PARAMS, 2), "order_id=c");
    commit_one(place_move(&places[0], (struct mg_line_move){.begins = true}));
    ck_assert_str_eq(rig_report(&rig, MG_REPORT_LINE_TURNS, PARAMS, 2), "");
}
END_TEST

START_TEST(a_line_held_by_an_order_in_error_is_reported)
{
    three_join();
    static const char *const PARAMS[] = {"600000"};
    rig_admin(&rig, "UPDATE order_process SET process_state = 'error' WHERE order_id = 'c'");
    assert_has(rig_report(&rig, MG_REPORT_LINE_FIGURES, PARAMS, 1), "orders=2");
    assert_has(rig_report(&rig, MG_REPORT_LINE_FIGURES, PARAMS, 1), "held=0");
    rig_admin(&rig, "UPDATE sequence_key SET since = now() - interval '11 min'");
    assert_has(rig_report(&rig, MG_REPORT_LINE_FIGURES, PARAMS, 1), "held=1 order_id=c others=2");
    static const char *const BY_KEY[] = {"k", "", "10"}, *const BY_ORDER[] = {"", "b", "10"};
    assert_has(rig_report(&rig, MG_REPORT_LINE, BY_KEY, 3), "before=2 order_id=b");
    assert_has(rig_report(&rig, MG_REPORT_LINE, BY_ORDER, 3), "before=0 order_id=c");
}
END_TEST

/* Catches: a turn that is lost, because the end did not see the join, or the other way
 * round; and a turn that is told twice. */
START_TEST(a_place_and_a_turn_at_the_same_moment_miss_each_other_never)
{
    static struct rig other;
    static struct place line[ROUNDS + 1];
    rig_start(&other);
    commit_one(join(&line[0], "o-0", "k"));
    for (int i = 0; i < ROUNDS; i++) {
        char order_id[16];
        (void)snprintf(order_id, sizeof(order_id), "o-%d", i + 1);
        struct mg_order_write *ends = leave(&line[i]), *joins = join(&line[i + 1], order_id, "k");
        bool is_join_first = i % 2 == 0;
        mg_store_commit(is_join_first ? other.store : rig.store, is_join_first ? joins : ends, 1, rig_done,
                        is_join_first ? &other : &rig);
        mg_store_commit(is_join_first ? rig.store : other.store, is_join_first ? ends : joins, 1, rig_done,
                        is_join_first ? &rig : &other);
        rig_wait_answer(&rig);
        rig_wait_answer(&other);
        ck_assert_int_eq(ends->result, MG_WRITE_DONE);
        ck_assert_int_eq(joins->result, MG_WRITE_DONE);
        bool is_told = strcmp(ends->turn.order_id, order_id) == 0,
             is_own = strcmp(joins->turn.order_id, order_id) == 0;
        ck_assert_msg(is_told != is_own, "round %d: the turn of %s was told %d times", i, order_id,
                      is_told + is_own);
    }
    rig_finish(&other);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store lines");
    TCase *test = tcase_create("lines");
    tcase_add_checked_fixture(test, setup, teardown);
    tcase_set_timeout(test, 60);
    tcase_add_test(test, places_are_given_in_the_order_of_the_batch);
    tcase_add_test(test, an_end_passes_the_turn_to_the_next_and_an_empty_line_is_gone);
    tcase_add_test(test, a_restarted_order_takes_the_last_place_under_its_new_generation);
    tcase_add_test(test, an_order_without_a_place_leaves_nothing);
    tcase_add_test(test, a_write_in_conflict_moves_no_place);
    tcase_add_test(test, a_line_s_length_is_found_by_its_key);
    tcase_add_test(test, a_turn_that_was_not_taken_is_reported);
    tcase_add_test(test, a_line_held_by_an_order_in_error_is_reported);
    tcase_add_test(test, a_place_and_a_turn_at_the_same_moment_miss_each_other_never);
    suite_add_tcase(suite, test);
    return store_main(suite, "store_lines");
}
