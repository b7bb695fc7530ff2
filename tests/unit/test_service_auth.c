/* Service files: the name of the key's header, and how calls prove their origin. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hmac.h"
#include "base/id.h"
#include "service/service.h"
#include "suite.h"

static char folder[64], secret[128], other[128];
static struct mg_err err;
static struct mg_service *service;

static void put(const char *path, const char *content)
{
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(content, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

static void set_up(void)
{
    (void)snprintf(folder, sizeof(folder), "/tmp/makegood-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(secret, sizeof(secret), "%s/secret", folder);
    (void)snprintf(other, sizeof(other), "%s/other", folder);
    put(secret, "open sesame\n");
    put(other, "key\n");
    err = (struct mg_err){MG_OK, ""};
    service = NULL;
}

static void tear_down(void)
{
    mg_service_destroy(service);
    ck_assert_int_eq(unlink(secret), 0);
    ck_assert_int_eq(unlink(other), 0);
    ck_assert_int_eq(rmdir(folder), 0);
}

/* "~" and "#" in `members` stand for the files of the secrets. */
static enum mg_class parse(const char *members)
{
    char text[2048];
    size_t len = (size_t)snprintf(text, sizeof(text), "{\"service\":\"s\",\"url\":\"http://127.0.0.1\",");
    for (const char *at = members; *at != '\0'; at++) {
        char one[2] = {*at, '\0'};
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s",
                                *at == '~'   ? secret
                                : *at == '#' ? other
                                             : one);
    }
    (void)snprintf(text + len, sizeof(text) - len, "}");
    return mg_service_parse(mg_slice_of(text), NULL, &service, &err);
}

static void parse_good(const char *members)
{
    ck_assert_msg(parse(members) == MG_OK, "%s", err.text);
}

#define EXPIRED(list)                                                                                             \
    "\"auth\":{\"oauth2\":{\"token_url\":\"https://h/t\",\"client_id\":\"c\",\"client_secret\":{\"file\":\"~\"}," \
    "\"expired_when\":" list "}}"

static const char *const NO_CODES[] = {
    EXPIRED("[\"403\"]"),
    EXPIRED("[\"http_503\"]"),
    EXPIRED("[\"http_403/\"]"),
    EXPIRED("[\"http_403/a b\"]"),
    EXPIRED("[\"http_4031\"]"),
    EXPIRED("[403]"),
    EXPIRED("\"http_403\""),
    EXPIRED(
        "[\"http_403\",\"http_403\",\"http_403\",\"http_403\",\"http_403\",\"http_403\",\"http_403\",\"http_403\","
        "\"http_403\"]"),
};

START_TEST(codes_of_an_ended_token_are_error_codes)
{
    parse_good(EXPIRED("[\"http_403/TOKEN_EXPIRED\",\"http_498\"]"));
    ck_assert_str_eq(service->auth.oauth2.expired_when[0], "http_403/TOKEN_EXPIRED");
    ck_assert_str_eq(service->auth.oauth2.expired_when[1], "http_498");
    ck_assert_ptr_null(service->auth.oauth2.expired_when[2]);
    for (size_t i = 0; i < sizeof(NO_CODES) / sizeof(NO_CODES[0]); i++) {
        mg_service_destroy(service);
        service = NULL;
        ck_assert_int_eq(parse(NO_CODES[i]), MG_BAD_INPUT);
        ck_assert_msg(strstr(err.text, "/auth/oauth2/expired_when") != NULL, "%s", err.text);
    }
}
END_TEST

START_TEST(the_key_may_have_another_header)
{
    parse_good("\"rate\":1");
    ck_assert_str_eq(service->key_line, "Idempotency-Key: ");
    ck_assert_int_eq(service->auth.scheme, MG_AUTH_NONE);
    ck_assert(!service->is_text_answer);
    mg_service_destroy(service);
    parse_good("\"key\":{\"header\":\"PayPal-Request-Id\",\"prefix\":\"mg-\"},\"response\":\"text\"");
    ck_assert_str_eq(service->key_line, "PayPal-Request-Id: mg-");
    ck_assert(service->is_text_answer);
    mg_service_destroy(service);
    parse_good("\"key\":{\"header\":\"Idempotency-Key\",\"prefix\":\"mg-\"}");
    ck_assert_str_eq(service->key_line, "Idempotency-Key: mg-");
}
END_TEST

