/* Expressions: each form's value, each kind of error, and the reasons that people read. */
#include "expr/decimal.h"
#include "expr_fixture.h"

static const struct {
    const char *text, *json;
} GOOD[] = {
    /* literals */
    {"1", "1"},
    {"14.00", "14.00"},
    {".5", "0.5"},
    {"1e3", "1000"},
    {"1.50e1", "15.0"},
    {"25e-3", "0.025"},
    {"9999999999999999999999999999999999", "9999999999999999999999999999999999"},
    {"'a\\'b\"c'", "\"a'b\\\"c\""},
    {"\"a\\u00e9\\x41\\101\\U0001F600\\n\"", "\"a\xc3\xa9"
                                             "AA\xf0\x9f\x98\x80\\n\""},
    {"r'a\\n'", "\"a\\\\n\""},
    {"'''a'b'''", "\"a'b\""},
    {"null", "null"},
    {"true", "true"},
    /* values keep their bytes */
    {"payload.total", "14.00"},
    {"payload.exp", "1.5e3"},
    {"payload.zero", "-0"},
    {"payload.wide", "0.12345678901234567890123456789012345"},
    {"payload.text", "\"M\\u00fcll\\n\""},
    {"payload.tags", "[\"x\", \"y\"]"},
    {"payload[\"ship-to\"].zip", "\"8000\""},
    {"payload.items[1].sku", "\"b\""},
    {"payload.items[1.0]['sku']", "\"b\""},
    {"results.score.risk", "\"high\""},
    {"results[\"ship-it\"]", "7"},
    {"order.id", "\"o-1\""},
    /* arithmetic is exact and keeps places */
    {"0.1 + 0.2", "0.3"},
    {"payload.total + 1", "15.00"},
    {"payload.exp + 0", "1500"},
    {"payload.zero + 0", "0"},
    {"1.10 * 1.10", "1.2100"},
    {"2 - 3 - 4", "-5"},
    {"2 + 3 * 4", "14"},
    {"-payload.total", "-14.00"},
    {"--1", "1"},
    {"9223372036854775807 + 1", "9223372036854775808"},
    {"values.gross", "15.08"},
    {"values.twice", "30.16"},
    {"round(2.345, 2)", "2.35"},
    {"round(-2.345, 2)", "-2.35"},
    {"round(2.344999, 2)", "2.34"},
    {"round(7, 2)", "7.00"},
    {"round(0.5, 0)", "1"},
    {"divide(10, 3, 2)", "3.33"},
    {"divide(-1, 2, 0)", "-1"},
    {"divide(1, 3, 34)", "0.3333333333333333333333333333333333"},
    {"divide(100.00, 8, 0)", "13"},
    /* texts */
    {"'a' + 'b' + 'c'", "\"abc\""},
    {"payload.text + '!'", "\"M\xc3\xbcll\\n!\""},
    {"'a' + ('b' + ('c' + 'd'))", "\"abcd\""},
    {"string(payload.total) + ' CHF'", "\"14.00 CHF\""},
    {"string(1.5) + string(true) + string('x')", "\"1.5truex\""},
    {"size(payload.text)", "5"},
    {"size(payload.plain)", "4"},
    {"payload.plain.size()", "4"},
    {"payload.text == 'M\\u00fcll\\n'", "true"},
    {"payload.text.startsWith(payload.plain)", "true"},
    {"payload.text.endsWith('\\n')", "true"},
    {"payload.text.endsWith('l')", "false"},
    {"payload.text.contains('\xc3\xbcl')", "true"},
    {"payload.plain.contains('xx')", "false"},
    {"payload.empty == ''", "true"},
    {"'abc'.contains('')", "true"},
    {"'a' < 'b' && 'a' < 'aa' && 'Z' < 'a' && 'z' < '\\u00e9'", "true"},
    /* comparisons */
    {"payload.total == 14", "true"},
    {"14.0 != payload.total", "false"},
    {"1e33 > 0.0000000000000000000000000000000001", "true"},
    {"-1e33 < 0.0000000000000000000000000000000001", "true"},
    {"0.0000000000000000000000000000000001 < 1e33", "true"},
    {"payload.none == null", "true"},
    {"payload.total == null", "false"},
    {"payload.object == payload.same", "true"},
    {"payload.tags == ['x', 'y']", "true"},
    {"payload.tags == ['x']", "false"},
    {"payload.nothing == []", "true"},
    {"payload.mixed == [1.0, 'a', null]", "true"},
    {"payload.object == payload['ship-to']", "false"},
    {"payload.object == payload.more || payload.more == payload.object", "false"},
    /* in, has, size */
    {"payload.country in ['DE', 'CH']", "true"},
    {"payload.country in values.allowed", "true"},
    {"'x' in payload.tags", "true"},
    {"'z' in payload.tags", "false"},
    {"'a' in payload.mixed", "true"},
    {"'ship-to' in payload", "true"},
    {"'coupon' in payload", "false"},
    {"has(payload.coupon)", "false"},
    {"has(payload.none)", "true"},
    {"has(results.express)", "false"},
    {"has(results.score)", "true"},
    {"has(values.gross)", "true"},
    {"size(payload.items) + size(payload.object) + size([])", "4"},
    /* macros */
    {"payload.items.all(i, i.qty > 0)", "true"},
    {"payload.items.exists(i, i.sku == 'b')", "true"},
    {"payload.items.count(i, i.price > 2)", "1"},
    {"payload.items.sum(i, i.qty * i.price)", "5.25"},
    /* a sum of 38 digits, though one of its terms has 39 with the places of the other */
    {"1200000000000000000000000000000000 - round(900000000000000000000000000000000, 5)",
     "300000000000000000000000000000000.00000"},
    {"round(900000000000000000000000000000000, 5) - 1200000000000000000000000000000000",
     "-300000000000000000000000000000000.00000"},
    {"payload.nothing.sum(i, i.x)", "0"},
    {"payload.nothing.all(i, i.x)", "true"},
    {"[1, 2].exists(x, ['a' + 'b'].exists(y, y + 'c' == 'abc' && x == 2))", "true"},
    {"payload.items.all(a, payload.items.exists(b, b.sku == a.sku))", "true"},
    /* an error next to a decision */
    {"payload.coupon == 'X' || true", "true"},
    {"true || payload.coupon == 'X'", "true"},
    {"payload.coupon == 'X' && false", "false"},
    {"has(payload.coupon) && payload.coupon == 'X'", "false"},
    {"payload.coupon == 'X' && has(payload.coupon)", "false"},
    {"[payload.total > 1, payload.country].exists(x, x)", "true"},
    {"payload.mixed.exists(x, x == 'a')", "true"},
    {"payload.mixed.all(x, x == 5)", "false"},
    {"has(payload.coupon) ? payload.coupon : 'none'", "\"none\""},
    {"true ? 1 : false ? 2 : 3", "1"},
    {"!payload.express", "true"},
    {"!!true", "true"},
    /* times */
    {"time('2026-01-31T12:00:00+01:00')", "\"2026-01-31T11:00:00Z\""},
    {"time(payload.at) + duration('36h')", "\"2026-02-02T00:00:00Z\""},
    {"duration('1d') + time('2024-02-28T23:59:59.5z')", "\"2024-02-29T23:59:59.500Z\""},
    {"time('2026-03-01T00:00:00Z') - time('2026-02-28T00:00:00Z') == duration('24h')", "true"},
    {"time('2026-01-31T12:00:00Z') > time('2026-01-31T12:00:00+00:01')", "true"},
    {"duration('1h30m') - duration('-0.5s')", "\"5400.500s\""},
    {"time('1900-02-28T00:00:00Z') + duration('1d')", "\"1900-03-01T00:00:00Z\""},
    {"time('0001-01-01T00:00:00Z')", "\"0001-01-01T00:00:00Z\""},
    {"time('9999-12-31T23:59:59.000000001Z')", "\"9999-12-31T23:59:59.000000001Z\""},
    {"time('9999-12-31T23:59:59+00:01')", "\"9999-12-31T23:58:59Z\""},
    {"time('0001-01-01T00:00:00-23:59')", "\"0001-01-01T23:59:00Z\""},
    {"string(time(payload.at))", "\"2026-01-31T12:00:00Z\""},
};

