/* Private to the three files that know libmicrohttpd: the server with its daemons, its connections, its
 * requests. */
#ifndef MG_IO_HTTP_MHD_H
#define MG_IO_HTTP_MHD_H

#include <microhttpd.h>
#include <sys/queue.h>

#include "io/http/server.h"

/* How far a connection is. */
enum mg_http_stage {
    MG_HTTP_SILENT,   /* in the lobby, not a byte has come */
    MG_HTTP_BEGUN,    /* in the lobby, a part of its first request has come */
    MG_HTTP_READING,  /* in the library, which has no whole request, or none since the last answer */
    MG_HTTP_HANDLED,  /* the handler has its request, or writes to it as a stream */
    MG_HTTP_ANSWERED, /* its answer is on the way */
    MG_HTTP_CLOSING,  /* shut down by us */
    MG_HTTP_STAGE_COUNT,
};

TAILQ_HEAD(mg_http_places,
           mg_http_place); /* of connections; in the order in which they came to their stage */
struct mg_http_crowd {
    struct mg_http_places places;
    unsigned int count;
};

/* libmicrohttpd's server, with one certificate or none; connections are given to it. */
struct mg_http_daemon {
    struct mg_http_server *server;
    struct MHD_Daemon *mhd;
    struct mg_watch *watch;
    struct mg_timer *timer; /* libmicrohttpd's next time-out */
    struct mg_idle *idle;   /* a connection goes on that was suspended */
    struct mg_http_exchange *exchanges;
};

struct mg_http_server {
    struct mg_http_server_options options; /* its texts are those below */
    char *address, *cert_file, *key_file;
    struct mg_loop *loop;
    struct mg_http_daemon *serving;
    struct mg_http_daemon *ending; /* gets no more connections; NULL: none */
    struct mg_timer *end_timer;    /* when its time is over */
    struct mg_http_crowd crowds[MG_HTTP_STAGE_COUNT];
    struct mg_http_place *entering; /* goes from the lobby to the library right now; NULL: none */
    unsigned int lobby_max;
    unsigned int handled_max;     /* requests in the handler's hands; 0: there is no handler */
    struct mg_watch *watch;       /* of the listening socket */
    struct mg_timer *look_timer;  /* for clients that are too slow */
    struct mg_timer *pause_timer; /* runs while nothing is accepted */
    int fd;                       /* listening */
    int spare_fd;                 /* given up for a client when there is no other; -1: it has been */
    int port;
};

/* ---- http/server_mhd.c ---- */

void mg_http_daemon_run(struct mg_http_daemon *daemon); /* lets the library do what is due */

/* ---- http/door_mhd.c: who comes in, and who has to leave ---- */

/* Connections that the library can have at once, those included that are being closed. */
unsigned int mg_http_connections_max(const struct mg_http_server *server);
/* Serves `fd` from now on; on error too, it must be closed. */
enum mg_class mg_http_door_open(struct mg_http_server *server, struct mg_err *err) MG_MUSTCHECK;
void mg_http_door_close(struct mg_http_server *server); /* after the daemons */
/* libmicrohttpd's callback; `arg` is the daemon. */
void mg_http_on_connection(void *arg, struct MHD_Connection *connection, void **place_arg,
                           enum MHD_ConnectionNotificationCode what);
void mg_http_place_set(struct MHD_Connection *connection, enum mg_http_stage stage);
bool mg_http_is_handler_free(const struct mg_http_server *server);

/* ---- http/exchange_mhd.c: libmicrohttpd's callbacks; `arg` is the daemon ---- */

enum MHD_Result mg_http_on_request(void *arg, struct MHD_Connection *connection, const char *path,
                                   const char *method, const char *version, const char *upload,
                                   size_t *upload_len, void **request_arg);
void mg_http_on_completed(void *arg, struct MHD_Connection *connection, void **request_arg,
                          enum MHD_RequestTerminationCode why);
/* Before the daemon is stopped: libmicrohttpd ends no connection that is suspended. */
void mg_http_exchanges_end(struct mg_http_daemon *daemon);

#endif
