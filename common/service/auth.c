/*
 * The members `key` and `auth` of a service file. Secrets come from files only, so that a service file may be
 * shown and kept under version control.
 */
#include "service/auth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/secret.h"
#include "service/file_reader.h"
#include "wire/http_header.h"
#include "wire/reply.h"

/* A key has at most 150 characters, and common services accept 255. */
#define KEY_PREFIX_MAX 64
/* The prefix of a signature: "sha256=" and the like. */
#define SIGNATURE_PREFIX_MAX 64
/* "Authorization: Basic " and the base64 of two values of a header's length. */
#define LINE_MAX_BYTES (4 * MG_HEADER_VALUE_MAX)

static const char *const KEY_NAMES[] = {"header", "prefix", NULL};
static const char *const AUTH_NAMES[] = {"basic", "bearer", "oauth2", "hmac", NULL};
static const char *const BASIC_NAMES[] = {"user", "password", NULL};
static const char *const SECRET_NAMES[] = {"file", NULL};
static const char *const OAUTH2_NAMES[] = {"token_url", "client_id", "client_secret", "client_auth", "scope",
                                           "audience",  "ca_file",   "expired_when",  NULL};
static const char *const HMAC_NAMES[] = {"header", "algorithm",        "secret", "encoding",
                                         "prefix", "timestamp_header", "sign",   NULL};
static const char *const CLIENT_AUTHS[] = {"basic", "body", NULL};
static const char *const ALGORITHMS[] = {"sha256", "sha512", NULL}; /* enum mg_hash */
static const char *const ENCODINGS[] = {"hex", "base64", NULL};
static const char *const SIGNED[] = {"body", "timestamp.body", NULL};

/* A text of printable ASCII that a header may hold. */
static char *read_line(const struct mg_json_object *object, const char *name, enum mg_json_need need,
                       size_t max_len)
{
    char *text = mg_service_read_text(object, name, need);
    for (size_t i = 0; text != NULL && text[i] != '\0'; i++) {
        if (text[i] < ' ' || text[i] > '~' || i >= max_len) {
            mg_json_member_fault(object, MG_BAD_INPUT, name,
                                 "must be one line of printable ASCII, of at most %zu characters", max_len);
            break;
        }
    }
    return text;
}

/* True if the service file gives this header itself. */
static bool is_given(const struct mg_service *service, const char *name)
{
    for (int i = 0; service->headers[i] != NULL; i++) {
        struct mg_slice given = {service->headers[i], strcspn(service->headers[i], ":")};
        if (mg_header_name_is(given, name)) {
            return true;
        }
    }
    return false;
}

/* The name of a header that the agent makes for each call. */
static char *read_header_name(const struct mg_json_object *object, const struct mg_service *service,
                              const char *name, enum mg_json_need need)
{
    char *text = mg_service_read_text(object, name, need);
    if (text == NULL) {
        return NULL;
    }
    if (!mg_header_name_is_valid(mg_slice_of(text))) {
        mg_json_member_fault(object, MG_BAD_INPUT, name,
                             "not a header's name; use up to %d letters, digits and \"-\", without a colon",
                             MG_HEADER_NAME_MAX);
    } else if (mg_header_is_reserved(mg_slice_of(text)) || mg_header_name_is(mg_slice_of(text), "Accept")) {
        mg_json_member_fault(object, MG_BAD_INPUT, name, "this header has another use; choose another name");
    } else if (is_given(service, text)) {
        mg_json_member_fault(object, MG_BAD_INPUT, name, "\"headers\" gives this header, too; leave one out");
    }
    return text;
}

static void read_secret(const struct mg_json_object *object, const char *name, const char *what,
                        bool is_without_value, struct mg_secret *ret_secret)
{
    struct mg_json_object secret;
    struct mg_err err;

    if (mg_json_get(object, name, MG_REQUIRED).data == NULL ||
        !mg_service_open_part(object, name, SECRET_NAMES, &secret)) {
        return;
    }
    ret_secret->file = mg_service_read_text(&secret, "file", MG_REQUIRED);
    if (ret_secret->file != NULL && !is_without_value &&
        mg_service_read_secret(ret_secret->file, what, &ret_secret->value, &err) != MG_OK) {
        mg_json_member_fault(&secret, err.class, "file", "%s", err.text);
    }
}

