/* See token.h. */
#include "token.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/log.h"
#include "base/secret.h"
#include "classify.h"
#include "core/backoff.h"
#include "io/http/client.h"
#include "json/scan.h"
#include "serving/deadline.h"
#include "serving/tries.h"
#include "wire/http_header.h"

/* An endpoint that has not answered within this time is down; requests wait for it meanwhile. */
#define FETCH_TIMEOUT_MS 5000
/* An answer is a token and some words; signed tokens with many claims have some KiB. */
#define ANSWER_MAX_BYTES (64 * 1024)
#define TOKEN_MAX_BYTES  8192 /* common servers accept no longer header */
#define HEADERS_MAX      (16 * 1024)
#define TYPE_MAX_BYTES   63 /* longer is no type of a token */
#define BEARER           "Authorization: Bearer "
/* Client id, secret, scope and audience, with each character percent-encoded. */
#define REQUEST_MAX_BYTES (16 * MG_HEADER_VALUE_MAX)
/* A token is renewed when a tenth of its life is left, at most a minute. */
#define RENEW_PART   10
#define RENEW_MAX_MS 60000
/* After a renewal that failed, while the old token is still good. */
#define RENEW_AGAIN_MS 5000
/* A token of this age, once refused, is tried further. The service may take it only some time after its
 * issue, for a slow clock or a copy of a store. Or a newer token of another process has ended it. */
#define YOUNG_MS 30000
/* For how long, at least, and at most twice as long: one that has been accepted, and one that has not, which
 * may count late. Drawn for each token, so that processes that end each other's tokens take turns. */
#define KEPT_ACCEPTED_MS 1000
#define KEPT_MS          3000
/* Between tries of one request with a refused token; it doubles as the token's refusals last. */
#define PAUSE_MIN_MS 250
#define PAUSE_MAX_MS 1000
/* From an answer to the next fetch. A service that refuses every token, or an endpoint whose tokens end at
 * once, causes no storm of fetches. */
#define REST_MS 1000
/* A longer life is no life that a process sees the end of. */
#define LIFE_MAX_S INT64_C(31536000)
/* expires_in: the digits of any double, with sign, point and exponent, and some zeros. */
#define NUMBER_MAX_BYTES 63

struct mg_token {
    struct mg_loop *loop;
    const struct mg_service *service;
    mg_token_fn *done;
    void *arg;
    struct mg_http_client *http;
    struct mg_http_call *call; /* while a fetch is under way */
    struct mg_timer *timer;    /* while a fetch waits for its rest */
    char *line;                /* "Authorization: Bearer …"; NULL: no token */
    char *old_line;            /* of the token before it */
    uint64_t number;
    int64_t renew_boot_ms, end_boot_ms; /* INT64_MAX: its end is not given */
    int64_t rest_boot_ms;               /* no fetch before it */
    int64_t began_boot_ms;              /* of the last fetch */
    int64_t came_boot_ms, kept_boot_ms; /* of the token; until when it stays though refused; 0: not refused */
    bool was_accepted;                  /* the token, by the service */
    int64_t accepted_boot_ms;           /* when the service last accepted a token, and which */
    uint64_t accepted_number;
    /* Refusals since then: the first and the last one, and the number of the first one's token; 0: none. */
    int64_t refused_boot_ms, refused_last_boot_ms;
    uint64_t refused_number;
    char fault[MG_ERROR_TEXT_MAX + 1];
};

static void fetch(struct mg_token *token);

static bool is_valid(const struct mg_token *token, int64_t now_ms)
{
    return token->line != NULL && now_ms < token->end_boot_ms;
}

static void fail(struct mg_token *token, const char *why)
{
    int64_t now_ms = mg_clock_boot_ms();
    bool is_renewal = is_valid(token, now_ms);
    mg_log(MG_LOG_WARN,
           is_renewal ? "could not renew the access token; the old one is still good"
                      : "no access token: requests wait, and no attempt is used up",
           MG_LOG_TEXT("service", token->service->name),
           MG_LOG_TEXT("token_url", token->service->auth.oauth2.token_url), MG_LOG_TEXT("why", why));
    if (is_renewal) {
        token->renew_boot_ms = now_ms + RENEW_AGAIN_MS;
        return;
    }
    (void)snprintf(token->fault, sizeof(token->fault), "no access token: %.220s", why);
    mg_utf8_mend(token->fault);
    token->done(token->arg, false);
}

