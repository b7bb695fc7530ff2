/*
 * The clients: their tokens, the rate of their requests, and whether the broker has their exchanges. A
 * publish to a missing exchange would end the channel for all clients. So the queue that `makegood broker
 * apply` makes with the exchange is watched: where it is missing, nothing is published. The exchange for
 * signals came later than that queue, and is watched itself.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/log.h"
#include "core/key.h"
#include "gateway/call.h"
#include "io/amqp/broker.h"
#include "io/amqp/topology.h"
#include "io/http/tokens.h"

/* Each has a watched queue, of which a process has 256: a reload that changes all has both. */
#define CLIENTS_MAX     128
#define WATCH_PERIOD_MS 5000
#define SCHEME          "Bearer "
#define RIGHTS_ALL      (MG_RIGHT_SUBMIT | MG_RIGHT_READ | MG_RIGHT_CANCEL | MG_RIGHT_SIGNAL)
#define REFUSALS_PER_S  5 /* logged; further ones are only answered */

enum presence { PRESENCE_UNKNOWN, PRESENCE_MISSING, PRESENCE_THERE };

struct mg_client {
    struct mg_client *next;
    struct mg_clients *clients;
    char name[MG_TOKEN_NAME_SIZE];
    char exchange[MG_QUEUE_NAME_SIZE], queue[MG_QUEUE_NAME_SIZE], signals[MG_QUEUE_NAME_SIZE];
    enum presence presence, signals_presence;
    unsigned int rights; /* of all its tokens */
    int holds;
    bool is_watched, are_signals_watched;
    bool is_listed; /* the file has a token of it; others stay for calls and streams under way */
    int64_t left;   /* thousandths of a request */
    int64_t at_ms;  /* when `left` was last filled, by the clock since boot */
};

struct mg_clients {
    struct mg_gateway *gateway;
    struct mg_token *tokens;
    int token_count;
    struct mg_client *first;
    int64_t refusal_at_ms;
    int refusals_left;
};

/* ---- the file ---- */

static unsigned int right_of(struct mg_slice word)
{
    return mg_slice_is(word, "submit")   ? MG_RIGHT_SUBMIT
           : mg_slice_is(word, "read")   ? MG_RIGHT_READ
           : mg_slice_is(word, "cancel") ? MG_RIGHT_CANCEL
           : mg_slice_is(word, "signal") ? MG_RIGHT_SIGNAL
                                         : 0;
}

static unsigned int rights_parse(struct mg_slice word)
{
    unsigned int rights = 0;
    for (;;) {
        const char *comma = memchr(word.data, ',', word.len);
        size_t len = comma != NULL ? (size_t)(comma - word.data) : word.len;
        unsigned int right = right_of((struct mg_slice){word.data, len});
        if (right == 0) {
            return 0;
        }
        rights |= right;
        if (comma == NULL) {
            return rights;
        }
        word = (struct mg_slice){comma + 1, word.len - len - 1};
    }
}

static bool is_client_name(struct mg_slice name)
{
    return mg_name_is_valid(name.data, name.len);
}

static const struct mg_tokens_format FORMAT = {
    .rights_of = rights_parse,
    .is_name = is_client_name,
    .expected =
        "rights (submit, read, cancel, signal; separated by commas), the name of a client (a letter a-z, then a-z, "
        "0-9, _ and -), and the SHA-256 of a token in hexadecimal"};

enum mg_class mg_clients_check(const struct mg_gateway_options *options, struct mg_err *err)
{
    struct mg_token *tokens = NULL;
    int count = 0;
    if (options->tokens_file[0] == '\0') {
        return mg_err_set(err, MG_BAD_INPUT,
                          "could not start the gateway: name the clients and their tokens in --tokens-file");
    }
    enum mg_class class = mg_tokens_read(options->tokens_file, &FORMAT, &tokens, &count, err);
    if (class == MG_OK) {
        free(tokens);
    }
    return class;
}

