/* See dev.h. */
#include "dev.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/print.h"
#include "dev_run.h"
#include "doors.h"
#include "io/amqp/topology.h"
#include "io/pg/dsn.h"
#include "part_log.h"
#include "ports.h"
#include "wire/http_url.h"

/* initdb takes some seconds of a processor, which many others may want. */
#define SERVERS_MAX_MS 600000
/* A server that is given runs already. */
#define GIVEN_MAX_MS 15000
#define READY_MAX_MS 60000
/* Between looks at a socket that does not report that its server listens. */
#define LOOK_MS 20
/* A scheduler finishes its work within 10 s. The rest is then killed. */
#define END_MAX_MS 20000
/* A killed process is gone within milliseconds, if the kernel is not stuck. */
#define KILL_MAX_MS 5000
/* A part is ready again seconds after its server is. */
#define UNREADY_MAX_MS    30000
#define LOGS_LOOK_MS      60000
#define TEXT_MAX          ((size_t)64 * 1024)
#define DEFAULT_WORKFLOWS "workflows"

static void line_ignore(void *arg, const char *line)
{
    (void)arg;
    (void)line;
}

/* ---- signals ---- */

static void on_end_signal(void *arg)
{
    struct mg_dev *dev = arg;
    if (dev->is_ending) {
        mg_parts_kill(dev->parts, MG_PART_REGISTER);
        _exit(EXIT_FAILURE);
    }
    dev->is_ending = true;
    mg_dev_print("\nending all that was started; once more ends it at once\n");
    mg_dev_on_news(dev);
}

static enum mg_class signals_take(struct mg_dev *dev, struct mg_err *err)
{
    return mg_loop_on_signal(dev->loop, SIGINT, on_end_signal, dev) &&
                   mg_loop_on_signal(dev->loop, SIGTERM, on_end_signal, dev) &&
                   mg_loop_on_signal(dev->loop, SIGHUP, on_end_signal, dev)
               ? MG_OK
               : mg_err_set(err, MG_TRANSIENT, "could not start: no memory or descriptors");
}

/* ---- before anything runs ---- */

static bool is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static enum mg_class workflows_folder_find(struct mg_dev *dev, struct mg_err *err)
{
    const char *given = dev->options->workflows;
    if (given[0] == '\0') {
        dev->workflows_folder = is_folder(DEFAULT_WORKFLOWS) ? DEFAULT_WORKFLOWS : NULL;
        return MG_OK;
    }
    dev->workflows_folder = given;
    return is_folder(given) ? MG_OK
                            : mg_err_set(err, MG_BAD_INPUT, "--workflows %s: there is no such folder", given);
}

/* Both are addresses and ports. One of all interfaces takes the port of each. */
static enum mg_class doors_check(const struct mg_dev_options *options, struct mg_err *err)
{
    const char *gateway_port = strrchr(options->gateway, ':'), *console_port = strrchr(options->console, ':');
    bool is_any = strncmp(options->gateway, "0.0.0.0:", 8) == 0 ||
                  strncmp(options->gateway, "[::]:", 5) == 0 ||
                  strncmp(options->console, "0.0.0.0:", 8) == 0 || strncmp(options->console, "[::]:", 5) == 0;
    bool is_same = strcmp(options->gateway, options->console) == 0 ||
                   (is_any && strcmp(gateway_port, console_port) == 0);
    return is_same ? mg_err_set(err, MG_BAD_INPUT,
                                "--console %s: the gateway has this port; give another one", options->console)
                   : MG_OK;
}

static enum mg_class webhook_url_check(const char *text, struct mg_err *err)
{
    struct mg_http_url url;
    bool is_good = text[0] == '\0' || (mg_http_url_parse(text, &url) == MG_OK && url.is_http && url.has_host);
    return is_good ? MG_OK
                   : mg_err_set(err, MG_BAD_INPUT,
                                "--webhook-url %.300s: expected http:// or https:// with a host", text);
}

