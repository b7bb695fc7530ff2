/*
 * Who asks: tokens from a file, sessions in memory. A token is shown once, by POST, and exchanged for a
 * session: 32 random bytes in a cookie that no script can read and no other site can send, and 32 more that a
 * change must carry in a header. A restart ends all sessions; people log in again.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/log.h"
#include "base/secret.h"
#include "console/server.h"
#include "wire/json.h"

#define TOKENS_MAX      256
#define TOKENS_FILE_MAX (64 * 1024) /* so many people, and as much to say about them */
#define SESSIONS_MAX    256         /* the one that was used least recently goes */
#define OWN_MAX         8           /* of one token: a few browsers; so nobody's end others' */
#define SESSION_MAX_MS  (INT64_C(12) * 3600 * 1000) /* a working day */
#define SECRET_BYTES    32
#define SECRET_SIZE     (2 * SECRET_BYTES + 1)
#define TOKEN_MAX       512
#define REFUSALS_PER_S                                                                                       \
    5 /* told and logged each; what comes above is turned away, but never who has a token: a stranger who    \
         guesses keeps nobody out */
#define COOKIE_PLAIN "makegood"
#define COOKIE_TLS   "__Host-makegood" /* taken by browsers only over TLS, for this very host */

struct token {
    enum role role;
    char name[NAME_SIZE];
    uint8_t digest[MG_SHA256_SIZE];
};

struct session {
    bool is_open;
    struct token token;
    char secret[SECRET_SIZE], csrf[SECRET_SIZE];
    int64_t began_ms, used_ms; /* by the clock since boot */
};

struct sessions {
    char *path;
    bool is_tls;
    struct token *tokens;
    int token_count;
    struct session sessions[SESSIONS_MAX];
    int64_t refusal_at_ms;
    int refusals_left;
};