START_TEST(an_expression_has_its_value)
{
    const struct mg_expr *expr;
    struct mg_expr_value value;
    struct mg_buf json;
    int steps = 0;
    mg_buf_init(&json, 1000);
    enum mg_class class = world_compile(GOOD[_i].text, &expr);
    ck_assert_msg(class == MG_OK, "%s: %s", GOOD[_i].text, world.err.text);
    class = mg_expr_evaluate(expr, &SCOPE, &world.room, &value, &steps, &world.err);
    ck_assert_msg(class == MG_OK, "%s: %s", GOOD[_i].text, world.err.text);
    mg_expr_write_json(&value, &json);
    ck_assert_msg(strcmp(json.data, GOOD[_i].json) == 0, "%s: %s", GOOD[_i].text, json.data);
    ck_assert_int_gt(steps, 0);
    enum mg_expr_type type = mg_expr_type_of(expr);
    ck_assert_msg(type == MG_EXPR_UNKNOWN || type == value.type, "%s: type", GOOD[_i].text);
    mg_buf_finish(&json);
}
END_TEST

/* Would catch: a number that is read as another one, because its exponent was cut before the digits that
 * balance it. */
START_TEST(a_number_that_cannot_be_reckoned_with_is_none)
{
    static char far[110000];
    struct mg_decimal number;
    memset(far, '0', sizeof(far));
    memcpy(far, "0.", 2);
    memcpy(far + 100006, "1e1000005", sizeof("1e1000005"));
    ck_assert(!mg_decimal_read(mg_slice_of(far), &number));
    memcpy(far + 100006, "1e100005", sizeof("1e100005"));
    ck_assert(mg_decimal_read(mg_slice_of(far), &number));
    ck_assert(number.coefficient == 1 && number.places == 0);
    ck_assert(!mg_decimal_read(mg_slice_of("1e400000"), &number));
    ck_assert(!mg_decimal_read(mg_slice_of("1e-999999999999"), &number));
    ck_assert(mg_decimal_read(mg_slice_of("0e999999999999"), &number));
    ck_assert(number.coefficient == 0);
}
END_TEST