static enum mg_class given_check(struct mg_dev *dev, struct mg_err *err)
{
    const struct mg_dev_options *options = dev->options;
    enum mg_class class = mg_port_check("--gateway", options->gateway, err);
    if (class == MG_OK) {
        class = mg_port_check("--console", options->console, err);
    }
    if (class == MG_OK) {
        class = doors_check(options, err);
    }
    if (class == MG_OK) {
        class = workflows_folder_find(dev, err);
    }
    if (class == MG_OK) {
        class = webhook_url_check(options->webhook_url, err);
    }
    if (class == MG_OK && options->broker.url[0] != '\0') {
        class = mg_broker_check_address(&options->broker, err);
    }
    if (class == MG_OK && options->pg_dsn[0] != '\0') {
        class = mg_dsn_check(options->pg_dsn, options->broker.is_plaintext_allowed, err);
    }
    return class == MG_OK ? mg_store_migrations_check(options->migrations, err) : class;
}

static enum mg_class parts_make(struct mg_dev *dev, struct mg_err *err)
{
    if (!mg_state_path(&dev->state, "logs", dev->logs)) {
        return mg_err_set(err, MG_BAD_INPUT, "--state %s: the path is too long", dev->options->state);
    }
    const struct mg_parts_options options = {.loop = dev->loop,
                                             .logs = dev->logs,
                                             .unready_max_ms = UNREADY_MAX_MS,
                                             .report = mg_dev_print_line,
                                             .changed = mg_dev_on_news,
                                             .arg = dev};
    enum mg_class class = mg_parts_create(&options, &dev->parts, err);
    if (class != MG_OK) {
        return class;
    }
    dev->patience = mg_timer_create(dev->loop, mg_dev_on_patience_end, dev);
    return dev->patience != NULL ? mg_state_folder(&dev->state, "logs", false, err)
                                 : mg_err_set(err, MG_TRANSIENT, "could not start: no memory");
}

static enum mg_class prepare(struct mg_dev *dev, struct mg_err *err)
{
    enum mg_class class = given_check(dev, err);
    dev->servers.has_rabbit = dev->options->broker.url[0] == '\0';
    dev->servers.has_postgres = dev->options->pg_dsn[0] == '\0';
    if (class == MG_OK) {
        class = mg_servers_find(&dev->servers, err);
    }
    if (class == MG_OK) {
        class = mg_state_open(dev->options->state, &dev->state, err);
    }
    if (class == MG_OK) {
        class = mg_dev_services_read(dev->options->services, &dev->state, &dev->services, err);
    }
    if (class == MG_OK) {
        class = mg_doors_write_tokens(&dev->state, dev->token, err);
    }
    if (class == MG_OK && dev->options->webhook_url[0] != '\0') {
        class = mg_doors_write_webhook(&dev->state, dev->options->webhook_url, err);
    }
    if (class == MG_OK) {
        class = parts_make(dev, err);
    }
    return class == MG_OK ? signals_take(dev, err) : class;
}

/* ---- servers ---- */

static bool are_servers_prepared(const struct mg_dev *dev)
{
    return mg_servers_are_prepared(&dev->servers);
}

