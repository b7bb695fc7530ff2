/* Why a connection to a server failed: whether waiting helps. */
#ifndef MG_IO_REACH_H
#define MG_IO_REACH_H

enum mg_reach {
    MG_REACH_UNKNOWN, /* connected, not yet tried, or the server is silent or busy: may pass */
    MG_REACH_ABSENT,  /* nothing accepts connections there: a server about to start, or a wrong address */
    MG_REACH_REFUSED, /* user, password, database, vhost or TLS: stays until a person changes something */
};

/* Where the addresses are set; part of each message about a failed connection. */
#define MG_REACH_AMQP_URL "--amqp-url (MAKEGOOD_AMQP_URL) holds the address"
#define MG_REACH_PG_DSN   "--pg-dsn (MAKEGOOD_PG_DSN) holds the address"
#define MG_REACH_NO_DSN   "neither --pg-dsn nor MAKEGOOD_PG_DSN is set"

#endif
