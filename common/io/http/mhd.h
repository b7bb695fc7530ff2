/* Private to the seven files that use libmicrohttpd: the server with its daemon, connections and
 * requests. */
#ifndef MG_IO_HTTP_MHD_H
#define MG_IO_HTTP_MHD_H

#include <gnutls/abstract.h>
#include <microhttpd.h>
#include <sys/queue.h>

#include "io/http/server.h"

/* The stage of a connection. */
enum mg_http_stage {
    MG_HTTP_SILENT,   /* in the lobby, no byte yet */
    MG_HTTP_BEGUN,    /* in the lobby, with a part of its first request */
    MG_HTTP_READING,  /* in the library, without a whole request since its start or a request's first line */
    MG_HTTP_IDLE,     /* kept, between an answer and the first line of the next request */
    MG_HTTP_HANDLED,  /* the handler has its request, or writes a stream to it */
    MG_HTTP_ANSWERED, /* its answer is on the way */
    MG_HTTP_CLOSING,  /* shut down by the server */
    MG_HTTP_STAGE_COUNT,
};

TAILQ_HEAD(mg_http_places, mg_http_place); /* connections in the order in which they reached the stage */
struct mg_http_crowd {
    struct mg_http_places places;
    unsigned int count;
};

/* libmicrohttpd's daemon; it is given its connections. */
struct mg_http_daemon {
    struct mg_http_server *server;
    struct MHD_Daemon *mhd;
    struct mg_watch *watch;
    struct mg_timer *timer; /* libmicrohttpd's next time-out */
    struct mg_idle *idle;   /* a suspended connection goes on */
    LIST_HEAD(, mg_http_exchange) exchanges;
};

struct mg_http_server {
    struct mg_http_server_options options; /* points to the texts below */
    char *address, *cert_file, *key_file;
    struct mg_loop *loop;
    struct mg_http_daemon *serving;
    struct mg_http_certificate *certificate; /* of new connections; NULL: plaintext */
    struct mg_http_crowd crowds[MG_HTTP_STAGE_COUNT];
    struct mg_http_place *entering; /* on its way from the lobby to the library; NULL: none */
    unsigned int lobby_max;
    unsigned int handled_max; /* requests with the handler; 0: no handler */
    size_t body_bytes, unsent_bytes;
    struct mg_watch *watch;       /* of the listening socket */
    struct mg_timer *look_timer;  /* checks for slow clients */
    struct mg_timer *pause_timer; /* runs while accepting pauses */
    int fd;                       /* listening; -1: no longer */
    int spare_fd;                 /* given up for a client without a descriptor; -1: given up */
    int port;
    bool is_draining;
    struct mg_timer *drain_timer;
    void (*drained)(void *arg);
    void *drained_arg;
};

/* ---- http/certificate_mhd.c ---- */

/* MG_BAD_INPUT: as of mg_tls_pair_read. Both block on the disk. */
enum mg_class mg_http_certificate_check(const struct mg_http_server_options *options,
                                        struct mg_err *err) MG_MUSTCHECK;
/* New connections get that of the files from now on, or none if the options name no files. On error they get
 * the former one. */
enum mg_class mg_http_certificate_renew(struct mg_http_server *server, struct mg_err *err) MG_MUSTCHECK;
/* Before the handshake of a connection. Returns what to drop at its end: the certificate, or NULL. */
struct mg_http_certificate *mg_http_certificate_present(struct mg_http_certificate *certificate,
                                                        struct MHD_Connection *connection);
void mg_http_certificate_drop(struct mg_http_certificate *certificate); /* accepts NULL */
/* libmicrohttpd's callback for the daemon's own certificate: there is none. */
gnutls_certificate_retrieve_function2 mg_http_on_certificate;

/* ---- http/door_mhd.c: accepting and closing ---- */

void mg_http_daemon_run(struct mg_http_daemon *daemon); /* lets the library do its due work */
/* Most connections that the library can have at once, including those being closed. */
unsigned int mg_http_connections_max(const struct mg_http_server *server);
/* Serves `fd` from now on. It must be closed on error too. */
enum mg_class mg_http_door_open(struct mg_http_server *server, struct mg_err *err) MG_MUSTCHECK;
void mg_http_door_close(struct mg_http_server *server); /* after the daemons */
/* libmicrohttpd's callback; `arg` is the daemon. */
void mg_http_on_connection(void *arg, struct MHD_Connection *connection, void **place_arg,
                           enum MHD_ConnectionNotificationCode what);
