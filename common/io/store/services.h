/* Queries about services that several of the store's files use. */
#ifndef MG_IO_STORE_SERVICES_H
#define MG_IO_STORE_SERVICES_H

#include "io/pg/pg.h"
#include "io/store/store.h"

/* Twice the period of an agent's reports: an agent silent for longer has no share in a limit. A report from
 * the future was written before the clock went back; a live agent reports again within a period. */
#define MG_SQL_REPLICA_PATIENCE "interval '10 seconds'"
#define MG_SQL_IS_REPLICA_FRESH                                                                              \
    "reported_at BETWEEN " MG_SQL_NOW " - " MG_SQL_REPLICA_PATIENCE " AND " MG_SQL_NOW                       \
    " + " MG_SQL_REPLICA_PATIENCE

/* MG_SERVICE_INSTANCES_MAX */
#define MG_SQL_DIGITS_OF(number)     #number
#define MG_SQL_DIGITS(number)        MG_SQL_DIGITS_OF(number)
#define MG_SQL_SERVICE_INSTANCES_MAX MG_SQL_DIGITS(MG_SERVICE_INSTANCES_MAX)

/* The version of each workflow that new orders get, as rows (name, version). */
#define MG_SQL_NEWEST_VERSIONS "(SELECT name, max(version) AS version FROM workflow GROUP BY name)"

#endif
