/*
 * Authentication: tokens from a file, sessions in memory. A token is sent once, by POST, in exchange for a
 * session. The session has 32 random bytes in a cookie that no script can read and no other site can send. It
 * has 32 more that a change must carry in a header (CSRF token). A restart ends all sessions; users log in
 * again.
 *
 * Alternatively a proxy names the user (proxy.c) and proves itself in each request by a token of its own.
 * Such a user has no session and no cookie; the CSRF token is derived from the name.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hmac.h"
#include "base/id.h"
#include "base/log.h"
#include "console/console_parts.h"
#include "io/http/tokens.h"
#include "operator/document.h"

#define SESSIONS_MAX   256 /* the least recently used one is replaced */
#define OWN_MAX        8   /* of one token: a few browsers; spares other users' sessions */
#define SESSION_MAX_MS (INT64_C(12) * 3600 * 1000) /* a working day */
#define SECRET_BYTES   32
#define SECRET_SIZE    (2 * SECRET_BYTES + 1)
_Static_assert(SECRET_SIZE == MG_CSRF_SIZE, "the token of a change is drawn, or derived by SHA-256");
#define REFUSALS_PER_S                                                                                       \
    5 /* logged with a reason; further ones get 429. A valid token is never refused, so an attacker with     \
         guesses locks no user out */
#define PORT_DIGITS  5
#define COOKIE_PLAIN "makegood"
#define COOKIE_TLS   "__Host-makegood" /* browsers accept it only over TLS, and only for this host */
#define COOKIE_SIZE  (sizeof(COOKIE_TLS) + 1 + PORT_DIGITS)

struct session {
    bool is_open;
    uint64_t number; /* among all of this process, from 1 */
    struct mg_token token;
    char secret[SECRET_SIZE], csrf[SECRET_SIZE];
    int64_t began_ms, used_ms; /* by the clock since boot */
};

struct mg_sessions {
    const struct mg_console_options *options;
    uint8_t key[SECRET_BYTES]; /* derives the CSRF tokens of a proxy's users */
    struct mg_token *tokens;
    int token_count;
    bool has_people; /* has tokens of readers or operators */
    struct session sessions[SESSIONS_MAX];
    uint64_t last_number;
    int64_t refusal_at_ms;
    int refusals_left;
};

/* ---- the file ---- */

/* The rights of a token are one bit, of its role. */
#define RIGHT(role)      (1u << (unsigned int)(role))
#define RIGHTS_OF_PEOPLE (RIGHT(MG_ROLE_READER) | RIGHT(MG_ROLE_OPERATOR))

static unsigned int role_parse(struct mg_slice word)
{
    return mg_slice_is(word, "reader")     ? RIGHT(MG_ROLE_READER)
           : mg_slice_is(word, "operator") ? RIGHT(MG_ROLE_OPERATOR)
           : mg_slice_is(word, "proxy")    ? RIGHT(MG_ROLE_PROXY)
                                           : 0;
}

static enum mg_role role_of(const struct mg_token *token)
{
    return token->rights == RIGHT(MG_ROLE_READER)     ? MG_ROLE_READER
           : token->rights == RIGHT(MG_ROLE_OPERATOR) ? MG_ROLE_OPERATOR
                                                      : MG_ROLE_PROXY;
}

static const struct mg_tokens_format FORMAT = {
    .rights_of = role_parse,
    .expected =
        "reader, operator or proxy, a name without blanks, and the SHA-256 of a token in hexadecimal"};

static int tokens_count(const struct mg_token *tokens, int count, bool of_proxies)
{
    int found = 0;
    for (int i = 0; i < count; i++) {
        found += (role_of(&tokens[i]) == MG_ROLE_PROXY) == of_proxies;
    }
    return found;
}

