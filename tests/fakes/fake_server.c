/*
 * What a process has around its loop: an HTTP server, of which there is none here, and certificates, which
 * are always good. Nothing of the real parts is kept.
 */
#include <stdio.h>

#include "io/http/server.h"
#include "io/tls/check.h"

enum mg_class mg_tls_check(const struct mg_tls_files *files, char *ret_warning, size_t size,
                           struct mg_err *err)
{
    (void)files, (void)err;
    (void)snprintf(ret_warning, size, "%s", "");
    return MG_OK;
}

enum mg_class mg_http_server_create(struct mg_loop *loop, const struct mg_http_server_options *options,
                                    struct mg_http_server **ret_server, struct mg_err *err)
{
    (void)loop, (void)options;
    *ret_server = NULL;
    return mg_err_set(err, MG_PERMANENT, "there is no HTTP server in this test");
}

void mg_http_server_destroy(struct mg_http_server *server)
{
    (void)server;
}
