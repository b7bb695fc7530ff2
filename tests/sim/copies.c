/*
 * The checker's record of the copies of each request and of their answers. It shows which processes can
 * detect another copy, and whether an answer leaves an attempt open (law 11, quiesce).
 */
#include <stdio.h>

#include "broker.h"
#include "checker.h"
#include "core/key.h"
#include "kernel.h"
#include "wire/reply.h"
#include "wire/request.h"

static struct {
    struct sim_table copied;     /* "<order_id>.<step>" of dos with more than one copy; no values */
    struct sim_table sent_twice; /* correlation ids of requests that Makegood itself sent twice; no values */
    struct sim_table left;       /* correlation ids of all requests sent; no values */
    struct sim_table
        settled; /* correlation ids of requests with a conclusive answer; when it was sent, in us */
} copies;

void sim_check_left(const struct sim_message *message)
{
    if (mg_slice_is(message->type, "request")) {
        struct sim_node *node = sim_node();
        sim_node_leave(); /* the checker's memory belongs to the world */
        (void)sim_table_put(&copies.left, message->correlation_id);
        sim_node_enter(node);
    }
}

bool sim_check_has_left(const char *correlation_id)
{
    return sim_table_find(&copies.left, mg_slice_of(correlation_id)) != NULL;
}

static struct mg_slice step_key(const char *order_id, const char *step, char ret_key[MG_KEY_SIZE])
{
    (void)snprintf(ret_key, MG_KEY_SIZE, "%s.%s", order_id, step);
    return mg_slice_of(ret_key);
}

void sim_check_copied(const struct sim_message *message)
{
    struct mg_request request;
    char key[MG_KEY_SIZE];
    if (sim_check_read_request(message, &request) && request.kind == MG_KIND_DO) {
        (void)sim_table_put(&copies.copied, step_key(request.order_id, request.step, key));
    }
}

bool sim_check_has_copies(const char *order_id, const char *step)
{
    char key[MG_KEY_SIZE];
    return sim_table_find(&copies.copied, step_key(order_id, step, key)) != NULL;
}

bool sim_check_is_do_settled(const char *correlation_id, int64_t before_us)
{
    struct mg_slice id = mg_slice_of(correlation_id);
    const struct sim_entry *settled = sim_table_find(&copies.settled, id);
    return settled != NULL && (intptr_t)settled->value <= before_us &&
           sim_table_find(&copies.sent_twice, id) == NULL;
}

/* By the first conclusive answer to enter a queue. A queue without a majority may have kept it since it was
 * sent. */
static void settled_at(const struct sim_message *message)
{
    if (sim_table_find(&copies.settled, message->correlation_id) == NULL) {
        sim_table_put(&copies.settled, message->correlation_id)->value =
            (void *)(intptr_t)message->published_us;
    }
}

/* Law 10, sticky maybe: every service here puts a number into its answer to a do. A do without one was cut
 * off. */
static void reply_published(const struct sim_message *message)
{
    struct mg_reply reply;
    struct mg_err err;
    if (!mg_slice_is(message->type, "reply") || sim_is_forged(message->message_id) ||
        mg_reply_parse(message->body, &MG_JSON_LIMITS_DATA, &reply, &err) != MG_OK) {
        return;
    }
    if (reply.kind == MG_KIND_DO && reply.outcome == MG_OUTCOME_DONE && reply.result.data == NULL) {
        sim_violated("cut_is_no_answer", "order %s: %s is done without its result", reply.order_id,
                     reply.step);
    }
    sim_check_answered(&reply, message->correlation_id);
    sim_check_given(&reply, message->correlation_id);
    if (!reply.may_still_act && reply.outcome != MG_OUTCOME_ACCEPTED && !sim_check_leaves_open(&reply)) {
        settled_at(message);
    }
}

void sim_copies_published(const struct sim_message *message, bool is_again)
{
    if (is_again) {
        sim_check_copied(message);
    }
    if (is_again && mg_slice_is(message->type, "request")) {
        (void)sim_table_put(&copies.sent_twice, message->correlation_id);
    }
    reply_published(message);
}