/* ---- clients ---- */

static void presence_log(const struct mg_client *client, enum presence before)
{
    if (client->presence == PRESENCE_MISSING && before != PRESENCE_MISSING) {
        mg_log(
            MG_LOG_WARN,
            "orders of a client are refused: the broker has no exchange for it; run: makegood broker apply",
            MG_LOG_TEXT("client", client->name));
    } else if (client->presence == PRESENCE_THERE && before == PRESENCE_MISSING) {
        mg_log(MG_LOG_INFO, "the broker has the exchange of a client again",
               MG_LOG_TEXT("client", client->name));
    }
}

static void on_seen(void *arg, const char *queue, int64_t ready, int64_t consumers)
{
    (void)ready;
    struct mg_clients *clients = arg;
    for (struct mg_client *client = clients->first; client != NULL; client = client->next) {
        if (strcmp(client->queue, queue) == 0) {
            enum presence before = client->presence;
            client->presence = consumers < 0 ? PRESENCE_MISSING : PRESENCE_THERE;
            presence_log(client, before);
        }
    }
}

static void on_signals_seen(void *arg, const char *exchange, int64_t ready, int64_t consumers)
{
    (void)ready;
    struct mg_clients *clients = arg;
    for (struct mg_client *client = clients->first; client != NULL; client = client->next) {
        if (strcmp(client->signals, exchange) == 0) {
            bool was_missing = client->signals_presence == PRESENCE_MISSING;
            client->signals_presence = consumers < 0 ? PRESENCE_MISSING : PRESENCE_THERE;
            if (consumers < 0 && !was_missing) {
                mg_log(MG_LOG_WARN,
                       "signals of a client are refused: the broker has no exchange for them; run: makegood "
                       "broker apply",
                       MG_LOG_TEXT("client", client->name));
            }
        }
    }
}

static struct mg_client *client_of(struct mg_clients *clients, const char *name)
{
    for (struct mg_client *client = clients->first; client != NULL; client = client->next) {
        if (strcmp(client->name, name) == 0) {
            return client;
        }
    }
    return NULL;
}

static struct mg_client *client_add(struct mg_clients *clients, const char *name)
{
    struct mg_client *client = calloc(1, sizeof(*client));
    if (client == NULL) {
        return NULL;
    }
    client->clients = clients;
    client->at_ms = mg_clock_boot_ms();
    client->left = clients->gateway->options->rate_per_s * 1000;
    (void)snprintf(client->name, sizeof(client->name), "%s", name);
    (void)snprintf(client->exchange, sizeof(client->exchange), MG_INTAKE_PREFIX "%s", name);
    (void)snprintf(client->queue, sizeof(client->queue), MG_CLIENT_PREFIX "%s.statuses", name);
    mg_topology_signal_exchange(name, client->signals);
    client->next = clients->first;
    clients->first = client;
    return client;
}

static enum mg_class signals_watch(struct mg_client *client, struct mg_err *err)
{
    enum mg_class class =
        client->are_signals_watched
            ? MG_OK
            : mg_broker_watch_exchange(client->clients->gateway->broker, client->signals, WATCH_PERIOD_MS,
                                       on_signals_seen, client->clients, err);
    client->are_signals_watched = client->are_signals_watched || class == MG_OK;
    return class;
}

static void signals_unwatch(struct mg_client *client)
{
    if (client->are_signals_watched) {
        mg_broker_unwatch_exchange(client->clients->gateway->broker, client->signals);
        client->are_signals_watched = false;
        client->signals_presence = PRESENCE_UNKNOWN;
    }
}