/* Checks that the file has proxies' tokens if, and only if, the options name a proxy's headers. */
static enum mg_class proxies_check(const struct mg_console_options *options, const struct mg_token *tokens,
                                   int count, struct mg_err *err)
{
    bool is_named = tokens_count(tokens, count, true) > 0;
    if (mg_proxy_is_wanted(&options->proxy) && !is_named) {
        return mg_err_set(
            err, MG_BAD_INPUT,
            "could not trust --proxy-user-header %s: any client can send it; --tokens-file %s needs a line "
            "with proxy, a name without blanks, and the SHA-256 of the token that the proxy sends in " MG_PROXY_TOKEN_HEADER,
            options->proxy.user_header, options->tokens_file);
    }
    if (!mg_proxy_is_wanted(&options->proxy) && is_named) {
        return mg_err_set(
            err, MG_BAD_INPUT,
            "could not use the proxy of --tokens-file %s: --proxy-user-header is missing, the header with "
            "the name of the user",
            options->tokens_file);
    }
    return MG_OK;
}

/* The caller frees the tokens. */
static enum mg_class tokens_read(const struct mg_console_options *options, struct mg_token **ret_tokens,
                                 int *ret_count, struct mg_err *err)
{
    enum mg_class class = mg_tokens_read(options->tokens_file, &FORMAT, ret_tokens, ret_count, err);
    if (class != MG_OK) {
        return class;
    }
    class = proxies_check(options, *ret_tokens, *ret_count, err);
    if (class != MG_OK) {
        free(*ret_tokens);
    }
    return class;
}

enum mg_class mg_tokens_check(const struct mg_console_options *options, struct mg_err *err)
{
    int count = 0;
    struct mg_token *tokens = NULL;
    enum mg_class class = tokens_read(options, &tokens, &count, err);
    if (class == MG_OK) {
        free(tokens);
    }
    return class;
}

static void bytes_draw(uint8_t ret_bytes[SECRET_BYTES])
{
    for (size_t i = 0; i < SECRET_BYTES; i += sizeof(uint64_t)) {
        uint64_t number = mg_random_u64();
        memcpy(ret_bytes + i, &number, sizeof(number));
    }
}

static bool has_tokens(const struct mg_sessions *sessions)
{
    return sessions->options->tokens_file[0] != '\0';
}

struct mg_sessions *mg_sessions_create(const struct mg_console_options *options, struct mg_err *err)
{
    struct mg_sessions *sessions = calloc(1, sizeof(*sessions));
    if (sessions == NULL) {
        (void)mg_err_set(err, MG_TRANSIENT, "could not read tokens: no memory");
        return NULL;
    }
    sessions->options = options;
    bytes_draw(sessions->key);
    if (mg_sessions_reload(sessions, err) != MG_OK) {
        mg_sessions_destroy(sessions);
        return NULL;
    }
    return sessions;
}

void mg_sessions_destroy(struct mg_sessions *sessions)
{
    if (sessions != NULL) {
        free(sessions->tokens);
    }
    free(sessions);
}

enum mg_class mg_sessions_reload(struct mg_sessions *sessions, struct mg_err *err)
{
    if (!has_tokens(sessions)) {
        return MG_OK;
    }
    int count = 0;
    struct mg_token *tokens = NULL;
    enum mg_class class = tokens_read(sessions->options, &tokens, &count, err);
    if (class != MG_OK) {
        return class;
    }
    free(sessions->tokens);
    sessions->tokens = tokens;
    sessions->token_count = count;
    sessions->has_people = tokens_count(tokens, count, false) > 0;
    for (int i = 0; i < SESSIONS_MAX; i++) {
        struct session *session = &sessions->sessions[i];
        bool is_known = false;
        for (int t = 0; session->is_open && t < count; t++) {
            is_known = is_known || memcmp(&tokens[t], &session->token, sizeof(tokens[t])) == 0;
        }
        session->is_open = is_known;
    }
    return MG_OK;
}

/* ---- sessions ---- */

static void secret_make(char ret_text[SECRET_SIZE])
{
    uint8_t bytes[SECRET_BYTES];
    bytes_draw(bytes);
    *mg_hex_write(bytes, sizeof(bytes), ret_text) = '\0';
}

static bool is_tls(const struct mg_sessions *sessions)
{
    return sessions->options->process->http_cert_file[0] != '\0';
}

