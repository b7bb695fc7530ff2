/* Slices, the bounded buffer and the arena: limits hold to the byte, and no length wraps around. */
#include <check.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "suite.h"

static struct mg_slice bytes(const char *data, size_t len)
{
    return (struct mg_slice){data, len};
}

/* Catches: absent and empty taken for each other, so that a missing value passes for "". */
START_TEST(an_absent_slice_is_not_an_empty_one)
{
    ck_assert_ptr_null(mg_slice_of(NULL).data);
    ck_assert(!mg_slice_equal(mg_slice_of(NULL), mg_slice_of("")));
    ck_assert(mg_slice_equal(mg_slice_of(NULL), mg_slice_of(NULL)));
    ck_assert(mg_slice_is(bytes("order", 3), "ord"));
    ck_assert(!mg_slice_is(bytes("order", 3), "order"));
    ck_assert(!mg_slice_is(bytes("ab\0c", 4), "ab"));
}
END_TEST

/* Catches: a limit that is off by one in either direction. */
START_TEST(a_buffer_takes_exactly_its_maximum)
{
    struct mg_buf buf;
    mg_buf_init(&buf, 5);
    mg_buf_append_text(&buf, "abc");
    mg_buf_append_text(&buf, "de");
    ck_assert(!buf.failed);
    ck_assert_str_eq(buf.data, "abcde");
    mg_buf_append_text(&buf, "f");
    ck_assert(buf.failed);
    ck_assert_str_eq(buf.data, "abcde");
    mg_buf_finish(&buf);
}
END_TEST

/* Catches: a text with a hole, because a small part still fitted after a large one had not. */
START_TEST(a_failed_buffer_takes_nothing_until_it_is_cleared)
{
    struct mg_buf buf;
    mg_buf_init(&buf, 4);
    mg_buf_append_text(&buf, "ab");
    mg_buf_append_text(&buf, "too long");
    mg_buf_append_text(&buf, "c");
    mg_buf_printf(&buf, "%d", 1);
    mg_buf_append_json(&buf, mg_slice_of(""));
    ck_assert_str_eq(buf.data, "ab");
    mg_buf_clear(&buf);
    ck_assert(!buf.failed);
    mg_buf_append_text(&buf, "c");
    ck_assert_str_eq(buf.data, "c");
    mg_buf_finish(&buf);
}
END_TEST

/* Catches: len + more wrapping around to a small number, and a write far outside the memory. */
START_TEST(a_length_near_the_end_of_size_t_is_refused)
{
    struct mg_buf buf;
    mg_buf_init(&buf, SIZE_MAX);
    mg_buf_append_text(&buf, "x");
    mg_buf_append(&buf, "y", SIZE_MAX);
    ck_assert(buf.failed);
    mg_buf_clear(&buf);
    mg_buf_append_text(&buf, "x");
    mg_buf_append(&buf, "y", SIZE_MAX - 1);
    ck_assert(buf.failed);
    ck_assert_uint_eq(buf.len, 1);
    mg_buf_finish(&buf);
}
END_TEST

/* Catches: growth that loses content or forgets the NUL. */
START_TEST(a_growing_buffer_keeps_what_it_holds)
{
    struct mg_buf buf;
    mg_buf_init(&buf, 100000);
    for (int i = 0; i < 10000; i++) {
        mg_buf_printf(&buf, "%d,", i % 10);
    }
    ck_assert(!buf.failed);
    ck_assert_uint_eq(buf.len, 20000);
    ck_assert_uint_eq(strlen(buf.data), 20000);
    for (size_t i = 0; i < buf.len; i += 2) {
        ck_assert_int_eq(buf.data[i], (char)('0' + (i / 2) % 10));
    }
    ck_assert(buf.capacity <= 100001);
    mg_buf_finish(&buf);
    ck_assert_ptr_null(buf.data);
}
END_TEST

/* Catches: NULL in `data` for its reader after an append of nothing. */
START_TEST(an_append_of_nothing_still_ends_with_nul)
{
    struct mg_buf buf;
    mg_buf_init(&buf, 10);
    ck_assert(mg_slice_is(mg_buf_slice(&buf), ""));
    mg_buf_append(&buf, NULL, 0);
    ck_assert_ptr_nonnull(buf.data);
    ck_assert_str_eq(buf.data, "");
    mg_buf_finish(&buf);
}
END_TEST

