/*
 * Supervisor → all agents of a service: the operator settings, the down state, and the database's time
 * (proto/service_control.schema.json). Sent at each change and once a second, and never stored: an agent that
 * misses one receives the next.
 */
#ifndef MG_WIRE_SERVICE_CONTROL_H
#define MG_WIRE_SERVICE_CONTROL_H

#include "core/key.h"
#include "json/json.h"

#define MG_SERVICE_CONTROL_PERIOD_MS 1000
/* A supervisor that is silent for this long no longer counts as leader. */
#define MG_SERVICE_CONTROL_SILENT_MS (5 * MG_SERVICE_CONTROL_PERIOD_MS)
/* The down state of a service expires this long after the last message. Another supervisor leads well before
 * that, even if the first one hangs: its lock is released after ten seconds. */
#define MG_SERVICE_DOWN_VALID_MS (20 * MG_SERVICE_CONTROL_PERIOD_MS)
/* Maximum of agent processes of one service with a share. Further processes use a newcomer's default. With
 * names of some fifty bytes the message takes 12 KiB. */
#define MG_SHARES_MAX         128
#define MG_SHARE_INSTANCE_MAX 127
#define MG_SERVICE_RATE_MAX   1000000 /* calls a second: above the rate of any single process */

/* One agent process' part of a limit; 0: no limit. */
struct mg_share {
    char instance[MG_SHARE_INSTANCE_MAX + 1];
    int64_t concurrency;
    double rate_per_s;
};

struct mg_service_control {
    char service[MG_NAME_MAX + 1];
    uint64_t epoch;   /* the supervisor's: a message with an earlier leader's epoch is ignored */
    uint64_t version; /* of the operator settings; 0: none exist */
    bool is_paused, is_limited, is_down;
    bool is_undecided;                      /* not determined yet: the earlier down state stays in force */
    char prober[MG_SHARE_INSTANCE_MAX + 1]; /* of a service that is down: the only agent that may call it */
    struct mg_share shares[MG_SHARES_MAX];  /* of a limited service */
    int share_count;
    int64_t sent_at_ms; /* database clock at sending; 0: not known precisely enough */
};

void mg_service_control_write(const struct mg_service_control *control, struct mg_buf *ret_body);
enum mg_class mg_service_control_parse(struct mg_slice body, struct mg_service_control *ret_control,
                                       struct mg_err *err) MG_MUSTCHECK;

#endif