START_TEST(basic_and_bearer_become_a_header)
{
    parse_good("\"auth\":{\"basic\":{\"user\":\"Aladdin\",\"password\":{\"file\":\"~\"}}}");
    ck_assert_str_eq(service->auth.line,
                     "Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="); /* RFC 7617 §2 */
    mg_service_destroy(service);
    parse_good("\"auth\":{\"bearer\":{\"file\":\"#\"}}");
    ck_assert_str_eq(service->auth.line, "Authorization: Bearer key");
}
END_TEST

/* Would catch: a rehearsal that needs the agent's folder and its secrets, or one that overlooks a header
 * given twice. */
START_TEST(the_rules_alone_need_no_secret)
{
#define NOWHERE "{\"file\":\"/nowhere/key\"}"
#define HEAD    "{\"service\":\"s\",\"url\":\"http://h\","
    static const char *const FILES[] = {
        HEAD "\"headers\":{\"X-Key\":" NOWHERE "}}",
        HEAD "\"auth\":{\"bearer\":" NOWHERE "}}",
        HEAD "\"auth\":{\"basic\":{\"user\":\"u\",\"password\":" NOWHERE "}}}",
        HEAD
        "\"auth\":{\"oauth2\":{\"token_url\":\"https://h/t\",\"client_id\":\"c\",\"client_secret\":" NOWHERE
        "}}}",
        HEAD "\"auth\":{\"hmac\":{\"header\":\"X-Signature\",\"secret\":" NOWHERE "}}}",
    };
    static const char TWICE[] =
        HEAD "\"headers\":{\"Authorization\":" NOWHERE "},\"auth\":{\"bearer\":" NOWHERE "}}";
    for (size_t i = 0; i < sizeof(FILES) / sizeof(FILES[0]); i++) {
        ck_assert_int_eq(mg_service_parse(mg_slice_of(FILES[i]), NULL, &service, &err), MG_BAD_INPUT);
        ck_assert_msg(mg_service_parse_rules(mg_slice_of(FILES[i]), NULL, &service, &err) == MG_OK, "%s",
                      err.text);
        mg_service_destroy(service);
        service = NULL;
    }
    ck_assert_int_eq(mg_service_parse_rules(mg_slice_of(TWICE), NULL, &service, &err), MG_BAD_INPUT);
#undef NOWHERE
#undef HEAD
}
END_TEST

START_TEST(oauth2_and_hmac_are_read)
{
    parse_good(
        "\"auth\":{\"oauth2\":{\"token_url\":\"https://id.example/token\",\"client_id\":\"c\","
        "\"client_secret\":{\"file\":\"~\"},\"client_auth\":\"body\",\"scope\":\"a b\",\"audience\":\"x\"},"
        "\"hmac\":{\"header\":\"X-Signature\",\"algorithm\":\"sha512\",\"encoding\":\"base64\","
        "\"prefix\":\"v1=\",\"timestamp_header\":\"X-Time\",\"secret\":{\"file\":\"#\"}}}");
    const struct mg_auth *auth = &service->auth;
    ck_assert_int_eq(auth->scheme, MG_AUTH_OAUTH2);
    ck_assert_ptr_null(auth->line);
    ck_assert_str_eq(auth->oauth2.token_url, "https://id.example/token");
    ck_assert_str_eq(auth->oauth2.client_id, "c");
    ck_assert_str_eq(auth->secret.value, "open sesame");
    ck_assert(auth->oauth2.is_secret_in_body);
    ck_assert_str_eq(auth->oauth2.scope, "a b");
    ck_assert_str_eq(auth->oauth2.audience, "x");
    ck_assert_str_eq(auth->hmac.header, "X-Signature");
    ck_assert_str_eq(auth->hmac.prefix, "v1=");
    ck_assert_int_eq(auth->hmac.hash, MG_HASH_SHA512);
    ck_assert(auth->hmac.is_base64);
    ck_assert(auth->hmac.is_timestamp_signed); /* a timestamp that no signature covers proves nothing */
    ck_assert_str_eq(auth->hmac.key.value, "key");
    mg_service_destroy(service);
    parse_good("\"auth\":{\"hmac\":{\"header\":\"X-S\",\"secret\":{\"file\":\"#\"}}}");
    ck_assert_int_eq(service->auth.hmac.hash, MG_HASH_SHA256);
    ck_assert(!service->auth.hmac.is_base64 && !service->auth.hmac.is_timestamp_signed);
}
END_TEST

