/*
 * Dead letters, as the tool's `dead` shows them. A walk through a queue blocks, so it runs on another thread,
 * one walk at a time. Requests that arrive meanwhile get the same list.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "console/console_parts.h"
#include "operator/letter.h"

#define LETTERS_MAX    50
#define WAITERS_MAX    32
#define LIST_MAX_BYTES (4u * 1024 * 1024)
#define BODY_SHOWN_MAX (32u * 1024)
#define FRESH_MS       2000 /* a walk takes and returns each message, which is too costly for every click */

/* One walk. Until walk_done it belongs to the other thread. It outlives `dead` if the console ends first. */
struct walk {
    struct mg_dead *dead; /* NULL: it was destroyed; used only in the loop's thread */
    struct mg_broker_address address;
    char *url; /* a copy: a reload may replace the console's */
    char queue[MG_QUEUE_NAME_SIZE];
    char find[MG_PARAM_SIZE];          /* of a list: only messages of such an order; "": all */
    struct mg_http_exchange *settling; /* request that settles a letter; NULL: a list, or it is closed */
    char by[MG_USER_NAME_SIZE], reason[MG_COMMAND_REASON_MAX + 1]; /* of that request */
    char mark[MG_LETTER_MARK_SIZE], message_id[MG_LETTER_ID_SIZE]; /* of that letter; id: once it is found */
    enum mg_dead_verb verb;
    int count;
    bool is_settled;
    struct mg_buf json;
    struct mg_json_writer writer; /* of the list, into `json` */
    enum mg_class class;
    struct mg_err err;
};

struct mg_dead {
    struct mg_console *console;
    struct walk *walk; /* under way */
    struct mg_http_exchange *waiting[WAITERS_MAX];
    int waiting_count;
    char queue[MG_QUEUE_NAME_SIZE], find[MG_PARAM_SIZE]; /* of the kept list */
    struct mg_buf json;
    int64_t made_ms;
};

/* Writes foreign bytes as a JSON string; invalid UTF-8 is replaced. */
static void text_write(struct mg_json_writer *json, const char *name, struct mg_slice text)
{
    struct mg_buf copy;
    if (text.data == NULL) {
        mg_json_member_null(json, name);
        return;
    }
    mg_buf_init(&copy, text.len + 1);
    mg_buf_append_slice(&copy, text);
    for (size_t i = 0; i < copy.len; i++) {
        copy.data[i] = copy.data[i] == '\0' ? '?' : copy.data[i];
    }
    if (copy.len > 0) {
        mg_utf8_mend(copy.data);
    }
    mg_json_member_text(json, name, mg_buf_slice(&copy));
    mg_buf_fail_with(json->buf, &copy);
    mg_buf_finish(&copy);
}

static void letter_list(void *arg, const struct mg_dead_letter *letter)
{
    struct walk *walk = arg;
    struct mg_json_writer *json = &walk->writer;
    char mark[MG_LETTER_MARK_SIZE], died_at[MG_TIME_TEXT_SIZE];
    char id[MG_LETTER_ID_SIZE];
    bool is_cut = letter->body.len > BODY_SHOWN_MAX;
    bool is_search = walk->find[0] != '\0';
    if (is_search && !mg_letter_find(letter, walk->find, id)) {
        return;
    }
    mg_letter_mark_make(letter, mark);
    mg_time_format(letter->died_at_ms, died_at);
    mg_json_wrap(json, "\n ");
    mg_json_element_object(json);
    mg_json_member_word(json, "mark", mark);
    if (is_search) {
        text_write(json, "order_id", mg_slice_of(id));
    }
    text_write(json, "queue", letter->queue);
    text_write(json, "exchange", letter->exchange);
    text_write(json, "type", letter->type);
    text_write(json, "message_id", letter->message_id);
    text_write(json, "correlation_id", letter->correlation_id);
    text_write(json, "reason", letter->reason);
    text_write(json, "died_at", letter->died_at_ms != 0 ? mg_slice_of(died_at) : (struct mg_slice){NULL, 0});
    mg_json_member_string_or_null(json, "obstacle", letter->obstacle);
    text_write(json, "body",
               (struct mg_slice){letter->body.data, is_cut ? BODY_SHOWN_MAX : letter->body.len});
    mg_json_member_bool(json, "is_cut", is_cut);
    mg_json_object_end(json);
}

static enum mg_dead_verb letter_settle(void *arg, const struct mg_dead_letter *letter)
{
    struct walk *walk = arg;
    char mark[MG_LETTER_MARK_SIZE];
    mg_letter_mark_make(letter, mark);
    if (walk->is_settled || mark[0] == '\0' || strcmp(mark, walk->mark) != 0) {
        return MG_DEAD_LIST;
    }
    walk->is_settled = true;
    mg_letter_id_write(letter, walk->message_id);
    return walk->verb;
}