/* Cookies are shared by all ports of a host (RFC 6265, 8.5), and each console has its own: the name has the
 * port that the browser has asked. */
static void cookie_name(const struct mg_sessions *sessions, const struct mg_http_exchange *request,
                        char ret_name[COOKIE_SIZE])
{
    const char *host = mg_http_exchange_header(request, "Host");
    const char *port = host != NULL ? strrchr(host, ':') : NULL;
    size_t len = port != NULL ? strspn(port + 1, "0123456789") : 0;
    bool is_port = len > 0 && len <= PORT_DIGITS && port[1 + len] == '\0';
    (void)snprintf(ret_name, COOKIE_SIZE, "%s%s%.*s", is_tls(sessions) ? COOKIE_TLS : COOKIE_PLAIN,
                   is_port ? "-" : "", is_port ? (int)len : 0, is_port ? port + 1 : "");
}

static struct session *session_of(struct mg_sessions *sessions, const struct mg_http_exchange *request)
{
    char name[COOKIE_SIZE];
    cookie_name(sessions, request, name);
    const char *secret = mg_http_exchange_cookie(request, name);
    int64_t now_ms = mg_clock_boot_ms();
    if (secret == NULL || strlen(secret) != SECRET_SIZE - 1) {
        return NULL;
    }
    for (int i = 0; i < SESSIONS_MAX; i++) {
        struct session *session = &sessions->sessions[i];
        if (session->is_open && mg_secret_is_equal(session->secret, secret, SECRET_SIZE - 1)) {
            session->is_open = now_ms - session->began_ms < SESSION_MAX_MS;
            session->used_ms = now_ms;
            return session->is_open ? session : NULL;
        }
    }
    return NULL;
}

static void session_visit(const struct session *session, struct mg_visitor *ret_visitor)
{
    ret_visitor->role = role_of(&session->token);
    ret_visitor->has_login = true;
    ret_visitor->session = session->number;
    memcpy(ret_visitor->csrf, session->csrf, sizeof(ret_visitor->csrf));
    (void)snprintf(ret_visitor->name, sizeof(ret_visitor->name), "%s", session->token.name);
}

/* Counts a refusal. True: it is logged with its reason; false: it is one of too many. */
static bool refusal_count(struct mg_sessions *sessions)
{
    int64_t now_ms = mg_clock_boot_ms();
    if (now_ms - sessions->refusal_at_ms >= 1000) {
        sessions->refusal_at_ms = now_ms;
        sessions->refusals_left = REFUSALS_PER_S;
    }
    if (sessions->refusals_left == 0) {
        return false;
    }
    sessions->refusals_left--;
    return true;
}

static void login_refuse(struct mg_sessions *sessions, struct mg_http_exchange *request)
{
    if (!refusal_count(sessions)) {
        mg_answer_error(request, 429, "more than %d refused logins a second; try again", REFUSALS_PER_S);
        return;
    }
    mg_log(MG_LOG_WARN, "login refused: unknown token", MG_LOG_NONE);
    mg_answer_error(request, 403, "unknown token");
}

/* A proxy's token gives no login, and a user's token proves no proxy. */
static const struct mg_token *token_find(const struct mg_sessions *sessions, struct mg_slice text,
                                         unsigned int rights)
{
    return mg_token_find(sessions->tokens, sessions->token_count, text, rights);
}

/* ---- users named by a proxy ---- */

/* Returns NULL, or why the name is not valid. The blanks distinguish it from any token's name. */
static const char *name_make(const char *user, const char *proxy, char ret_name[MG_USER_NAME_SIZE])
{
    if (!mg_token_name_is_valid(mg_slice_of(user))) {
        return "the proxy named an invalid user: expected printable ASCII without blanks";
    }
    if (snprintf(ret_name, MG_USER_NAME_SIZE, "%s via %s", user, proxy) >= MG_USER_NAME_SIZE) {
        return "the proxy named a user whose name is too long";
    }
    return NULL;
}

/* The key is secret, and the hashed data has a fixed length. So users cannot compute the CSRF token of
 * another name. */