static const struct {
    const char *members, *says;
} MISTAKES[] = {
    {"\"key\":{\"header\":\"X:\"}", "/key/header: not a header's name"},
    {"\"key\":{\"header\":\"Authorization\"}", "/key/header: this header has another use"},
    {"\"key\":{\"header\":\"X-K\"},\"headers\":{\"x-k\":\"1\"}",
     "/key/header: \"headers\" gives this header, too"},
    {"\"key\":{\"prefix\":\"a\\nb\"}", "/key/prefix: must be one line"},
    {"\"key\":{\"names\":\"X\"}", "/key"},
    {"\"auth\":{\"digest\":{}}", "/auth"},
    {"\"auth\":{\"basic\":{\"user\":\"u\",\"password\":{\"file\":\"~\"}},\"bearer\":{\"file\":\"~\"}}",
     "/auth: one of \"basic\""},
    {"\"auth\":{\"bearer\":{\"file\":\"~\"}},\"headers\":{\"authorization\":\"x\"}",
     "/auth: \"headers\" gives Authorization"},
    {"\"auth\":{\"bearer\":\"t\"}", "/auth/bearer"},
    {"\"auth\":{\"bearer\":{\"file\":\"~.missing\"}}", "/auth/bearer/file: could not read \""},
    {"\"auth\":{\"basic\":{\"user\":\"a:b\",\"password\":{\"file\":\"~\"}}}",
     "/auth/basic/user: a user's name has no colon"},
    {"\"auth\":{\"basic\":{\"user\":\"u\"}}", "/auth/basic: member \"password\" is missing"},
    {"\"auth\":{\"oauth2\":{\"client_id\":\"c\",\"client_secret\":{\"file\":\"~\"}}}",
     "\"token_url\" is missing"},
    {"\"auth\":{\"oauth2\":{\"token_url\":\"https://u:p@h/t\",\"client_id\":\"c\",\"client_secret\":{\"file\":\"~\"}}}",
     "/auth/oauth2/token_url: no user or password"},
    {"\"auth\":{\"oauth2\":{\"token_url\":\"ftp://h/t\",\"client_id\":\"c\",\"client_secret\":{\"file\":\"~\"}}}",
     "/auth/oauth2/token_url: not a URL"},
    {"\"auth\":{\"oauth2\":{\"token_url\":\"https://h/t?a=b\",\"client_id\":\"c\",\"client_secret\":{\"file\":\"~\"}}}",
     "/auth/oauth2/token_url: no query"},
    {"\"auth\":{\"oauth2\":{\"token_url\":\"https://h/t\",\"client_id\":\"c\",\"client_secret\":{\"file\":\"~\"},\"client_auth\":\"jwt\"}}",
     "/auth/oauth2/client_auth"},
    {"\"auth\":{\"hmac\":{\"header\":\"X-S\",\"secret\":{\"file\":\"#\"},\"algorithm\":\"md5\"}}",
     "/auth/hmac/algorithm"},
    {"\"auth\":{\"hmac\":{\"header\":\"Host\",\"secret\":{\"file\":\"#\"}}}", "/auth/hmac/header"},
    {"\"auth\":{\"hmac\":{\"header\":\"X-S\",\"secret\":{\"file\":\"#\"},\"sign\":\"timestamp.body\"}}",
     "/auth/hmac/sign: the receiver needs the signed timestamp"},
    {"\"auth\":{\"hmac\":{\"header\":\"X-S\",\"timestamp_header\":\"x-s\",\"secret\":{\"file\":\"#\"}}}",
     "/auth/hmac/timestamp_header: the signature has this header"},
    {"\"auth\":{\"hmac\":{\"header\":\"X-S\",\"secret\":\"abc\"}}", "/auth/hmac/secret"},
    {"\"response\":\"html\"", "/response"},
};

