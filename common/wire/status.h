/* Scheduler → client: the progress of the order (proto/status.schema.json). */
#ifndef MG_WIRE_STATUS_H
#define MG_WIRE_STATUS_H

#include "core/model.h"
#include "json/json.h"

#define MG_STATUS_REASON_MAX 511
/* A status has no more members of its own. The limit of its output leaves room for them. */
#define MG_STATUS_MEMBERS_MAX 16

struct mg_status_message {
    char order_id[MG_ORDER_ID_MAX + 1]; /* "" for a rejection without order id */
    uint64_t seq;                       /* 0 for a rejection */
    enum mg_status status;
    int64_t at_ms;
    char step[MG_NAME_MAX + 1];            /* "" if no step is concerned */
    char reason[MG_STATUS_REASON_MAX + 1]; /* "" if none */
    /* of a step that waits */
    char signal[MG_NAME_MAX + 1]; /* "": for a moment */
    struct mg_slice title;        /* a JSON string, as it is written in the definition; absent: none */
    int64_t until_ms;             /* the end of the wait; 0: this is about no wait */
    struct mg_slice output; /* of an order that is processed: JSON text; absent: its workflow has none. Read:
                             * a part of the body */
    struct mg_slice cause;  /* a JSON object: the failure, in the words of its service; absent: none */
};

void mg_status_write(const struct mg_status_message *status, struct mg_buf *ret_body);
enum mg_class mg_status_parse(struct mg_slice body, struct mg_status_message *ret_status,
                              struct mg_err *err) MG_MUSTCHECK;

/* Only that which identifies a status, of any version and with any word, for those that pass it on. */
struct mg_status_identity {
    char order_id[MG_ORDER_ID_MAX + 1]; /* these three as above */
    uint64_t seq;
    int64_t at_ms;
};
enum mg_class mg_status_identify(struct mg_slice body, struct mg_status_identity *ret_identity,
                                 struct mg_err *err) MG_MUSTCHECK;

#endif
