/* The tool's connections, and the wait for their results. */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/print.h"
#include "cli.h"
#include "io/pg/dsn.h"
#include "json/json.h"

#define VALUE_MAX_BYTES ((size_t)256 * 1024) /* a payload; a scheduler takes no larger one */

struct waiting {
    struct mg_cli *cli;
    const bool *done;
};

static void waiting_end(void *arg)
{
    struct mg_cli *cli = arg;
    cli->is_timed_out = true;
    mg_loop_stop(cli->loop);
}

/* Stops the loop when a callback has set the flag. */
static void waiting_check(void *arg)
{
    struct waiting *waiting = arg;
    if (*waiting->done) {
        mg_loop_stop(waiting->cli->loop);
    }
}

/* How often the flag is checked. A person does not notice 5 ms. */
#define WAIT_CHECK_MS 5

bool mg_cli_wait(struct mg_cli *cli, const bool *done, int64_t timeout_ms)
{
    struct waiting waiting = {cli, done};
    struct mg_timer *deadline = mg_timer_create(cli->loop, waiting_end, cli);
    struct mg_timer *check = mg_timer_create(cli->loop, waiting_check, &waiting);
    cli->is_timed_out = false;
    if (deadline != NULL && check != NULL && !*done) {
        mg_timer_start(deadline, timeout_ms, 0);
        mg_timer_start(check, 0, WAIT_CHECK_MS);
        mg_loop_run(cli->loop);
    }
    mg_timer_destroy(deadline);
    mg_timer_destroy(check);
    return *done;
}

/* A word of the command line may have megabytes, and is repeated in errors; the longest texts of our own are
 * paths and errors. */
#define TEXT_MAX 1000

static void MG_PRINTF(1, 0) line_print(const char *format, va_list args)
{
    mg_print(stderr, "makegood: ");
    mg_print_brief(stderr, TEXT_MAX, format, args);
    mg_print(stderr, "\n");
}

enum mg_exit_code mg_cli_fail(enum mg_exit_code code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    line_print(format, args);
    va_end(args);
    return code;
}

static void pause_end(void *arg)
{
    *(bool *)arg = true;
}

bool mg_cli_pause(struct mg_cli *cli, int64_t ms)
{
    bool is_over = false;
    struct mg_timer *timer = mg_timer_create(cli->loop, pause_end, &is_over);
    if (timer == NULL) {
        return false;
    }
    mg_timer_start(timer, ms, 0);
    (void)mg_cli_wait(cli, &is_over, 2 * ms);
    mg_timer_destroy(timer);
    return true;
}

/* Standard output is a pipe or a connection, and its reader is gone. */
static bool is_reader_gone(void)
{
    struct pollfd output = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&output, 1, 0) > 0 && (output.revents & POLLERR) != 0;
}

enum mg_exit_code mg_cli_flush(void)
{
    static bool is_told;
    bool is_lost = ferror(stdout) != 0;
    errno = 0;
    is_lost = fflush(stdout) != 0 || is_lost;
    if (!is_lost) {
        return MG_EXIT_DONE;
    }
    if (errno == EPIPE || is_reader_gone()) { /* as `head` that has its lines: no fault */
        return MG_EXIT_READER_GONE;
    }
    if (!is_told) {
        is_told = true;
        return mg_cli_fail(MG_EXIT_ERROR, "could not write all of the answer to standard output%s%s",
                           errno != 0 ? ": " : "", errno != 0 ? strerror(errno) : "");
    }
    return MG_EXIT_ERROR;
}

void mg_cli_note(const char *format, ...)
{
    va_list args;
    (void)fflush(stdout);
    va_start(args, format);
    line_print(format, args);
    va_end(args);
}

void mg_cli_by(const struct mg_cli *cli, char *ret_text, size_t size)
{
    const char *name = mg_option_is_given(cli->options.by) ? cli->options.by : getenv("USER");
    (void)snprintf(ret_text, size, "%s", name != NULL ? name : "operator");
    mg_utf8_mend(ret_text); /* the cut may split a character, which the database refuses */
}