static enum mg_class servers_start(struct mg_dev *dev, struct mg_err *err)
{
    struct mg_servers *servers = &dev->servers;
    if (servers->has_postgres || servers->has_rabbit) {
        mg_dev_print("starting %s%s%s in %s\n", servers->has_postgres ? "PostgreSQL" : "",
                     servers->has_postgres && servers->has_rabbit ? " and " : "",
                     servers->has_rabbit ? "RabbitMQ" : "", dev->options->state);
    }
    enum mg_class class = mg_servers_prepare(servers, &dev->state, dev->parts, err);
    int64_t until_ms = mg_clock_boot_ms() + SERVERS_MAX_MS;
    while (class == MG_OK && !are_servers_prepared(dev)) {
        if (mg_dev_must_end(dev)) {
            return mg_dev_ended(dev, err);
        }
        if (mg_clock_boot_ms() > until_ms) {
            return mg_err_set(err, MG_TRANSIENT, "initdb or epmd takes too long; logs are in %s", dev->logs);
        }
        (void)mg_dev_wait(dev, are_servers_prepared, LOOK_MS);
    }
    if (class == MG_OK) {
        class = mg_servers_start(servers, &dev->state, err);
    }
    dev->broker = dev->options->broker;
    if (servers->has_rabbit) {
        dev->broker = (struct mg_broker_address){.url = servers->amqp_url, .is_plaintext_allowed = false};
    }
    dev->dsn = servers->has_postgres ? servers->dsn : dev->options->pg_dsn;
    return class;
}

static enum mg_class schema_apply(struct mg_dev *dev, struct mg_err *err)
{
    return mg_store_migrate(
        &(struct mg_migrate_options){.dsn = dev->dsn, .directory = dev->options->migrations}, err);
}

static enum mg_class topology_apply(struct mg_dev *dev, struct mg_err *err)
{
    static const char *const clients[] = {MG_DEV_CLIENT};
    const struct mg_topology_names names = {.services = dev->services.names,
                                            .clients = clients,
                                            .signals = dev->signals.names,
                                            .service_count = dev->services.count,
                                            .client_count = 1,
                                            .signal_count = dev->signals.count,
                                            .has_webhook = dev->options->webhook_url[0] != '\0'};
    return mg_topology_apply(&dev->broker, &names, line_ignore, NULL, err);
}

static enum mg_class servers_fill(struct mg_dev *dev, struct mg_err *err)
{
    enum mg_class class = mg_dev_try(dev, schema_apply, dev->servers.has_postgres ? "postgres" : NULL, err);
    if (class == MG_OK && dev->servers.has_postgres) {
        mg_part_set_ready(dev->servers.postgres);
    }
    if (class == MG_OK) {
        class = mg_dev_try(dev, topology_apply, dev->servers.has_rabbit ? "rabbitmq" : NULL, err);
    }
    if (class == MG_OK && dev->servers.has_rabbit) {
        mg_part_set_ready(dev->servers.rabbit);
    }
    return class;
}

/* ---- workflows ---- */

static void on_store_state(void *arg, bool is_up, const char *reason)
{
    (void)is_up;
    (void)reason;
    mg_dev_on_news(arg);
}

static void on_store_refused(void *arg, const char *reason)
{
    struct mg_dev *dev = arg;
    (void)snprintf(dev->refusal, sizeof(dev->refusal), "%s", reason);
    mg_dev_on_news(dev);
}

static bool is_store_open(const struct mg_dev *dev)
{
    char reason[16];
    return dev->refusal[0] != '\0' || mg_store_is_up(dev->store, reason, sizeof(reason));
}

static enum mg_class store_open(struct mg_dev *dev, struct mg_err *err)
{
    const struct mg_store_options options = {.dsn = dev->dsn,
                                             .name = "makegood dev",
                                             .is_plaintext_allowed =
                                                 dev->options->broker.is_plaintext_allowed,
                                             .on_state = on_store_state,
                                             .on_refused = on_store_refused,
                                             .arg = dev};
    enum mg_class class = mg_store_create(dev->loop, &options, &dev->store, err);
    if (class != MG_OK) {
        return class;
    }
    bool is_open = mg_dev_wait(dev, is_store_open, GIVEN_MAX_MS);
    if (dev->refusal[0] != '\0') {
        return mg_err_set(err, MG_PERMANENT, "cannot use this database: %s", dev->refusal);
    }
    if (!is_open && mg_dev_must_end(dev)) {
        return mg_dev_ended(dev, err);
    }
    return is_open ? MG_OK
                   : mg_err_set(err, MG_TRANSIENT, "could not reach the database within %d s",
                                GIVEN_MAX_MS / 1000);
}