/* Finds or makes the client of a token, and watches its queue and, with the right to signal, its exchange. */
static enum mg_class client_serve(struct mg_clients *clients, const struct mg_token *token,
                                  struct mg_err *err)
{
    const char *name = token->name;
    struct mg_client *client = client_of(clients, name);
    if (client == NULL) {
        client = client_add(clients, name);
    }
    if (client == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not serve client %s: no memory", name);
    }
    enum mg_class class = client->is_watched ? MG_OK
                                             : mg_broker_watch_queue(clients->gateway->broker, client->queue,
                                                                     WATCH_PERIOD_MS, on_seen, clients, err);
    client->is_watched = client->is_watched || class == MG_OK;
    return class == MG_OK && (token->rights & MG_RIGHT_SIGNAL) != 0 ? signals_watch(client, err) : class;
}

static void client_unwatch(struct mg_client *client)
{
    signals_unwatch(client);
    if (client->is_watched) {
        mg_broker_unwatch_queue(client->clients->gateway->broker, client->queue);
        client->is_watched = false;
        client->presence = PRESENCE_UNKNOWN;
    }
}

static bool is_used(const struct mg_client *client)
{
    const struct mg_gateway *gateway = client->clients->gateway;
    const struct mg_call *call;
    TAILQ_FOREACH(call, &gateway->calls, entry)
    {
        if (call->client == client) {
            return true;
        }
    }
    return client->holds > 0;
}

/* Those that the file does not name any more. */
static void clients_leave(struct mg_clients *clients)
{
    struct mg_client **link = &clients->first;
    while (*link != NULL) {
        struct mg_client *client = *link;
        if ((client->rights & MG_RIGHT_SIGNAL) == 0) {
            signals_unwatch(client);
        }
        if (client->is_listed) {
            link = &client->next;
            continue;
        }
        client_unwatch(client);
        if (is_used(client)) {
            link = &client->next;
        } else {
            *link = client->next;
            free(client);
        }
    }
}

struct mg_clients *mg_clients_create(struct mg_gateway *gateway, struct mg_err *err)
{
    struct mg_clients *clients = calloc(1, sizeof(*clients));
    if (clients == NULL) {
        (void)mg_err_set(err, MG_TRANSIENT, "could not read tokens: no memory");
        return NULL;
    }
    clients->gateway = gateway;
    if (mg_clients_reload(clients, err) != MG_OK) {
        mg_clients_destroy(clients);
        return NULL;
    }
    return clients;
}

void mg_clients_destroy(struct mg_clients *clients)
{
    while (clients != NULL && clients->first != NULL) {
        struct mg_client *client = clients->first;
        clients->first = client->next;
        client_unwatch(client);
        free(client);
    }
    if (clients != NULL) {
        free(clients->tokens);
    }
    free(clients);
}

static int names_count(const struct mg_token *tokens, int count)
{
    int names = 0;
    for (int i = 0; i < count; i++) {
        int first = 0;
        while (strcmp(tokens[first].name, tokens[i].name) != 0) {
            first++;
        }
        names += first == i;
    }
    return names;
}

static void tokens_take(struct mg_clients *clients, struct mg_token *tokens, int count)
{
    free(clients->tokens);
    clients->tokens = tokens;
    clients->token_count = count;
    for (struct mg_client *client = clients->first; client != NULL; client = client->next) {
        client->is_listed = false;
        client->rights = 0;
    }
    for (int i = 0; i < count; i++) {
        struct mg_client *client = client_of(clients, tokens[i].name);
        client->is_listed = true;
        client->rights |= tokens[i].rights;
    }
    clients_leave(clients);
}

enum mg_class mg_clients_reload(struct mg_clients *clients, struct mg_err *err)
{
    struct mg_token *tokens = NULL;
    int count = 0;
    enum mg_class class =
        mg_tokens_read(clients->gateway->options->tokens_file, &FORMAT, &tokens, &count, err);
    if (class != MG_OK) {
        return class;
    }
    if (names_count(tokens, count) > CLIENTS_MAX) {
        class = mg_err_set(err, MG_BAD_INPUT, "%s names %d clients, more than %d: start a second gateway",
                           clients->gateway->options->tokens_file, names_count(tokens, count), CLIENTS_MAX);
    }
    for (int i = 0; i < count && class == MG_OK; i++) {
        class = client_serve(clients, &tokens[i], err);
    }
    if (class != MG_OK) {
        free(tokens);
        return class;
    }
    tokens_take(clients, tokens, count);
    return MG_OK;
}

