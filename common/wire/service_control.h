/*
 * Supervisor → all agents of a service: what operators want of it, whether it is down for most of its
 * agents, and the database's time (proto/service_control.schema.json). Said at each change and once a second,
 * kept by nobody: who missed one hears the next.
 */
#ifndef MG_WIRE_SERVICE_CONTROL_H
#define MG_WIRE_SERVICE_CONTROL_H

#include "core/key.h"
#include "wire/json.h"

#define MG_SERVICE_CONTROL_PERIOD_MS 1000
/* A supervisor that has been silent for so many periods leads no more. */
#define MG_SERVICE_CONTROL_SILENT_MS (5 * MG_SERVICE_CONTROL_PERIOD_MS)
/* So long the word that a service is down outlives its speaker; another supervisor leads well before, also
 * when the first stands still: its lock is gone after ten seconds. */
#define MG_SERVICE_DOWN_VALID_MS (20 * MG_SERVICE_CONTROL_PERIOD_MS)
/* Agent processes of one service that have a share; those beyond take what a newcomer takes. With names of
 * some fifty bytes that is a message of 12 KiB. */
#define MG_SHARES_MAX         128
#define MG_SHARE_INSTANCE_MAX 127

/* One agent process' part of a limit; 0: of this there is no limit. */
struct mg_share {
    char instance[MG_SHARE_INSTANCE_MAX + 1];
    int64_t concurrency;
    double rate_per_s;
};

struct mg_service_control {
    char service[MG_NAME_MAX + 1];
    uint64_t epoch;   /* of the supervisor that says it: an earlier leader's word is outdated */
    uint64_t version; /* of what operators want; 0: nothing */
    bool is_paused, is_limited, is_down;
    bool is_undecided; /* found neither down nor well again by who says it: what was said before stays */
    char prober[MG_SHARE_INSTANCE_MAX + 1]; /* of a service that is down: who alone may try it */
    struct mg_share shares[MG_SHARES_MAX];  /* of a limited service */
    int share_count;
    int64_t sent_at_ms; /* database clock, when said; 0: not known well enough */
};

void mg_service_control_write(const struct mg_service_control *control, struct mg_buf *ret_body);
enum mg_class mg_service_control_parse(struct mg_slice body, struct mg_service_control *ret_control,
                                       struct mg_err *err) MG_MUSTCHECK;

#endif
