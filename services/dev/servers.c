/* See servers.h. */
#include "servers.h"

#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ports.h"
#include "postgres.h"
#include "rabbit.h"

/* The match with the highest version in its path; false: there is none. */
static bool newest_find(const char *pattern, char ret_path[MG_SERVERS_PROGRAM_SIZE])
{
    glob_t found;
    const char *newest = NULL;
    if (glob(pattern, GLOB_NOSORT, NULL, &found) != 0) {
        return false;
    }
    for (size_t i = 0; i < found.gl_pathc; i++) {
        if (newest == NULL || strverscmp(found.gl_pathv[i], newest) > 0) {
            newest = found.gl_pathv[i];
        }
    }
    bool is_found = newest != NULL && strlen(newest) < MG_SERVERS_PROGRAM_SIZE;
    if (is_found) {
        (void)snprintf(ret_path, MG_SERVERS_PROGRAM_SIZE, "%s", newest);
    }
    globfree(&found);
    return is_found;
}

enum mg_class mg_servers_find(struct mg_servers *servers, struct mg_err *err)
{
    bool lacks_postgres =
        servers->has_postgres && !newest_find("/usr/lib/postgresql/*/bin/postgres", servers->postgres_bin);
    bool lacks_rabbit =
        servers->has_rabbit &&
        (!newest_find("/usr/lib/rabbitmq/lib/rabbitmq_server-*/sbin/rabbitmq-server", servers->rabbit_bin) ||
         !newest_find("/usr/bin/epmd", servers->epmd));
    if (lacks_postgres || lacks_rabbit) {
        return mg_err_set(err, MG_PERMANENT,
                          "%s%s%s not installed; install with: apt install --no-install-recommends%s%s; "
                          "or give a running one with%s%s",
                          lacks_postgres ? "PostgreSQL" : "", lacks_postgres && lacks_rabbit ? " and " : "",
                          lacks_rabbit ? (lacks_postgres ? "RabbitMQ are" : "RabbitMQ is") : " is",
                          lacks_postgres ? " postgresql" : "", lacks_rabbit ? " rabbitmq-server" : "",
                          lacks_postgres ? " MAKEGOOD_PG_DSN" : "", lacks_rabbit ? " MAKEGOOD_AMQP_URL" : "");
    }
    if (servers->has_postgres) {
        *strrchr(servers->postgres_bin, '/') = '\0';
    }
    return MG_OK;
}

enum mg_class mg_servers_prepare(struct mg_servers *servers, const struct mg_state *state,
                                 struct mg_parts *parts, struct mg_err *err)
{
    enum mg_class class = servers->has_rabbit ? mg_rabbit_prepare(servers, state, parts, err) : MG_OK;
    return class == MG_OK && servers->has_postgres ? mg_postgres_prepare(servers, state, parts, err) : class;
}

bool mg_servers_are_prepared(const struct mg_servers *servers)
{
    return (servers->initdb == NULL || mg_part_is_ready(servers->initdb)) &&
           (servers->register_part == NULL || mg_port_listens(servers->epmd_port));
}

enum mg_class mg_servers_start(struct mg_servers *servers, const struct mg_state *state, struct mg_err *err)
{
    enum mg_class class = servers->has_rabbit ? mg_rabbit_start(servers, err) : MG_OK;
    return class == MG_OK && servers->has_postgres ? mg_postgres_start(servers, state, err) : class;
}
