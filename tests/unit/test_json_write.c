/*
 * The writer of JSON, to the byte: messages, log lines and answers are a contract. Texts of any bytes become
 * valid JSON, and a lack of memory or room stays in the buffer.
 */
#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_write.h"
#include "json/json.h"
#include "suite.h"

static bool has_no_memory; /* link option --wrap=realloc */
void *real_realloc(void *old, size_t size) __asm__("__real_realloc");
void *test_realloc(void *old, size_t size) __asm__("__wrap_realloc");

void *test_realloc(void *old, size_t size)
{
    return has_no_memory ? NULL : real_realloc(old, size);
}

static struct mg_buf buf;

static void set_up(void)
{
    has_no_memory = false;
    mg_buf_init(&buf, 1 << 16);
}

static void tear_down(void)
{
    mg_buf_finish(&buf);
}

/* Writes every kind of member and element, in levels of objects and arrays. */
static void everything_write(struct mg_json_writer *json)
{
    mg_json_object_begin(json);
    mg_json_member_text(json, "text", mg_slice_of("a\"b"));
    mg_json_member_string(json, "string", "");
    mg_json_member_word(json, "word", "running");
    mg_json_member_int(json, "least", INT64_MIN);
    mg_json_member_bool(json, "yes", true);
    mg_json_member_bool(json, "no", false);
    mg_json_member_null(json, "none");
    mg_json_member_raw(json, "raw", mg_slice_of("{\"price\" : 14.00}"));
    mg_json_member_object(json, "empty");
    mg_json_object_end(json);
    mg_json_member_array(json, "list");
    mg_json_element_text(json, mg_slice_of("x"));
    mg_json_element_raw(json, mg_slice_of("1e3"));
    mg_json_element_object(json);
    mg_json_member_array(json, "nothing");
    mg_json_array_end(json);
    mg_json_member_int(json, "n", 7);
    mg_json_object_end(json);
    mg_json_element(json);
    mg_json_array_begin(json);
    mg_json_array_end(json);
    mg_json_array_end(json);
    mg_json_name(json, "own");
    mg_buf_append_text(json->buf, "[2]");
    mg_json_member_int(json, "last", 0);
    mg_json_object_end(json);
}

/* Catches: a comma too many, too few, or in another level; a blank in a message. */
START_TEST(a_compact_text_has_no_blank)
{
    struct mg_json_writer json = mg_json_compact(&buf);
    everything_write(&json);
    ck_assert(!buf.failed);
    ck_assert_str_eq(
        buf.data, "{\"text\":\"a\\\"b\",\"string\":\"\",\"word\":\"running\",\"least\":-9223372036854775808,"
                  "\"yes\":true,\"no\":false,\"none\":null,\"raw\":{\"price\" : 14.00},\"empty\":{},"
                  "\"list\":[\"x\",1e3,{\"nothing\":[],\"n\":7},[]],\"own\":[2],\"last\":0}");
}
END_TEST

START_TEST(a_spaced_text_has_one_behind_commas_and_colons)
{
    struct mg_json_writer json = mg_json_spaced(&buf);
    everything_write(&json);
    ck_assert(!buf.failed);
    ck_assert_str_eq(
        buf.data,
        "{\"text\": \"a\\\"b\", \"string\": \"\", \"word\": \"running\", \"least\": -9223372036854775808, "
        "\"yes\": true, \"no\": false, \"none\": null, \"raw\": {\"price\" : 14.00}, \"empty\": {}, "
        "\"list\": [\"x\", 1e3, {\"nothing\": [], \"n\": 7}, []], \"own\": [2], \"last\": 0}");
}
END_TEST

/* Catches: a line's begin before the first element, and a comma twice. */
START_TEST(elements_and_members_stand_on_lines_of_their_own)
{
    struct mg_json_writer json = mg_json_spaced(&buf);
    mg_json_object_begin(&json);
    mg_json_wrap(&json, "\n");
    mg_json_member_array(&json, "rows");
    for (int i = 0; i < 3; i++) {
        mg_json_wrap(&json, "\n ");
        mg_json_element_object(&json);
        mg_json_object_end(&json);
    }
    mg_json_array_end(&json);
    mg_json_wrap(&json, "\n");
    mg_json_member_int(&json, "count", 3);
    mg_json_member_int(&json, "more", 0);
    mg_json_object_end(&json);
    ck_assert_str_eq(buf.data, "{\"rows\": [{},\n {},\n {}],\n\"count\": 3, \"more\": 0}");
}
END_TEST

/* Catches: a copy that shares its place with the original. */
START_TEST(a_copy_writes_on_from_the_same_place)
{
    struct mg_json_writer json = mg_json_compact(&buf), before;
    mg_json_array_begin(&json);
    before = json;
    size_t len = buf.len;
    mg_json_element_text(&json, mg_slice_of("a try"));
    buf.len = len;
    mg_json_element_raw(&before, mg_slice_of("1"));
    mg_json_array_end(&before);
    ck_assert_str_eq(buf.data, "[1]");
}
END_TEST