void mg_service_read_key(const struct mg_json_object *object, struct mg_service *service)
{
    struct mg_json_object key;
    char *header = NULL, *prefix = NULL;
    bool has_header = false;

    if (mg_service_open_part(object, "key", KEY_NAMES, &key)) {
        struct mg_slice given = mg_json_get(&key, "header", MG_OPTIONAL);
        has_header = given.data != NULL && !mg_json_string_is(given, mg_slice_of("Idempotency-Key"));
        header = has_header ? read_header_name(&key, service, "header", MG_REQUIRED) : NULL;
        prefix = read_line(&key, "prefix", MG_OPTIONAL, KEY_PREFIX_MAX);
    }
    if ((!has_header || header != NULL) &&
        asprintf(&service->key_line, "%s: %s", header != NULL ? header : "Idempotency-Key",
                 prefix != NULL ? prefix : "") < 0) {
        service->key_line = NULL;
        mg_json_member_fault(object, MG_TRANSIENT, "key", "could not be kept: no memory");
    }
    free(header);
    free(prefix);
}

/* The "Authorization" of a basic or bearer scheme with its present secret; NULL: no memory. */
static char *make_line(const struct mg_auth *auth, const char *secret)
{
    struct mg_buf line, pair;

    mg_buf_init(&line, LINE_MAX_BYTES);
    mg_buf_init(&pair, LINE_MAX_BYTES);
    if (auth->scheme == MG_AUTH_BASIC) {
        mg_buf_printf(&pair, "%s:%s", auth->user, secret);
        mg_buf_append_text(&line, "Authorization: Basic ");
        mg_buf_append_base64(&line, mg_buf_slice(&pair));
        mg_buf_fail_with(&line, &pair);
    } else {
        mg_buf_printf(&line, "Authorization: Bearer %s", secret);
    }
    char *text = line.failed ? NULL : strdup(line.data);
    if (pair.data != NULL) {
        explicit_bzero(pair.data, pair.len);
    }
    if (line.data != NULL) {
        explicit_bzero(line.data, line.len);
    }
    mg_buf_finish(&pair);
    mg_buf_finish(&line);
    return text;
}

static void keep_line(const struct mg_json_object *object, struct mg_auth *auth)
{
    if (auth->secret.value == NULL || (auth->scheme == MG_AUTH_BASIC && auth->user == NULL)) {
        return; /* a fault has been reported, or secrets are left out */
    }
    auth->line = make_line(auth, auth->secret.value);
    if (auth->line == NULL) {
        mg_json_fault(object->faults, MG_TRANSIENT, object->pointer, "could not be kept: no memory");
    }
}

static void read_basic(const struct mg_json_object *basic, struct mg_auth *auth)
{
    auth->scheme = MG_AUTH_BASIC;
    auth->user = read_line(basic, "user", MG_REQUIRED, MG_HEADER_VALUE_MAX);
    if (auth->user != NULL && strchr(auth->user, ':') != NULL) {
        mg_json_member_fault(basic, MG_BAD_INPUT, "user",
                             "a user's name has no colon; it ends there (RFC 7617)");
    }
    read_secret(basic, "password", "the password", auth->is_without_secrets, &auth->secret);
    keep_line(basic, auth);
}

static void read_token_url(const struct mg_json_object *object, struct mg_oauth2 *oauth2)
{
    oauth2->token_url = mg_service_read_text(object, "token_url", MG_REQUIRED);
    if (oauth2->token_url == NULL) {
        return;
    }
    enum mg_class class = mg_http_url_parse(oauth2->token_url, &oauth2->endpoint);
    const struct mg_http_url *url = &oauth2->endpoint;
    if (class == MG_TRANSIENT) {
        mg_json_member_fault(object, class, "token_url", "could not be read: no memory");
    } else if (class != MG_OK || !url->is_http || !url->has_host) {
        mg_json_member_fault(object, MG_BAD_INPUT, "token_url",
                             "not a URL; write \"https://host/path\", as the service's provider gives it");
    } else if (url->has_user) {
        mg_json_member_fault(object, MG_BAD_INPUT, "token_url",
                             "no user or password in the URL, it would show in logs; use \"client_id\" and "
                             "\"client_secret\"");
    } else if (strpbrk(oauth2->token_url, "?#") != NULL) {
        mg_json_member_fault(object, MG_BAD_INPUT, "token_url",
                             "no query and no fragment here; \"scope\" and \"audience\" are members");
    }
}

