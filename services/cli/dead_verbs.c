/*
 * `dead list|show|requeue|drop`: messages that were set aside in dead.letters or orders.rejected. Each
 * requeue or drop is first written to operator_action, as in the console; if that fails, the message stays.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/print.h"
#include "operator/letter.h"
#include "verb_table.h"
#include "wire/command.h"

/* The most messages of one walk; a longer queue needs several runs. */
#define WALK_MAX 10000
/* Less than the two heartbeats of 7 s after which the broker closes a connection. */
#define RECORD_WAIT_MAX_MS 5000
/* Each byte of a message id may become an escape of six. */
#define DETAIL_MAX_BYTES (6 * MG_LETTER_ID_SIZE + 2 * MG_QUEUE_NAME_SIZE)

struct walk {
    struct mg_cli *cli;
    enum mg_dead_verb verb; /* for the chosen messages */
    int chosen;             /* number, from 1; 0: all; -1: none (list) */
    int at, done;
    int aged;               /* listed letters that waited too long, or were driven out of a full queue */
    int barred;             /* chosen letters that no requeue can ever move; they stay */
    const char *obstacle;   /* of the first of them; static */
    bool is_whole;          /* prints the body */
    enum mg_exit_code code; /* not DONE: a change could not be recorded, and the walk changes nothing more */
    struct mg_stored noted; /* the database's answer about the current letter */
    struct mg_table listed; /* for people */
    bool has_no_memory;
};

/* The precision and the text of a slice, which may be absent. */
#define SHOWN(slice) (int)(slice).len, (slice).data != NULL ? (slice).data : ""

/* Prints one text of a letter; with `json`, writes it instead. */
static void text_tell(struct mg_json_writer *json, const char *name, struct mg_slice text)
{
    if (json == NULL) {
        mg_print(stdout, "%-15s ", name);
        mg_print_lines(stdout, text);
        (void)fputc('\n', stdout);
    } else if (text.data == NULL) {
        mg_json_member_null(json, name);
    } else {
        mg_json_member_text(json, name, text);
    }
}

static void texts_tell(struct mg_json_writer *json, const struct mg_dead_letter *letter)
{
    char died_at[MG_TIME_TEXT_SIZE];
    mg_time_format(letter->died_at_ms, died_at);
    text_tell(json, "queue", letter->queue);
    text_tell(json, "exchange", letter->exchange);
    text_tell(json, "type", letter->type);
    text_tell(json, "message_id", letter->message_id);
    text_tell(json, "correlation_id", letter->correlation_id);
    text_tell(json, "reason", letter->reason);
    text_tell(json, "died_at", letter->died_at_ms != 0 ? mg_slice_of(died_at) : (struct mg_slice){NULL, 0});
    text_tell(json, "body", letter->body);
}

static void letter_print_whole(const struct walk *walk, const struct mg_dead_letter *letter)
{
    struct mg_cli *cli = walk->cli;
    struct mg_answer answer;
    if (!cli->is_json) {
        mg_print(stdout, "number          %d\n", walk->at);
        texts_tell(NULL, letter);
        return;
    }
    struct mg_json_writer *json = mg_answer_begin(cli, &answer);
    mg_json_member_int(json, "number", walk->at);
    texts_tell(json, letter);
    (void)mg_answer_print(&answer);
}

/* ---- list ---- */

static char *LISTED[] = {(char[]){"number"},   (char[]){"died_at"}, (char[]){"queue"},
                         (char[]){"exchange"}, (char[]){"type"},    (char[]){"reason"}};
#define LISTED_COUNT ((int)(sizeof(LISTED) / sizeof(LISTED[0])))

static void cell_put(struct walk *walk, int row, const char *column, struct mg_slice text)
{
    char copy[MG_ERR_TEXT_MAX];
    (void)snprintf(copy, sizeof(copy), "%.*s", SHOWN(text));
    mg_utf8_mend(copy);
    mg_text_make_plain(copy);
    walk->has_no_memory = walk->has_no_memory || !mg_table_put(&walk->listed, row, column, copy);
}

static void letter_list(struct walk *walk, const struct mg_dead_letter *letter)
{
    char died_at[MG_TIME_TEXT_SIZE], number[16];
    if (walk->cli->is_json) {
        letter_print_whole(walk, letter);
        return;
    }
    int row = mg_table_row_add(&walk->listed);
    if (row < 0) {
        walk->has_no_memory = true;
        return;
    }
    (void)snprintf(number, sizeof(number), "%d", walk->at);
    mg_time_format(letter->died_at_ms, died_at);
    cell_put(walk, row, "number", mg_slice_of(number));
    cell_put(walk, row, "died_at", mg_slice_of(letter->died_at_ms != 0 ? died_at : ""));
    cell_put(walk, row, "queue", letter->queue);
    cell_put(walk, row, "exchange", letter->exchange);
    cell_put(walk, row, "type", letter->type);
    cell_put(walk, row, "reason", letter->reason);
}

