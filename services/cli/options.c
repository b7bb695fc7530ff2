/* The options: one row for each option of some verbs, then those of every verb. */
#include <stddef.h>
#include <string.h>

#include "broker_options.h"
#include "memory_option.h"
#include "operator/option_words.h"
#include "verb_table.h"

#define PAUSE_MAX_MS                                                                                         \
    (INT64_C(365) * 24 * 3600 * 1000) /* a service that rests for longer is taken out of the workflows */

/* The value is stored in `member` of struct mg_cli_options. */
/* clang-format off */
#define OPTION(extra, member, ...) {extra, offsetof(struct mg_cli_options, member), {__VA_ARGS__}}
/* clang-format on */
#define TEXT(extra, member, name, initial, value, help)                                                      \
    OPTION(extra, member, name, MG_OPTION_TEXT, NULL, initial, 0, 0, false, value, help)
#define FLAG(extra, member, name, help)                                                                      \
    OPTION(extra, member, name, MG_OPTION_FLAG, NULL, NULL, 0, 0, false, NULL, help)
#define LIST(extra, member, name, value, help)                                                               \
    OPTION(extra, member, name, MG_OPTION_LIST, NULL, NULL, 0, 0, false, value, help)
#define DURATION(extra, member, name, min, max, value, help)                                                 \
    OPTION(extra, member, name, MG_OPTION_DURATION, NULL, NULL, min, max, false, value, help)
#define INTEGER(extra, member, name, initial, min, max, value, help)                                         \
    OPTION(extra, member, name, MG_OPTION_INTEGER, NULL, initial, min, max, false, value, help)