/* Catches: a mistake that shows at the first call, and a secret that is shown with its mistake. */
START_TEST(a_mistake_is_named_with_its_place)
{
    ck_assert_msg(parse(MISTAKES[_i].members) == MG_BAD_INPUT, "%s", MISTAKES[_i].members);
    ck_assert_msg(strstr(err.text, MISTAKES[_i].says) != NULL, "%s", err.text);
    ck_assert_ptr_null(strstr(err.text, "sesame"));
}
END_TEST

/* Catches: a renewed secret that needs a restart, and a mistake in it that takes away the one in use. */
START_TEST(secrets_may_be_read_again)
{
    int count = -1;
    bool is_new = true;
    parse_good("\"auth\":{\"basic\":{\"user\":\"u\",\"password\":{\"file\":\"~\"}},"
               "\"hmac\":{\"header\":\"X-S\",\"secret\":{\"file\":\"#\"}}}");
    ck_assert_int_eq(mg_service_reread_auth(service, &count, &is_new, &err), MG_OK);
    ck_assert_int_eq(count, 2);
    ck_assert(!is_new);
    put(secret, "p\n");
    put(other, "two\nlines\n");
    ck_assert_int_eq(mg_service_reread_auth(service, &count, &is_new, &err), MG_BAD_INPUT);
    ck_assert_str_eq(service->auth.secret.value, "open sesame");
    put(other, "k2\n");
    ck_assert_int_eq(mg_service_reread_auth(service, &count, &is_new, &err), MG_OK);
    ck_assert(is_new);
    ck_assert_str_eq(service->auth.line, "Authorization: Basic dTpw");
    ck_assert_str_eq(service->auth.hmac.key.value, "k2");
}
END_TEST

/* RFC 4231 test case 2, in one part and in several, and RFC 4648 §10. */
START_TEST(digests_are_those_of_the_standards)
{
    static const char *const PLAIN[] = {"", "f", "fo", "foo", "foob", "fooba", "foobar"};
    static const char *const CODED[] = {"", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"};
    const struct mg_slice parts[] = {mg_slice_of("what do ya "), {NULL, 0}, mg_slice_of("want for nothing?")};
    uint8_t digest[MG_HMAC_MAX];
    char text[2 * MG_HMAC_MAX + 1];
    size_t len = mg_hmac(MG_HASH_SHA256, mg_slice_of("Jefe"), parts, 3, digest);
    *mg_hex_write(digest, len, text) = '\0';
    ck_assert_str_eq(text, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    len = mg_hmac(MG_HASH_SHA512, mg_slice_of("Jefe"), parts, 3, digest);
    *mg_hex_write(digest, len, text) = '\0';
    ck_assert_str_eq(
        text,
        "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fd"
        "caeab1a34d4a6b4b636e070a38bce737");
    for (size_t i = 0; i < sizeof(PLAIN) / sizeof(PLAIN[0]); i++) {
        struct mg_buf coded;
        mg_buf_init(&coded, 100);
        mg_buf_append_base64(&coded, mg_slice_of(PLAIN[i]));
        ck_assert_str_eq(coded.data != NULL ? coded.data : "", CODED[i]);
        mg_buf_finish(&coded);
    }
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

int main(void)
{
    Suite *suite = suite_create("service_auth");
    TCase *tests = tcase_create("service_auth");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, the_key_may_have_another_header);
    tcase_add_test(tests, codes_of_an_ended_token_are_error_codes);
    tcase_add_test(tests, basic_and_bearer_become_a_header);
    tcase_add_test(tests, the_rules_alone_need_no_secret);
    tcase_add_test(tests, oauth2_and_hmac_are_read);
    tcase_add_loop_test(tests, a_mistake_is_named_with_its_place, 0, COUNT(MISTAKES));
    tcase_add_test(tests, secrets_may_be_read_again);
    tcase_add_test(tests, digests_are_those_of_the_standards);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
