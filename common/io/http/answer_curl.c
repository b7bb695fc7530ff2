/*
 * The answer to an ended call: what its end proves about the request, the status and headers that count, and
 * for people the reason why no whole answer came.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "io/http/curl.h"

/* Longer than the time of an order, short enough never to overflow (a year, as in a reply). */
#define RETRY_AFTER_MAX_S (365 * 24 * 3600LL)

/* Retry-After is a number of seconds or a date (RFC 9110 §10.2.3); a date in the past means now. */
static int64_t retry_after_ms(CURL *easy)
{
    struct curl_header *header;
    if (curl_easy_header(easy, "Retry-After", 0, CURLH_HEADER, -1, &header) != CURLHE_OK) {
        return -1;
    }
    const char *text = header->value;
    size_t digits = strspn(text, "0123456789");
    if (digits > 0 && text[digits + strspn(text + digits, " \t")] == '\0') {
        long long seconds = strtoll(text, NULL, 10); /* saturates */
        return (seconds < RETRY_AFTER_MAX_S ? seconds : RETRY_AFTER_MAX_S) * 1000;
    }
    time_t at = curl_getdate(text, NULL);
    if (digits > 0 || at == (time_t)-1) {
        return -1;
    }
    long long wait_ms = (long long)at * 1000 - mg_clock_wall_ms();
    if (wait_ms < 0) {
        return 0;
    }
    return wait_ms < RETRY_AFTER_MAX_S * 1000 ? wait_ms : RETRY_AFTER_MAX_S * 1000;
}

/* A service may send several challenges (RFC 9110 §11.6.1), each in a header of its own. */
static const char *bearer_challenge(CURL *easy)
{
    struct curl_header *header;
    size_t count = 1;
    for (size_t i = 0; i < count; i++) {
        if (curl_easy_header(easy, "WWW-Authenticate", i, CURLH_HEADER, -1, &header) != CURLHE_OK) {
            return NULL;
        }
        count = header->amount;
        if (strcasestr(header->value, "bearer") != NULL) {
            return header->value;
        }
    }
    return NULL;
}

/* Advice that libcurl's and OpenSSL's texts lack: which side must act. */
static const struct {
    const char *words, *advice;
} ADVICE[] = {
    {"unable to get local issuer certificate", "its CA is not trusted here: give the CA's file"},
    {"self-signed certificate", "its CA is not trusted here: give the CA's file"},
    {"certificate has expired", "renew the server's certificate"},
    {"certificate is not yet valid", "compare the clocks of both machines"},
    {"no alternative certificate subject name", "call it by a name that its certificate has"},
    {"certificate required", "the server requires a client certificate: name its file, and its key's"},
    {"response 407", "the proxy asks for a login, which none can have here: permit this machine there"},
    {"Out of memory", "or a header line of the answer is too long for libcurl"},
    {"CONNECT tunnel failed", "the proxy refuses this address: permit it there"},
    {"alert certificate expired", "renew the client certificate, which the server refuses"},
    {"alert unknown ca",
     "the server refuses the client certificate: it must come from a CA that the server trusts"},
    {"alert bad certificate", "the server refuses the client certificate: see its log"},
};

static void call_explain_failure(const struct mg_http_call *call, char *reason, size_t size)
{
    /* libcurl keeps the first failure, which need not be the cause. */
    const char *alert = mg_http_call_alert_text(call), *advice = "";
    const char *text = alert                 ? alert
                       : call->error_text[0] ? call->error_text
                                             : curl_easy_strerror(call->result);
    for (size_t i = 0; i < sizeof(ADVICE) / sizeof(ADVICE[0]) && advice[0] == '\0'; i++) {
        if (strstr(text, ADVICE[i].words) != NULL) {
            advice = ADVICE[i].advice;
        }
    }
    (void)snprintf(reason, size, "%s%.150s%s%s", alert ? "TLS: " : "", text, advice[0] != '\0' ? "; " : "",
                   advice);
}