static const struct {
    const char *text, *says;
} BAD[] = {
    {"payload.coupon == 'X'", "column 9: there is no member \"coupon\" (payload.coupon == 'X')"},
    {"payload['no-such']", "there is no member \"no-such\""},
    {"results.express.id", "results.express is not there; has() asks for it"},
    {"has(payload.coupon.code)", "there is no member \"coupon\""},
    {"has(results.express.id)", "results.express is not there"},
    {"payload.total.x", "payload.total.x has a number where an object is needed"},
    {"payload.country[0]", "has a text where a list is needed"},
    {"payload.tags['a']", "has a text where a number is needed"},
    {"payload[0]", "has a number where a text is needed"},
    {"payload.tags[2]", "payload.tags[2]: there is no such element; the first one is 0"},
    {"payload.tags[-1]", "no such element"},
    {"payload.tags[0.5]", "no such element"},
    {"payload.total == 'X'",
     "column 15: payload.total == 'X' has a number and a text, which do not go together"},
    {"payload.total < payload.country", "has a number and a text"},
    {"payload.express < payload.express", "has a boolean and a boolean"},
    {"payload.none < 1", "has null and a number"},
    {"payload.total + payload.country", "has a number and a text"},
    {"payload.country + payload.total", "has a text and a number"},
    {"payload.tags * payload.total", "has a list and a number"},
    {"-payload.country", "payload.country has a text where a number is needed"},
    {"payload.total && true", "payload.total has a number where a boolean is needed"},
    {"payload.total ? 1 : 2", "where a boolean is needed"},
    {"payload.coupon == 'X' && true", "there is no member \"coupon\""},
    {"payload.coupon == 'X' || payload.other", "there is no member \"coupon\""},
    {"payload.items.exists(i, i.colour == 'red')", "there is no member \"colour\""},
    {"payload.mixed.sum(i, i)", "i has a text where a number is needed"},
    {"payload.mixed.count(i, i)", "i has a number where a boolean is needed"},
    {"payload.object.all(i, true)", "has an object where a list is needed"},
    {"'a' in payload.total", "where a list is needed"},
    {"1 in payload.object", "where a text is needed"},
    {"payload.wide + 0", "payload.wide + 0: more than 38 digits"},
    {"-payload.wide", "more than 38 digits"},
    {"round(payload.wide, 2)", "more than 38 digits"},
    {"payload.wide > 0", "more than 38 digits"},
    {"9999999999999999999 * 99999999999999999999", "more than 38 digits"},
    {"6e33 * 10000 + 6e33 * 10000", "more than 38 digits"}, /* within 128 bits */
    {"1200000000000000000000000000000000 + round(900000000000000000000000000000000, 5)",
     "more than 38 digits"},
    {"2100000000000000000000000000000000 - round(900000000000000000000000000000000, 5)",
     "more than 38 digits"},
    {"round(9999999999999999999999999999999999, 5)", "more than 38 digits"},
    {"round(payload.total, payload.items[0].price)", "the places are a whole number from 0 to 34"},
    {"round(1, 35)", "the places are"},
    {"divide(1, payload.zero, 2)", "a division by zero"},
    {"time(payload.country)", "\"CH\" is no time; RFC 3339 is needed"},
    {"time(payload.at + 'x')", "is no time"},
    {"time(payload.never)",
     "\"9999-12-31T23:59:59-05:00\" is no time; RFC 3339 is needed, in UTC of the years 1 to "},
    {"string(time(payload.always))", "\"0001-01-01T00:00:00+00:01\" is no time"},
    {"duration(payload.country)", "\"CH\" is no duration"},
    {"time('9999-12-31T00:00:00Z') + duration('1d')", "is beyond the years 1 to 9999"},
    {"string(payload.tags)", "has a list where a text is needed"},
    {"size(payload.total)", "has a number where a list is needed"},
    {"[1, payload.coupon][0]", "there is no member \"coupon\""},
    {"values.allowed", "a list written here is no result"},
    {"payload.text.startsWith(payload.total)", "payload.total has a number where a text is needed"},
};

