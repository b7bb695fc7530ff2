/*
 * Private to http/client_curl.c and http/request_curl.c, the only files that know libcurl.
 */
#ifndef MG_IO_HTTP_CURL_H
#define MG_IO_HTTP_CURL_H

#include <curl/curl.h>
#include <sys/queue.h>

#include "io/http/client.h"

TAILQ_HEAD(mg_http_calls, mg_http_call);

/* Easy handles that wait for the next call: some 6 KB each. Calls end some hundred at a time where thousands
 * are under way, and as many begin at once. */
#define MG_HTTP_SPARE_MAX 256

/* A part of the connections, with a multi handle of its own. */
struct mg_http_pool {
    struct mg_http_client *client;
    CURLM *multi;
    struct mg_timer *timer; /* libcurl's next time-out */
    struct mg_idle *idle;   /* the same, if it is now */
    int room;               /* connections that it may have */
    int call_count;         /* handed to it and not yet taken back */
    int64_t empty_boot_ms;  /* since when there is none, if so */
};

struct mg_http_client {
    struct mg_loop *loop;
    struct mg_http_pool **pools; /* `pool_max` places; NULL: not needed now */
    int pool_max;
    struct mg_timer *reaper; /* runs while there is an empty pool */
    CURL *spare[MG_HTTP_SPARE_MAX];
    int spare_count, spare_max; /* none, where libcurl must not use a handle again */
    struct mg_http_client_options options;
    int64_t read_boot_ms;          /* what was read from certificate files before is read anew */
    int64_t renewed_boot_ms;       /* older connections are not used; 0: none is too old */
    bool is_openssl;               /* libcurl's TLS library, whose alerts we can tell apart */
    struct mg_http_calls calls;    /* under way */
    struct mg_http_calls finished; /* out of libcurl's hands, callers not told yet */
    bool is_telling;               /* calling back */
    bool is_destroyed;             /* from within a callback */
};

struct mg_http_call {
    TAILQ_ENTRY(mg_http_call) entry;
    struct mg_http_client *client;
    struct mg_http_pool *pool; /* that has it; NULL: none */
    CURL *easy;
    CURLU *url;
    struct curl_slist *headers;
    struct ssl_ctx_st *tls; /* OpenSSL's, of the connection that was made for this call; NULL: none was */
    struct mg_timer *timer;
    struct mg_buf answer_body;
    size_t room_bytes;                   /* of the client's room, that it has taken */
    size_t free_bytes;                   /* beside it */
    bool is_waiting;                     /* for room: libcurl reads nothing for it */
    TAILQ_ENTRY(mg_http_call) room_next; /* while it waits */
    mg_http_done_fn *done;
    void *arg;
    char *body;
    int64_t timeout_ms;
    int64_t deadline_boot_ms;
    size_t header_bytes;
    int sends; /* times libcurl came to the point of sending */
    bool is_plain_http;
    bool is_head_only;     /* the method is HEAD: the answer has no body */
    bool is_head_whole;    /* the last head that came has had its empty line */
    bool keeps_connection; /* once an answer has come over it */
    bool is_late;          /* complete-by passed; stopped by us */
    bool is_resend;        /* libcurl wanted to send again; stopped by us */
    bool is_headers_over;  /* answer's headers above their bound */
    bool is_body_over;
    bool is_finished; /* in the list of the finished */
    bool is_told;     /* its callback is running */
    CURLcode result;
    char error_text[CURL_ERROR_SIZE];
};

/* Sets up the easy handle of a call: the request, the rules and the callbacks. */
enum mg_class mg_http_call_configure(struct mg_http_call *call, const struct mg_http_request *request,
                                     struct mg_err *err) MG_MUSTCHECK;
/* Whether a byte of the request can have left. */
bool mg_http_call_has_sent(const struct mg_http_call *call);
/* Whether the remote refused our certificate, or its lack, in the handshake: then the request that followed
 * was not even decrypted. */
bool mg_http_call_is_refused_by_tls(const struct mg_http_call *call);
/* The fatal alert by which the remote ended the call's connection, in OpenSSL's words; NULL: none. */
const char *mg_http_call_alert_text(const struct mg_http_call *call);
void mg_http_call_leave_tls(struct mg_http_call *call); /* lets go of what tells the two */

/* http/room_curl.c. False: there is no room for so many bytes more; the call is to be paused. */
bool mg_http_room_take(struct mg_http_call *call, size_t len);
void mg_http_room_leave(struct mg_http_call *call);

/* http/client_curl.c. Of a call that libcurl did not end by itself. */
void mg_http_call_fail(struct mg_http_call *call, CURLcode result);

#endif