/* "http_403" or "http_403/TOKEN_EXPIRED", as operators see it. */
static bool is_refusal_code(const char *code)
{
    static const char WORD[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    const struct mg_error_facts facts = mg_error_facts_read(mg_slice_of(code));
    bool is_word = facts.own.data == NULL || strspn(facts.own.data, WORD) == facts.own.len;
    return facts.http_status / 100 == 4 && is_word;
}

static void read_expired_when(const struct mg_json_object *object, struct mg_oauth2 *oauth2)
{
    struct mg_slice list = mg_json_get_typed(object, "expired_when", MG_OPTIONAL, MG_JSON_ARRAY), none, value;
    int count = 0;

    for (struct mg_json_walk walk = mg_json_walk_of(list); mg_json_walk_next(&walk, &none, &value); count++) {
        char code[MG_ERROR_CODE_MAX + 1] = "";
        struct mg_buf text;
        mg_buf_init_fixed(&text, code, sizeof(code));
        bool is_code = mg_json_string(value, &text) && !text.failed && is_refusal_code(code);
        if (!is_code || count == MG_EXPIRED_WHEN_MAX) {
            mg_json_member_fault(
                object, MG_BAD_INPUT, "expired_when",
                "up to %d error codes of refusals are expected, as \"http_403/TOKEN_EXPIRED\"",
                MG_EXPIRED_WHEN_MAX);
            return;
        }
        oauth2->expired_when[count] = strdup(code);
        if (oauth2->expired_when[count] == NULL) {
            mg_json_member_fault(object, MG_TRANSIENT, "expired_when", "could not be kept: no memory");
            return;
        }
    }
}

static void read_oauth2(const struct mg_json_object *object, struct mg_auth *auth)
{
    struct mg_oauth2 *oauth2 = &auth->oauth2;

    auth->scheme = MG_AUTH_OAUTH2;
    read_token_url(object, oauth2);
    oauth2->client_id = read_line(object, "client_id", MG_REQUIRED, MG_HEADER_VALUE_MAX);
    oauth2->scope = read_line(object, "scope", MG_OPTIONAL, MG_HEADER_VALUE_MAX);
    oauth2->audience = read_line(object, "audience", MG_OPTIONAL, MG_HEADER_VALUE_MAX);
    oauth2->ca_file = mg_service_read_text(object, "ca_file", MG_OPTIONAL);
    oauth2->is_secret_in_body =
        mg_json_get_word(object, "client_auth", MG_OPTIONAL, CLIENT_AUTHS, MG_BAD_INPUT, 0) == 1;
    read_expired_when(object, oauth2);
    read_secret(object, "client_secret", "the client's secret", auth->is_without_secrets, &auth->secret);
}

static void read_hmac(const struct mg_json_object *object, const struct mg_service *service,
                      struct mg_hmac_rule *hmac)
{
    hmac->header = read_header_name(object, service, "header", MG_REQUIRED);
    hmac->timestamp_header = read_header_name(object, service, "timestamp_header", MG_OPTIONAL);
    hmac->prefix = read_line(object, "prefix", MG_OPTIONAL, SIGNATURE_PREFIX_MAX);
    hmac->hash = mg_json_get_word(object, "algorithm", MG_OPTIONAL, ALGORITHMS, MG_BAD_INPUT, 0) == 1
                     ? MG_HASH_SHA512
                     : MG_HASH_SHA256;
    hmac->is_base64 = mg_json_get_word(object, "encoding", MG_OPTIONAL, ENCODINGS, MG_BAD_INPUT, 0) == 1;
    int is_signed_default = hmac->timestamp_header != NULL ? 1 : 0;
    hmac->is_timestamp_signed =
        mg_json_get_word(object, "sign", MG_OPTIONAL, SIGNED, MG_BAD_INPUT, is_signed_default) == 1;
    read_secret(object, "secret", "the secret of the signature", service->auth.is_without_secrets,
                &hmac->key);
    if (hmac->is_timestamp_signed && hmac->timestamp_header == NULL) {
        mg_json_member_fault(object, MG_BAD_INPUT, "sign",
                             "the receiver needs the signed timestamp; add \"timestamp_header\"");
    }
    if (hmac->header != NULL && hmac->timestamp_header != NULL &&
        mg_header_name_is(mg_slice_of(hmac->header), hmac->timestamp_header)) {
        mg_json_member_fault(object, MG_BAD_INPUT, "timestamp_header",
                             "the signature has this header; choose another name");
    }
}

void mg_service_read_auth(const struct mg_json_object *object, struct mg_service *service)
{
    struct mg_auth *auth = &service->auth;
    struct mg_json_object members, part;
    int schemes = 0;

    if (!mg_service_open_part(object, "auth", AUTH_NAMES, &members)) {
        return;
    }
    for (int i = 0; i < 3; i++) { /* basic, bearer, oauth2 */
        schemes += mg_json_get(&members, AUTH_NAMES[i], MG_OPTIONAL).data != NULL ? 1 : 0;
    }
    if (schemes > 1) {
        mg_json_member_fault(
            object, MG_BAD_INPUT, "auth",
            "one of \"basic\", \"bearer\" and \"oauth2\" fits in a call; leave out the others");
        return;
    }
    if (schemes == 1 && is_given(service, "Authorization")) {
        mg_json_member_fault(object, MG_BAD_INPUT, "auth",
                             "\"headers\" gives Authorization, too; leave one out");
    }
    if (mg_service_open_part(&members, "basic", BASIC_NAMES, &part)) {
        read_basic(&part, auth);
    } else if (mg_json_get(&members, "bearer", MG_OPTIONAL).data != NULL) {
        auth->scheme = MG_AUTH_BEARER;
        read_secret(&members, "bearer", "the token", auth->is_without_secrets, &auth->secret);
        keep_line(&members, auth);
    } else if (mg_service_open_part(&members, "oauth2", OAUTH2_NAMES, &part)) {
        read_oauth2(&part, auth);
    }
    if (mg_service_open_part(&members, "hmac", HMAC_NAMES, &part)) {
        read_hmac(&part, service, &auth->hmac);
    }
}

static enum mg_class reread(const struct mg_secret *secret, const char *what, char **ret_value, int *count,
                            struct mg_err *err)
{
    if (secret->file == NULL) {
        return MG_OK;
    }
    (*count)++;
    return mg_service_read_secret(secret->file, what, ret_value, err);
}

enum mg_class mg_service_reread_auth(struct mg_service *service, int *ret_count, bool *ret_is_new,
                                     struct mg_err *err)
{
    struct mg_auth *auth = &service->auth;
    char *secret = NULL, *key = NULL, *line = NULL;
    int count = 0;

    enum mg_class class = reread(&auth->secret, "the secret of \"auth\"", &secret, &count, err);
    if (class == MG_OK) {
        class = reread(&auth->hmac.key, "the secret of the signature", &key, &count, err);
    }
    if (class == MG_OK && auth->line != NULL && (line = make_line(auth, secret)) == NULL) {
        class = mg_err_set(err, MG_TRANSIENT, "could not keep a secret: no memory");
    }
    if (class != MG_OK) {
        mg_secret_free(secret);
        mg_secret_free(key);
        return class;
    }
    bool is_new = secret != NULL && mg_secret_renew(&auth->secret.value, &auth->secret.old, secret);
    is_new = (key != NULL && mg_secret_renew(&auth->hmac.key.value, &auth->hmac.key.old, key)) || is_new;
    if (line != NULL) {
        (void)mg_secret_renew(&auth->line, &auth->old_line, line);
    }
    *ret_count = count;
    *ret_is_new = is_new;
    return MG_OK;
}

static void secret_finish(struct mg_secret *secret)
{
    mg_secret_free(secret->value);
    mg_secret_free(secret->old);
    free(secret->file);
}

void mg_service_auth_finish(struct mg_auth *auth)
{
    secret_finish(&auth->secret);
    secret_finish(&auth->hmac.key);
    mg_secret_free(auth->line);
    mg_secret_free(auth->old_line);
    free(auth->user);
    free(auth->oauth2.token_url);
    free(auth->oauth2.client_id);
    free(auth->oauth2.scope);
    free(auth->oauth2.audience);
    free(auth->oauth2.ca_file);
    for (int i = 0; i < MG_EXPIRED_WHEN_MAX; i++) {
        free(auth->oauth2.expired_when[i]);
    }
    free(auth->hmac.header);
    free(auth->hmac.prefix);
    free(auth->hmac.timestamp_header);
}