START_TEST(an_error_names_its_place_and_its_cure)
{
    const struct mg_expr *expr;
    struct mg_expr_value value;
    memset(&value, 0x5a, sizeof(value));
    struct mg_expr_value untouched = value;
    enum mg_class class = world_compile(BAD[_i].text, &expr);
    ck_assert_msg(class == MG_OK, "%s: %s", BAD[_i].text, world.err.text);
    class = mg_expr_evaluate(expr, &SCOPE, &world.room, &value, NULL, &world.err);
    ck_assert_msg(class == MG_PERMANENT, "%s", BAD[_i].text);
    ck_assert_msg(strstr(world.err.text, BAD[_i].says) != NULL, "%s: %s", BAD[_i].text, world.err.text);
    ck_assert_int_eq(strncmp(world.err.text, "column ", 7), 0);
    const unsigned char *given = (const void *)&value, *before = (const void *)&untouched;
    ck_assert_int_eq(memcmp(given, before, sizeof(value)), 0);
}
END_TEST

/* Catches: a condition of another type that counts as true or false. */
START_TEST(only_true_and_false_decide)
{
    const struct mg_expr *expr;
    bool is_true = false;
    ck_assert_int_eq(world_compile("payload.total > 13", &expr), MG_OK);
    ck_assert_int_eq(mg_expr_decide(expr, &SCOPE, &world.room, &is_true, &world.err), MG_OK);
    ck_assert(is_true);
    ck_assert_int_eq(world_compile("payload.none", &expr), MG_OK);
    ck_assert_int_eq(mg_expr_decide(expr, &SCOPE, &world.room, &is_true, &world.err), MG_PERMANENT);
    ck_assert_str_eq(world.err.text,
                     "column 9: payload.none has null where a boolean is needed (payload.none)");
}
END_TEST

static const struct {
    const char *text, *reason;
} REASONS[] = {
    {"values.gross > 500.00", "values.gross > 500.00 was 15.08 > 500.00"},
    {"values.gross > 500.00 || results.score.risk == 'high'",
     "results.score.risk == 'high' was 'high' == 'high'"},
    {"values.gross > 500.00 || results.score.risk == 'low'",
     "values.gross > 500.00 was 15.08 > 500.00, results.score.risk == 'low' was 'high' == 'low'"},
    {"payload.total > 1 && payload.express", "payload.express was false"},
    {"payload.total > 1 && !payload.express", "payload.total > 1 was 14.00 > 1, payload.express was false"},
    {"has(payload.coupon) && payload.coupon == 'X'", "has(payload.coupon) was false"},
    {"payload.coupon == 'X' && has(payload.coupon)", "has(payload.coupon) was false"},
    {"payload.country in ['DE']", "payload.country in ['DE'] was 'CH', not in ['DE']"},
    {"payload.country in ['CH']", "payload.country in ['CH'] was 'CH' in ['CH']"},
    {"payload.items.all(i, i.qty > 1)", "payload.items.all(i, i.qty > 1) was false"},
    {"payload.text == 'x'", "payload.text == 'x' was 'M\xc3\xbcll ' == 'x'"},
    {"payload.tags != ['x']", "payload.tags != ['x'] was a list != a list"},
    {"payload.none == null", "payload.none == null was null == null"},
    {"payload.express ? true : payload.total < 1",
     "payload.express was false, payload.total < 1 was 14.00 < 1"},
    {"payload.country == 'x\xe2\x80\xaey\xc2\x9bz'",
     "payload.country == 'x   y  z' was 'CH' == 'x   y  z'"}, /* no controls for a terminal */
    {"true", "true"},
    {"payload.coupon == 'X'", ""}, /* an error has a text of its own */
};