/* The names of the columns are not the table's own. */
static void listed_free(struct mg_table *listed)
{
    for (int i = 0; i < listed->row_count * listed->column_count; i++) {
        free(listed->cells[i]);
    }
    free(listed->cells);
}

/* ---- changes ---- */

static void letter_noted(void *arg, const struct mg_err *err)
{
    struct walk *walk = arg;
    mg_on_stored(&walk->noted, err);
    mg_loop_stop(walk->cli->loop); /* sooner than mg_cli_wait's next check: a walk may have thousands */
}

/* The connection to the broker is not served meanwhile, and the broker ends it after two heartbeats. */
static int64_t record_wait_ms(const struct mg_cli *cli)
{
    return cli->options.timeout_ms < RECORD_WAIT_MAX_MS ? cli->options.timeout_ms : RECORD_WAIT_MAX_MS;
}

/* Records the change of a message before it is made. */
static void letter_note(struct walk *walk, const struct mg_dead_letter *letter)
{
    struct mg_cli *cli = walk->cli;
    char by[MG_COMMAND_BY_MAX + 1], mark[MG_LETTER_MARK_SIZE], message_id[MG_LETTER_ID_SIZE];
    const char *verb = walk->verb == MG_DEAD_DROP ? "dead drop" : "dead requeue";
    struct mg_buf detail;
    mg_cli_by(cli, by, sizeof(by));
    mg_letter_mark_make(letter, mark);
    mg_letter_id_write(letter, message_id);
    mg_buf_init(&detail, DETAIL_MAX_BYTES);
    mg_buf_printf(&detail, "{\"via\": \"tool\", \"queue\": \"%s\", \"message_id\": ", cli->options.queue);
    mg_buf_append_json(&detail, mg_slice_of(message_id));
    mg_buf_append_text(&detail, "}");
    const struct mg_operator_action action = {.by = by,
                                              .verb = verb,
                                              .subject = mark,
                                              .reason = cli->options.reason,
                                              .detail = mg_buf_slice(&detail)};
    if (detail.failed || mark[0] == '\0') {
        walk->code =
            mg_cli_fail(MG_EXIT_ERROR, "could not record the change of message %d: no memory", walk->at);
    } else {
        walk->noted.is_over = false;
        mg_store_note_action(cli->store, &action, letter_noted, walk);
        if (!mg_cli_wait(cli, &walk->noted.is_over, record_wait_ms(cli))) {
            walk->code = mg_cli_fail(MG_EXIT_TIMED_OUT,
                                     "the database did not answer in time; message %d is unchanged, and a "
                                     "record of its change may exist",
                                     walk->at);
        } else if (walk->noted.is_failed) {
            (void)mg_err_prefix(&walk->noted.err, "could not record the change of message %d", walk->at);
            walk->code = mg_cli_fail_err(&walk->noted.err);
        }
    }
    mg_buf_finish(&detail);
}

static enum mg_dead_verb letter_pick(void *arg, const struct mg_dead_letter *letter)
{
    struct walk *walk = arg;
    walk->at++;
    bool is_chosen = walk->chosen == 0 || walk->chosen == walk->at;
    if (walk->chosen < 0) {
        letter_list(walk, letter);
        walk->aged += mg_slice_is(letter->reason, "expired") || mg_slice_is(letter->reason, "maxlen");
        return MG_DEAD_LIST;
    }
    if (!is_chosen || walk->code != MG_EXIT_DONE) {
        return MG_DEAD_LIST;
    }
    if (walk->verb == MG_DEAD_REQUEUE && letter->obstacle != NULL) {
        walk->obstacle = walk->barred++ == 0 ? letter->obstacle : walk->obstacle;
        return MG_DEAD_LIST;
    }
    if (walk->verb != MG_DEAD_LIST) {
        letter_note(walk, letter);
        if (walk->code != MG_EXIT_DONE) {
            return MG_DEAD_LIST;
        }
    }
    walk->done++;
    if (walk->is_whole) {
        letter_print_whole(walk, letter);
    }
    return walk->verb;
}

static enum mg_exit_code barred_fail(const struct walk *walk)
{
    bool is_one = walk->barred == 1;
    return mg_cli_fail(MG_EXIT_ERROR, "%d %s in %s, because no requeue can succeed: %s", walk->barred,
                       is_one ? "message remains" : "messages remain", walk->cli->options.queue,
                       walk->obstacle);
}

static enum mg_exit_code walk_run(struct walk *walk, int max)
{
    struct mg_err err;
    int count = 0;
    const char *queue = walk->cli->options.queue;
    if (strcmp(queue, MG_QUEUE_DEAD) != 0 && strcmp(queue, MG_QUEUE_REJECTED) != 0) {
        return mg_cli_fail(MG_EXIT_USAGE, "--queue %s: expected %s or %s", queue, MG_QUEUE_DEAD,
                           MG_QUEUE_REJECTED);
    }
    enum mg_exit_code code = walk->verb != MG_DEAD_LIST ? mg_cli_open_store(walk->cli, false) : MG_EXIT_DONE;
    if (code != MG_EXIT_DONE) {
        return code;
    }
    if (mg_topology_walk(&walk->cli->options.broker, queue, max, letter_pick, walk, &count, &err) != MG_OK) {
        walk->done -= walk->at > count; /* the error is about the last one */
        return mg_cli_fail_err(&err);
    }
    return walk->code == MG_EXIT_DONE && walk->barred > 0 ? barred_fail(walk) : walk->code;
}