enum mg_exit_code mg_cli_code_of(enum mg_class class)
{
    switch (class) {
    case MG_BAD_INPUT:
        return MG_EXIT_USAGE;
    case MG_TRANSIENT:
        return MG_EXIT_UNAVAILABLE;
    case MG_STALE:
        return MG_EXIT_CONFLICT;
    case MG_OK:
    case MG_PERMANENT:
    case MG_BUG:
        break;
    }
    return MG_EXIT_ERROR;
}

enum mg_exit_code mg_cli_fail_err(const struct mg_err *err)
{
    return mg_cli_fail(mg_cli_code_of(err->class), "%s", err->text);
}

const char *mg_option_text(const char *text)
{
    return text != NULL ? text : "";
}

bool mg_option_is_given(const char *text)
{
    return text != NULL && text[0] != '\0';
}

/* ---- answers of the store ---- */

void mg_on_stored(void *arg, const struct mg_err *err)
{
    struct mg_stored *stored = arg;
    stored->is_over = true;
    stored->is_failed = err != NULL;
    if (err != NULL) {
        stored->err = *err;
    }
}

void mg_on_changed(void *arg, bool is_changed, const struct mg_err *err)
{
    ((struct mg_stored *)arg)->is_changed = is_changed;
    mg_on_stored(arg, err);
}

void mg_on_versioned(void *arg, enum mg_change_result result, uint64_t version, const struct mg_err *err)
{
    struct mg_stored *stored = arg;
    stored->result = result;
    stored->version = version;
    mg_on_stored(stored, err);
}

enum mg_exit_code mg_cli_await_stored(struct mg_cli *cli, const struct mg_stored *stored, const char *hint,
                                      ...)
{
    char text[256];
    va_list args;
    if (mg_cli_wait(cli, &stored->is_over, cli->options.timeout_ms)) {
        return stored->is_failed ? mg_cli_fail_err(&stored->err) : MG_EXIT_DONE;
    }
    va_start(args, hint);
    (void)vsnprintf(text, sizeof(text), hint, args);
    va_end(args);
    return mg_cli_fail(MG_EXIT_TIMED_OUT, "the database did not answer in time%s", text);
}

/* ---- connections ---- */

struct opening {
    struct mg_cli *cli;
    bool is_over;
};

static void store_changed(void *arg, bool is_up, const char *reason)
{
    struct opening *opening = arg;
    (void)reason;
    opening->is_over = opening->is_over || is_up || mg_store_reach(opening->cli->store) != MG_REACH_UNKNOWN;
}

static void store_refused(void *arg, const char *reason)
{
    struct opening *opening = arg;
    (void)snprintf(opening->cli->refusal, sizeof(opening->cli->refusal), "%s", reason);
    opening->is_over = true;
}

/* A server that is up answers well within this time. A long --timeout is meant for orders, not for
 * connecting. A fault that cannot pass by itself ends the wait at once. */
#define OPEN_MAX_MS 10000
/* After this time a note on stderr names the server that is slow. */
#define OPEN_QUIET_MS 2000

static int64_t open_timeout_ms(const struct mg_cli *cli)
{
    return cli->options.timeout_ms < OPEN_MAX_MS ? cli->options.timeout_ms : OPEN_MAX_MS;
}

static void opening_wait(const struct opening *opening, const char *server)
{
    int64_t timeout_ms = open_timeout_ms(opening->cli);
    int64_t quiet_ms = timeout_ms < OPEN_QUIET_MS ? timeout_ms : OPEN_QUIET_MS;
    if (!mg_cli_wait(opening->cli, &opening->is_over, quiet_ms) && timeout_ms > quiet_ms) {
        mg_cli_note("no answer from the %s yet; trying for %d s more", server,
                    (int)((timeout_ms - quiet_ms) / 1000));
        (void)mg_cli_wait(opening->cli, &opening->is_over, timeout_ms - quiet_ms);
    }
}