static const struct {
    const char *text;
    size_t len;
    const char *json;
} JSON_CASES[] = {
    {"plain", 5, "\"plain\""},
    {"", 0, "\"\""},
    {"a\"b\\c", 5, "\"a\\\"b\\\\c\""},
    {"\b\t\n\f\r", 5, "\"\\b\\t\\n\\f\\r\""},
    {"\0\x01\x1f\x7f", 4, "\"\\u0000\\u0001\\u001f\\u007f\""},
    {"Gr\xc3\xbc\xc3\x9f", 6, "\"Gr\xc3\xbc\xc3\x9f\""},
    {"\xe2\x82\xac\xf0\x9f\x98\x80", 7, "\"\xe2\x82\xac\xf0\x9f\x98\x80\""},
    {"a\xff"
     "b",
     3, "\"a\\ufffdb\""},                                        /* no such byte in UTF-8 */
    {"\xc0\xaf", 2, "\"\\ufffd\\ufffd\""},                       /* an overlong "/" */
    {"\xed\xa0\x80", 3, "\"\\ufffd\\ufffd\\ufffd\""},            /* a surrogate */
    {"\xf4\x90\x80\x80", 4, "\"\\ufffd\\ufffd\\ufffd\\ufffd\""}, /* beyond U+10FFFF */
    {"\xe2\x82", 2, "\"\\ufffd\\ufffd\""},                       /* cut in the middle */
};

/* Catches: JSON that its reader refuses, or that smuggles a quote out of its string. */
START_TEST(json_strings_are_escaped)
{
    struct mg_buf buf;
    mg_buf_init(&buf, 200);
    mg_buf_append_json(&buf, bytes(JSON_CASES[_i].text, JSON_CASES[_i].len));
    ck_assert_str_eq(buf.data, JSON_CASES[_i].json);
    mg_buf_finish(&buf);
}
END_TEST

/* Catches: half a string left behind when the room ends in the middle. */
/* Each byte at each place of a text of three words, with each beginning: words are judged as a whole, and so
 * is a rest. */
START_TEST(plain_bytes_end_at_the_first_that_json_escapes)
{
    char text[3 * sizeof(uint64_t)];
    for (int byte = 0; byte <= UCHAR_MAX; byte++) {
        bool is_plain = byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\';
        for (size_t at = 0; at < sizeof(text); at++) {
            memset(text, 'x', sizeof(text));
            text[at] = (char)byte;
            for (size_t begin = 0; begin <= at; begin++) {
                size_t len = sizeof(text) - begin;
                ck_assert_uint_eq(mg_plain_len(text + begin, len), is_plain ? len : at - begin);
            }
        }
    }
    ck_assert_uint_eq(mg_plain_len(text, 0), 0);
}
END_TEST

START_TEST(a_json_string_that_does_not_fit_leaves_nothing)
{
    for (size_t max = 1; max < 10; max++) {
        struct mg_buf buf;
        mg_buf_init(&buf, max);
        mg_buf_append_text(&buf, "x");
        mg_buf_append_json(&buf, mg_slice_of("ab\ncd\xff"));
        ck_assert(buf.failed);
        ck_assert_str_eq(buf.data, "x");
        mg_buf_finish(&buf);
    }
}
END_TEST

/* Catches: a lost sign; the least number, with an absolute value that fits no int64_t. */
START_TEST(integers_are_written_in_decimal)
{
    struct mg_buf buf;
    mg_buf_init(&buf, 100);
    mg_buf_append_integer(&buf, 0);
    mg_buf_append_text(&buf, " ");
    mg_buf_append_integer(&buf, -1020);
    mg_buf_append_text(&buf, " ");
    mg_buf_append_integer(&buf, INT64_MAX);
    mg_buf_append_text(&buf, " ");
    mg_buf_append_integer(&buf, INT64_MIN);
    ck_assert_str_eq(buf.data, "0 -1020 9223372036854775807 -9223372036854775808");
    mg_buf_finish(&buf);
}
END_TEST

/* Catches: memory with old bytes in it, misaligned memory, and pieces that overlap. */
START_TEST(an_arena_gives_zeroed_aligned_pieces)
{
    struct mg_arena *arena = mg_arena_create(1 << 20);
    ck_assert_ptr_nonnull(arena);
    for (size_t size = 0; size < 400; size++) {
        unsigned char *piece = mg_arena_alloc(arena, size);
        ck_assert_ptr_nonnull(piece);
        ck_assert_uint_eq((uintptr_t)piece % _Alignof(max_align_t), 0);
        for (size_t i = 0; i < size; i++) {
            ck_assert_uint_eq(piece[i], 0);
        }
        memset(piece, 0xa5, size);
    }
    char *large = mg_arena_alloc(arena, 100000);
    ck_assert_ptr_nonnull(large);
    ck_assert_int_eq(large[99999], 0);
    mg_arena_destroy(arena);
    mg_arena_destroy(NULL);
}
END_TEST

/* Catches: a batch that takes all the memory there is. */
START_TEST(an_arena_ends_at_its_maximum)
{
    struct mg_arena *arena = mg_arena_create(1024);
    ck_assert_ptr_nonnull(arena);
    ck_assert_ptr_null(mg_arena_alloc(arena, 1025));
    ck_assert_ptr_null(mg_arena_alloc(arena, SIZE_MAX));
    ck_assert_ptr_null(mg_arena_alloc(arena, SIZE_MAX - 64));
    ck_assert_ptr_nonnull(mg_arena_alloc(arena, 1000));
    ck_assert_ptr_null(mg_arena_alloc(arena, 100));
    ck_assert_ptr_null(mg_arena_copy(arena, mg_slice_of("a text that is longer than what is left")).data);
    mg_arena_destroy(arena);
}
END_TEST