static const struct {
    uint64_t extra; /* verbs with any of these extras have the option */
    size_t offset;
    struct mg_option option;
} OPTIONS[] = {
    TEXT(MG_EXTRA_REASON | MG_EXTRA_POLICY, reason, "reason", NULL, "TEXT", "reason for the change"),
    TEXT(MG_EXTRA_REASON | MG_EXTRA_POLICY | MG_EXTRA_ACTIONS, by, "by", NULL, "NAME",
         "name of the operator; if not given, $USER; audit: only the acts of this operator"),
    TEXT(MG_EXTRA_ACTIONS, subject, "subject", NULL, "NAME",
         "only acts on this order, service, schedule, bulk action or alert"),
    INTEGER(MG_EXTRA_VERSION, version, "if-version", "0", 0, INT64_MAX, "N",
            "act only at version N; 0: at the current version; order cancel and compensate: at any version"),
    TEXT(
        MG_EXTRA_STEP | MG_EXTRA_AUDIT, step, "step", NULL, "STEP",
        "name of the step; of a signal: only for it; order list and bulk start: only failures of this step; -: of none"),
    TEXT(MG_EXTRA_OUTCOME, outcome, "outcome", NULL, "done|absent",
         "outcome of the step: done (it took effect) or absent (it did not)"),
    TEXT(MG_EXTRA_OUTCOME, step_result, "result", NULL, "JSON",
         "with --outcome done: the result of the step, which its undo or later steps refer to"),
    FLAG(MG_EXTRA_SET, is_repeat, "repeat",
         "with --step: have it done once more under its key, although it may have happened; "
         "or a failed undo, under another key"),
    FLAG(MG_EXTRA_SET, is_without_output, "without-output",
         "end an order whose output cannot be built, without it"),
    LIST(MG_EXTRA_SET, sets, "set", "POINTER=JSON",
         "JSON pointer to a value of the payload, and its new value"),
    FLAG(MG_EXTRA_WAIT, waits, "wait", "wait until every order has ended, and print its state"),
    TEXT(MG_EXTRA_FILTER | MG_EXTRA_DEV, state, "state", NULL, "STATE", "only orders in this state"),
    TEXT(MG_EXTRA_FILTER | MG_EXTRA_BULK, workflow, "workflow", NULL, "NAME", "only orders of this workflow"),
    TEXT(MG_EXTRA_FAILURE | MG_EXTRA_BULK, error, "error", NULL, "CODE",
         "only failures with this code: http_422/SOLD_OUT, http_422 for all of its kind, or SOLD_OUT"),
    TEXT(MG_EXTRA_FAILURE, group_by, "group-by", NULL, "error",
         "count open failures by workflow, step, service and error"),
    TEXT(MG_EXTRA_FAILURE, waiting, "waiting", NULL, "SIGNAL",
         "list the steps that wait for this signal, the longest first; *: for any signal"),
    TEXT(MG_EXTRA_LINE, line, "line", NULL, "KEY", "the orders in the line of this key, its head first"),
    TEXT(MG_EXTRA_LINE, due_within, "due-within", NULL, "DURATION",
         "the open orders whose own deadline comes within this time (10m), the nearest first"),
    TEXT(MG_EXTRA_TIME, since, "since", NULL, "TIME",
         "start of the time range: an age (2h, 7d) or a UTC time (2026-01-31T12:00:00Z, 2026-01-31)"),
    TEXT(MG_EXTRA_TIME, until, "until", NULL, "TIME",
         "end of the time range, exclusive; forms as of --since"),
    TEXT(MG_EXTRA_AFTER, after, "after", NULL, "CURSOR",
         "show the page after CURSOR, which is printed at the end of the previous page"),
    INTEGER(MG_EXTRA_LIMIT, limit, "limit", "50", 1, 10000, "N", "maximum number of rows"),
    FLAG(MG_EXTRA_ALL, is_all, "all",
         "alert list: closed alerts, too; dead requeue and drop: all messages; bulk start: all failures"),
    TEXT(MG_EXTRA_QUEUE, queue, "queue", "dead.letters", "dead.letters|orders.rejected",
         "queue that holds the messages"),
    LIST(
        MG_EXTRA_SERVICE | MG_EXTRA_BULK | MG_EXTRA_FAILURE | MG_EXTRA_DEV, services, "service", "NAME",
        "service to declare or check; order list and bulk start: only failures of this service; -: of none; dev: service "
        "to call, as NAME=URL or a service file"),
    LIST(MG_EXTRA_FAILURE | MG_EXTRA_BULK, labels, "label", "NAME=VALUE",
         "only orders with this label; several: orders with all of them"),
    DURATION(MG_EXTRA_PAUSE, pause_ms, "for", 1000, PAUSE_MAX_MS, "DURATION",
             "length of the pause; if not given, until service resume"),
    TEXT(MG_EXTRA_LIMITS, concurrency, "concurrency", NULL, "N|none",
         "maximum calls at once of all agents together; none: only each agent's own limit; if not given, "
         "unchanged"),
    TEXT(MG_EXTRA_LIMITS | MG_EXTRA_BULK | MG_EXTRA_SIMULATE, rate, "rate", NULL, "N|none",
         "service limit: maximum calls a second; bulk start: orders a second"),
    INTEGER(MG_EXTRA_BULK, canary, "canary", MG_BULK_CANARY_TEXT, 0, MG_BULK_CANARY_MAX, "N",
            "number of orders to try first; the others follow after all of these have ended"),
    INTEGER(
        MG_EXTRA_BULK, stop_percent, "stop-above", MG_BULK_STOP_ABOVE, 0, 100, "PERCENT",
        "percentage of new failures in the canary, later in the last 50 orders, above which the bulk action "
        "stops"),
    FLAG(MG_EXTRA_BULK | MG_EXTRA_AUDIT, is_dry_run, "dry-run",
         "bulk start: only print the number of orders; service test: only print the calls"),
    TEXT(MG_EXTRA_RESULT, result, "result", NULL, "waiting|asked|done|failed|skipped",
         "only orders with this result"),
    LIST(MG_EXTRA_CLIENT, clients, "client", "NAME",
         "client whose queue client.NAME.statuses is declared or checked"),
    FLAG(MG_EXTRA_CLIENT, has_webhook, "webhook",
         "also the queue client.NAME.webhook of each such client, from which a gateway sends its statuses"),
    LIST(MG_EXTRA_CLIENT | MG_EXTRA_SIMULATE, signals, "signal", "NAME",
         "broker apply: signal that the client may send, besides those of earlier runs; needs exactly one "
         "--client; workflow simulate: share of the orders that get it, and its time"),
    TEXT(MG_EXTRA_POLICY, hot, "hot", NULL, "DURATION|none",
         "time from an ended order's last change to its move to the archive, at least 1d; none: no move"),
    TEXT(MG_EXTRA_POLICY, keep, "keep", NULL, "DURATION|none",
         "time until a day of the archive is dropped, at least 1d; none: no drop"),
    TEXT(MG_EXTRA_EXPORT, export_command, "export", NULL, "COMMAND",
         "shell command that reads a day's orders before the drop: one dossier per line on standard "
         "input, the day in MAKEGOOD_DAY; if it fails, the day is kept"),
    TEXT(MG_EXTRA_MIGRATIONS | MG_EXTRA_DEV, migrations, "migrations", NULL, "DIR",
         "directory of the numbered SQL files; if not given, the installed one, or deploy/postgres for a "
         "program that is not installed"),
    DURATION(MG_EXTRA_MIGRATIONS, lock_wait_ms, "lock-wait", 1000, INT64_C(24) * 3600 * 1000, "DURATION",
             "time in which a migration tries to get the locks that others hold; if not given, 1m"),
    TEXT(MG_EXTRA_HTTP, http, "http", "", "ADDRESS:PORT",
         "address of the process, as in its own --http; 0.0.0.0 means 127.0.0.1"),
    TEXT(MG_EXTRA_HTTP, http_cert_file, "http-cert-file", "", "FILE",
         "certificate of the process, as in its own --http-cert-file; if not empty, https is used"),
    TEXT(MG_EXTRA_HTTP, http_ca_file, "http-ca-file", "", "FILE",
         "CA certificates (PEM) for the process's certificate; empty: the system's CAs"),
    TEXT(MG_EXTRA_SERVERS, listen, "listen", "127.0.0.1:9180", "ADDRESS:PORT",
         "listen address for browsers; port 0 takes a free port and logs it"),
    TEXT(MG_EXTRA_SERVERS, listen_cert_file, "listen-cert-file", "", "FILE",
         "certificate (PEM) for https; required if other machines can connect"),
    TEXT(MG_EXTRA_SERVERS, listen_key_file, "listen-key-file", "", "FILE",
         "private key (PEM) of that certificate"),
    OPTION(MG_EXTRA_CONSOLE | MG_EXTRA_GATEWAY, keep_alive_ms, "keep-alive", MG_OPTION_DURATION, NULL, "75s",
           1000, 3600 * 1000, false, "DURATION",
           "time for which an idle connection stays open, longer than a proxy or balancer in front keeps it"),
    TEXT(MG_EXTRA_CONSOLE | MG_EXTRA_GATEWAY, tokens_file, "tokens-file", "", "FILE",
         "users, one per line: ROLE NAME SHA256, where ROLE is reader, operator or proxy, and SHA256 the "
         "digest of the user's token; without it all users have read-only access"),
    TEXT(MG_EXTRA_CONSOLE, proxy_user_header, "proxy-user-header", "", "HEADER",
         "request header in which a proxy names the user, such as Remote-User; X-Makegood-Proxy-Token "
         "holds the proxy's own token, of role proxy"),
    TEXT(MG_EXTRA_CONSOLE, proxy_groups_header, "proxy-groups-header", "", "HEADER",
         "request header in which the proxy names the user's groups, such as Remote-Groups"),
    LIST(MG_EXTRA_CONSOLE, proxy_operator_groups, "proxy-operator-group", "GROUP",
         "group whose members are operators; the proxy's other users are readers"),
    LIST(MG_EXTRA_CONSOLE, hosts, "host", "NAME", "host name in browsers' requests, besides localhost"),
    TEXT(MG_EXTRA_GATEWAY, webhooks_file, "webhooks-file", "", "FILE",
         "webhooks, one per line: CLIENT URL SECRETS, where SECRETS is a file with the secrets that sign the "
         "statuses sent to URL; concurrency=N and proxy=http://HOST:PORT may follow"),
    TEXT(MG_EXTRA_GATEWAY, webhook_ca_file, "webhook-ca-file", "", "FILE",
         "CA certificates (PEM) for the certificates of webhooks' targets; empty: the system's CAs"),
    TEXT(
        MG_EXTRA_GATEWAY, callback_secret_file, "callback-secret-file", "", "FILE",
        "secrets of the tokens in callbacks of services, one per line, as of the schedulers; if not given, no "
        "callback is taken"),
    INTEGER(MG_EXTRA_GATEWAY, client_rate, "client-rate", "1000", 1, 1000000, "N",
            "requests of one client in a second; further ones are refused with 429"),
    INTEGER(MG_EXTRA_GATEWAY, body_max, "body-max", "262144", 1024, 900 * 1024, "BYTES",
            "maximum size of an order's body, at most that of the schedulers"),
    INTEGER(MG_EXTRA_CONSOLE | MG_EXTRA_GATEWAY, memory_budget, "memory-budget", "0", 0, INT64_C(1) << 40,
            "BYTES", MG_MEMORY_OPTION_HELP),
    LIST(MG_EXTRA_GATEWAY, cors_origins, "cors-origin", "ORIGIN",
         "origin (https://shop.example.org) of pages that may send requests from a browser"),
    TEXT(MG_EXTRA_DEV, workflows_dir, "workflows", "", "DIR",
         "folder of definitions, loaded at the start and after each change; if not given, ./workflows"),
    TEXT(MG_EXTRA_DEV, webhook_url, "webhook-url", "", "URL",
         "where the gateway posts every status, signed; if not given, nowhere"),
    TEXT(MG_EXTRA_DEV, gateway, "gateway", "127.0.0.1:9280", "ADDRESS:PORT", "listen address of the gateway"),
    TEXT(MG_EXTRA_DEV, console, "console", "127.0.0.1:9180", "ADDRESS:PORT", "listen address of the console"),
    TEXT(MG_EXTRA_AGENTS, agent_config, "agent-config", "", "FILE",
         "configuration file of every agent; empty: the environment only"),
    OPTION(MG_EXTRA_SERVERS, drain_timeout_ms, "drain-timeout", MG_OPTION_DURATION, NULL, "30s", 0,
           20 * 60 * 1000, false, "DURATION",
           "time for an agent's calls in progress to end; a step's complete-by is at most 20m"),
    TEXT(MG_EXTRA_SERVERS, instance, "instance", "", "NAME",
         "name of this process in logs and reports; if not given, host, pid and start time"),
    TEXT(MG_EXTRA_SERVERS, log_level, "log-level", "info", "LEVEL",
         "lowest level of logged messages: debug, info, warn or error"),
    FLAG(MG_EXTRA_STRICT, is_strict, "strict", "refuse a service that has no queue, instead of warning"),
    TEXT(MG_EXTRA_DRAW, picture, "as", "mermaid", "mermaid|svg", "form of the picture"),
    FLAG(MG_EXTRA_DRAW, shows_undo, "undo", "show the way back, too, as dashed arrows"),
    TEXT(MG_EXTRA_TEST, junit_file, "junit", NULL, "FILE", "write the results as JUnit XML, too"),
    FLAG(MG_EXTRA_TEST, wants_coverage, "coverage",
         "list the branches that no case takes; one that is left out fails the test"),
    TEXT(MG_EXTRA_AUDIT, service_file, "service", NULL, "FILE",
         "service test: the service file, as of an agent"),
    TEXT(
        MG_EXTRA_AUDIT, workflow_file, "workflow", NULL, "FILE",
        "service test: workflow whose step is called below URL; if not given, POST URL with the payload, GET "
        "and DELETE URL/by-key/KEY"),
    TEXT(MG_EXTRA_CONFORM, service, "service", NULL, "NAME", "agent test: service whose agent is tested"),
    TEXT(MG_EXTRA_CONFORM, path, "path", "/", "PATH",
         "path of the do; that of verify and undo is PATH/by-key/KEY"),
    TEXT(MG_EXTRA_AUDIT | MG_EXTRA_CONFORM | MG_EXTRA_SIGNAL | MG_EXTRA_SIMULATE, payload, "payload", "{}",
         "FILE|JSON",
         "payload of the orders, as JSON or in a file; agent test: body of the do; of a signal: its payload"),
    TEXT(MG_EXTRA_SIGNAL, signal_id, "id", NULL, "ID",
         "identity of the signal: the same one again changes nothing; if not given, a new one"),
    TEXT(MG_EXTRA_KEY, key, "key", NULL, "KEY", "key under which an order waits for the signal"),
    TEXT(MG_EXTRA_AUDIT | MG_EXTRA_SIMULATE, results, "results", NULL, "FILE|JSON",
         "results of earlier steps that the step refers to: an object with a member for each"),
    TEXT(MG_EXTRA_SIMULATE, profile, "profile", NULL, "FILE",
         "file with settings of services, a payload and claims; an option outranks it"),
    LIST(MG_EXTRA_SIMULATE, times, "time", "NAME=TIME",
         "time of each call of a step or a service: 200ms, 1s..3s, or 200ms,p99=2s; if not given, 100ms. Of "
         "a wait: the time until its moment"),
    LIST(MG_EXTRA_SIMULATE, fails, "fail", "NAME=SHARE",
         "share of the calls that are answered with 503 and do nothing: 30%"),
    LIST(MG_EXTRA_SIMULATE, refuses, "refuse", "NAME=SHARE",
         "share of the orders that are refused with 422 and do nothing; NAME.undo: of the undo. Of a signal: "
         "share of them that refuse"),
    LIST(MG_EXTRA_SIMULATE, loses, "lose", "NAME=SHARE",
         "share of the calls that are handled while the answer is lost"),
    LIST(MG_EXTRA_SIMULATE, finishes, "finish", "NAME=TIME",
         "each call is answered with 202, and its work takes this time"),
    LIST(MG_EXTRA_SIMULATE, downs, "down", "SERVICE=FROM..UNTIL",
         "time in which the service takes no connection, since the start: 10m..25m"),
    LIST(MG_EXTRA_SIMULATE, whens, "when", "STEP=SHARE",
         "share of the orders in which the step's condition holds; if not given, the payload decides"),
    LIST(MG_EXTRA_SIMULATE, choices, "choice", "NAME=VALUE",
         "share of a step's signals that carry the payload of a choice, or one in JSON: \"10% Reject\", \"5% "
         "{\"ok\": false}\""),
    INTEGER(MG_EXTRA_SIMULATE, lines, "lines", NULL, 1, 1000000, "N",
            "number of keys over which the orders are spread, if the definition has a sequence"),
    INTEGER(MG_EXTRA_SIMULATE, orders, "orders", NULL, 1, 1000000, "N",
            "number of orders; if not given, 10000"),
    INTEGER(MG_EXTRA_SIMULATE, seed, "seed", NULL, 1, INT64_MAX, "N",
            "seed of all chance; if not given, 1. The same seed gives the same output"),
    DURATION(MG_EXTRA_SIMULATE, stop_after_ms, "stop-after", 1, INT64_C(365) * 24 * 3600 * 1000, "DURATION",
             "time after the last order at which the simulation stops; if not given, 30d"),
    FLAG(MG_EXTRA_SIMULATE, explores, "explore",
         "instead of chance, take every way: each call done, refused or unknown, each condition true and "
         "false, each signal early, in time or not"),
    LIST(MG_EXTRA_SIMULATE, claims, "never", "EXPRESSION",
         "with --explore: a condition that no way may fulfil, as in end == 'compensated' && stands.charge"),
    FLAG(MG_EXTRA_WATCH, is_watching, "watch|w",
         "draw the answer again every 2 s, until control-C; order show: until the order has ended"),
    FLAG(MG_EXTRA_TIMES, is_utc, "utc",
         "print times in UTC, not as \"3 m ago\"; JSON has them so in any case"),
    FLAG(MG_EXTRA_VERBOSE, is_verbose, "verbose|v", "also name the process that caused each event"),
    FLAG(MG_EXTRA_STATES, is_mermaid, "mermaid", "print Mermaid state diagrams"),
    FLAG(MG_EXTRA_STATES, is_csv, "csv", "print CSV, one line for each cell"),
};
#define OPTION_COUNT (sizeof(OPTIONS) / sizeof(OPTIONS[0]))