static enum mg_exit_code MG_PRINTF(3, 4)
    why_write(char ret_why[MG_CLI_WHY_SIZE], enum mg_exit_code code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(ret_why, MG_CLI_WHY_SIZE, format, args);
    va_end(args);
    return code;
}

/* " (its address is from .makegood/env)"; "" if it is from an option or a variable of the user. */
static const char *origin_text(const struct mg_cli *cli, char ret_text[MG_TOOL_CONTEXT_ORIGIN_SIZE])
{
    bool is_used = cli->context.origin[0] != '\0';
    (void)snprintf(ret_text, MG_TOOL_CONTEXT_ORIGIN_SIZE, "%s%.480s%s", is_used ? " (from " : "",
                   cli->context.origin, is_used ? ")" : "");
    return ret_text;
}

enum mg_exit_code mg_cli_try_store(struct mg_cli *cli, bool skips_schema_check, char ret_why[MG_CLI_WHY_SIZE])
{
    static struct opening opening; /* outlives this call: the store's callbacks run later, too */
    struct mg_err err;
    char reason[512], origin[MG_TOOL_CONTEXT_ORIGIN_SIZE];
    if (cli->store != NULL) {
        return mg_store_is_up(cli->store, reason, sizeof(reason))
                   ? MG_EXIT_DONE
                   : why_write(ret_why, MG_EXIT_UNAVAILABLE, "could not reach the database: %s", reason);
    }
    opening = (struct opening){cli, false};
    struct mg_store_options options = {.dsn = cli->options.pg_dsn,
                                       .is_plaintext_allowed = cli->options.broker.is_plaintext_allowed,
                                       .name = "makegood",
                                       .statement_timeout = cli->statement_timeout,
                                       .is_unsafe_durability_allowed =
                                           true, /* reading is safe; doctor reports it */
                                       .skips_schema_check = skips_schema_check,
                                       .on_state = store_changed,
                                       .on_refused = store_refused,
                                       .arg = &opening};
    if (mg_store_create(cli->loop, &options, &cli->store, &err) != MG_OK) {
        return why_write(ret_why, mg_cli_code_of(err.class), "%s", err.text);
    }
    opening_wait(&opening, "database");
    if (cli->refusal[0] != '\0') {
        return why_write(ret_why, MG_EXIT_ERROR, "cannot use this database%s: %s", origin_text(cli, origin),
                         cli->refusal);
    }
    if (!mg_store_is_up(cli->store, reason, sizeof(reason))) {
        return why_write(ret_why, MG_EXIT_UNAVAILABLE, "could not reach the database%s: %s",
                         origin_text(cli, origin), reason);
    }
    return MG_EXIT_DONE;
}

enum mg_exit_code mg_cli_open_store(struct mg_cli *cli, bool skips_schema_check)
{
    char why[MG_CLI_WHY_SIZE];
    enum mg_exit_code code = mg_cli_try_store(cli, skips_schema_check, why);
    return code == MG_EXIT_DONE ? code : mg_cli_fail(code, "%s", why);
}

enum mg_class mg_cli_check_dsn(const struct mg_cli *cli, struct mg_err *err)
{
    return mg_dsn_check(cli->options.pg_dsn, cli->options.broker.is_plaintext_allowed, err);
}

static void delivery_unexpected(void *arg, struct mg_delivery *delivery)
{
    mg_broker_reject(((struct mg_cli *)arg)->broker, delivery);
}

static void broker_changed(void *arg, bool is_up, const char *reason)
{
    (void)arg;
    (void)is_up;
    (void)reason;
}

static void broker_look(void *arg)
{
    struct opening *opening = arg;
    char reason[16];
    opening->is_over = opening->is_over || mg_broker_is_up(opening->cli->broker, reason, sizeof(reason)) ||
                       mg_broker_reach(opening->cli->broker) != MG_REACH_UNKNOWN;
}

