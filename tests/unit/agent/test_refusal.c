/* The service's own words in a refusing body. Each test names the failure that it would catch. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../suite.h"
#include "flow.h"
#include "refusal.h"

static char code[MG_ERROR_CODE_MAX + 1], message[MG_ERROR_MESSAGE_MAX + 1];

static struct mg_service *service_of(const char *error)
{
    char text[1024];
    struct mg_err err = {MG_OK, ""};
    struct mg_service *service = NULL;
    (void)snprintf(text, sizeof(text), "{\"service\":\"payment\",\"url\":\"http://127.0.0.1:1\"%s%s}",
                   error != NULL ? ",\"error\":" : "", error != NULL ? error : "");
    ck_assert_msg(mg_service_parse(mg_slice_of(text), NULL, &service, &err) == MG_OK, "%s", err.text);
    return service;
}

static void read_bytes(const char *error, struct mg_slice body)
{
    struct mg_service *service = service_of(error);
    mg_refusal_code(service, 422, body, &MG_JSON_LIMITS_DEFAULT, code);
    mg_refusal_message(service, body, &MG_JSON_LIMITS_DEFAULT, message);
    mg_service_destroy(service);
}

static void expect(const char *error, const char *body, const char *its_code, const char *its_message)
{
    read_bytes(error, mg_slice_of(body));
    ck_assert_str_eq(code, its_code);
    ck_assert_str_eq(message, its_message);
}

/* Catches: a service's words that reach neither client nor operator, though it says them in a usual place. */
START_TEST(code_and_text_are_found_where_services_put_them)
{
    expect(NULL, "{\"code\":\"SOLD_OUT\",\"message\":\"no room left\"}", "http_422/SOLD_OUT", "no room left");
    expect(NULL, "{\"error\":{\"code\":\"card_declined\",\"message\":\"try another card\"}}",
           "http_422/card_declined", "try another card");
    expect(NULL, "{\"error\":\"no room left\",\"code\":\"SOLD_OUT\"}", "http_422/SOLD_OUT", "no room left");
    expect(NULL, "{\"type\":\"https://x\",\"title\":\"Out of stock\",\"detail\":\"item 7\"}", "http_422",
           "Out of stock");
    expect(NULL, "{\"detail\":\"item 7\"}", "http_422", "item 7");
    expect(NULL, "{\"code\":402}", "http_422/402", "");
    expect(NULL, "{\"code\":-3.50,\"error\":{\"code\":\"no\"}}", "http_422/-3.50", "");
}
END_TEST

/* Catches: places in the service file that count for nothing, and others that count alongside them. */
START_TEST(the_service_file_names_the_places)
{
    const char *body = "{\"code\":\"outer\",\"message\":\"m\",\"fault\":{\"id\":\"E7\",\"a/b\":\"slash\"}}";
    expect("{\"code\":\"/fault/id\",\"text\":\"/fault/a~1b\"}", body, "http_422/E7", "slash");
    expect("{\"code\":[\"/none\",\"/fault\",\"/code\"],\"text\":[\"/none\",\"/message\"]}", body,
           "http_422/outer", "m");
    expect("{\"code\":[],\"text\":[]}", body, "http_422", "");
    expect("{\"keep\":0}", body, "http_422/outer", ""); /* the text is part of the body, the code a word */
}
END_TEST

/* Catches: a code of a service that breaks a label, a filter or a log, or that is longer than a column. */
START_TEST(a_code_is_short_and_plain_whatever_comes)
{
    char body[4096], expected[MG_ERROR_CODE_MAX + 1];
    expect(NULL, "{\"code\":\"card declined!\"}", "http_422/card_declined", "");
    expect(NULL, "{\"code\":\"  a\\nb\\u0022/\\u00fc c  \"}", "http_422/a_b_c", "");
    expect(NULL, "{\"code\":\"\\u20ac\\u20ac\"}", "http_422", "");
    expect(NULL, "{\"code\":\"!!\",\"error\":{\"code\":\"next\"}}", "http_422/next", "");
    expect(NULL, "{\"code\":\"\"}", "http_422", "");
    expect(NULL, "{\"code\":true,\"message\":7}", "http_422", "");
    expect(NULL, "{\"code\":{\"code\":\"x\"},\"message\":[\"y\"]}", "http_422", "");
    memset(expected, 'x', sizeof(expected) - 1);
    memcpy(expected, "http_422/", 9);
    expected[MG_ERROR_CODE_MAX] = '\0';
    memset(body, 'x', sizeof(body));
    memcpy(body, "{\"code\":\"", 9);
    memcpy(body + sizeof(body) - 3, "\"}", 3);
    expect(NULL, body, expected, "");
}
END_TEST

/* Catches: a body that is no JSON, or hostile JSON, and costs the agent its outcome. */
START_TEST(a_body_may_be_anything)
{
    static const char *const BODIES[] = {"",
                                         "<html>",
                                         "{\"code\":\"a\"",
                                         "{\"code\":\"a\",\"code\":\"b\"}",
                                         "\xff\xfe",
                                         "null",
                                         "[]",
                                         "\"code\"",
                                         "7",
                                         "{\"code\":\"\\ud800\"}"};
    char nested[400];
    for (size_t i = 0; i < sizeof(BODIES) / sizeof(BODIES[0]); i++) {
        expect(NULL, BODIES[i], "http_422", "");
    }
    read_bytes(NULL, (struct mg_slice){NULL, 0});
    ck_assert_str_eq(code, "http_422");
    read_bytes(NULL, (struct mg_slice){"{\"code\":\"a\0b\"}", 14});
    ck_assert_str_eq(code, "http_422");
    memset(nested, '[', sizeof(nested));
    read_bytes(NULL, (struct mg_slice){nested, sizeof(nested)});
    ck_assert_str_eq(code, "http_422");
}
END_TEST