/* The texts of options that mean something else to some verbs, and their defaults if these differ; the first
 * match counts. OPTIONS has the text of the manual page, where an option stands once. */
static const struct {
    uint64_t extra;
    const char *name, *help, *initial, *value_name; /* NULL: as in OPTIONS */
} MEANINGS[] = {
    {MG_EXTRA_ACTIONS, "by", "only the acts of this operator", NULL, NULL},
    {MG_EXTRA_REASON | MG_EXTRA_POLICY, "by", "name of the operator; if not given, $USER", NULL, NULL},
    {MG_EXTRA_DEV, "state", "folder of the servers' data, the token and logs", ".makegood", "DIR"},
    {MG_EXTRA_DEV, "service", "service to call: its name and URL, or its service file; each gets an agent",
     NULL, "NAME=URL|FILE"},
    {MG_EXTRA_GATEWAY, "listen", "listen address for clients; port 0 takes a free port and logs it",
     "127.0.0.1:9280", NULL},
    {MG_EXTRA_GATEWAY, "tokens-file",
     "clients, one per line: RIGHTS CLIENT SHA256, where RIGHTS is any of submit, read, cancel and signal, separated by "
     "commas, and SHA256 the digest of a token; required",
     NULL, NULL},
    {MG_EXTRA_CONSOLE | MG_EXTRA_GATEWAY, "drain-timeout",
     "time for requests in hand to be answered after SIGTERM", "10s", NULL},
    {MG_EXTRA_FAILURE | MG_EXTRA_BULK, "step", "only failures of this step", NULL, NULL},
    {MG_EXTRA_AUDIT, "step", "step of the workflow; if not given, the only one that calls the service", NULL,
     NULL},
    {MG_EXTRA_AUDIT, "service", "service file, as an agent reads it; URL counts in place of its url", NULL,
     NULL},
    {MG_EXTRA_AGENTS, "listen",
     "listen address of /healthz, /readyz and /metrics; port 0 takes a free port and logs it", "127.0.0.1:0",
     NULL},
    {MG_EXTRA_AUDIT, "workflow",
     "workflow whose step is called, below URL; if not given, the calls are POST URL with the payload, and GET "
     "and DELETE URL/by-key/KEY",
     NULL, NULL},
    {MG_EXTRA_AUDIT, "dry-run", "only print the calls", NULL, NULL},
    {MG_EXTRA_AUDIT, "payload", "payload of the orders, as JSON or in a file", NULL, NULL},
    {MG_EXTRA_SIGNAL, "payload", "payload of the signal, as JSON or in a file, up to 64 KiB", "null", NULL},
    {MG_EXTRA_CLIENT, "signal",
     "signal that the client may send, besides those of earlier runs; needs exactly one --client", NULL,
     NULL},
    {MG_EXTRA_SIMULATE, "signal",
     "share of the orders that get a signal, and its time: \"85% in 2h..2d\" since the step waits, \"85% at "
     "2h..2d\" since the acceptance",
     NULL, "NAME=VALUE"},
    {MG_EXTRA_SIMULATE, "payload",
     "payload of each order, as JSON or in a file, which decides conditions and moments; if not given, --when "
     "and --time do",
     "", NULL},
    {MG_EXTRA_SIMULATE, "results",
     "results of steps to which conditions refer: an object with a member for each", NULL, NULL},
    {MG_EXTRA_SIMULATE, "rate", "orders a second; if not given, 50", NULL, "N"},
    {MG_EXTRA_CONFORM, "payload", "body of the do, as JSON or in a file", NULL, NULL},
    {MG_EXTRA_CONFORM, "service", "service whose agent is tested", NULL, NULL},
    {MG_EXTRA_BULK, "dry-run", "only print the number of orders", NULL, NULL},
    {MG_EXTRA_STEP, "step", "name of the step", NULL, NULL},
    {MG_EXTRA_FAILURE | MG_EXTRA_BULK, "service", "only failures of this service", NULL, NULL},
    {MG_EXTRA_CLIENT, "service",
     "service whose request queues are declared or checked; without --service and --client, those of the "
     "loaded workflows",
     NULL, NULL},
    {MG_EXTRA_SERVICE, "service", "service to check besides those of the loaded workflows", NULL, NULL},
    {MG_EXTRA_BULK, "all", "all failures, if no other option selects some", NULL, NULL},
    {MG_EXTRA_QUEUE, "all", "all messages of the queue", NULL, NULL},
    {MG_EXTRA_ALL, "all", "closed alerts, too", NULL, NULL},
    {MG_EXTRA_BULK, "rate", "orders a second; " MG_BULK_RATE " if not given", NULL, NULL},
    {MG_EXTRA_LIMITS, "rate",
     "maximum calls a second of all agents together; none: only each agent's own limit; if not given, "
     "unchanged",
     NULL, NULL},
};