static bool are_workflows_settled(const struct mg_dev *dev)
{
    return mg_workflows_are_settled(dev->workflows);
}

static void on_workflows(void *arg)
{
    mg_dev_bind_signals(arg);
    mg_dev_on_news(arg);
}

static enum mg_class workflows_load(struct mg_dev *dev, struct mg_err *err)
{
    const struct mg_workflows_options options = {.loop = dev->loop,
                                                 .store = dev->store,
                                                 .folder = dev->workflows_folder,
                                                 .services = dev->services.names,
                                                 .service_count = dev->services.count,
                                                 .report = mg_dev_print_line,
                                                 .changed = on_workflows,
                                                 .arg = dev};
    if (dev->workflows_folder == NULL) {
        return MG_OK;
    }
    dev->workflows = mg_workflows_create(&options);
    if (dev->workflows == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not load workflows: no memory");
    }
    (void)mg_dev_wait(dev, are_workflows_settled, READY_MAX_MS);
    mg_dev_take_signals(dev, topology_apply);
    (void)mg_dev_wait(dev, mg_dev_is_job_done, READY_MAX_MS);
    return mg_dev_must_end(dev) ? mg_dev_ended(dev, err) : MG_OK;
}

/* ---- the whole ---- */

static bool are_parts_ready(const struct mg_dev *dev)
{
    const char *reason = NULL;
    return mg_parts_unready(dev->parts, &reason) == NULL;
}

static enum mg_class ready_wait(struct mg_dev *dev, struct mg_err *err)
{
    const char *reason = "";
    if (mg_dev_wait(dev, are_parts_ready, READY_MAX_MS)) {
        return MG_OK;
    }
    if (mg_dev_must_end(dev)) {
        return mg_dev_ended(dev, err);
    }
    const char *name = mg_parts_unready(dev->parts, &reason);
    return mg_err_set(err, MG_TRANSIENT, "%s is not ready after %d s: %s; logs are in %s", name,
                      READY_MAX_MS / 1000, reason, dev->logs);
}

/* Variables for the tool, for a shell to read. */
static enum mg_class env_write(struct mg_dev *dev, struct mg_err *err)
{
    struct mg_buf text;
    mg_buf_init(&text, TEXT_MAX);
    mg_buf_append_text(&text, "export MAKEGOOD_AMQP_URL=");
    mg_shell_append(&text, mg_slice_of(dev->broker.url));
    mg_buf_append_text(&text, "\nexport MAKEGOOD_PG_DSN=");
    mg_shell_append(&text, mg_slice_of(dev->dsn)); /* may hold quotes of its own */
    mg_buf_append_text(&text, "\nPATH=");
    mg_shell_append(&text, mg_slice_of(dev->options->programs));
    mg_buf_append_text(&text, ":\"$PATH\"\n");
    enum mg_class class = text.failed ? mg_err_set(err, MG_TRANSIENT, "could not write env: no memory")
                                      : mg_state_write(&dev->state, "env", mg_buf_slice(&text), err);
    mg_buf_finish(&text);
    return class;
}

static void ready_print(const struct mg_dev *dev)
{
    struct mg_buf text, payload;
    mg_buf_init(&text, TEXT_MAX);
    mg_buf_init(&payload, TEXT_MAX);
    struct mg_doors_view view = {.state = dev->options->state,
                                 .token = dev->token,
                                 .gateway = dev->options->gateway,
                                 .console = dev->options->console,
                                 .webhook_url = dev->options->webhook_url,
                                 .workflows_folder = dev->workflows_folder};
    view.workflow = dev->workflows != NULL ? mg_workflows_example(dev->workflows, &payload) : NULL;
    view.payload = mg_buf_slice(&payload);
    mg_doors_describe(&view, &text);
    mg_print_lines(stdout, text.failed ? mg_slice_of("ready\n") : mg_buf_slice(&text));
    (void)fflush(stdout);
    mg_buf_finish(&payload);
    mg_buf_finish(&text);
}