/* Catches: a copy without its NUL, or an absent text that comes back as "". */
START_TEST(an_arena_copies_texts)
{
    struct mg_arena *arena = mg_arena_create(4096);
    ck_assert_ptr_nonnull(arena);
    struct mg_slice copy = mg_arena_copy(arena, bytes("order-17", 5));
    ck_assert(mg_slice_is(copy, "order"));
    ck_assert_int_eq(copy.data[5], '\0');
    ck_assert_str_eq(mg_arena_text(arena, bytes("steps", 4)), "step");
    ck_assert_str_eq(mg_arena_text(arena, mg_slice_of("")), "");
    ck_assert_ptr_null(mg_arena_text(arena, mg_slice_of(NULL)));
    ck_assert_ptr_null(mg_arena_copy(arena, mg_slice_of(NULL)).data);
    ck_assert_str_eq(mg_arena_printf(arena, "%s.%d", "a", 7), "a.7");
    mg_arena_destroy(arena);
}
END_TEST

/* Catches: context in the wrong place, a text that outgrows its room, and an error built from its own text.
 */
START_TEST(an_error_gathers_context_within_its_room)
{
    struct mg_err err;
    ck_assert_int_eq(mg_err_set(&err, MG_TRANSIENT, "could not reach %s", "host"), MG_TRANSIENT);
    ck_assert_int_eq(mg_err_prefix(&err, "claim %d steps", 3), MG_TRANSIENT);
    ck_assert_str_eq(err.text, "claim 3 steps: could not reach host");
    ck_assert_int_eq(mg_err_set(&err, MG_STALE, "again: %s", err.text), MG_STALE);
    ck_assert_str_eq(err.text, "again: claim 3 steps: could not reach host");
    for (int i = 0; i < 100; i++) {
        mg_err_prefix(&err, "context %d", i);
    }
    ck_assert_uint_eq(strlen(err.text), MG_ERR_TEXT_MAX - 1);
    ck_assert_int_eq(strncmp(err.text, "context 99: context 98: ", 24), 0);
    ck_assert_str_eq(mg_class_name(MG_BAD_INPUT), "bad_input");
}
END_TEST

/* Catches: an error text that the database refuses, and with it the order. */
START_TEST(an_error_is_utf8_wherever_it_is_cut)
{
    struct mg_err err;
    (void)mg_err_set(&err, MG_PERMANENT, "no \"%.4s\" here", "a\xd0\xb6\xd0\xb6");
    ck_assert_str_eq(err.text, "no \"a\xd0\xb6?\" here");
    (void)mg_err_prefix(&err, "step %.2s", "\xe2\x82\xac");
    ck_assert_str_eq(err.text, "step ??: no \"a\xd0\xb6?\" here");
    for (int i = 0; i < MG_ERR_TEXT_MAX; i++) {
        (void)mg_err_prefix(&err, "\xd0\xb6%.*s", i % 2, ".");
    }
    for (size_t at = 0, len = 0; err.text[at] != '\0'; at += len) {
        len = mg_utf8_len(err.text + at, strlen(err.text + at));
        ck_assert_uint_gt(len, 0);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("buf");
    TCase *tests = tcase_create("buf");
    tcase_add_test(tests, an_absent_slice_is_not_an_empty_one);
    tcase_add_test(tests, a_buffer_takes_exactly_its_maximum);
    tcase_add_test(tests, a_failed_buffer_takes_nothing_until_it_is_cleared);
    tcase_add_test(tests, a_length_near_the_end_of_size_t_is_refused);
    tcase_add_test(tests, a_growing_buffer_keeps_what_it_holds);
    tcase_add_test(tests, an_append_of_nothing_still_ends_with_nul);
    tcase_add_loop_test(tests, json_strings_are_escaped, 0, sizeof(JSON_CASES) / sizeof(JSON_CASES[0]));
    tcase_add_test(tests, plain_bytes_end_at_the_first_that_json_escapes);
    tcase_add_test(tests, a_json_string_that_does_not_fit_leaves_nothing);
    tcase_add_test(tests, integers_are_written_in_decimal);
    tcase_add_test(tests, an_arena_gives_zeroed_aligned_pieces);
    tcase_add_test(tests, an_arena_ends_at_its_maximum);
    tcase_add_test(tests, an_arena_copies_texts);
    tcase_add_test(tests, an_error_gathers_context_within_its_room);
    tcase_add_test(tests, an_error_is_utf8_wherever_it_is_cut);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
