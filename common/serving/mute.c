/*
 * An agent that cannot publish replies is mute: it consumes nothing more and begins no call, since nobody
 * would learn the result (law 7, waiting is not failing). Its queue then has no consumer, so the schedulers
 * park the steps, and no attempt is used up. Replies that are owed are offered again, and a report follows
 * every few seconds. When either is taken, the work goes on.
 *
 * A lost connection makes no agent mute: its requests go back anyway, and it has its own recovery.
 */
#include <stdio.h>

#include "agent.h"
#include "base/clock.h"
#include "base/log.h"

bool mg_served_is_mute(const struct mg_served *served)
{
    return served->mute.since_boot_ms != 0;
}

bool mg_served_mute_reason(const struct mg_served *served, char *ret_reason, size_t size)
{
    if (!mg_served_is_mute(served)) {
        return false;
    }
    if (mg_broker_is_barred(served->agent->broker)) {
        (void)mg_broker_is_up(served->agent->broker, ret_reason, size);
        return true;
    }
    switch (served->mute.outcome) {
    case MG_PUBLISH_REFUSED:
        (void)snprintf(ret_reason, size,
                       "queue %s refuses replies: it is full; see its schedulers and limits",
                       MG_QUEUE_REPLIES);
        return true;
    case MG_PUBLISH_RETURNED:
        (void)snprintf(ret_reason, size,
                       "replies are returned: queue %s is missing or not bound to exchange %s; run: makegood "
                       "broker apply --service %s",
                       MG_QUEUE_REPLIES, served->reply_exchange, served->service->name);
        return true;
    case MG_PUBLISH_UNKNOWN:
    case MG_PUBLISH_UNSENT:
        (void)snprintf(ret_reason, size, "queue %s confirms no reply: is the majority of its nodes there?",
                       MG_QUEUE_REPLIES);
        return true;
    case MG_PUBLISH_CONFIRMED:
    case MG_PUBLISH_OUTCOME_COUNT:
        break;
    }
    return false;
}

void mg_served_judge_mute(struct mg_served *served)
{
    bool is_due = served->mute.outcome != MG_PUBLISH_CONFIRMED || mg_broker_is_barred(served->agent->broker);
    if (is_due == mg_served_is_mute(served)) {
        return;
    }
    char reason[MG_ERROR_TEXT_MAX + 1] = "";
    served->mute.since_boot_ms = is_due ? mg_clock_boot_ms() : 0;
    (void)mg_served_mute_reason(served, reason, sizeof(reason));
    mg_log(is_due ? MG_LOG_ERROR : MG_LOG_INFO,
           is_due ? "replies cannot be published: no request is taken and no call is begun until they can"
                  : "replies are taken again",
           MG_LOG_TEXT("service", served->service->name), MG_LOG_TEXT("why", reason));
    mg_idle_arm(served->pump);
}

/* Without a connection the outcome tells nothing of the queue. */
void mg_served_note_published(struct mg_served *served, enum mg_publish_outcome outcome)
{
    bool is_told = outcome != MG_PUBLISH_UNKNOWN && outcome != MG_PUBLISH_UNSENT;
    if (is_told || mg_broker_can_publish(served->agent->broker)) {
        served->mute.outcome = outcome;
        mg_served_judge_mute(served);
    }
}