/* ---- the file ---- */

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static bool digest_parse(struct mg_slice text, uint8_t ret_digest[MG_SHA256_SIZE])
{
    if (text.len != (size_t)2 * MG_SHA256_SIZE) {
        return false;
    }
    for (int i = 0; i < MG_SHA256_SIZE; i++) {
        int high = hex_digit(text.data[2 * i]), low = hex_digit(text.data[2 * i + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        ret_digest[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

/* A name goes into the database and on pages: printable ASCII. */
static bool name_is_valid(struct mg_slice name)
{
    for (size_t i = 0; i < name.len; i++) {
        if (name.data[i] <= ' ' || name.data[i] > '~') {
            return false;
        }
    }
    return name.len > 0 && name.len < NAME_SIZE;
}

/* Takes what stands before the first of these bytes, or all of it. */
static struct mg_slice piece_take(struct mg_slice *rest, const char *ends, size_t end_count)
{
    struct mg_slice piece = {rest->data, 0};
    while (piece.len < rest->len && memchr(ends, piece.data[piece.len], end_count) == NULL) {
        piece.len++;
    }
    size_t used = piece.len + (piece.len < rest->len);
    *rest = (struct mg_slice){rest->data + used, rest->len - used};
    return piece;
}

/* Empty behind the last. A CR is a blank, too: some editors leave one at the end of each line. */
static struct mg_slice word_take(struct mg_slice *line)
{
    struct mg_slice word = {line->data, 0};
    while (word.len == 0 && line->len > 0) {
        word = piece_take(line, " \t\r", 3);
    }
    return word;
}

static bool line_parse(struct mg_slice line, struct token *ret_token)
{
    struct mg_slice role = word_take(&line), name = word_take(&line), digest = word_take(&line);
    if (word_take(&line).len > 0 || !name_is_valid(name) || !digest_parse(digest, ret_token->digest)) {
        return false;
    }
    memcpy(ret_token->name, name.data, name.len);
    ret_token->name[name.len] = '\0';
    ret_token->role = mg_slice_is(role, "reader")     ? ROLE_READER
                      : mg_slice_is(role, "operator") ? ROLE_OPERATOR
                                                      : ROLE_NONE;
    return ret_token->role != ROLE_NONE;
}

static enum mg_class tokens_parse(const char *path, struct mg_slice text, struct token *ret_tokens,
                                  int *ret_count, struct mg_err *err)
{
    for (int number = 1; text.len > 0; number++) {
        struct mg_slice line = piece_take(&text, "\n", 1), rest = line;
        struct mg_slice first = word_take(&rest);
        if (first.len == 0 || first.data[0] == '#') {
            continue;
        }
        if (*ret_count == TOKENS_MAX) {
            return mg_err_set(err, MG_BAD_INPUT, "could not read --tokens-file %s: it names more than %d",
                              path, TOKENS_MAX);
        }
        if (!line_parse(line, &ret_tokens[(*ret_count)++])) {
            return mg_err_set(
                err, MG_BAD_INPUT,
                "could not read --tokens-file %s, line %d: expected reader or operator, a name without "
                "blanks, and the SHA-256 of a token in hexadecimal",
                path, number);
        }
    }
    return *ret_count > 0
               ? MG_OK
               : mg_err_set(err, MG_BAD_INPUT, "could not read --tokens-file %s: it names nobody", path);
}

static enum mg_class tokens_read(const char *path, struct token *ret_tokens, int *ret_count,
                                 struct mg_err *err)
{
    char block[4096];
    size_t count = 0;
    struct mg_buf text;
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return mg_err_set(err, MG_BAD_INPUT, "could not read --tokens-file %s: %s", path, strerror(errno));
    }
    mg_buf_init(&text, TOKENS_FILE_MAX);
    while (!text.failed && (count = fread(block, 1, sizeof block, file)) > 0) {
        mg_buf_append(&text, block, count);
    }
    bool is_broken = ferror(file) != 0;
    (void)fclose(file); /* only read */
    enum mg_class class = MG_OK;
    if (is_broken) {
        class = mg_err_set(err, MG_BAD_INPUT, "could not read --tokens-file %s", path);
    } else if (mg_buf_class(&text) == MG_TRANSIENT) {
        class = mg_err_set(err, MG_TRANSIENT, "could not read tokens: no memory");
    } else if (text.failed) {
        class = mg_err_set(err, MG_BAD_INPUT, "could not read --tokens-file %s: it is longer than %d bytes",
                           path, TOKENS_FILE_MAX);
    } else {
        class = tokens_parse(path, mg_buf_slice(&text), ret_tokens, ret_count, err);
    }
    mg_buf_finish(&text);
    return class;
}

enum mg_class tokens_check(const char *path, struct mg_err *err)
{
    int count = 0;
    struct token *tokens = calloc(TOKENS_MAX, sizeof *tokens);
    enum mg_class class = tokens == NULL ? mg_err_set(err, MG_TRANSIENT, "could not read tokens: no memory")
                                         : tokens_read(path, tokens, &count, err);
    free(tokens);
    return class;
}

struct sessions *sessions_create(const char *tokens_file, bool is_tls, struct mg_err *err)
{
    struct sessions *sessions = calloc(1, sizeof *sessions);
    if (sessions == NULL || (sessions->path = strdup(tokens_file)) == NULL) {
        (void)mg_err_set(err, MG_TRANSIENT, "could not read tokens: no memory");
        sessions_destroy(sessions);
        return NULL;
    }
    sessions->is_tls = is_tls;
    if (sessions_reload(sessions, err) != MG_OK) {
        sessions_destroy(sessions);
        return NULL;
    }
    return sessions;
}

void sessions_destroy(struct sessions *sessions)
{
    if (sessions != NULL) {
        free(sessions->path);
        free(sessions->tokens);
    }
    free(sessions);
}

bool sessions_need_login(const struct sessions *sessions)
{
    return sessions->path[0] != '\0';
}

enum mg_class sessions_reload(struct sessions *sessions, struct mg_err *err)
{
    if (!sessions_need_login(sessions)) {
        return MG_OK;
    }
    int count = 0;
    struct token *tokens = calloc(TOKENS_MAX, sizeof *tokens);
    if (tokens == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not read tokens: no memory");
    }
    enum mg_class class = tokens_read(sessions->path, tokens, &count, err);
    if (class != MG_OK) {
        free(tokens);
        return class;
    }
    free(sessions->tokens);
    sessions->tokens = tokens;
    sessions->token_count = count;
    for (int i = 0; i < SESSIONS_MAX; i++) {
        struct session *session = &sessions->sessions[i];
        bool is_known = false;
        for (int t = 0; session->is_open && t < count; t++) {
            is_known = is_known || memcmp(&tokens[t], &session->token, sizeof tokens[t]) == 0;
        }
        session->is_open = is_known;
    }
    return MG_OK;
}

/* ---- sessions ---- */

/* In a time that does not tell where they differ. */
static bool is_equal(const void *a, const void *b, size_t size)
{
    const unsigned char *x = a, *y = b;
    unsigned char difference = 0;
    for (size_t i = 0; i < size; i++) {
        difference |= x[i] ^ y[i];
    }
    return difference == 0;
}

static void secret_make(char ret_text[SECRET_SIZE])
{
    uint8_t bytes[SECRET_BYTES];
    for (size_t i = 0; i < sizeof bytes; i += sizeof(uint64_t)) {
        uint64_t number = mg_random_u64();
        memcpy(bytes + i, &number, sizeof number);
    }
    *mg_hex_write(bytes, sizeof bytes, ret_text) = '\0';
}

static const char *cookie_name(const struct sessions *sessions)
{
    return sessions->is_tls ? COOKIE_TLS : COOKIE_PLAIN;
}

static struct session *session_of(struct sessions *sessions, const struct mg_http_exchange *request)
{
    const char *secret = mg_http_exchange_cookie(request, cookie_name(sessions));
    int64_t now_ms = mg_clock_boot_ms();
    if (secret == NULL || strlen(secret) != SECRET_SIZE - 1) {
        return NULL;
    }
    for (int i = 0; i < SESSIONS_MAX; i++) {
        struct session *session = &sessions->sessions[i];
        if (session->is_open && is_equal(session->secret, secret, SECRET_SIZE - 1)) {
            session->is_open = now_ms - session->began_ms < SESSION_MAX_MS;
            session->used_ms = now_ms;
            return session->is_open ? session : NULL;
        }
    }
    return NULL;
}

void session_find(struct sessions *sessions, const struct mg_http_exchange *request,
                  struct visitor *ret_visitor)
{
    *ret_visitor = (struct visitor){.csrf = ""};
    if (!sessions_need_login(sessions)) {
        ret_visitor->role = ROLE_READER;
        return;
    }
    const struct session *session = session_of(sessions, request);
    if (session != NULL) {
        ret_visitor->role = session->token.role;
        ret_visitor->csrf = session->csrf;
        memcpy(ret_visitor->name, session->token.name, sizeof ret_visitor->name);
    }
}

static void login_refuse(struct sessions *sessions, struct mg_http_exchange *request)
{
    int64_t now_ms = mg_clock_boot_ms();
    if (now_ms - sessions->refusal_at_ms >= 1000) {
        sessions->refusal_at_ms = now_ms;
        sessions->refusals_left = REFUSALS_PER_S;
    }
    if (sessions->refusals_left == 0) {
        answer_error(request, 429, "more than %d logins a second are refused; try again", REFUSALS_PER_S);
        return;
    }
    sessions->refusals_left--;
    mg_log(MG_LOG_WARN, "a login was refused: nobody has this token", MG_LOG_NONE);
    answer_error(request, 403, "nobody has this token");
}

static const struct token *token_find(const struct sessions *sessions, struct mg_slice text)
{
    const struct token *found = NULL;
    uint8_t digest[MG_SHA256_SIZE];
    mg_sha256(text, digest);
    for (int i = 0; i < sessions->token_count; i++) {
        if (is_equal(sessions->tokens[i].digest, digest, sizeof digest)) {
            found = &sessions->tokens[i];
        }
    }
    return found;
}

static struct session *session_begin(struct sessions *sessions, const struct token *token)
{
    struct session *place = &sessions->sessions[0], *own = NULL;
    int own_count = 0;
    for (int i = 0; i < SESSIONS_MAX; i++) {
        struct session *session = &sessions->sessions[i];
        if (place->is_open && (!session->is_open || session->used_ms < place->used_ms)) {
            place = session;
        }
        if (session->is_open && memcmp(&session->token, token, sizeof *token) == 0) {
            own_count++;
            own = own == NULL || session->used_ms < own->used_ms ? session : own;
        }
    }
    place = own_count >= OWN_MAX ? own : place;
    *place = (struct session){.is_open = true, .token = *token};
    place->began_ms = place->used_ms = mg_clock_boot_ms();
    secret_make(place->secret);
    secret_make(place->csrf);
    return place;
}

static void cookie_answer(const struct sessions *sessions, struct mg_http_exchange *request,
                          const char *secret, int64_t seconds, const struct mg_buf *json)
{
    struct mg_http_header headers[ANSWER_HEADERS_MAX];
    char cookie[256];
    (void)snprintf(cookie, sizeof cookie, "%s=%s; Path=/; HttpOnly; SameSite=Strict; Max-Age=%lld%s",
                   cookie_name(sessions), secret, (long long)seconds, sessions->is_tls ? "; Secure" : "");
    const struct mg_http_header more[] = {{"Set-Cookie", cookie}, {NULL, NULL}};
    answer_headers(headers, more);
    const struct mg_http_response answer = {
        .status = 200, .type = "application/json", .body = mg_buf_slice(json), .headers = headers};
    mg_http_answer(request, &answer);
}

static void visitor_write(const struct sessions *sessions, const struct visitor *visitor, struct mg_buf *out)
{
    static const char *const roles[] = {
        [ROLE_NONE] = "none", [ROLE_READER] = "reader", [ROLE_OPERATOR] = "operator"};
    mg_buf_append_text(out, "{\"name\": ");
    mg_buf_append_json(out, mg_slice_of(visitor->name));
    mg_buf_printf(out, ", \"role\": \"%s\", \"csrf\": \"%s\", \"needs_login\": %s, \"version\": \"%s\"}\n",
                  roles[visitor->role], visitor->csrf, sessions_need_login(sessions) ? "true" : "false",
                  MG_VERSION);
}

#define VISITOR_JSON_MAX 1024

void session_tell(const struct sessions *sessions, struct mg_http_exchange *request,
                  const struct visitor *visitor)
{
    struct mg_buf json;
    mg_buf_init(&json, VISITOR_JSON_MAX);
    visitor_write(sessions, visitor, &json);
    answer_json(request, 200, mg_buf_slice(&json));
    mg_buf_finish(&json);
}

void session_login(struct sessions *sessions, struct mg_http_exchange *request)
{
    struct mg_slice body = mg_http_exchange_body(request);
    struct mg_buf text, json;
    struct mg_err err;
    mg_buf_init(&text, TOKEN_MAX);
    bool is_text = mg_json_check(body, &MG_JSON_LIMITS_DEFAULT, &err) == MG_OK &&
                   mg_json_string(mg_json_find(body, "/token"), &text) && !text.failed;
    const struct token *token =
        is_text ? token_find(sessions, text.len > 0 ? mg_buf_slice(&text) : mg_slice_of("")) : NULL;
    mg_secret_free(text.data);
    if (token == NULL) {
        login_refuse(sessions, request);
        return;
    }
    const struct session *session = session_begin(sessions, token);
    struct visitor visitor = {.role = token->role, .csrf = session->csrf};
    memcpy(visitor.name, token->name, sizeof visitor.name);
    mg_log(MG_LOG_INFO, "logged in", MG_LOG_TEXT("name", token->name));
    mg_buf_init(&json, VISITOR_JSON_MAX);
    visitor_write(sessions, &visitor, &json);
    cookie_answer(sessions, request, session->secret, SESSION_MAX_MS / 1000, &json);
    mg_buf_finish(&json);
}

void session_logout(struct sessions *sessions, struct mg_http_exchange *request)
{
    struct session *session = session_of(sessions, request);
    const struct visitor nobody = {.role = ROLE_NONE, .csrf = ""};
    struct mg_buf json;
    if (session != NULL) {
        *session = (struct session){.is_open = false};
    }
    mg_buf_init(&json, VISITOR_JSON_MAX);
    visitor_write(sessions, &nobody, &json);
    cookie_answer(sessions, request, "", 0, &json);
    mg_buf_finish(&json);
}