START_TEST(a_reason_keeps_the_values_that_decided)
{
    const struct mg_expr *expr;
    struct mg_buf text;
    mg_buf_init(&text, 1000);
    ck_assert_msg(world_compile(REASONS[_i].text, &expr) == MG_OK, "%s", world.err.text);
    mg_expr_explain(expr, &SCOPE, &world.room, 500, &text);
    mg_buf_append_text(&text, "");
    ck_assert_str_eq(text.data != NULL ? text.data : "", REASONS[_i].reason);
    mg_buf_finish(&text);
}
END_TEST

/* Catches: a reason longer than its column, or cut within a character. */
START_TEST(a_reason_is_cut_at_a_character)
{
    const struct mg_expr *expr;
    for (size_t max = 0; max < 60; max++) {
        struct mg_buf text;
        mg_buf_init(&text, 1000);
        ck_assert_int_eq(world_compile("payload.plain == '\xc3\xbc\xc3\xbc\xc3\xbc'", &expr), MG_OK);
        mg_expr_explain(expr, &SCOPE, &world.room, max, &text);
        ck_assert_uint_le(text.len, max);
        for (size_t at = 0; at < text.len;) {
            size_t len = mg_utf8_len(text.data + at, text.len - at);
            ck_assert_uint_gt(len, 0);
            at += len;
        }
        mg_buf_finish(&text);
    }
}
END_TEST

static const struct {
    const char *text, *plain; /* NULL: none within a text */
} TEXTS[] = {
    {"payload.text", "M\xc3\xbcll\n"},
    {"payload.total", "14.00"},
    {"payload.total + 0.5", "14.50"},
    {"payload.express", "false"},
    {"'a' + 'b'", "ab"},
    {"time(payload.at)", "2026-01-31T12:00:00Z"},
    {"payload.none", NULL},
    {"payload.tags", NULL},
    {"payload.object", NULL},
    {"payload.empty", ""},
};

START_TEST(a_value_is_text_within_a_text)
{
    const struct mg_expr *expr;
    struct mg_expr_value value;
    struct mg_buf text;
    mg_buf_init(&text, 1000);
    ck_assert_int_eq(world_compile(TEXTS[_i].text, &expr), MG_OK);
    ck_assert_int_eq(mg_expr_evaluate(expr, &SCOPE, &world.room, &value, NULL, &world.err), MG_OK);
    ck_assert(mg_expr_write_text(&value, &text) == (TEXTS[_i].plain != NULL));
    mg_buf_append_text(&text, "");
    ck_assert_str_eq(text.data != NULL ? text.data : "", TEXTS[_i].plain != NULL ? TEXTS[_i].plain : "");
    mg_buf_finish(&text);
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

int main(void)
{
    Suite *suite = suite_create("expr");
    TCase *tests = tcase_create("expr");
    tcase_add_checked_fixture(tests, world_open, world_close);
    tcase_add_loop_test(tests, an_expression_has_its_value, 0, COUNT(GOOD));
    tcase_add_test(tests, a_number_that_cannot_be_reckoned_with_is_none);
    tcase_add_loop_test(tests, an_error_names_its_place_and_its_cure, 0, COUNT(BAD));
    tcase_add_test(tests, only_true_and_false_decide);
    tcase_add_loop_test(tests, a_reason_keeps_the_values_that_decided, 0, COUNT(REASONS));
    tcase_add_test(tests, a_reason_is_cut_at_a_character);
    tcase_add_loop_test(tests, a_value_is_text_within_a_text, 0, COUNT(TEXTS));
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