bool mg_extras_are_apart(uint64_t extras)
{
    return (extras & MG_EXTRA_APART) != 0;
}

static const char *timeout_default(uint64_t extras)
{
    if (mg_extras_are_apart(extras) && !(extras & MG_EXTRA_AUDIT)) {
        return "3s";
    }
    return (extras & MG_EXTRA_WAIT) ? "1h" : "10s";
}

/* Gives an option its meaning for these verbs. */
static void option_adapt(uint64_t extras, struct mg_option *option)
{
    for (size_t i = 0; i < sizeof(MEANINGS) / sizeof(MEANINGS[0]) && extras != MG_EXTRA_ANY; i++) {
        if ((extras & MEANINGS[i].extra) && strcmp(MEANINGS[i].name, option->name) == 0) {
            option->help = MEANINGS[i].help;
            option->default_value = MEANINGS[i].initial != NULL ? MEANINGS[i].initial : option->default_value;
            option->value_name = MEANINGS[i].value_name != NULL ? MEANINGS[i].value_name : option->value_name;
            return;
        }
    }
}

#define FORMS "table|json|jsonl"
static const struct {
    const char *forms, *help;
} OUTPUTS[] = {
    [MG_PRINTS_ONE] = {FORMS, "output format; json: one object; jsonl: the same on one line"},
    [MG_PRINTS_LIST] = {FORMS, "output format; json: one array; jsonl: one object per line, as they come"},
    [MG_PRINTS_JSON] = {FORMS, "output format: one JSON object in any case; jsonl: on one line"},
    [MG_PRINTS_TEXT] = {"table", "output format; this verb prints no JSON"},
    [MG_PRINTS_NOTHING] = {FORMS, "without effect; this verb prints no answer"},
    [MG_PRINTS_ANY] = {FORMS, "output format; json: one document; jsonl: one object per line"},
};