static void csrf_derive(const struct mg_sessions *sessions, const char *name, char ret_csrf[MG_CSRF_SIZE])
{
    struct {
        uint8_t key[SECRET_BYTES];
        char name[MG_USER_NAME_SIZE];
    } of = {{0}, ""};
    uint8_t digest[MG_SHA256_SIZE];
    memcpy(of.key, sessions->key, sizeof(of.key));
    (void)snprintf(of.name, sizeof(of.name), "%s", name);
    mg_sha256((struct mg_slice){(const char *)&of, sizeof(of)}, digest);
    *mg_hex_write(digest, sizeof(digest), ret_csrf) = '\0';
}

static void named_find(struct mg_sessions *sessions, const struct mg_http_exchange *request,
                       struct mg_visitor *ret_visitor)
{
    const char *user = "", *refusal = NULL;
    char name[MG_USER_NAME_SIZE];
    enum mg_role role = MG_ROLE_NONE;
    const struct mg_token *proxy =
        token_find(sessions, mg_slice_of(mg_proxy_token(request)), RIGHT(MG_ROLE_PROXY));
    if (proxy == NULL) {
        refusal =
            "only the proxy may name users: this request does not have its token in " MG_PROXY_TOKEN_HEADER;
    } else if ((refusal = mg_proxy_read(&sessions->options->proxy, request, &user, &role)) == NULL) {
        refusal = name_make(user, proxy->name, name);
    }
    if (refusal != NULL) {
        ret_visitor->refusal = refusal;
        if (refusal_count(sessions)) {
            mg_log(MG_LOG_WARN, "request for a user of the proxy refused", MG_LOG_TEXT("reason", refusal));
        }
        return;
    }
    ret_visitor->role = role;
    memcpy(ret_visitor->name, name, sizeof(name));
    csrf_derive(sessions, name, ret_visitor->csrf);
}

void mg_session_find(struct mg_sessions *sessions, const struct mg_http_exchange *request,
                     struct mg_visitor *ret_visitor)
{
    *ret_visitor = (struct mg_visitor){.role = MG_ROLE_NONE};
    if (!has_tokens(sessions)) {
        ret_visitor->role = MG_ROLE_READER;
    } else if (mg_proxy_is_present(&sessions->options->proxy, request)) {
        named_find(sessions, request, ret_visitor);
    } else if (!sessions->has_people) {
        ret_visitor->refusal = "users log in at a proxy: open the address of the proxy";
    } else {
        const struct session *session = session_of(sessions, request);
        ret_visitor->has_login = true;
        if (session != NULL) {
            session_visit(session, ret_visitor);
        }
    }
}

bool mg_session_is_open(const struct mg_sessions *sessions, uint64_t number)
{
    int64_t now_ms = mg_clock_boot_ms();
    for (int i = 0; i < SESSIONS_MAX; i++) {
        const struct session *session = &sessions->sessions[i];
        if (session->number == number) {
            return session->is_open && now_ms - session->began_ms < SESSION_MAX_MS;
        }
    }
    return false;
}

/* ---- login ---- */

static struct session *session_begin(struct mg_sessions *sessions, const struct mg_token *token)
{
    struct session *place = &sessions->sessions[0], *own = NULL;
    int own_count = 0;
    for (int i = 0; i < SESSIONS_MAX; i++) {
        struct session *session = &sessions->sessions[i];
        if (place->is_open && (!session->is_open || session->used_ms < place->used_ms)) {
            place = session;
        }
        if (session->is_open && memcmp(&session->token, token, sizeof(*token)) == 0) {
            own_count++;
            own = own == NULL || session->used_ms < own->used_ms ? session : own;
        }
    }
    place = own_count >= OWN_MAX ? own : place;
    *place = (struct session){.is_open = true, .number = ++sessions->last_number, .token = *token};
    place->began_ms = place->used_ms = mg_clock_boot_ms();
    secret_make(place->secret);
    secret_make(place->csrf);
    return place;
}

