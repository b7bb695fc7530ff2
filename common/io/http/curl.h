/*
 * Private to http/client_curl.c, http/request_curl.c, http/answer_curl.c, http/room_curl.c and
 * http/socket_curl.c, the only files that use libcurl.
 */
#ifndef MG_IO_HTTP_CURL_H
#define MG_IO_HTTP_CURL_H

#include <curl/curl.h>
#include <sys/queue.h>

#include "io/http/client.h"

TAILQ_HEAD(mg_http_calls, mg_http_call);

/* Easy handles kept for later calls: some 6 KB each. With thousands of running calls some hundreds end at a
 * time, and as many begin. */
#define MG_HTTP_SPARE_MAX 256

/* The open sockets of a pool, kept connections and those in use. */
struct mg_http_sockets {
    struct mg_http_socket {
        curl_socket_t fd;
        int port; /* the local one; 0: not known yet */
    } * all;
    int count, capacity;
};

/* A part of the connections, with a multi handle of its own. */
struct mg_http_pool {
    struct mg_http_client *client;
    CURLM *multi;
    struct mg_timer *timer; /* libcurl's next time-out */
    struct mg_idle *idle;   /* the same, if it is due now */
    struct mg_http_sockets sockets;
    int room;              /* largest number of its connections */
    int call_count;        /* calls given to it and not yet taken back */
    int64_t empty_boot_ms; /* since when it has no call, if it has none */
};

struct mg_http_client {
    struct mg_loop *loop;
    struct mg_http_pool **pools; /* `pool_max` places; NULL: not needed now */
    int pool_max;
    struct mg_timer *reaper; /* runs while a pool is empty */
    CURL *spare[MG_HTTP_SPARE_MAX];
    int spare_count, spare_max; /* none where libcurl must not reuse a handle */
    struct mg_http_client_options options;
    int64_t read_boot_ms;          /* certificate files read before this time are read again */
    int64_t renewed_boot_ms;       /* older connections are not used; 0: no limit */
    bool is_openssl;               /* libcurl's TLS library is OpenSSL: alerts can be read */
    struct mg_http_calls calls;    /* running */
    struct mg_http_calls finished; /* taken back from libcurl, callback still to come */
    bool is_answering;             /* calling back */
    bool is_destroyed;             /* from within a callback */
    /* Ends a call that libcurl refuses to resume; for the room, which knows calls alone. */
    void (*call_fail)(struct mg_http_call *call, CURLcode result);
};

struct mg_http_call {
    TAILQ_ENTRY(mg_http_call) entry;
    struct mg_http_client *client;
    struct mg_http_pool *pool; /* NULL: no pool */
    CURL *easy;
    CURLU *url;
    struct curl_slist *headers;
    struct ssl_ctx_st *tls; /* OpenSSL's context of the connection made for this call; NULL: none was made */
    struct mg_timer *timer;
    struct mg_buf answer_body;
    size_t room_bytes;                   /* bytes taken from the client's room */
    size_t free_bytes;                   /* bytes outside the room */
    bool is_waiting;                     /* for room: libcurl is paused and reads nothing */
    TAILQ_ENTRY(mg_http_call) room_next; /* while it waits */
    mg_http_done_fn *done;
    void *arg;
    char *body;
    size_t body_len;
    int64_t timeout_ms;
    int64_t deadline_boot_ms;
    size_t header_bytes;
    int64_t length; /* the last head's Content-Length; -1: none yet */
    int sends;      /* times libcurl was about to send */
    bool is_secret; /* both bodies are wiped */
    bool is_plain_http;
    bool is_head_only;     /* the method is HEAD: the answer has no body */
    bool is_head_whole;    /* the last head has ended with its empty line */
    bool is_status_bad;    /* the last head's status has not three digits */
    bool is_length_bad;    /* the last head has two lengths, or one that is no number */
    bool keeps_connection; /* kept once an answer has come over it */
    bool is_late;          /* complete-by passed; the client stopped the call */
    bool is_resend;        /* libcurl tried to send again; the client stopped the call */
    bool is_unclean;       /* its kept connection had bytes before the send; a new one is needed */
    bool is_headers_over;  /* the answer's headers are above their bound */
    bool is_body_over;
    bool is_finished;    /* in the list of finished calls */
    bool is_in_callback; /* that of `done` */
    CURLcode result;
    char error_text[CURL_ERROR_SIZE];
};

/* Sets up the easy handle of a call: the request, the rules and the callbacks. */
enum mg_class mg_http_call_configure(struct mg_http_call *call, const struct mg_http_request *request,
                                     struct mg_err *err) MG_MUSTCHECK;
/* Whether a byte of the request can have left. */
bool mg_http_call_has_sent(const struct mg_http_call *call);
/* Whether the remote refused our certificate, or its absence, in the handshake. Then the request sent after
 * it was never decrypted. */
bool mg_http_call_is_refused_by_tls(const struct mg_http_call *call);
/* The fatal alert with which the remote ended the call's connection, as OpenSSL's text; NULL: none. */
const char *mg_http_call_alert_text(const struct mg_http_call *call);
/* releases the context that the two functions above read */
void mg_http_call_leave_tls(struct mg_http_call *call);

/* http/answer_curl.c. Fills the answer to a call that has ended; its slices point into the call. */
void mg_http_call_conclude(struct mg_http_call *call, struct mg_http_answer *answer);

/* http/room_curl.c. False: no room for this many bytes; the caller pauses the call. */
bool mg_http_room_take(struct mg_http_call *call, size_t len);
void mg_http_room_leave(struct mg_http_call *call);

/* http/socket_curl.c. The handle's new connections are among the sockets until they are closed, which may be
 * after the call. False: no memory. */
bool mg_http_sockets_watch(struct mg_http_sockets *sockets, CURL *easy);
/* False if bytes have come over the kept connection with this local port, or if it has ended. */
bool mg_http_sockets_are_clean(struct mg_http_sockets *sockets, int local_port);
void mg_http_sockets_finish(struct mg_http_sockets *sockets);

#endif