static void wipe(struct mg_buf *buf)
{
    if (buf->data != NULL) {
        explicit_bzero(buf->data, buf->len);
    }
    mg_buf_finish(buf);
}

/* ---- the answer ---- */

/* The error's word of RFC 6749 §5.2; any other text could repeat a secret. */
static void put_error_word(struct mg_slice body, char *ret_word, size_t size)
{
    struct mg_buf word;
    mg_buf_init_fixed(&word, ret_word, size);
    ret_word[0] = '\0';
    bool is_word = mg_json_string(mg_json_find(body, "/error"), &word) && !word.failed;
    if (!is_word || ret_word[strspn(ret_word, "abcdefghijklmnopqrstuvwxyz_")] != '\0') {
        ret_word[0] = '\0';
    }
}

static enum mg_class no_json(const struct mg_http_answer *answer, struct mg_err *err)
{
    struct mg_slice type = {answer->content_type, strcspn(answer->content_type, "; ")};
    bool is_named = mg_media_type_fault(type) == NULL && type.len < 60;
    return mg_err_set(err, MG_PERMANENT,
                      "the token endpoint answered %d with %.*s, not with JSON; check token_url",
                      answer->status, is_named ? (int)type.len : (int)strlen("something else"),
                      is_named ? type.data : "something else");
}

/* Seconds, as a JSON number or as the text of one. -1: there is no end. A negative number or 0 cannot be
 * meant as a life; some endpoints give it for a token without an end. */
static enum mg_class read_life_s(struct mg_slice body, int64_t *ret_life_s, struct mg_err *err)
{
    struct mg_slice life = mg_json_find(body, "/expires_in");
    char digits[NUMBER_MAX_BYTES + 1] = "";
    struct mg_buf text;
    struct mg_err number_err;

    *ret_life_s = -1;
    if (life.data == NULL || mg_json_type_of(life) == MG_JSON_NULL) {
        return MG_OK;
    }
    mg_buf_init_fixed(&text, digits, sizeof(digits));
    if (!mg_json_string(life, &text)) {
        mg_buf_append_slice(&text, life);
    }
    bool is_number = !text.failed && text.len > 0 &&
                     mg_json_check(mg_buf_slice(&text), &MG_JSON_LIMITS_DATA, &number_err) == MG_OK &&
                     mg_json_type_of(mg_buf_slice(&text)) == MG_JSON_NUMBER;
    if (!is_number) {
        return mg_err_set(err, MG_PERMANENT,
                          "the token endpoint's expires_in is no number of seconds; it must be one, as 3600");
    }
    double seconds = strtod(digits, NULL);
    if (seconds >= (double)LIFE_MAX_S) {
        *ret_life_s = LIFE_MAX_S;
    } else if (seconds > 0) { /* a part of a second is a life with an end, too */
        *ret_life_s = seconds < 1 ? 1 : (int64_t)seconds;
    }
    return MG_OK;
}

/* Providers write the type in many ways: "bearer ", "BearerToken", "bearer_token", "", null. No other type
 * begins so. Only a plain word is named: another text could repeat a secret. */