/* Without an address `dev` starts servers of its own. */
static void connections_make_private(struct mg_option *connections, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(connections[i].name, "amqp-url") == 0) {
            connections[i].default_value = "";
            connections[i].help = "RabbitMQ to use; empty: a private one is started";
        } else if (strcmp(connections[i].name, "pg-dsn") == 0) {
            connections[i].help =
                "PostgreSQL to use, as a connection string of libpq; empty: a private one is started";
        }
    }
}
#define ALLOW_PLAINTEXT 4 /* its row among the connections */

/* The options of every verb after its own: those of the output, then those of connections. */
static void common_make(struct mg_cli_options *to, uint64_t extras, enum mg_prints prints,
                        struct mg_verb_options *ret)
{
    const struct mg_option of_output[] = {
        {"output|o", MG_OPTION_TEXT, &to->output, "table", 0, 0, false, OUTPUTS[prints].forms,
         OUTPUTS[prints].help},
        {"timeout", MG_OPTION_DURATION, &to->timeout_ms, timeout_default(extras), 1, INT64_C(86400000), false,
         "DURATION", "maximum wait for an answer"},
    };
    struct mg_option connections[] = {
        MG_BROKER_OPTIONS(to->broker),
        {"pg-dsn", MG_OPTION_TEXT, &to->pg_dsn, "", 0, 0, true, "DSN",
         "PostgreSQL, as a connection string of libpq; empty: libpq's PG* environment"},
        {"context", MG_OPTION_TEXT, &to->context, "", 0, 0, false, "NAME",
         "section of ~/.config/makegood/contexts with variables for the servers; empty: that of `makegood dev` in "
         "this folder or one above it, if no server is named otherwise"},
    };
    size_t count = sizeof(connections) / sizeof(connections[0]);
    struct mg_option *next = ret->all + ret->own_count;
    if (extras != MG_EXTRA_ANY && (extras & MG_EXTRA_DEV)) {
        count--; /* it has servers of its own, and no context */
        connections_make_private(connections, count);
    }
    _Static_assert(sizeof(of_output) + sizeof(connections) + (OPTION_COUNT + 1) * sizeof(struct mg_option) <=
                       sizeof(ret->all),
                   "`all` has room for all options");
    if (extras & MG_EXTRA_ALONE) {
        to->output = "table";
        return;
    }
    memcpy(next, of_output, sizeof(of_output));
    next += sizeof(of_output) / sizeof(of_output[0]);
    if (!mg_extras_are_apart(extras)) {
        memcpy(next, connections, count * sizeof(connections[0]));
        ret->connections = next;
    } else if (extras & MG_EXTRA_AGENTS) { /* it listens, and its agents connect */
        *next = connections[ALLOW_PLAINTEXT];
    }
}

void mg_options_make(struct mg_cli_options *to, uint64_t extras, enum mg_prints prints,
                     struct mg_verb_options *ret)
{
    *ret = (struct mg_verb_options){.own_count = 0};
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        if (extras & OPTIONS[i].extra) {
            struct mg_option *option = &ret->all[ret->own_count++];
            *option = OPTIONS[i].option;
            option->target = (char *)to + OPTIONS[i].offset;
            option_adapt(extras, option);
        }
    }
    common_make(to, extras, prints, ret);
}
