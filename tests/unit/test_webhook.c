/* Would catch: a signature that no library of Standard Webhooks accepts; a secret that is read as another, or
 * too short; a secret in a text for people; one id for two statuses. */
#include <string.h>

#include "suite.h"
#include "wire/webhook.h"

/* The vector of the specification's own libraries (webhook_test.go). */
#define SPEC_SECRET    "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
#define SPEC_SIGNATURE "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
/* Of 25 and 26 bytes. */
#define PADDED_SECRET "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGA=="
#define ODD_SECRET    "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBk="

static enum mg_class secrets_of(const char *text, struct mg_webhook_secrets *ret_secrets, struct mg_err *err)
{
    return mg_webhook_secrets_parse(mg_slice_of(text), ret_secrets, err);
}

static void expect_signature(const char *secrets_text, const char *id, int64_t at_s, const char *body,
                             const char *expected)
{
    struct mg_webhook_secrets secrets;
    struct mg_err err;
    struct mg_buf value;
    ck_assert_int_eq(secrets_of(secrets_text, &secrets, &err), MG_OK);
    mg_buf_init(&value, 1024);
    mg_webhook_sign(&secrets, id, at_s, mg_slice_of(body), &value);
    ck_assert(!value.failed);
    ck_assert_str_eq(value.data, expected);
    mg_buf_finish(&value);
    mg_webhook_secrets_wipe(&secrets);
    ck_assert_int_eq(secrets.count, 0);
}

START_TEST(a_signature_is_that_of_the_specification)
{
    expect_signature(SPEC_SECRET "\n", "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, "{\"test\": 2432232314}",
                     SPEC_SIGNATURE);
    /* By Python's hmac. */
    expect_signature(PADDED_SECRET, "a", 1, "{}", "v1,ecmp1V0oHLwv6y0IsnKUkSNlNou0Tanj+5RnSYBoBzg=");
    expect_signature(ODD_SECRET, "a", 1, "{}", "v1,tKR2l7lSTOIcgboIZNrVow05kKjaqqdfO5GCJRbTY9g=");
}
END_TEST

START_TEST(each_secret_signs_while_one_replaces_another)
{
    struct mg_webhook_secrets secrets;
    struct mg_err err;
    struct mg_buf value;
    ck_assert_int_eq(secrets_of("\r\n " PADDED_SECRET " \r\n\n" SPEC_SECRET, &secrets, &err), MG_OK);
    mg_buf_init(&value, 1024);
    mg_webhook_sign(&secrets, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330,
                    mg_slice_of("{\"test\": 2432232314}"), &value);
    ck_assert_ptr_nonnull(value.data);
    const char *second = strchr(value.data, ' ');
    ck_assert_ptr_nonnull(second);
    ck_assert_str_eq(second + 1, SPEC_SIGNATURE);
    ck_assert(strncmp(value.data, "v1,", 3) == 0 && strncmp(value.data, second + 1, 20) != 0);
    mg_buf_finish(&value);
}
END_TEST

START_TEST(a_bad_secret_is_named_by_its_line_alone)
{
    static const struct {
        const char *text, *reason;
    } cases[] = {
        {"", "no secret"},
        {"\n \r\n", "no secret"},
        {SPEC_SECRET "\nMfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "line 2"},
        {"whsec_", "line 1"},
        {"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLa==", "line 1"}, /* 22 bytes */
        {"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS", "line 1"},
        {"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLa-w", "line 1"},
        {"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
         "line 1"},
        {SPEC_SECRET "\n" SPEC_SECRET "\n" SPEC_SECRET "\n" SPEC_SECRET "\n" SPEC_SECRET, "more than 4"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct mg_webhook_secrets secrets;
        struct mg_err err;
        ck_assert_int_eq(secrets_of(cases[i].text, &secrets, &err), MG_BAD_INPUT);
        ck_assert_msg(strstr(err.text, cases[i].reason) != NULL, "%s", err.text);
        ck_assert_msg(strstr(err.text, "MfKQ") == NULL, "%s", err.text);
    }
}
END_TEST

START_TEST(each_status_has_an_id_of_its_own)
{
    struct mg_status_identity first = {.order_id = "shop.1", .seq = 1},
                              second = {.order_id = "shop.1", .seq = 2};
    struct mg_status_identity rejection = {.order_id = "shop.1", .seq = 0};
    char ids[5][MG_UUID_SIZE];
    mg_webhook_id(&first, mg_slice_of("{}"), ids[0]);
    mg_webhook_id(&second, mg_slice_of("{}"), ids[1]);
    mg_webhook_id(&rejection, mg_slice_of("{}"), ids[2]);
    mg_webhook_id(&rejection, mg_slice_of("{ }"), ids[3]);
    for (int i = 0; i < 4; i++) {
        ck_assert(mg_uuid_is_valid(ids[i]));
        for (int k = 0; k < i; k++) {
            ck_assert_str_ne(ids[i], ids[k]);
        }
    }
    mg_webhook_id(&first, mg_slice_of("{ }"), ids[4]);
    ck_assert_str_eq(ids[4], ids[0]);
}
END_TEST

START_TEST(a_status_is_identified_whatever_its_version)
{
    struct mg_status_identity identity;
    struct mg_err err;
    struct mg_slice newer = mg_slice_of("{\"v\":9,\"order_id\":\"a\",\"seq\":7,\"status\":\"paused\","
                                        "\"at\":\"2026-01-31T12:34:56.789Z\",\"more\":[1e400]}");
    ck_assert_int_eq(mg_status_identify(newer, &identity, &err), MG_OK);
    ck_assert_str_eq(identity.order_id, "a");
    ck_assert_uint_eq(identity.seq, 7);
    ck_assert_int_eq(identity.at_ms, INT64_C(1769862896789));
    ck_assert_int_eq(mg_status_identify(mg_slice_of("{\"order_id\":\"a\",\"seq\":-1}"), &identity, &err),
                     MG_BAD_INPUT);
    ck_assert_int_eq(mg_status_identify(mg_slice_of("no JSON"), &identity, &err), MG_BAD_INPUT);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("webhook");
    TCase *tests = tcase_create("webhook");
    tcase_add_test(tests, a_signature_is_that_of_the_specification);
    tcase_add_test(tests, each_secret_signs_while_one_replaces_another);
    tcase_add_test(tests, a_bad_secret_is_named_by_its_line_alone);
    tcase_add_test(tests, each_status_has_an_id_of_its_own);
    tcase_add_test(tests, a_status_is_identified_whatever_its_version);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
