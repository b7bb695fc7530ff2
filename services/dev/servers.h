/*
 * Private servers of `makegood dev`: Debian's PostgreSQL and RabbitMQ, on loopback, with their data in the
 * state folder. They share nothing with servers of this machine: own ports, own node name, own epmd, own
 * secrets.
 */
#ifndef MG_DEV_SERVERS_H
#define MG_DEV_SERVERS_H

#include "dev_folder.h"
#include "part.h"

#define MG_SERVERS_PROGRAM_SIZE 256
#define MG_SERVERS_URL_SIZE     256

struct mg_servers {
    bool has_postgres, has_rabbit; /* false: a given server is used */
    char postgres_bin[MG_SERVERS_PROGRAM_SIZE], rabbit_bin[MG_SERVERS_PROGRAM_SIZE],
        epmd[MG_SERVERS_PROGRAM_SIZE];
    char dsn[MG_SERVERS_URL_SIZE], amqp_url[MG_SERVERS_URL_SIZE]; /* "" for a given server */
    struct mg_part *initdb, *postgres, *register_part, *rabbit;   /* NULL: it needs no start */
    int epmd_port;
};

/* Finds the programs. `has_…` says which are wanted. MG_PERMANENT: some are not installed; the text has the
 * line for apt. */
enum mg_class mg_servers_find(struct mg_servers *servers, struct mg_err *err) MG_MUSTCHECK;
/* Starts epmd, and initdb if there are no data yet: the servers need both first. */
enum mg_class mg_servers_prepare(struct mg_servers *servers, const struct mg_state *state,
                                 struct mg_parts *parts, struct mg_err *err) MG_MUSTCHECK;
bool mg_servers_are_prepared(const struct mg_servers *servers);
/* Starts the servers themselves. The caller finds out when they answer (MG_PART_TRIED). */
enum mg_class mg_servers_start(struct mg_servers *servers, const struct mg_state *state,
                               struct mg_err *err) MG_MUSTCHECK;

#endif