static enum mg_exit_code number_read(const struct mg_cli *cli, int *ret_number)
{
    if (cli->words.count == 0) {
        if (!cli->options.is_all) {
            return mg_cli_fail(MG_EXIT_USAGE, "give the number from dead list, or --all");
        }
        *ret_number = 0;
        return MG_EXIT_DONE;
    }
    char *end = NULL;
    errno = 0;
    long number = strtol(cli->words.items[0], &end, 10);
    if (errno != 0 || *end != '\0' || number < 1 || number > WALK_MAX) {
        return mg_cli_fail(MG_EXIT_USAGE, "%s: expected a number as dead list shows it", cli->words.items[0]);
    }
    *ret_number = (int)number;
    return MG_EXIT_DONE;
}

static enum mg_exit_code verb_dead_list(struct mg_cli *cli)
{
    struct walk walk = {.cli = cli,
                        .verb = MG_DEAD_LIST,
                        .chosen = -1,
                        .listed = {.columns = LISTED, .column_count = LISTED_COUNT}};
    enum mg_exit_code code = walk_run(&walk, (int)cli->options.limit);
    if (walk.has_no_memory) {
        code = mg_cli_fail(MG_EXIT_ERROR, "could not keep the list: no memory");
    }
    if (code == MG_EXIT_DONE && walk.at > 0 && !cli->is_json) {
        code = mg_table_print(cli, &walk.listed, NULL);
    }
    listed_free(&walk.listed);
    if (code == MG_EXIT_DONE && walk.at == 0 && !cli->is_json) {
        mg_print(stdout, "%s is empty\n", cli->options.queue);
    }
    if (walk.aged > 0 && !cli->is_json) {
        mg_cli_note("%d of them left their queue by a time to live of their senders, or by a policy of "
                    "others: makegood broker check --amqp-api URL",
                    walk.aged);
    }
    return code;
}

/* Shows, requeues or drops. */
static enum mg_exit_code verb_dead_chosen(struct mg_cli *cli)
{
    static const char *const DONE[] = {[MG_DEAD_REQUEUE] = "requeued", [MG_DEAD_DROP] = "dropped"};
    enum mg_dead_verb verb = (enum mg_dead_verb)cli->verb_arg;
    const char *done = verb != MG_DEAD_LIST ? DONE[verb] : NULL;
    struct walk walk = {.cli = cli, .verb = verb, .is_whole = verb == MG_DEAD_LIST};
    enum mg_exit_code code = number_read(cli, &walk.chosen);
    if (code == MG_EXIT_DONE) {
        code = walk_run(&walk, WALK_MAX);
    }
    if (code == MG_EXIT_DONE && walk.done == 0 && walk.chosen > 0) {
        return mg_cli_fail(MG_EXIT_NOT_FOUND, "there is no message %d in %s", walk.chosen,
                           cli->options.queue);
    }
    if (code != MG_EXIT_DONE && done != NULL && walk.done > 0) {
        mg_cli_note("%d %s before that", walk.done, done);
    }
    if (code != MG_EXIT_DONE || done == NULL) {
        return code;
    }
    if (cli->is_json) {
        struct mg_answer answer;
        struct mg_json_writer *json = mg_answer_begin(cli, &answer);
        mg_json_member_int(json, "count", walk.done);
        mg_json_member_word(json, "done", done);
        return mg_answer_print(&answer);
    }
    mg_print(stdout, "%d %s\n", walk.done, done);
    return MG_EXIT_DONE;
}

const struct mg_verb MG_DEAD_VERBS[] = {
    {"dead", "list", "", 0, 0, MG_EXTRA_QUEUE | MG_EXTRA_LIMIT | MG_EXTRA_LIST, MG_PRINTS_LIST,
     verb_dead_list, "lists dead letters, or rejected submissions", 0},
    {"dead", "show", "NUMBER", 1, 1, MG_EXTRA_QUEUE, MG_PRINTS_ONE, verb_dead_chosen,
     "shows one message in full, by its number in the list", MG_DEAD_LIST},
    {"dead", "requeue", "[NUMBER]", 0, 1, MG_EXTRA_QUEUE | MG_EXTRA_ALL | MG_EXTRA_REASON, MG_PRINTS_ONE,
     verb_dead_chosen, "publishes one message (or --all) to its origin again", MG_DEAD_REQUEUE},
    {"dead", "drop", "[NUMBER]", 0, 1, MG_EXTRA_QUEUE | MG_EXTRA_ALL | MG_EXTRA_REASON, MG_PRINTS_ONE,
     verb_dead_chosen, "deletes one message (or --all)", MG_DEAD_DROP},
    {0}};
