/* What the two files that know libmicrohttpd share: the server with its daemons, and the requests of one. */
#ifndef MG_IO_HTTP_MHD_H
#define MG_IO_HTTP_MHD_H

#include <microhttpd.h>

#include "io/http_server.h"

/* libmicrohttpd's server on the listening socket, with one certificate or none. */
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
    struct mg_http_daemon *ending; /* accepts no more; NULL: none */
    struct mg_timer *end_timer;    /* when its time is over */
    int fd;                        /* listening */
    int port;
};

/* ---- http_exchange_mhd.c: libmicrohttpd's callbacks; `arg` is the daemon ---- */

enum MHD_Result mg_http_on_request(void *arg, struct MHD_Connection *connection, const char *path,
                                   const char *method, const char *version, const char *upload,
                                   size_t *upload_len, void **request_arg);
void mg_http_on_completed(void *arg, struct MHD_Connection *connection, void **request_arg,
                          enum MHD_RequestTerminationCode why);
/* Before the daemon is stopped: libmicrohttpd ends no connection that is suspended. */
void mg_http_exchanges_end(struct mg_http_daemon *daemon);

#endif