enum mg_exit_code mg_cli_begin_broker(struct mg_cli *cli, const struct mg_broker_options *wanted)
{
    struct mg_err err;
    struct mg_broker_options options = *wanted;
    options.address = cli->options.broker;
    options.name = "makegood";
    if (options.on_delivery == NULL) {
        options.on_delivery = delivery_unexpected;
        options.arg = cli;
    }
    if (options.on_state == NULL) {
        options.on_state = broker_changed;
    }
    if (cli->broker == NULL && mg_broker_create(cli->loop, &options, &cli->broker, &err) != MG_OK) {
        return mg_cli_fail_err(&err);
    }
    return MG_EXIT_DONE;
}

enum mg_exit_code mg_cli_open_broker(struct mg_cli *cli, const struct mg_broker_options *wanted)
{
    char reason[512], origin[MG_TOOL_CONTEXT_ORIGIN_SIZE];
    enum mg_exit_code code = mg_cli_begin_broker(cli, wanted);
    if (code != MG_EXIT_DONE) {
        return code;
    }
    struct opening opening = {cli, false};
    struct mg_timer *look = mg_timer_create(cli->loop, broker_look, &opening);
    if (look != NULL) {
        mg_timer_start(look, 0, WAIT_CHECK_MS);
    }
    opening_wait(&opening, "broker");
    mg_timer_destroy(look);
    if (!mg_broker_is_up(cli->broker, reason, sizeof(reason))) {
        return mg_cli_fail(MG_EXIT_UNAVAILABLE, "could not reach the broker%s: %s", origin_text(cli, origin),
                           reason);
    }
    return MG_EXIT_DONE;
}

void mg_cli_close(struct mg_cli *cli)
{
    if (cli->broker != NULL) {
        mg_broker_destroy(cli->broker);
    }
    mg_store_destroy(cli->store);
    mg_loop_destroy(cli->loop);
}

enum mg_exit_code mg_cli_read_file(const char *path, size_t max_bytes, char **ret_text, size_t *ret_len)
{
    struct mg_buf text;
    struct mg_err err;
    mg_buf_init(&text, max_bytes);
    enum mg_class class = mg_file_text(path, true, &text, &err);
    if (class != MG_OK) {
        mg_buf_finish(&text);
        return mg_cli_fail(class == MG_TRANSIENT ? MG_EXIT_ERROR : MG_EXIT_USAGE, "%s", err.text);
    }
    *ret_text = text.data != NULL ? text.data : calloc(1, 1);
    *ret_len = text.len;
    return *ret_text != NULL ? MG_EXIT_DONE
                             : mg_cli_fail(MG_EXIT_ERROR, "could not read %s: out of memory", path);
}

enum mg_exit_code mg_cli_read_json(const char *option, const char *given, char **ret_text,
                                   struct mg_slice *ret_json)
{
    struct mg_err err;
    size_t len = strlen(given);
    enum mg_exit_code code = MG_EXIT_DONE;
    bool is_value = given[0] == '{' || given[0] == '[' || given[0] == '"' ||
                    mg_json_check(mg_slice_of(given), &MG_JSON_LIMITS_DATA, &err) == MG_OK; /* 17, true */
    if (is_value) {
        *ret_text = strdup(given);
        code = *ret_text != NULL ? MG_EXIT_DONE
                                 : mg_cli_fail(MG_EXIT_ERROR, "could not read %s: no memory", option);
    } else {
        code = mg_cli_read_file(given, VALUE_MAX_BYTES, ret_text, &len);
    }
    if (code != MG_EXIT_DONE) {
        return code;
    }
    struct mg_slice text = {*ret_text, len};
    if (mg_json_check(text, &MG_JSON_LIMITS_DATA, &err) != MG_OK) {
        return mg_cli_fail(MG_EXIT_USAGE, "%s: %s", option, err.text);
    }
    *ret_json = mg_json_find(text, "");
    return MG_EXIT_DONE;
}