/* Catches: a message with a terminal's controls, or cut within a character. */
START_TEST(a_message_is_one_plain_line_cut_at_a_character)
{
    struct mg_buf body;
    expect(NULL, "{\"message\":\"a\\u001b[2J\\nb\"}", "http_422", "a [2J b");
    expect(NULL, "{\"message\":\"c\\u009b\\u0085d\\u202e\\u2066e\\u2028f\\u200fg\"}", "http_422",
           "c  d  e f g");
    expect(NULL, "{\"message\":\"h\xc2\x9bi\xe2\x80\xaej\xc2\xa0k\"}", "http_422", "h i j\xc2\xa0k");
    mg_buf_init(&body, 4096);
    mg_buf_append_text(&body, "{\"message\":\"x");
    for (int i = 0; i < 200; i++) {
        mg_buf_append_text(&body, "\xe2\x82\xac"); /* three bytes each: 1 + 84 * 3 = 253 */
    }
    mg_buf_append_text(&body, "\"}");
    read_bytes(NULL, mg_buf_slice(&body));
    ck_assert_uint_eq(strlen(message), 253);
    mg_buf_finish(&body);
}
END_TEST

/* Catches: a kept body above its limit, or one that ends with half a character. */
START_TEST(so_much_of_a_body_is_kept)
{
    struct mg_service *some = service_of("{\"keep\":5}"), *none = service_of("{\"keep\":0}");
    struct mg_slice body = mg_slice_of("abc\xe2\x82\xac\xe2\x82\xac"); /* 3 + 3 + 3 */
    ck_assert(mg_slice_is(mg_refusal_kept(some, body), "abc"));
    ck_assert(mg_slice_is(mg_refusal_kept(some, mg_slice_of("abcd")), "abcd"));
    ck_assert(mg_slice_is(mg_refusal_kept(some, mg_slice_of("ab\xe2\x82\xac!")), "ab\xe2\x82\xac"));
    ck_assert(mg_slice_is(mg_refusal_kept(some, mg_slice_of("\xff\xff\xff\xff\xff\xff")),
                          "\xff\xff\xff\xff\xff")); /* no characters: bytes, mended in the reply */
    ck_assert_ptr_null(mg_refusal_kept(some, mg_slice_of("")).data);
    ck_assert_ptr_null(mg_refusal_kept(some, (struct mg_slice){NULL, 0}).data);
    ck_assert_ptr_null(mg_refusal_kept(none, body).data);
    mg_service_destroy(some);
    mg_service_destroy(none);
}
END_TEST

/* ---- over the whole agent ---- */

static void refused(const char *members, const char *body)
{
    flow_start(members);
    flow_deliver(&(struct flow_request){.left_ms = 10000});
    flow_wait_calls(1);
    flow_answer_status(0, 422, body);
    flow_wait_replies(1);
}

/* Catches: words that stay in the agent, and a text for logs that holds the service's sentence. */
START_TEST(a_reply_carries_the_services_words)
{
    refused("", "{\"code\":\"card_declined\",\"message\":\"try \\\"another\\\" card\"}");
    const struct mg_reply *reply = flow_reply(0);
    ck_assert_str_eq(reply->error_code, "http_422/card_declined");
    ck_assert_str_eq(reply->error_text, "payment answered 422, code card_declined");
    ck_assert(mg_slice_is(reply->error_message, "\"try \\\"another\\\" card\""));
    ck_assert(mg_slice_is(reply->error_body, "\"{\\\"code\\\":\\\"card_declined\\\",\\\"message\\\":\\\"try "
                                             "\\\\\\\"another\\\\\\\" card\\\"}\""));
    flow_finish();
}
END_TEST

/* Catches: personal data that a service file forbids to keep, in a reply. */
START_TEST(a_reply_keeps_nothing_of_a_body_if_the_file_forbids_it)
{
    refused(",\"error\":{\"keep\":0}",
            "{\"code\":\"card_declined\",\"message\":\"marker\",\"who\":\"marker\"}");
    const struct mg_reply *reply = flow_reply(0);
    ck_assert_str_eq(reply->error_code, "http_422/card_declined");
    ck_assert_ptr_null(reply->error_message.data);
    ck_assert_ptr_null(reply->error_body.data);
    ck_assert_ptr_null(strstr(reply->error_text, "marker"));
    flow_finish();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("agent refusal");
    TCase *tcase = tcase_create("refusal");
    tcase_add_test(tcase, code_and_text_are_found_where_services_put_them);
    tcase_add_test(tcase, the_service_file_names_the_places);
    tcase_add_test(tcase, a_code_is_short_and_plain_whatever_comes);
    tcase_add_test(tcase, a_body_may_be_anything);
    tcase_add_test(tcase, a_message_is_one_plain_line_cut_at_a_character);
    tcase_add_test(tcase, so_much_of_a_body_is_kept);
    tcase_add_test(tcase, a_reply_carries_the_services_words);
    tcase_add_test(tcase, a_reply_keeps_nothing_of_a_body_if_the_file_forbids_it);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