void mg_http_place_set(struct MHD_Connection *connection, enum mg_http_stage stage);
/* libmicrohttpd's callback when it has the first line of a request. */
void *mg_http_on_first_line(void *arg, const char *target, struct MHD_Connection *connection);
bool mg_http_is_address_cut(struct MHD_Connection *connection); /* by mg_http_address_cut */
/* Gives the answer to the library. `is_whole`: it has read the request to its end, and keeps the connection
 * unless the client closes it. */
enum MHD_Result mg_http_answer_queue(struct MHD_Connection *connection, unsigned int status,
                                     struct MHD_Response *response, bool is_whole);
/* The library closes a connection in use that stalls for so long, and an idle one later than the
 * server's look does. */
#define MG_HTTP_STILL_MAX_S 10u
unsigned int mg_http_library_timeout_s(const struct mg_http_server *server);
bool mg_http_has_body(struct MHD_Connection *connection); /* http/exchange_mhd.c */
/* Sends bytes past the library, which must not answer then. False: it may not, on a connection with TLS. */
bool mg_http_place_send(struct MHD_Connection *connection, struct mg_slice bytes);
/* Closes the connection, even if its client reads nothing. */
void mg_http_place_close(struct MHD_Connection *connection);
bool mg_http_is_handler_free(const struct mg_http_server *server);
bool mg_http_door_accept(struct mg_http_server *server); /* whether no connection waits any more */
/* From now on a connection without a request has a short time for one, and no other limit of idleness. */
void mg_http_door_drain(struct mg_http_server *server);
bool mg_http_door_is_empty(const struct mg_http_server *server);

/* ---- http/drain_mhd.c ---- */

void mg_http_on_drain(void *server); /* of its timer, which the door starts after the last connection, too */

/* ---- http/probe_mhd.c ---- */

#define MG_HTTP_TOO_LARGE 413u /* the library's versions name it differently */
bool mg_http_is_probe(const struct mg_http_server *server, const char *path);
enum MHD_Result mg_http_probe_answer(struct mg_http_server *server, struct MHD_Connection *connection,
                                     const char *path, const char *method);
/* Refuses a request before the handler gets it. `text` needs no escape in JSON. */
enum MHD_Result mg_http_refuse(const struct mg_http_server *server, struct MHD_Connection *connection,
                               unsigned int status, const char *text);
struct MHD_Response *mg_http_response_copy(struct mg_slice body); /* NULL: no memory */

/* ---- http/head_mhd.c ---- */

/* The bytes of a head, of which an address may be the most, and the parameters of an address. */
#define MG_HTTP_HEAD_MAX       (16u * 1024)
#define MG_HTTP_PARAMETERS_MAX 64
/* The library's memory for a connection: a head, its records of the fields, the head of the answer. */
#define MG_HTTP_MEMORY_MAX (2 * MG_HTTP_HEAD_MAX)
/* Before the library has parsed the address: takes the query from one that is too long, or of too many
 * parameters, and returns true. The request is then refused with its whole head. */
bool mg_http_address_cut(const char *target);
/* Whether the memory may have no room for the head of an answer. */
bool mg_http_is_memory_full(struct MHD_Connection *connection);
/* 0, or the status of a refusal. `is_address_cut`: by mg_http_address_cut. */
unsigned int mg_http_head_fault(struct MHD_Connection *connection, bool is_address_cut,
                                const char **ret_text);
/* `method` and `version` as the library gives them with the head. */
bool mg_http_is_head_sound(struct MHD_Connection *connection, const char *method, const char *version);
/* The values of a head that end in blanks, without these: they are no part of a value (RFC 9110, 5.5), and
 * the library keeps them. */
struct mg_http_trim;
/* False: no memory. NULL of it: no value needs it. */
bool mg_http_trims_make(struct MHD_Connection *connection, struct mg_http_trim **ret_trims);
void mg_http_trims_free(struct mg_http_trim *trims); /* accepts NULL */
/* The value that the library reports as `value`, without blanks at its end; NULL for NULL. */
const char *mg_http_trimmed(const struct mg_http_trim *trims, const char *value);
size_t mg_http_value_len(const char *value); /* without them */

/* ---- http/exchange_mhd.c: libmicrohttpd's callbacks; `arg` is the daemon ---- */

enum MHD_Result mg_http_on_request(void *arg, struct MHD_Connection *connection, const char *path,
                                   const char *method, const char *version, const char *upload,
                                   size_t *upload_len, void **request_arg);
void mg_http_on_completed(void *arg, struct MHD_Connection *connection, void **request_arg,
                          enum MHD_RequestTerminationCode why);
/* Call it before stopping the daemon: libmicrohttpd ends no suspended connection. */
void mg_http_exchanges_end(struct mg_http_daemon *daemon);

#endif
