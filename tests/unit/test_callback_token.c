/* Would catch: a token that another secret, another order or no one has made, and that is believed; one step
 * with two tokens; a secret in a text for people; a secret that is too short. */
#include <stdio.h>
#include <string.h>

#include "suite.h"
#include "wire/callback_token.h"

#define SECRET  "0123456789abcdef0123456789abcdef"
#define ANOTHER "fedcba9876543210fedcba9876543210"

static struct mg_callback_secrets secrets_of(const char *text)
{
    struct mg_callback_secrets secrets;
    struct mg_err err;
    ck_assert_msg(mg_callback_secrets_parse(mg_slice_of(text), &secrets, &err) == MG_OK, "%s", err.text);
    return secrets;
}

static void token_make(const char *secrets_text, const struct mg_callback *callback,
                       char ret_token[MG_CALLBACK_TOKEN_SIZE])
{
    const struct mg_callback_secrets secrets = secrets_of(secrets_text);
    ck_assert(mg_callback_token_make(&secrets, 0, callback, ret_token));
}

static bool token_read(const char *secrets_text, struct mg_slice token, struct mg_callback *ret_callback)
{
    const struct mg_callback_secrets secrets = secrets_of(secrets_text);
    return mg_callback_token_read(&secrets, token, ret_callback);
}

static const struct mg_callback CHARGE = {"o-1", "charge", 2};