static void cookie_answer(const struct mg_sessions *sessions, struct mg_http_exchange *request,
                          const char *secret, int64_t seconds, const struct mg_buf *json)
{
    struct mg_http_header headers[MG_ANSWER_HEADERS_MAX];
    char cookie[256], name[COOKIE_SIZE];
    cookie_name(sessions, request, name);
    (void)snprintf(cookie, sizeof(cookie), "%s=%s; Path=/; HttpOnly; SameSite=Strict; Max-Age=%lld%s", name,
                   secret, (long long)seconds, is_tls(sessions) ? "; Secure" : "");
    const struct mg_http_header more[] = {{"Set-Cookie", cookie}, {NULL, NULL}};
    mg_answer_headers(headers, more);
    const struct mg_http_response answer = {
        .status = 200, .type = "application/json", .body = mg_buf_slice(json), .headers = headers};
    mg_http_answer(request, &answer);
}

static void visitor_write(const struct mg_visitor *visitor, struct mg_buf *out)
{
    static const char *const roles[] = {
        [MG_ROLE_NONE] = "none", [MG_ROLE_READER] = "reader", [MG_ROLE_OPERATOR] = "operator"};
    struct mg_json_writer json = mg_json_spaced(out);
    mg_json_object_begin(&json);
    mg_json_member_string(&json, "name", visitor->name);
    mg_json_member_word(&json, "role", roles[visitor->role]);
    mg_json_member_string(&json, "csrf", visitor->csrf);
    mg_json_member_bool(&json, "needs_login", visitor->has_login);
    mg_json_member_word(&json, "version", MG_VERSION);
    mg_json_object_end(&json);
    mg_buf_append_text(out, "\n");
}

#define VISITOR_JSON_MAX 1024

void mg_session_send(struct mg_http_exchange *request, const struct mg_visitor *visitor)
{
    struct mg_buf json;
    mg_buf_init(&json, VISITOR_JSON_MAX);
    visitor_write(visitor, &json);
    mg_answer_json(request, 200, mg_buf_slice(&json));
    mg_buf_finish(&json);
}

void mg_session_login(struct mg_sessions *sessions, struct mg_http_exchange *request)
{
    struct mg_slice body = mg_http_exchange_body(request);
    struct mg_buf json;
    struct mg_err err;
    char refusal[MG_REFUSAL_SIZE];
    enum mg_class class = mg_document_check(body, &err);
    if (class != MG_OK || !mg_members_check(body, "login", "", refusal)) {
        mg_answer_error(request, class == MG_TRANSIENT ? 503 : 400, "%s",
                        class != MG_OK ? err.text : refusal);
        return;
    }
    char text[MG_TOKEN_MAX + 1];
    bool is_text =
        mg_json_find(body, "/token").data != NULL && mg_document_text(body, "/token", text, sizeof(text));
    const struct mg_token *token = is_text ? token_find(sessions, mg_slice_of(text), RIGHTS_OF_PEOPLE) : NULL;
    explicit_bzero(text, sizeof(text));
    if (token == NULL) {
        login_refuse(sessions, request);
        return;
    }
    const struct session *session = session_begin(sessions, token);
    struct mg_visitor visitor;
    session_visit(session, &visitor);
    mg_log(MG_LOG_INFO, "logged in", MG_LOG_TEXT("name", token->name));
    mg_buf_init(&json, VISITOR_JSON_MAX);
    visitor_write(&visitor, &json);
    cookie_answer(sessions, request, session->secret, SESSION_MAX_MS / 1000, &json);
    mg_buf_finish(&json);
}

void mg_session_logout(struct mg_sessions *sessions, struct mg_http_exchange *request)
{
    struct session *session = session_of(sessions, request);
    const struct mg_visitor nobody = {.has_login = true};
    struct mg_buf json;
    if (session != NULL) {
        *session = (struct session){.is_open = false};
    }
    mg_buf_init(&json, VISITOR_JSON_MAX);
    visitor_write(&nobody, &json);
    cookie_answer(sessions, request, "", 0, &json);
    mg_buf_finish(&json);
}