/* Texts of others: control characters, DEL, C1, quotes, UTF-8 that is cut, overlong, a surrogate or above
 * U+10FFFF, and the separators of lines that JSON allows. */
static const struct {
    const char *text;
    size_t len;
    const char *escaped, *mended;
} HOSTILE[] = {
    {"", 0, "\"\"", "\"\""},
    {"\0", 1, "\"\\u0000\"", "\"\xef\xbf\xbd\""},
    {"\x01\x1f\x7f", 3, "\"\\u0001\\u001f\\u007f\"", "\"\\u0001\\u001f\\u007f\""},
    {"\b\t\n\f\r\v", 6, "\"\\b\\t\\n\\f\\r\\u000b\"", "\"\\b\\t\\n\\f\\r\\u000b\""},
    {"\"\\/", 3, "\"\\\"\\\\/\"", "\"\\\"\\\\/\""},
    {"\",\"x\":\"", 7, "\"\\\",\\\"x\\\":\\\"\"", "\"\\\",\\\"x\\\":\\\"\""},
    {"caf\xc3", 4, "\"caf\\ufffd\"", "\"caf\xef\xbf\xbd\""},
    {"\xc3(", 2, "\"\\ufffd(\"", "\"\xef\xbf\xbd(\""},
    {"\xc0\xaf", 2, "\"\\ufffd\\ufffd\"", "\"\xef\xbf\xbd\xef\xbf\xbd\""},
    {"\xed\xa0\x80", 3, "\"\\ufffd\\ufffd\\ufffd\"", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
    {"\xf4\x90\x80\x80", 4, "\"\\ufffd\\ufffd\\ufffd\\ufffd\"",
     "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
    {"\xe2\x82", 2, "\"\\ufffd\\ufffd\"", "\"\xef\xbf\xbd\xef\xbf\xbd\""},
    {"a\x80z", 3, "\"a\\ufffdz\"", "\"a\xef\xbf\xbdz\""},
    {"\xc2\x9b\xe2\x80\xa8\xf0\x9f\x98\x80", 9, "\"\xc2\x9b\xe2\x80\xa8\xf0\x9f\x98\x80\"",
     "\"\xc2\x9b\xe2\x80\xa8\xf0\x9f\x98\x80\""},
};

/* Catches: a text that ends its string, and bytes that no reader of JSON accepts. */
START_TEST(a_text_of_any_bytes_is_one_string)
{
    struct mg_slice text = {HOSTILE[_i].text, HOSTILE[_i].len};
    struct mg_json_writer json = mg_json_compact(&buf);
    struct mg_buf expected;
    struct mg_err err;
    mg_json_object_begin(&json);
    mg_json_member_text(&json, "a", text);
    mg_json_name(&json, "b");
    mg_buf_append_json_mended(&buf, text);
    mg_json_object_end(&json);
    mg_buf_init(&expected, 1024);
    mg_buf_printf(&expected, "{\"a\":%s,\"b\":%s}", HOSTILE[_i].escaped, HOSTILE[_i].mended);
    ck_assert(!buf.failed);
    ck_assert_str_eq(buf.data, expected.data);
    if (text.len > 0 && text.data[0] != '\0') { /* our reader refuses U+0000 */
        ck_assert_msg(mg_json_check(mg_buf_slice(&buf), &MG_JSON_LIMITS_DEFAULT, &err) == MG_OK, "%s",
                      err.text);
    }
    mg_buf_finish(&expected);
}
END_TEST

/* Catches: a name or a word that is cut, and one that overruns its room. */
START_TEST(the_longest_names_and_words_are_whole)
{
    char name[MG_JSON_NAME_MAX + 1], word[300];
    for (size_t len = 0; len <= sizeof(word) - 1; len += len < 70 ? 1 : 50) {
        struct mg_json_writer json = mg_json_spaced(&buf);
        struct mg_buf expected;
        size_t name_len = len < MG_JSON_NAME_MAX ? len : MG_JSON_NAME_MAX;
        memset(name, 'n', name_len);
        name[name_len] = '\0';
        memset(word, 'w', len);
        word[len] = '\0';
        mg_buf_clear(&buf);
        mg_json_object_begin(&json);
        mg_json_member_word(&json, name, word);
        mg_json_member_word(&json, name, word);
        mg_json_object_end(&json);
        mg_buf_init(&expected, 1024);
        mg_buf_printf(&expected, "{\"%s\": \"%s\", \"%s\": \"%s\"}", name, word, name, word);
        ck_assert_str_eq(buf.data, expected.data);
        mg_buf_finish(&expected);
    }
}
END_TEST

/* Catches: levels that are confused once there are many. */
START_TEST(as_many_levels_as_are_allowed_are_closed_in_order)
{
    struct mg_json_writer json = mg_json_compact(&buf);
    struct mg_buf expected;
    mg_buf_init(&expected, 1024);
    for (int i = 0; i < MG_JSON_OPEN_MAX; i++) {
        bool is_array = i % 3 == 0, is_last = i == MG_JSON_OPEN_MAX - 1;
        if (is_array) {
            mg_json_array_begin(&json);
        } else {
            mg_json_object_begin(&json);
        }
        if (!is_last && is_array) {
            mg_json_element(&json);
        }
        if (!is_last && !is_array) {
            mg_json_name(&json, "a");
        }
        mg_buf_append_text(&expected, is_array ? "[" : is_last ? "{" : "{\"a\":");
    }
    for (int i = MG_JSON_OPEN_MAX - 1; i >= 0; i--) {
        if (i % 3 == 0) {
            mg_json_array_end(&json);
        } else {
            mg_json_object_end(&json);
        }
        mg_buf_append_text(&expected, i % 3 == 0 ? "]" : "}");
    }
    ck_assert_uint_eq(json.open, 1);
    ck_assert_str_eq(buf.data, expected.data);
    mg_buf_finish(&expected);
}
END_TEST

/* ---- want of memory and of room ---- */

START_TEST(want_of_memory_stays_in_the_buffer)
{
    struct mg_json_writer json = mg_json_compact(&buf);
    has_no_memory = true;
    everything_write(&json);
    has_no_memory = false;
    ck_assert(buf.failed && buf.is_out_of_memory);
    ck_assert_int_eq(mg_buf_class(&buf), MG_TRANSIENT);
    ck_assert_uint_eq(buf.len, 0);

    mg_buf_clear(&buf); /* and the next text is whole */
    json = mg_json_compact(&buf);
    mg_json_object_begin(&json);
    mg_json_member_int(&json, "v", 1);
    mg_json_object_end(&json);
    ck_assert_str_eq(buf.data, "{\"v\":1}");
}
END_TEST

/* Catches: a text with a gap, or with half a name, in a buffer that was full for a moment. */
START_TEST(a_full_buffer_holds_a_clean_beginning)
{
    struct mg_buf whole;
    mg_buf_init(&whole, 1 << 16);
    struct mg_json_writer json = mg_json_compact(&whole);
    everything_write(&json);
    for (size_t max = 0; max < whole.len; max++) {
        struct mg_buf part;
        mg_buf_init(&part, max);
        json = mg_json_compact(&part);
        everything_write(&json);
        ck_assert(part.failed && !part.is_out_of_memory);
        ck_assert_uint_eq(json.open, 1);
        ck_assert_uint_le(part.len, max);
        ck_assert(part.len == 0 || memcmp(part.data, whole.data, part.len) == 0);
        mg_buf_finish(&part);
    }
    mg_buf_finish(&whole);
}
END_TEST

/* ---- bugs ---- */

static void (*const MISUSES[])(struct mg_json_writer *) = {
    mg_json_object_end, mg_json_array_end, mg_json_element, /* nothing is open */
};

/* Catches: brackets that do not match, written without a word. */
START_TEST(a_wrong_order_of_calls_is_a_bug)
{
    struct mg_json_writer json = mg_json_compact(&buf);
    MISUSES[_i](&json);
}
END_TEST

START_TEST(a_name_in_an_array_is_a_bug)
{
    struct mg_json_writer json = mg_json_compact(&buf);
    mg_json_array_begin(&json);
    mg_json_name(&json, "a");
}
END_TEST

START_TEST(an_object_is_no_array_at_its_end)
{
    struct mg_json_writer json = mg_json_compact(&buf);
    mg_json_object_begin(&json);
    mg_json_array_end(&json);
}
END_TEST

START_TEST(a_level_too_many_is_a_bug)
{
    struct mg_json_writer json = mg_json_compact(&buf);
    for (int i = 0; i <= MG_JSON_OPEN_MAX; i++) {
        mg_json_array_begin(&json);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("json_write");
    TCase *tests = tcase_create("json_write");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, a_compact_text_has_no_blank);
    tcase_add_test(tests, a_spaced_text_has_one_behind_commas_and_colons);
    tcase_add_test(tests, elements_and_members_stand_on_lines_of_their_own);
    tcase_add_test(tests, a_copy_writes_on_from_the_same_place);
    tcase_add_loop_test(tests, a_text_of_any_bytes_is_one_string, 0, sizeof(HOSTILE) / sizeof(HOSTILE[0]));
    tcase_add_test(tests, the_longest_names_and_words_are_whole);
    tcase_add_test(tests, as_many_levels_as_are_allowed_are_closed_in_order);
    tcase_add_test(tests, want_of_memory_stays_in_the_buffer);
    tcase_add_test(tests, a_full_buffer_holds_a_clean_beginning);
    tcase_add_loop_test_raise_signal(tests, a_wrong_order_of_calls_is_a_bug, SIGABRT, 0,
                                     sizeof(MISUSES) / sizeof(MISUSES[0]));
    tcase_add_test_raise_signal(tests, a_name_in_an_array_is_a_bug, SIGABRT);
    tcase_add_test_raise_signal(tests, an_object_is_no_array_at_its_end, SIGABRT);
    tcase_add_test_raise_signal(tests, a_level_too_many_is_a_bug, SIGABRT);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