static void settle_work(void *arg)
{
    struct walk *walk = arg;
    walk->class = mg_topology_walk(&walk->address, walk->queue, LETTERS_MAX, letter_settle, walk,
                                   &walk->count, &walk->err);
}

static void list_work(void *arg)
{
    struct walk *walk = arg;
    struct mg_json_writer *json = &walk->writer;
    int max = walk->find[0] != '\0' ? MG_DEAD_LOOK_MAX : LETTERS_MAX;
    *json = mg_json_spaced(&walk->json);
    mg_json_object_begin(json);
    mg_json_member_array(json, "letters");
    walk->class =
        mg_topology_look(&walk->address, walk->queue, max, letter_list, walk, &walk->count, &walk->err);
    mg_json_array_end(json);
    mg_json_member_bool(json, "is_cut", walk->count == max);
    mg_json_object_end(json);
    if (walk->class == MG_OK && walk->json.failed) {
        walk->class =
            mg_err_set(&walk->err, MG_PERMANENT,
                       "the messages in %s are too large for a page; use makegood dead list", walk->queue);
    }
}

static void walk_free(struct walk *walk)
{
    mg_buf_finish(&walk->json);
    free(walk->url);
    free(walk);
}

static void settle_end(struct mg_http_exchange *request, const struct mg_dead_settlement *settlement,
                       const char *message_id, unsigned int status, const char *text)
{
    mg_log(status < 300 ? MG_LOG_INFO : MG_LOG_WARN, "requeue or drop of a dead letter requested",
           MG_LOG_TEXT("by", settlement->by), MG_LOG_TEXT("reason", settlement->reason),
           MG_LOG_TEXT("verb", settlement->is_drop ? "drop" : "requeue"),
           MG_LOG_TEXT("queue", settlement->queue), MG_LOG_TEXT("message_id", message_id),
           MG_LOG_TEXT("mark", settlement->mark), MG_LOG_TEXT("outcome", text));
    if (request == NULL) {
        return;
    }
    if (status < 300) {
        mg_answer_text(request, status, text);
    } else {
        mg_answer_error(request, status, "%s", text);
    }
}

static void settle_answer(struct mg_dead *dead, const struct walk *walk)
{
    const struct mg_dead_settlement settlement = {walk->by, walk->reason, walk->queue, walk->mark,
                                                  walk->verb == MG_DEAD_DROP};
    char text[MG_ERR_TEXT_MAX];
    mg_buf_clear(&dead->json); /* the list still has the settled letter */
    if (walk->class != MG_OK) {
        settle_end(walk->settling, &settlement, walk->message_id, 503, walk->err.text);
    } else if (!walk->is_settled) {
        (void)snprintf(text, sizeof(text), "the message is no longer among the first %d of %s", LETTERS_MAX,
                       walk->queue);
        settle_end(walk->settling, &settlement, walk->message_id, 404, text);
    } else {
        settle_end(walk->settling, &settlement, walk->message_id, 200, "done");
    }
}

static void walk_done(void *arg)
{
    struct walk *walk = arg;
    struct mg_dead *dead = walk->dead;
    if (dead == NULL) {
        walk_free(walk);
        return;
    }
    dead->walk = NULL;
    if (walk->verb != MG_DEAD_LIST) {
        settle_answer(dead, walk);
        walk_free(walk);
        return;
    }
    if (walk->class == MG_OK) {
        struct mg_buf before = dead->json;
        dead->json = walk->json;
        walk->json = before;
        memcpy(dead->queue, walk->queue, sizeof(dead->queue));
        memcpy(dead->find, walk->find, sizeof(dead->find));
        dead->made_ms = mg_clock_boot_ms();
    }
    int count = dead->waiting_count;
    dead->waiting_count = 0;
    for (int i = 0; i < count; i++) {
        if (dead->waiting[i] == NULL) {
            continue;
        }
        if (walk->class == MG_OK) {
            mg_answer_json(dead->waiting[i], 200, mg_buf_slice(&dead->json));
        } else {
            mg_answer_error(dead->waiting[i], 503, "%s", walk->err.text);
        }
    }
    walk_free(walk);
}

