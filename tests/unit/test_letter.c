/* A dead letter's identity for the records of operators' actions. */
#include <check.h>
#include <string.h>

#include "operator/letter.h"
#include "suite.h"

static struct mg_dead_letter letter_of(const char *queue, const char *message_id, const char *body)
{
    return (struct mg_dead_letter){
        .queue = mg_slice_of(queue), .message_id = mg_slice_of(message_id), .body = mg_slice_of(body)};
}

/* Would catch: an act on another letter than the one shown, and records that name two letters alike. */
START_TEST(a_mark_is_of_one_content)
{
    const struct mg_dead_letter letters[] = {letter_of("q", "id", "body"), letter_of("q", "id", "Body"),
                                             letter_of("q", "i", "dbody"), letter_of("q", NULL, "body"),
                                             letter_of("p", "id", "body"), letter_of("q", "id", NULL)};
    char marks[6][MG_LETTER_MARK_SIZE], again[MG_LETTER_MARK_SIZE];
    for (int i = 0; i < 6; i++) {
        mg_letter_mark_make(&letters[i], marks[i]);
        mg_letter_mark_make(&letters[i], again);
        ck_assert_uint_eq(strlen(marks[i]), MG_LETTER_MARK_SIZE - 1);
        ck_assert_str_eq(marks[i], again);
        for (int before = 0; before < i; before++) {
            ck_assert_str_ne(marks[i], marks[before]);
        }
    }
}
END_TEST

/* Would catch: a record that the database refuses, so that the letter can be neither requeued nor dropped. */
START_TEST(an_id_is_a_text_that_can_be_stored)
{
    char longest[301], id[MG_LETTER_ID_SIZE];
    struct mg_dead_letter letter = letter_of("q", "order-1", "");
    mg_letter_id_write(&letter, id);
    ck_assert_str_eq(id, "order-1");
    letter.message_id = (struct mg_slice){NULL, 0};
    mg_letter_id_write(&letter, id);
    ck_assert_str_eq(id, "");
    letter.message_id = (struct mg_slice){"a\xff\0b", 4};
    mg_letter_id_write(&letter, id);
    ck_assert_str_eq(id, "a?");
    memset(longest, 'x', sizeof(longest) - 1);
    longest[300] = '\0';
    letter.message_id = mg_slice_of(longest);
    mg_letter_id_write(&letter, id);
    ck_assert_uint_eq(strlen(id), MG_LETTER_ID_SIZE - 1);
}
END_TEST

/* Would catch: a refused order that is not found, because its id stands only in the body, or only next to it.
 */
START_TEST(a_letter_is_found_by_its_order)
{
    char id[MG_LETTER_ID_SIZE];
    struct mg_dead_letter letter = letter_of("q", "m-1", "{\"order_id\": \"shop-2026-7\", \"workflow\": 7}");
    letter.correlation_id = mg_slice_of("c-1");
    ck_assert(mg_letter_find(&letter, "shop-2026", id));
    ck_assert_str_eq(id, "shop-2026-7");
    ck_assert(mg_letter_find(&letter, "m-1", id) && mg_letter_find(&letter, "c-", id));
    ck_assert(!mg_letter_find(&letter, "hop-2026", id) && !mg_letter_find(&letter, "shop-2026-77", id));
    letter = letter_of("q", "m-1", "no JSON: {\"order_id\": \"shop-2026-7\"}");
    ck_assert(!mg_letter_find(&letter, "shop", id));
    ck_assert_str_eq(id, "m-1");
    letter = letter_of("q", NULL, "{\"order_id\": 7}");
    ck_assert(!mg_letter_find(&letter, "7", id));
    ck_assert_str_eq(id, "");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("letter");
    TCase *tests = tcase_create("letter");
    tcase_add_test(tests, a_mark_is_of_one_content);
    tcase_add_test(tests, an_id_is_a_text_that_can_be_stored);
    tcase_add_test(tests, a_letter_is_found_by_its_order);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