static void call_explain(const struct mg_http_call *call, struct mg_http_answer *answer)
{
    const struct mg_http_client_options *options = &call->client->options;
    char *reason = answer->reason;
    const size_t size = sizeof(answer->reason);
    if (call->is_resend) {
        (void)snprintf(reason, size, "connection died after the request was sent; it was not sent again");
    } else if (call->is_body_over) {
        (void)snprintf(reason, size, "answer's body is above %zu bytes; cut off", options->max_body_bytes);
    } else if (call->is_headers_over) {
        (void)snprintf(reason, size, "answer's headers are above %zu bytes; cut off",
                       options->max_header_bytes);
    } else if (call->is_late) {
        (void)snprintf(reason, size, "%s within %lld ms",
                       answer->sent == MG_SENT_NO ? "could not be sent" : "no whole answer",
                       (long long)call->timeout_ms);
    } else if (call->is_status_bad) {
        (void)snprintf(reason, size, "answer's status is none: a status has three digits");
    } else if (call->is_length_bad) {
        (void)snprintf(reason, size, "answer has two lengths, or one that is no number (Content-Length)");
    } else if (call->result == CURLE_OK && !call->is_head_whole) {
        (void)snprintf(reason, size, "answer's head is cut off: the connection ended before its empty line");
    } else if (call->result == CURLE_OK) {
        (void)snprintf(reason, size, "answer has status %d, which ends no request", answer->status);
    } else {
        call_explain_failure(call, reason, size);
    }
}

/* Whether one of the transfer codings is chunked. libcurl fails on codings that it does not support. */
static bool is_chunked(CURL *easy)
{
    static const char chunked[] = "chunked";
    struct curl_header *header;
    size_t amount = 1;
    for (size_t i = 0; i < amount; i++) {
        if (curl_easy_header(easy, "Transfer-Encoding", i, CURLH_HEADER, -1, &header) != CURLHE_OK) {
            return false;
        }
        amount = header->amount;
        const char *at = header->value;
        while (*at != '\0') {
            at += strspn(at, ", \t");
            size_t len = strcspn(at, ", \t");
            if (len == sizeof(chunked) - 1 && strncasecmp(at, chunked, len) == 0) {
                return true;
            }
            at += len;
        }
    }
    return false;
}

/* For a whole answer: whether its body lasted until the connection ended (RFC 9112, 6.3). */
static bool is_ended_by_close(const struct mg_http_call *call, long status)
{
    curl_off_t length = -1;
    (void)curl_easy_getinfo(call->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    if (length >= 0 || call->is_head_only || status == 204 || status == 304) {
        return false;
    }
    return !is_chunked(call->easy);
}

void mg_http_call_conclude(struct mg_http_call *call, struct mg_http_answer *answer)
{
    long status = 0;
    (void)curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status); /* stays 0 without one */
    *answer = (struct mg_http_answer){.retry_after_ms = -1, .content_type = ""};
    bool is_final = status >= 200 && !call->is_status_bad;
    bool is_head_good = is_final && call->is_head_whole && !call->is_length_bad;
    answer->is_undecoded = call->result == CURLE_BAD_CONTENT_ENCODING && is_head_good;
    bool is_whole = (call->result == CURLE_OK || answer->is_undecoded) && !call->is_late && is_head_good;
    if (is_whole) {
        answer->sent = MG_SENT_YES;
    } else if (mg_http_call_is_refused_by_tls(call)) {
        answer->sent = MG_SENT_NO;
    } else {
        answer->sent = mg_http_call_has_sent(call) ? MG_SENT_MAYBE : MG_SENT_NO;
    }
    answer->status = status >= 100 && !call->is_status_bad ? (int)status : 0;
    answer->is_body_bad = (call->is_body_over || call->is_length_bad) && is_final && call->is_head_whole;
    answer->is_timed_out = call->is_late || call->result == CURLE_OPERATION_TIMEDOUT;
    if (is_whole) {
        const char *content_type = NULL;
        (void)curl_easy_getinfo(call->easy, CURLINFO_CONTENT_TYPE, &content_type);
        if (content_type) {
            answer->content_type = content_type;
        }
        answer->is_ended_by_close = is_ended_by_close(call, status);
        answer->body = answer->is_undecoded ? mg_slice_of("") : mg_buf_slice(&call->answer_body);
        if (!answer->body.data) {
            answer->body = mg_slice_of("");
        }
    }
    if (!is_whole || answer->is_undecoded) {
        call_explain(call, answer);
    }
    if (!is_final) {
        answer->status = 0; /* interim answers do not count */
    }
    if (answer->status) {
        answer->retry_after_ms = retry_after_ms(call->easy);
        answer->bearer_challenge = bearer_challenge(call->easy);
    }
}