static void on_logs_look(void *arg)
{
    mg_part_logs_bound(((struct mg_dev *)arg)->logs);
}

static enum mg_class looks_start(struct mg_dev *dev, struct mg_err *err)
{
    dev->logs_look = mg_timer_create(dev->loop, on_logs_look, dev);
    if (dev->logs_look == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not start: no memory");
    }
    enum mg_class class = mg_dev_take_services(dev, topology_apply, err);
    return class == MG_OK && dev->servers.has_rabbit ? mg_dev_check_rabbit(dev, topology_apply, err) : class;
}

static enum mg_class start(struct mg_dev *dev, struct mg_err *err)
{
    static mg_dev_work_fn *const STEPS[] = {servers_start, servers_fill,   mg_dev_start_programs,
                                            store_open,    workflows_load, ready_wait,
                                            env_write,     looks_start};
    enum mg_class class = MG_OK;
    for (size_t i = 0; i < sizeof(STEPS) / sizeof(STEPS[0]) && class == MG_OK; i++) {
        class = STEPS[i](dev, err);
    }
    return class;
}

static bool has_rank_ended(const struct mg_dev *dev)
{
    return !mg_parts_run(dev->parts, dev->ending_rank);
}

/* In order, so that each part finds the ones that it needs for its end. */
static void end(struct mg_dev *dev)
{
    if (dev->parts == NULL) {
        return;
    }
    dev->is_over = true;
    mg_workflows_destroy(dev->workflows);
    dev->workflows = NULL;
    mg_store_destroy(dev->store);
    dev->store = NULL;
    for (int rank = MG_PART_RANK_COUNT - 1; rank >= 0; rank--) {
        dev->ending_rank = (enum mg_part_rank)rank;
        mg_parts_ask_end(dev->parts, dev->ending_rank);
        if (!mg_dev_wait(dev, has_rank_ended, END_MAX_MS)) {
            mg_dev_print("not all has ended within %d s; killing it\n", END_MAX_MS / 1000);
            mg_parts_kill(dev->parts, dev->ending_rank);
            if (!mg_dev_wait(dev, has_rank_ended, KILL_MAX_MS)) {
                mg_parts_kill(dev->parts, dev->ending_rank);
                (void)mg_dev_wait(dev, has_rank_ended, KILL_MAX_MS);
            }
        }
    }
    (void)mg_dev_wait(dev, mg_dev_is_job_done, 0); /* its connections have bounds, and its server is gone */
}

static void dev_finish(struct mg_dev *dev)
{
    mg_dev_leave_services(dev);
    mg_parts_destroy(dev->parts);
    mg_timer_destroy(dev->patience);
    mg_timer_destroy(dev->logs_look);
    mg_timer_destroy(dev->rabbit_look);
    mg_state_close(&dev->state);
    free(dev);
}

enum mg_class mg_dev_run(struct mg_loop *loop, const struct mg_dev_options *options, struct mg_err *err)
{
    struct mg_dev *dev = calloc(1, sizeof(*dev));
    if (dev == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not start: no memory");
    }
    dev->options = options;
    dev->loop = loop;
    dev->state.lock_fd = -1;
    enum mg_class class = prepare(dev, err);
    if (class == MG_OK) {
        class = start(dev, err);
    }
    if (class == MG_OK) {
        ready_print(dev);
        mg_timer_start(dev->logs_look, LOGS_LOOK_MS, LOGS_LOOK_MS);
        (void)mg_dev_wait(dev, mg_dev_never, 0);
        class = mg_dev_ended(dev, err);
    }
    end(dev);
    class = dev->is_ending ? MG_OK : class;
    dev_finish(dev);
    return class;
}