static struct walk *walk_create(struct mg_dead *dead, const char *queue)
{
    struct walk *walk = calloc(1, sizeof(*walk));
    char *url = strdup(dead->console->options->process->broker.url);
    if (walk == NULL || url == NULL) {
        free(walk);
        free(url);
        return NULL;
    }
    walk->dead = dead;
    walk->url = url;
    walk->address = dead->console->options->process->broker;
    walk->address.url = url;
    (void)snprintf(walk->queue, sizeof(walk->queue), "%s", queue);
    mg_buf_init(&walk->json, LIST_MAX_BYTES);
    return walk;
}

/* False: the walk could not start and has been freed. */
static bool walk_begin(struct mg_dead *dead, struct walk *walk)
{
    if (walk == NULL) {
        return false;
    }
    if (!mg_loop_offload(dead->console->loop, walk->verb == MG_DEAD_LIST ? list_work : settle_work, walk_done,
                         walk)) {
        walk_free(walk);
        return false;
    }
    dead->walk = walk;
    return true;
}

static void on_gone(void *arg)
{
    *(struct mg_http_exchange **)arg = NULL;
}

bool mg_dead_queue_is_known(const char *queue)
{
    return strcmp(queue, MG_QUEUE_DEAD) == 0 || strcmp(queue, MG_QUEUE_REJECTED) == 0;
}

static bool is_busy_otherwise(const struct mg_dead *dead, const char *queue, const char *find)
{
    return dead->walk != NULL && (dead->walk->verb != MG_DEAD_LIST || strcmp(dead->walk->queue, queue) != 0 ||
                                  strcmp(dead->walk->find, find) != 0);
}

static struct walk *list_create(struct mg_dead *dead, const char *queue, const char *find)
{
    struct walk *walk = walk_create(dead, queue);
    if (walk != NULL) {
        (void)snprintf(walk->find, sizeof(walk->find), "%s", find);
    }
    return walk;
}

void mg_dead_settle(struct mg_dead *dead, struct mg_http_exchange *request,
                    const struct mg_dead_settlement *settlement)
{
    struct walk *walk = dead->walk == NULL ? walk_create(dead, settlement->queue) : NULL;
    if (walk != NULL) {
        walk->verb = settlement->is_drop ? MG_DEAD_DROP : MG_DEAD_REQUEUE;
        walk->settling = request;
        (void)snprintf(walk->by, sizeof(walk->by), "%s", settlement->by);
        (void)snprintf(walk->reason, sizeof(walk->reason), "%s", settlement->reason);
        (void)snprintf(walk->mark, sizeof(walk->mark), "%s", settlement->mark);
    }
    if (!walk_begin(dead, walk)) {
        settle_end(request, settlement, "", 503, "another request reads a queue; try again");
    } else if (request != NULL) {
        mg_http_exchange_on_gone(request, on_gone, &walk->settling);
    }
}

void mg_dead_list(struct mg_dead *dead, struct mg_http_exchange *request)
{
    const char *queue = mg_http_exchange_query(request, "queue");
    const char *find = mg_http_exchange_query(request, "find");
    find = find != NULL ? find : "";
    queue = queue != NULL ? queue : MG_QUEUE_DEAD;
    if (!mg_dead_queue_is_known(queue)) {
        mg_answer_error(request, 400, "queue: expected %s or %s", MG_QUEUE_DEAD, MG_QUEUE_REJECTED);
    } else if (strlen(find) >= MG_PARAM_SIZE) {
        mg_answer_error(request, 400, "find: expected a text of at most %d bytes", MG_PARAM_SIZE - 1);
    } else if (dead->json.len > 0 && strcmp(dead->queue, queue) == 0 && strcmp(dead->find, find) == 0 &&
               mg_clock_boot_ms() - dead->made_ms < FRESH_MS) {
        mg_answer_json(request, 200, mg_buf_slice(&dead->json));
    } else if (dead->waiting_count == WAITERS_MAX || is_busy_otherwise(dead, queue, find) ||
               (dead->walk == NULL && !walk_begin(dead, list_create(dead, queue, find)))) {
        mg_answer_error(request, 503, "another request reads a queue; try again");
    } else {
        dead->waiting[dead->waiting_count] = request;
        mg_http_exchange_on_gone(request, on_gone, &dead->waiting[dead->waiting_count]);
        dead->waiting_count++;
    }
}

struct mg_dead *mg_dead_create(struct mg_console *console)
{
    struct mg_dead *dead = calloc(1, sizeof(*dead));
    if (dead != NULL) {
        dead->console = console;
        mg_buf_init(&dead->json, LIST_MAX_BYTES);
    }
    return dead;
}

void mg_dead_destroy(struct mg_dead *dead)
{
    if (dead == NULL) {
        return;
    }
    if (dead->walk != NULL) {
        dead->walk->dead = NULL;
    }
    mg_buf_finish(&dead->json);
    free(dead);
}
