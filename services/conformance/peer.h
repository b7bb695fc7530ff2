/* The other side of an agent: publishes as schedulers and the supervisor do, and keeps the answers. */
#ifndef MG_CONFORMANCE_PEER_H
#define MG_CONFORMANCE_PEER_H

#include "conformance.h"
#include "io/amqp/topology.h"
#include "wire/reply.h"
#include "wire/request.h"
#include "wire/service_control.h"

#define MG_PEER_SENT_MAX   64 /* messages of one run */
#define MG_PEER_AGENTS_MAX 16 /* processes with a share of the limit; more of them are not needed here */

/* One message to the agent, with the answers to all of its copies. */
struct mg_sent {
    char message_id[MG_KEY_SIZE + 8];
    struct mg_request request; /* its identity; all zero for a message that is no request */
    struct mg_slice body;      /* in the arena */
    bool is_high;
    int copies;      /* that the broker has confirmed */
    bool is_refused; /* by the broker */
    int replies;
    struct mg_reply first, last;
    int64_t sent_boot_ms, replied_boot_ms; /* the first copy, the last reply */
    bool is_dead;                          /* it came to the dead letters */
    struct mg_delivery *taken;             /* out of the queue, before the agent; see mg_peer_take */
};

struct mg_peer_agent {
    char instance[MG_SHARE_INSTANCE_MAX + 1];
    uint64_t version;         /* of the settings that it applies */
    int64_t reported_boot_ms; /* it is forgotten when its report holds no longer */
};

#define MG_PEER_PREFIX "agent-test-" /* of order ids; digits follow, other ones in each test */
#define MG_PEER_DIGITS 16

struct mg_peer {
    const struct mg_conformance_options *options;
    const char *prefix; /* of the order ids */
    struct mg_broker *broker;
    struct mg_timer *control_timer;
    struct mg_arena *arena;
    char request_queue[MG_QUEUE_NAME_SIZE];
    struct mg_sent sent[MG_PEER_SENT_MAX];
    int sent_count;
    struct mg_peer_agent agents[MG_PEER_AGENTS_MAX];
    int agent_count;
    uint32_t attempts;
    struct mg_service_control control; /* as it is sent each second */
    int controls;                      /* sent since the clock was set */
    int64_t offset_ms; /* of the database's clock, which this side makes, from the wall clock */
    int64_t backlog;   /* messages that lay in the queue of replies before the test, and are still to come */
    int others;        /* replies to requests of others */
    bool is_open, has_begun;       /* connected; past the backlog: reports count, and messages are sent */
    bool is_crowded;               /* another scheduler or supervisor is at work */
    int faulty;                    /* replies that are wrong by themselves */
    char fault[MG_AUDIT_WHY_SIZE]; /* of the first of them */
    char lost[MG_ERR_TEXT_MAX];    /* why the broker is gone; "": it is not */
};

/* MG_STALE, MG_PERMANENT and MG_TRANSIENT as of mg_conformance_run. Of the messages that lay in the queue of
 * replies, reports are dropped, and others are held. */
enum mg_class mg_peer_open(struct mg_peer *peer, const struct mg_conformance_options *options,
                           const char *prefix, struct mg_err *err) MG_MUSTCHECK;
void mg_peer_close(struct mg_peer *peer); /* accepts one that is half open */

/* Runs the loop until the condition holds, at most so long. False: it does not hold. */
typedef bool mg_peer_condition(const struct mg_peer *peer, const struct mg_sent *sent);
bool mg_peer_wait(struct mg_peer *peer, mg_peer_condition *is_met, const struct mg_sent *sent, int64_t ms);
void mg_peer_rest(struct mg_peer *peer, int64_t ms);

int64_t mg_peer_now_ms(const struct mg_peer *peer); /* the database's clock */

struct mg_peer_plan {
    enum mg_kind kind;
    int order; /* orders are numbered; a key is that of its order */
    int64_t within_ms;
    bool is_high, is_at_most_once;
};
/* A request, not yet published. NULL: no memory, or no room. */
struct mg_sent *mg_peer_make(struct mg_peer *peer, const struct mg_peer_plan *plan);
/* Any bytes, not yet published. */
struct mg_sent *mg_peer_make_raw(struct mg_peer *peer, const char *name, struct mg_slice body);
/* Publishes one copy. */
void mg_peer_publish(struct mg_peer *peer, struct mg_sent *sent);
/* Takes messages of the normal queue before the agent gets them, from now on; false: it cannot. */
bool mg_peer_take_begin(struct mg_peer *peer);
/* Ends it; the taken message goes back into the queue, and comes to the agent as a redelivery. */
void mg_peer_take_end(struct mg_peer *peer, struct mg_sent *sent);

/* Removes the taken message, if there is one. */
void mg_peer_drop(struct mg_peer *peer, struct mg_sent *sent);

/* Sends the present settings at once, and from then on each second. */
void mg_peer_control(struct mg_peer *peer);

#endif