START_TEST(a_token_names_its_step_and_is_always_the_same)
{
    static struct mg_callback callbacks[3] = {{"o-1", "charge", 0}, {"a", "b", UINT32_MAX}};
    memset(callbacks[2].order_id, ':', MG_ORDER_ID_MAX);
    memset(callbacks[2].step, 'x', MG_NAME_MAX);
    callbacks[2].generation = UINT32_MAX;
    for (size_t i = 0; i < sizeof(callbacks) / sizeof(callbacks[0]); i++) {
        char token[MG_CALLBACK_TOKEN_SIZE], again[MG_CALLBACK_TOKEN_SIZE];
        struct mg_callback back;
        token_make(SECRET, &callbacks[i], token);
        token_make(SECRET, &callbacks[i], again);
        ck_assert_str_eq(token, again);
        ck_assert_uint_eq(strspn(token, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
                          strlen(token));
        ck_assert(token_read(SECRET, mg_slice_of(token), &back));
        ck_assert_str_eq(back.order_id, callbacks[i].order_id);
        ck_assert_str_eq(back.step, callbacks[i].step);
        ck_assert_uint_eq(back.generation, callbacks[i].generation);
    }
}
END_TEST

/* A service keeps a token as long as its work takes: another program, and another version, must make the
 * same.
 */
START_TEST(a_token_has_these_bytes)
{
    char token[MG_CALLBACK_TOKEN_SIZE];
    token_make(SECRET, &CHARGE, token);
    ck_assert_str_eq(token, "Ae-ubmd267CYPkTQe3byp22OIh89FLLJksXMXSc5KpJvLTEvY2hhcmdlLzI");
}
END_TEST

START_TEST(a_token_of_other_names_is_another)
{
    static const struct mg_callback OTHERS[] = {
        {"o-2", "charge", 2}, {"o-1", "charge2", 2}, {"o-1", "charge", 3}, {"o-1", "charge", 22}};
    char token[MG_CALLBACK_TOKEN_SIZE], other[MG_CALLBACK_TOKEN_SIZE];
    token_make(SECRET, &CHARGE, token);
    for (size_t i = 0; i < sizeof(OTHERS) / sizeof(OTHERS[0]); i++) {
        token_make(SECRET, &OTHERS[i], other);
        ck_assert_str_ne(token, other);
    }
}
END_TEST

START_TEST(a_token_with_a_changed_bit_or_length_is_refused)
{
    char token[MG_CALLBACK_TOKEN_SIZE], changed[MG_CALLBACK_TOKEN_SIZE + 8];
    struct mg_callback back;
    token_make(SECRET, &CHARGE, token);
    size_t len = strlen(token);
    for (size_t i = 0; i < len; i++) {
        for (int bit = 0; bit < 8; bit++) {
            memcpy(changed, token, len + 1);
            changed[i] = (char)(changed[i] ^ (1 << bit));
            ck_assert_msg(!token_read(SECRET, (struct mg_slice){changed, len}, &back), "%zu %d", i, bit);
        }
        ck_assert(!token_read(SECRET, (struct mg_slice){token, i}, &back));
    }
    static const char *const TAILS[] = {"A", "=", "==", "/", "\n", "AAAA"};
    for (size_t i = 0; i < sizeof(TAILS) / sizeof(TAILS[0]); i++) {
        (void)snprintf(changed, sizeof(changed), "%s%s", token, TAILS[i]);
        ck_assert_msg(!token_read(SECRET, mg_slice_of(changed), &back), "%s", TAILS[i]);
    }
    char longest[4096];
    memset(longest, 'A', sizeof(longest));
    for (size_t i = MG_CALLBACK_TOKEN_SIZE - 4; i < sizeof(longest); i += 97) {
        ck_assert(!token_read(SECRET, (struct mg_slice){longest, i}, &back));
    }
    ck_assert(!token_read(SECRET, mg_slice_of(""), &back));
    ck_assert(!token_read(SECRET, (struct mg_slice){NULL, 0}, &back));
}
END_TEST

/* base64 leaves bits of its last digit unused: another digit would give the same bytes, and so a second
 * signal of one callback. */
START_TEST(one_token_has_one_text)
{
    static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    static const struct mg_callback CALLBACKS[] = {
        {"o-1", "charge", 2}, {"o-12", "charge", 2}, {"o-123", "charge", 2}};
    for (size_t i = 0; i < 3; i++) { /* the three lengths by which the last digit differs */
        char token[MG_CALLBACK_TOKEN_SIZE];
        struct mg_callback back;
        int read = 0;
        token_make(SECRET, &CALLBACKS[i], token);
        for (size_t digit = 0; digit < sizeof(DIGITS) - 1; digit++) {
            token[strlen(token) - 1] = DIGITS[digit];
            read += token_read(SECRET, mg_slice_of(token), &back);
        }
        ck_assert_int_eq(read, 1);
    }
}
END_TEST

START_TEST(a_secret_can_be_replaced_while_its_tokens_are_out)
{
    char token[MG_CALLBACK_TOKEN_SIZE], newer[MG_CALLBACK_TOKEN_SIZE];
    struct mg_callback back;
    token_make(SECRET, &CHARGE, token);
    token_make(ANOTHER "\n" SECRET "\n", &CHARGE, newer);
    ck_assert_str_ne(token, newer);
    ck_assert(token_read(ANOTHER "\n" SECRET, mg_slice_of(token), &back));
    ck_assert(token_read(ANOTHER "\n" SECRET, mg_slice_of(newer), &back));
    ck_assert(!token_read(ANOTHER, mg_slice_of(token), &back));
    ck_assert(!token_read(SECRET, mg_slice_of(newer), &back));
}
END_TEST

/* Catches: a digest with the empty key in the place of a secret that there is not. */
START_TEST(without_a_secret_no_token_is_made_or_read)
{
    struct mg_callback_secrets none = {.count = 0}, empty = {.count = 1};
    char token[MG_CALLBACK_TOKEN_SIZE];
    struct mg_callback back;
    ck_assert(!mg_callback_token_make(&none, 0, &CHARGE, token));
    if (mg_callback_token_make(&empty, 0, &CHARGE, token)) {
        ck_assert(!mg_callback_token_read(&none, mg_slice_of(token), &back));
        ck_assert(!token_read(SECRET, mg_slice_of(token), &back));
    }
}
END_TEST

START_TEST(secrets_are_refused_without_a_word_of_theirs)
{
    static const struct {
        const char *text, *why;
    } BAD[] = {{"", "no secret"},
               {"\n \n", "no secret"},
               {"short\n", "line 1"},
               {SECRET "\n0123456789abcdef0123456789abcde\n", "line 2"},
               {SECRET "\n" SECRET "\n" SECRET "\n" SECRET "\n" SECRET, "more than 4"}};
    char longest[MG_CALLBACK_SECRET_MAX + 2];
    struct mg_callback_secrets secrets;
    struct mg_err err;
    for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
        ck_assert_int_eq(mg_callback_secrets_parse(mg_slice_of(BAD[i].text), &secrets, &err), MG_BAD_INPUT);
        ck_assert_ptr_nonnull(strstr(err.text, BAD[i].why));
        ck_assert_ptr_null(strstr(err.text, "short"));
        ck_assert_ptr_null(strstr(err.text, "abc"));
    }
    memset(longest, 'x', sizeof(longest));
    ck_assert_int_eq(
        mg_callback_secrets_parse((struct mg_slice){longest, MG_CALLBACK_SECRET_MAX}, &secrets, &err), MG_OK);
    ck_assert_int_eq(
        mg_callback_secrets_parse((struct mg_slice){longest, MG_CALLBACK_SECRET_MAX + 1}, &secrets, &err),
        MG_BAD_INPUT);
    ck_assert_int_eq(
        mg_callback_secrets_parse((struct mg_slice){SECRET "\0x", sizeof(SECRET) + 1}, &secrets, &err),
        MG_BAD_INPUT);
    ck_assert_int_eq(mg_callback_secrets_read("/nonexistent/secret", &secrets, &err), MG_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(err.text, "--callback-secret-file /nonexistent/secret: No such file"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("callback_token");
    TCase *tests = tcase_create("callback_token");
    tcase_add_test(tests, a_token_names_its_step_and_is_always_the_same);
    tcase_add_test(tests, a_token_has_these_bytes);
    tcase_add_test(tests, a_token_of_other_names_is_another);
    tcase_add_test(tests, a_token_with_a_changed_bit_or_length_is_refused);
    tcase_add_test(tests, one_token_has_one_text);
    tcase_add_test(tests, a_secret_can_be_replaced_while_its_tokens_are_out);
    tcase_add_test(tests, without_a_secret_no_token_is_made_or_read);
    tcase_add_test(tests, secrets_are_refused_without_a_word_of_theirs);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