static enum mg_class read_type(struct mg_slice value, struct mg_err *err)
{
    static const char WORD[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:";
    char text[TYPE_MAX_BYTES + 1] = "";
    struct mg_buf type;

    if (value.data == NULL || mg_json_type_of(value) == MG_JSON_NULL) {
        return MG_OK;
    }
    mg_buf_init_fixed(&type, text, sizeof(text));
    bool is_text = mg_json_string(value, &type) && !type.failed;
    const char *begin = text + strspn(text, " \t");
    if (is_text && (*begin == '\0' || strncasecmp(begin, "bearer", strlen("bearer")) == 0)) {
        return MG_OK;
    }
    bool is_named = is_text && text[strspn(text, WORD)] == '\0';
    return mg_err_set(err, MG_PERMANENT,
                      "the token endpoint gave a token of another token_type than Bearer%s%s",
                      is_named ? ": " : "", is_named ? text : "");
}

/* Makes the header of the token in a good answer. */
static enum mg_class read_token(struct mg_slice body, char **ret_line, struct mg_err *err)
{
    struct mg_slice value = mg_json_find(body, "/access_token");
    struct mg_buf text;

    if (read_type(mg_json_find(body, "/token_type"), err) != MG_OK) {
        return err->class;
    }
    mg_buf_init(&text, TOKEN_MAX_BYTES);
    mg_buf_append_text(&text, BEARER);
    bool is_text = value.data != NULL && mg_json_string(value, &text);
    if (!is_text || (text.len == strlen(BEARER) && !text.failed)) {
        mg_buf_finish(&text);
        return mg_err_set(err, MG_PERMANENT, "the token endpoint's answer has no access_token");
    }
    bool is_sendable = !text.failed;
    for (size_t i = strlen(BEARER); i < text.len && is_sendable; i++) {
        is_sendable = text.data[i] > ' ' && text.data[i] <= '~';
    }
    *ret_line = is_sendable ? strdup(text.data) : NULL;
    if (text.data != NULL) {
        explicit_bzero(text.data, text.len);
    }
    mg_buf_finish(&text);
    if (!is_sendable) {
        return mg_err_set(err, MG_PERMANENT, "the access token is above %d bytes, or no header can hold it",
                          TOKEN_MAX_BYTES);
    }
    return *ret_line != NULL ? MG_OK : mg_err_set(err, MG_TRANSIENT, "no memory for the access token");
}

static enum mg_class read_body(const struct mg_http_answer *answer, char **ret_line, int64_t *ret_life_s,
                               struct mg_err *err)
{
    struct mg_err json_err;
    if (answer->sent != MG_SENT_YES) {
        return mg_err_set(err, MG_TRANSIENT, "the token endpoint gave no answer: %.150s", answer->reason);
    }
    bool is_json = mg_json_check(answer->body, &MG_JSON_LIMITS_DATA, &json_err) == MG_OK;
    if (answer->status < 200 || answer->status > 299) {
        char word[41];
        put_error_word(is_json ? answer->body : mg_slice_of("{}"), word, sizeof(word));
        return mg_err_set(err, MG_TRANSIENT, "the token endpoint answered %d%s%s", answer->status,
                          word[0] != '\0' ? " " : "", word);
    }
    if (!is_json) {
        return no_json(answer, err);
    }
    enum mg_class class = read_life_s(answer->body, ret_life_s, err);
    return class == MG_OK ? read_token(answer->body, ret_line, err) : class;
}

/* The body is read as a service's is: without a mark, from its charset, with mended strings. */
static enum mg_class read_answer(const struct mg_http_answer *received, char **ret_line, int64_t *ret_life_s,
                                 struct mg_err *err)
{
    struct mg_http_answer answer = *received;
    struct mg_reading reading;
    struct mg_err json_err;
    mg_reading_take(&answer, false, &reading);
    bool has_body = answer.sent == MG_SENT_YES && answer.body.len > 0;
    if (has_body && mg_json_check(answer.body, &MG_JSON_LIMITS_DATA, &json_err) != MG_OK) {
        struct mg_slice mended = mg_reading_mend(&reading, answer.body, &MG_JSON_LIMITS_DATA);
        answer.body = mended.data != NULL ? mended : answer.body;
    }
    enum mg_class class = read_body(&answer, ret_line, ret_life_s, err);
    wipe(&reading.text);
    return class;
}

/* Counted from the question: the endpoint counts from some moment after it. */
static int64_t end_of(const struct mg_token *token, int64_t life_s)
{
    return life_s > 0 ? token->began_boot_ms + life_s * 1000 : INT64_MAX;
}

/* Calls under way may still carry it. */
static void line_drop(struct mg_token *token)
{
    if (token->line != NULL) {
        mg_secret_free(token->old_line);
        token->old_line = token->line;
        token->line = NULL;
    }
}

static void take(struct mg_token *token, char *line, int64_t life_s)
{
    int64_t renew_ms = life_s * 1000 / RENEW_PART;
    line_drop(token);
    token->line = line;
    token->number++;
    token->fault[0] = '\0';
    token->came_boot_ms = mg_clock_boot_ms();
    token->kept_boot_ms = 0;
    token->was_accepted = false;
    token->end_boot_ms = token->renew_boot_ms = end_of(token, life_s);
    if (life_s > 0) {
        token->renew_boot_ms = token->end_boot_ms - (renew_ms < RENEW_MAX_MS ? renew_ms : RENEW_MAX_MS);
    }
    mg_log(MG_LOG_INFO, "access token fetched", MG_LOG_TEXT("service", token->service->name),
           MG_LOG_NUMBER("expires_in", life_s));
    token->done(token->arg, true);
}

/* An endpoint that refuses may ask for a longer rest. A moment in place of seconds costs an hour. */
static int64_t rest_ms(const struct mg_http_answer *answer)
{
    bool is_refusal = answer->sent == MG_SENT_YES && answer->status > 299;
    int64_t asked_ms = is_refusal ? answer->retry_after_ms : -1;
    return asked_ms < REST_MS                       ? REST_MS
           : asked_ms < MG_RETRY_AFTER_UNBOUNDED_MS ? asked_ms
                                                    : MG_RETRY_AFTER_UNBOUNDED_MS;
}

static void on_answer(void *arg, const struct mg_http_answer *answer)
{
    struct mg_token *token = arg;
    struct mg_err err;
    char *line = NULL;
    int64_t life_s = -1;

    int64_t now_ms = mg_clock_boot_ms();
    token->call = NULL;
    token->rest_boot_ms = now_ms + rest_ms(answer);
    if (read_answer(answer, &line, &life_s, &err) != MG_OK) {
        fail(token, err.text);
    } else if (now_ms >= end_of(token, life_s)) {
        mg_secret_free(line);
        fail(token, "the access token had ended when it came; check expires_in of token_url");
    } else {
        take(token, line, life_s);
    }
}

/* ---- the question ---- */

static void put_parameter(struct mg_buf *body, const char *name, const char *value)
{
    if (value != NULL) {
        mg_buf_printf(body, "&%s=", name);
        mg_buf_append_form(body, mg_slice_of(value));
    }
}

/* The client's authentication (RFC 6749 §2.3.1) goes into the body or into `header`. */
static void write_question(const struct mg_auth *auth, struct mg_buf *body, struct mg_buf *header)
{
    const struct mg_oauth2 *oauth2 = &auth->oauth2;
    mg_buf_append_text(body, "grant_type=client_credentials");
    put_parameter(body, "scope", oauth2->scope);
    put_parameter(body, "audience", oauth2->audience);
    if (oauth2->is_secret_in_body) {
        put_parameter(body, "client_id", oauth2->client_id);
        put_parameter(body, "client_secret", auth->secret.value);
        return;
    }
    struct mg_buf pair;
    mg_buf_init(&pair, REQUEST_MAX_BYTES);
    mg_buf_append_form(&pair, mg_slice_of(oauth2->client_id)); /* appendix B */
    mg_buf_append(&pair, ":", 1);
    mg_buf_append_form(&pair, mg_slice_of(auth->secret.value));
    mg_buf_append_text(header, "Authorization: Basic ");
    mg_buf_append_base64(header, mg_buf_slice(&pair));
    mg_buf_fail_with(header, &pair);
    wipe(&pair);
}

static enum mg_class ask(struct mg_token *token, struct mg_err *err)
{
    const struct mg_auth *auth = &token->service->auth;
    struct mg_buf body, header;
    mg_buf_init(&body, REQUEST_MAX_BYTES);
    mg_buf_init(&header, 2 * REQUEST_MAX_BYTES);
    write_question(auth, &body, &header);
    const char *headers[] = {"Content-Type: application/x-www-form-urlencoded", "Accept: application/json",
                             header.len > 0 ? header.data : NULL, NULL};
    struct mg_http_request request = {
        .method = "POST",
        .url = auth->oauth2.token_url,
        .headers = headers,
        .body = mg_buf_slice(&body),
        .timeout_ms = FETCH_TIMEOUT_MS,
        .proxy = token->service->proxy,
        .ca_file = auth->oauth2.ca_file,
        .is_fresh = true,
        .is_secret = true,
    };
    enum mg_class class =
        body.failed || header.failed
            ? mg_err_set(err, MG_TRANSIENT, "no memory for the request of a token")
            : mg_http_client_call(token->http, &request, on_answer, token, &token->call, err);
    wipe(&body);
    wipe(&header);
    return class;
}

static void on_rest_over(void *arg)
{
    struct mg_token *token = arg;
    int64_t now_ms = mg_clock_boot_ms();
    if (now_ms >= token->rest_boot_ms) {
        fetch(token);
    } else if (!is_valid(token, now_ms)) {
        token->done(token->arg, false); /* the rest is too long for requests to wait here */
    }
}

/* Never calls back from within: the caller may be going through its jobs. */
static void fetch(struct mg_token *token)
{
    struct mg_err err;
    int64_t now_ms = mg_clock_boot_ms();
    if (token->call != NULL || mg_timer_is_active(token->timer)) {
        return;
    }
    if (now_ms < token->rest_boot_ms) {
        int64_t left_ms = token->rest_boot_ms - now_ms;
        mg_timer_start(token->timer, left_ms < REST_MS ? left_ms : REST_MS, 0);
        return;
    }
    token->began_boot_ms = now_ms;
    if (ask(token, &err) != MG_OK) {
        mg_log(MG_LOG_WARN, "could not ask for an access token; it is tried again",
               MG_LOG_TEXT("service", token->service->name), MG_LOG_TEXT("why", err.text));
        token->call = NULL;
        token->rest_boot_ms = now_ms + REST_MS;
        mg_timer_start(token->timer, REST_MS, 0);
    }
}

/* ---- its users ---- */

bool mg_token_is_ready(struct mg_token *token)
{
    int64_t now_ms = mg_clock_boot_ms();
    bool is_good = is_valid(token, now_ms);
    if (!is_good || now_ms >= token->renew_boot_ms) {
        fetch(token);
    }
    return is_good;
}

const char *mg_token_line(const struct mg_token *token)
{
    return token->line;
}

const char *mg_token_old_line(const struct mg_token *token)
{
    return token->old_line;
}

uint64_t mg_token_number(const struct mg_token *token)
{
    return token->number;
}

/* Drops the refused token when its time is over. */
static void refuse_line(struct mg_token *token, int64_t now_ms)
{
    if (token->kept_boot_ms == 0) {
        bool is_young = now_ms - token->came_boot_ms < YOUNG_MS;
        int64_t kept_ms = token->was_accepted ? KEPT_ACCEPTED_MS : KEPT_MS;
        kept_ms += (int64_t)(mg_random_u64() % (uint64_t)kept_ms);
        token->kept_boot_ms = now_ms + (is_young ? kept_ms : 0);
    }
    if (now_ms >= token->kept_boot_ms) {
        mg_log(MG_LOG_INFO, "the service refused the access token before its end; a new one is fetched",
               MG_LOG_TEXT("service", token->service->name));
        line_drop(token);
    }
}

/* Notes that the service refuses tokens. True: it has refused several for so long that this is its will. */
static bool refuse_all(struct mg_token *token, uint64_t number, int64_t now_ms)
{
    bool is_first = token->refused_boot_ms == 0 ||
                    now_ms - token->refused_last_boot_ms > MG_TOKEN_PATIENCE_MS; /* nobody has called since */
    if (is_first) {
        token->refused_boot_ms = now_ms;
        token->refused_number = number;
    }
    token->refused_last_boot_ms = now_ms;
    return now_ms - token->refused_boot_ms >= MG_TOKEN_PATIENCE_MS && number != token->refused_number;
}

int64_t mg_token_refuse(struct mg_token *token, uint64_t number, int64_t left_ms,
                        struct mg_token_refusals *refusals)
{
    int64_t now_ms = mg_clock_boot_ms();
    bool is_refusing_all = refuse_all(token, number, now_ms);
    if (number == token->number && token->line != NULL) {
        refuse_line(token, now_ms);
    }
    if (refusals->since_boot_ms == 0) {
        *refusals = (struct mg_token_refusals){.since_boot_ms = now_ms, .number = number};
    }
    int64_t since_ms = now_ms - refusals->since_boot_ms;
    int64_t pause_ms = since_ms < PAUSE_MIN_MS   ? PAUSE_MIN_MS
                       : since_ms < PAUSE_MAX_MS ? since_ms
                                                 : PAUSE_MAX_MS;
    int64_t wait_ms = number == token->number && token->line != NULL ? pause_ms : 0;
    /* One that was accepted, and is refused now, has ended: it proves nothing against the request. */
    bool is_taken_from_others =
        token->accepted_number == refusals->number && token->accepted_boot_ms > refusals->since_boot_ms;
    bool is_refused_anew =
        number != refusals->number && number == token->number && token->accepted_number != number;
    bool has_time = mg_deadline_budget_ms(left_ms - wait_ms) >= MG_TRY_MIN_MS;
    bool is_final = is_refusing_all || since_ms >= MG_TOKEN_PATIENCE_MS ||
                    ((is_taken_from_others || is_refused_anew) && !has_time);
    return is_final ? -1 : wait_ms;
}

void mg_token_accept(struct mg_token *token, uint64_t number)
{
    token->accepted_boot_ms = mg_clock_boot_ms();
    token->accepted_number = number;
    token->refused_boot_ms = 0;
    if (number == token->number) {
        token->was_accepted = true;
        token->kept_boot_ms = 0;
    }
}

const char *mg_token_fault(const struct mg_token *token)
{
    return token->fault;
}

bool mg_token_is_coming(const struct mg_token *token)
{
    return !is_valid(token, mg_clock_boot_ms()) && (token->call != NULL || mg_timer_is_active(token->timer));
}

void mg_token_reload(struct mg_token *token)
{
    token->rest_boot_ms = 0;
    mg_http_client_reload(token->http, true);
}

enum mg_class mg_token_create(struct mg_loop *loop, const struct mg_service *service, mg_token_fn *done,
                              void *arg, struct mg_token **ret_token, struct mg_err *err)
{
    const struct mg_http_client_options options = {
        .max_connections = 1, /* at most one fetch is under way */
        .connect_timeout_ms = MG_CONNECT_TIMEOUT_MS,
        .max_body_bytes = ANSWER_MAX_BYTES,
        .max_header_bytes = HEADERS_MAX,
    };
    struct mg_token *token = calloc(1, sizeof(*token));
    if (token == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not prepare the access token of %s: no memory",
                          service->name);
    }
    *token = (struct mg_token){.loop = loop, .service = service, .done = done, .arg = arg};
    token->timer = mg_timer_create(loop, on_rest_over, token);
    enum mg_class class =
        token->timer == NULL
            ? mg_err_set(err, MG_TRANSIENT, "could not prepare the access token of %s: no memory",
                         service->name)
            : mg_http_client_create(loop, &options, &token->http, err);
    if (class != MG_OK) {
        mg_token_destroy(token);
        return class;
    }
    *ret_token = token;
    return MG_OK;
}

void mg_token_destroy(struct mg_token *token)
{
    if (token == NULL) {
        return;
    }
    if (token->http != NULL) {
        mg_http_client_destroy(token->http); /* a fetch under way ends with it */
    }
    mg_timer_destroy(token->timer);
    mg_secret_free(token->line);
    mg_secret_free(token->old_line);
    free(token);
}