const char *mg_client_name(const struct mg_client *client)
{
    return client->name;
}

void mg_client_hold(struct mg_client *client)
{
    client->holds++;
}

void mg_client_release(struct mg_client *client)
{
    client->holds--;
}

const char *mg_client_exchange(const struct mg_client *client)
{
    return client->presence == PRESENCE_THERE ? client->exchange : NULL;
}

const char *mg_client_signals(const struct mg_client *client)
{
    return client->signals_presence == PRESENCE_THERE ? client->signals : NULL;
}

/* The first client without an exchange; NULL: none. `ret_served` counts those with one. */
static const struct mg_client *first_unserved(const struct mg_clients *clients, int *ret_served)
{
    const struct mg_client *first = NULL;
    *ret_served = 0;
    for (const struct mg_client *client = clients->first; client != NULL; client = client->next) {
        bool is_served = client->presence == PRESENCE_THERE;
        *ret_served += client->is_listed && is_served;
        first = first == NULL && client->is_listed && !is_served ? client : first;
    }
    return first;
}

bool mg_clients_remark(const struct mg_clients *clients, char *ret_remark, size_t size)
{
    int served = 0;
    const struct mg_client *client = first_unserved(clients, &served);
    (void)snprintf(ret_remark, size, "%s", "");
    if (client != NULL) {
        (void)snprintf(
            ret_remark, size,
            client->presence == PRESENCE_MISSING
                ? "client %s has no exchange; run: makegood broker apply --client %s"
                : "the exchange of client %s (makegood broker apply --client %s) is not looked up yet",
            client->name, client->name);
    }
    return client == NULL || served > 0;
}

/* ---- requests ---- */

struct mg_client *mg_client_find(struct mg_clients *clients, const struct mg_http_exchange *request,
                                 unsigned int *ret_rights)
{
    const char *text = mg_http_exchange_header(request, "Authorization");
    *ret_rights = 0;
    if (text == NULL || mg_http_exchange_header_count(request, "Authorization") != 1 ||
        strncasecmp(text, SCHEME, strlen(SCHEME)) != 0) {
        return NULL;
    }
    struct mg_slice token = mg_slice_of(text + strlen(SCHEME));
    const struct mg_token *found =
        token.len <= MG_TOKEN_MAX ? mg_token_find(clients->tokens, clients->token_count, token, RIGHTS_ALL)
                                  : NULL;
    if (found == NULL) {
        return NULL;
    }
    *ret_rights = found->rights;
    return client_of(clients, found->name);
}

void mg_clients_log_refusal(struct mg_clients *clients)
{
    int64_t now_ms = mg_clock_boot_ms();
    if (now_ms - clients->refusal_at_ms >= 1000) {
        clients->refusal_at_ms = now_ms;
        clients->refusals_left = REFUSALS_PER_S;
    }
    if (clients->refusals_left > 0) {
        clients->refusals_left--;
        mg_log(MG_LOG_WARN, "request refused: unknown token", MG_LOG_NONE);
    }
}

bool mg_client_count(struct mg_client *client, unsigned int cost)
{
    int64_t now_ms = mg_clock_boot_ms(), rate = client->clients->gateway->options->rate_per_s;
    int64_t passed_ms = now_ms - client->at_ms < 1000 ? now_ms - client->at_ms : 1000;
    client->left += passed_ms * rate;
    client->left = client->left < rate * 1000 ? client->left : rate * 1000;
    client->at_ms = now_ms;
    int64_t taken = (cost < rate ? cost : rate) * 1000;
    if (client->left < taken) {
        return false;
    }
    client->left -= taken;
    return true;
}
