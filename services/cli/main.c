/* makegood: finds the verb, reads its options, runs it. */
#include <stdlib.h>
#include <string.h>

#include "base/harden.h"
#include "base/log.h"
#include "broker_options.h"
#include "cli.h"

/* Options beside those that every verb has. */
enum extra {
    EXTRA_REASON = 1 << 0, /* of a verb that changes something: why, and by whom */
    EXTRA_VERSION = 1 << 1,
    EXTRA_STEP = 1 << 2,
    EXTRA_OUTCOME = 1 << 3,
    EXTRA_SET = 1 << 4,
    EXTRA_WAIT = 1 << 5,
    EXTRA_FILTER = 1 << 6,
    EXTRA_LIMIT = 1 << 7,
    EXTRA_ALL = 1 << 8,
    EXTRA_QUEUE = 1 << 9,
    EXTRA_SERVICE = 1 << 10,
    EXTRA_MIGRATIONS = 1 << 11,
    EXTRA_STATES = 1 << 12,
    EXTRA_CLIENT = 1 << 13,
    EXTRA_HTTP = 1 << 14, /* of a verb that asks a service, and neither broker nor database */
};
#define CHANGES_ORDER (EXTRA_REASON | EXTRA_VERSION)

struct verb {
    const char *noun, *verb;
    const char *words; /* what stands behind it */
    int min_words, max_words;
    int extras;
    cli_verb_fn *run;
    const char *summary;
};

static const struct verb VERBS[] = {
    {"order", "submit", "FILE", 1, 1, EXTRA_WAIT, verb_order_submit,
     "posts orders, one or a line each (- is stdin); with --wait shows how each ends"},
    {"order", "list", "", 0, 0, EXTRA_FILTER | EXTRA_LIMIT, verb_order_list,
     "the newest orders, by state or workflow"},
    {"order", "show", "ORDER", 1, 1, 0, verb_order_show, "an order's story: attempts, waits and reasons"},
    {"order", "watch", "ORDER", 1, 1, 0, verb_order_watch, "follows an order until it ends"},
    {"order", "explain", "ORDER", 1, 1, 0, verb_order_explain, "why the order is not moving, in one line"},
    {"order", "resume", "ORDER", 1, 1, CHANGES_ORDER | EXTRA_SET, verb_order_resume,
     "goes on from the failed step; --set repairs the payload"},
    {"order", "restart", "ORDER", 1, 1, CHANGES_ORDER, verb_order_restart,
     "starts again in a new generation"},
    {"order", "settle", "ORDER", 1, 1, CHANGES_ORDER | EXTRA_STEP | EXTRA_OUTCOME, verb_order_settle,
     "records by hand what became of a step"},
    {"order", "skip", "ORDER", 1, 1, CHANGES_ORDER | EXTRA_STEP, verb_order_skip, "goes on without a step"},
    {"order", "compensate", "ORDER", 1, 1, CHANGES_ORDER, verb_order_compensate, "has everything undone"},
    {"order", "cancel", "ORDER", 1, 1, CHANGES_ORDER, verb_order_cancel,
     "calls it off and has everything undone"},
    {"workflow", "check", "FILE...", 1, MG_LIST_MAX, 0, verb_workflow_check,
     "finds every mistake, stores nothing"},
    {"workflow", "load", "FILE...", 1, MG_LIST_MAX, 0, verb_workflow_load, "checks and stores definitions"},
    {"workflow", "list", "", 0, 0, 0, verb_workflow_list, "stored definitions and their open orders"},
    {"workflow", "states", "", 0, 0, EXTRA_STATES, verb_workflow_states,
     "the tables of states, as diagram or CSV"},
    {"alert", "list", "", 0, 0, EXTRA_ALL | EXTRA_LIMIT, verb_alert_list,
     "open alerts; --all: closed ones, too"},
    {"alert", "ack", "ALERT", 1, 1, EXTRA_REASON, verb_alert_ack, "says that somebody looks after it"},
    {"dead", "list", "", 0, 0, EXTRA_QUEUE | EXTRA_LIMIT, verb_dead_list, "messages that were set aside"},
    {"dead", "show", "NUMBER", 1, 1, EXTRA_QUEUE, verb_dead_show,
     "one of them whole, by its number in the list"},
    {"dead", "requeue", "[NUMBER]", 0, 1, EXTRA_QUEUE | EXTRA_ALL | EXTRA_REASON, verb_dead_requeue,
     "sends one (or --all) back where it came from"},
    {"dead", "drop", "[NUMBER]", 0, 1, EXTRA_QUEUE | EXTRA_ALL | EXTRA_REASON, verb_dead_drop,
     "removes one (or --all) for good"},
    {"broker", "apply", "", 0, 0, EXTRA_SERVICE | EXTRA_CLIENT, verb_broker_apply,
     "makes exchanges, queues and bindings"},
    {"broker", "check", "", 0, 0, EXTRA_SERVICE | EXTRA_CLIENT, verb_broker_check,
     "says what of them is missing or different"},
    {"db", "migrate", "", 0, 0, EXTRA_MIGRATIONS, verb_db_migrate, "brings the schema to this version"},
    {"db", "status", "", 0, 0, 0, verb_db_status, "the server, its settings and the schema's version"},
    {"doctor", NULL, "", 0, 0, EXTRA_SERVICE, verb_doctor,
     "checks everything that an order needs in order to move"},
    {"probe", NULL, "[URL]", 0, 1, EXTRA_HTTP, verb_probe,
     "asks a service whether it is ready, by its URL or by MAKEGOOD_HTTP"},
};
#define VERB_COUNT (sizeof(VERBS) / sizeof(VERBS[0]))

static const struct mg_manual_entry EXIT_CODES[] = {
    {"0", "done"},     {"1", "error"},     {"2", "usage"},       {"3", "not found"},
    {"4", "conflict"}, {"5", "timed out"}, {"6", "unavailable"}, {0}};

static void help_print(FILE *out)
{
    (void)fprintf(out, "makegood %s: operates Makegood\n\nusage: makegood NOUN VERB [words] [options]\n\n",
                  MG_VERSION);
    for (size_t i = 0; i < VERB_COUNT; i++) {
        char line[64];
        (void)snprintf(line, sizeof(line), "%s %s %s", VERBS[i].noun,
                       VERBS[i].verb != NULL ? VERBS[i].verb : "", VERBS[i].words);
        (void)fprintf(out, "  %-26s %s\n", line, VERBS[i].summary);
    }
    (void)fputs(
        "\nmakegood NOUN VERB --help shows the options of a verb; makegood --man prints the manual page.\n"
        "exit codes:",
        out);
    for (const struct mg_manual_entry *code = EXIT_CODES; code->term != NULL; code++) {
        (void)fprintf(out, "%s %s %s", code != EXIT_CODES ? "," : "", code->term, code->text);
    }
    (void)fputs("\n", out);
}

/* The verbs of one noun; false if there is no such noun. */
static bool noun_help_print(FILE *out, const char *noun)
{
    bool is_noun = false;
    for (size_t i = 0; i < VERB_COUNT; i++) {
        if (strcmp(VERBS[i].noun, noun) == 0 && VERBS[i].verb != NULL) {
            char line[64];
            (void)snprintf(line, sizeof(line), "%s %s", VERBS[i].verb, VERBS[i].words);
            (void)fprintf(out, "%s  %-20s %s\n", is_noun ? "" : "its verbs:\n", line, VERBS[i].summary);
            is_noun = true;
        }
    }
    return is_noun;
}

static const struct verb *verb_find(const char *noun, const char *verb)
{
    for (size_t i = 0; i < VERB_COUNT; i++) {
        if (strcmp(VERBS[i].noun, noun) == 0 &&
            (VERBS[i].verb == NULL || (verb != NULL && strcmp(VERBS[i].verb, verb) == 0))) {
            return &VERBS[i];
        }
    }
    return NULL;
}

/* Room for the common options, all extras and the end. */
#define OPTIONS_MAX 40

static int options_add(struct mg_option *to, int count, bool is_wanted, struct mg_option option)
{
    if (is_wanted) {
        to[count++] = option;
    }
    return count;
}

#define TEXT(name, target, value, help)                                                                      \
    ((struct mg_option){name, MG_OPTION_TEXT, target, NULL, 0, 0, false, value, help})
#define FLAG(name, target, help)                                                                             \
    ((struct mg_option){name, MG_OPTION_FLAG, target, NULL, 0, 0, false, NULL, help})

/* Such a verb must work where the rest is down, or not even configured. */
static bool asks_service(int extras)
{
    return extras == EXTRA_HTTP;
}

static const char *timeout_default(int extras)
{
    if (asks_service(extras)) {
        return "3s";
    }
    return (extras & EXTRA_WAIT) ? "1h" : "10s";
}

/* Those of every verb; returns how many they are. */
static int options_make_common(struct cli_options *to, int extras, struct mg_option list[OPTIONS_MAX])
{
    const struct mg_option servers[] = {
        MG_BROKER_OPTIONS(to->broker),
        {"pg-dsn", MG_OPTION_TEXT, &to->pg_dsn, "", 0, 0, true, "DSN",
         "the database; empty: libpq's PG* environment"},
    };
    int n = 0;
    if (!asks_service(extras)) {
        memcpy(list, servers, sizeof(servers));
        n = sizeof(servers) / sizeof(servers[0]);
    }
    list[n++] = (struct mg_option){"output|o", MG_OPTION_TEXT, &to->output,  "table",       0,
                                   0,          false,          "table|json", "how to print"};
    list[n++] = (struct mg_option){"timeout",
                                   MG_OPTION_DURATION,
                                   &to->timeout_ms,
                                   timeout_default(extras),
                                   1,
                                   INT64_C(86400000),
                                   false,
                                   "DURATION",
                                   "how long to wait for an answer"};
    return n;
}

static void options_make(struct cli_options *to, int extras, struct mg_option list[OPTIONS_MAX])
{
    int n = options_make_common(to, extras, list);

    n = options_add(list, n, extras & EXTRA_REASON,
                    TEXT("reason", &to->reason, "TEXT", "why; it stands in the order's story"));
    n = options_add(list, n, extras & EXTRA_REASON,
                    TEXT("by", &to->by, "NAME", "who; default: the user's name"));
    n = options_add(
        list, n, extras & EXTRA_VERSION,
        (struct mg_option){"if-version", MG_OPTION_INTEGER, &to->version, "0", 0, INT64_MAX, false, "N",
                           "act only if the order is still at this version; 0: at the one it has now"});
    n = options_add(list, n, extras & EXTRA_STEP, TEXT("step", &to->step, "STEP", "which step"));
    n = options_add(list, n, extras & EXTRA_OUTCOME,
                    TEXT("outcome", &to->outcome, "done|absent", "what became of it"));
    n = options_add(list, n, extras & EXTRA_SET,
                    (struct mg_option){"set", MG_OPTION_LIST, &to->sets, NULL, 0, 0, false, "POINTER=JSON",
                                       "replaces one value of the payload"});
    n = options_add(list, n, extras & EXTRA_WAIT,
                    FLAG("wait", &to->waits, "wait until every order has ended"));
    n = options_add(list, n, extras & EXTRA_FILTER,
                    TEXT("state", &to->state, "STATE", "only orders in this state"));
    n = options_add(list, n, extras & EXTRA_FILTER,
                    TEXT("workflow", &to->workflow, "NAME", "only orders of this workflow"));
    n = options_add(list, n, extras & EXTRA_LIMIT,
                    (struct mg_option){"limit", MG_OPTION_INTEGER, &to->limit, "50", 1, 10000, false, "N",
                                       "at most so many"});
    n = options_add(list, n, extras & EXTRA_ALL, FLAG("all", &to->is_all, "all of them"));
    n = options_add(list, n, extras & EXTRA_QUEUE,
                    (struct mg_option){"queue", MG_OPTION_TEXT, &to->queue, "dead.letters", 0, 0, false,
                                       "QUEUE", "dead.letters or orders.rejected"});
    n = options_add(list, n, extras & EXTRA_SERVICE,
                    (struct mg_option){"service", MG_OPTION_LIST, &to->services, NULL, 0, 0, false, "NAME",
                                       "a service whose request queues are meant, too"});
    n = options_add(list, n, extras & EXTRA_CLIENT,
                    (struct mg_option){"client", MG_OPTION_LIST, &to->clients, NULL, 0, 0, false, "NAME",
                                       "a client whose queue client.NAME.statuses is meant, too"});
    n = options_add(
        list, n, extras & EXTRA_MIGRATIONS,
        TEXT("migrations", &to->migrations, "DIR",
             "where the numbered SQL files lie; those installed with this program if not given, or "
             "deploy/postgres, from here, for a program that is not installed"));
    n = options_add(list, n, extras & EXTRA_HTTP,
                    (struct mg_option){"http", MG_OPTION_TEXT, &to->http, "", 0, 0, false, "ADDRESS:PORT",
                                       "where the service answers, as it was told itself; 0.0.0.0 is asked "
                                       "at 127.0.0.1"});
    n = options_add(list, n, extras & EXTRA_HTTP,
                    (struct mg_option){"http-cert-file", MG_OPTION_TEXT, &to->http_cert_file, "", 0, 0, false,
                                       "FILE", "as the service was told; if it is given, https is spoken"});
    n = options_add(list, n, extras & EXTRA_HTTP,
                    (struct mg_option){"http-ca-file", MG_OPTION_TEXT, &to->http_ca_file, "", 0, 0, false,
                                       "FILE",
                                       "CA certificates (PEM) that the service's must come from; empty: "
                                       "those of the system"});
    n = options_add(list, n, extras & EXTRA_STATES,
                    FLAG("mermaid", &to->is_mermaid, "as Mermaid state diagrams"));
    n = options_add(list, n, extras & EXTRA_STATES, FLAG("csv", &to->is_csv, "as CSV, a line for each cell"));
    list[n] = (struct mg_option){0};
}

#define TERM_SIZE 256

/* A verb as it is written: its words, and the options that not every verb has. */
static void verb_describe(const struct verb *verb, char *ret_text, size_t size)
{
    struct cli_options unused;
    struct mg_option common[OPTIONS_MAX], options[OPTIONS_MAX];
    int common_count = 0;
    size_t len;

    options_make(&unused, 0, common);
    options_make(&unused, verb->extras, options);
    while (common[common_count].name != NULL) {
        common_count++;
    }
    (void)snprintf(ret_text, size, "%s%s%s%s%s", verb->noun, verb->verb != NULL ? " " : "",
                   verb->verb != NULL ? verb->verb : "", verb->words[0] != '\0' ? " " : "", verb->words);
    for (const struct mg_option *option = options + common_count; option->name != NULL; option++) {
        bool is_optional = strcmp(option->name, "reason") != 0;
        len = strlen(ret_text);
        (void)snprintf(ret_text + len, size - len, " %s--%s%s%s%s", is_optional ? "[" : "", option->name,
                       option->value_name != NULL ? " " : "",
                       option->value_name != NULL ? option->value_name : "", is_optional ? "]" : "");
    }
}

/* The manual page of the tool: all verbs, and the options of all of them. */
static void manual_print(FILE *out)
{
    static const struct mg_manual_entry files[] = {
        {"/etc/makegood/operator.conf",
         "A configuration file for operators, if the packages are installed: set MAKEGOOD_CONFIG to it."},
        {"/usr/share/makegood/migrations", "The schema's migrations, if the packages are installed."},
        {0}};
    static const struct mg_manual_entry examples[] = {
        {"makegood order submit order.json --wait", "posts an order and shows how it ends"},
        {"makegood order list --state error", "finds the orders that need a person"},
        {"makegood order resume ORDER --reason \"payment repaired\"", "goes on with one of them"},
        {0}};
    static const struct mg_manual_part after[] = {
        {"EXIT STATUS", EXIT_CODES}, {"FILES", files}, {"EXAMPLES", examples}, {0}};
    struct mg_manual_entry verbs[VERB_COUNT + 1] = {0};
    const struct mg_manual_part before[] = {{"VERBS", verbs}, {0}};
    struct mg_manual manual = {
        1,
        "makegood shows what became of orders, moves those that need a person, and prepares database and "
        "broker. It changes orders only by commands to the schedulers, never in the database.\n\n"
        "Verbs that change something want a reason, which is kept. Where an order is named, its id is "
        "meant.",
        before, after, "makegood-scheduler(8), makegood-agent(8), makegood-supervisor(8)"};
    char terms[VERB_COUNT][TERM_SIZE];
    struct cli_options unused;
    struct mg_option options[OPTIONS_MAX];

    for (size_t i = 0; i < VERB_COUNT; i++) {
        verb_describe(&VERBS[i], terms[i], sizeof(terms[i]));
        verbs[i] = (struct mg_manual_entry){terms[i], VERBS[i].summary};
    }
    options_make(&unused, ~0, options);
    for (struct mg_option *option = options; option->name != NULL; option++) {
        if (strcmp(option->name, "timeout") == 0) {
            option->default_value = NULL;
            option->help =
                "how long to wait for an answer; 10s if not given, 3s for probe, 1h for verbs with --wait";
        }
    }
    const struct mg_program program = {"makegood",
                                       "operates Makegood: orders, workflows, alerts, schema, queues",
                                       "NOUN VERB [words] [options]", options, &manual};
    mg_config_print_man(&program, out);
}

/* --version would print this program's and change nothing, with exit code 0: who wrote it meant the order's.
 */
static bool is_version_meant(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--version") == 0 || strncmp(argv[i], "--version=", 10) == 0) {
            return true;
        }
    }
    return false;
}

static enum exit_code usage_check(const struct verb *verb, const struct cli *cli)
{
    const char *output = cli->options.output;
    const char *name = verb->verb != NULL ? verb->verb : "";
    if (cli->words.count < verb->min_words || cli->words.count > verb->max_words) {
        return cli_fail(EXIT_USAGE, "usage: makegood %s %s %s", verb->noun, name, verb->words);
    }
    if (strcmp(output, "table") != 0 && strcmp(output, "json") != 0) {
        return cli_fail(EXIT_USAGE, "--output %s: expected table or json", output);
    }
    if ((verb->extras & EXTRA_REASON) && (cli->options.reason == NULL || cli->options.reason[0] == '\0')) {
        return cli_fail(EXIT_USAGE, "%s %s changes something: say why with --reason TEXT", verb->noun, name);
    }
    return EXIT_DONE;
}

static enum exit_code verb_run(const struct verb *verb, int argc, char **argv)
{
    struct cli cli = {.is_json = false};
    struct mg_option options[OPTIONS_MAX];
    char name[64], usage[64];
    options_make(&cli.options, verb->extras, options);
    (void)snprintf(name, sizeof(name), "makegood %s%s%s", verb->noun, verb->verb != NULL ? " " : "",
                   verb->verb != NULL ? verb->verb : "");
    (void)snprintf(usage, sizeof(usage), "%s [options]", verb->words);
    const struct mg_program program = {name, verb->summary, usage, options, NULL};
    struct mg_config *config = NULL;
    enum mg_config_action action = MG_CONFIG_RUN;
    struct mg_err err;
    if ((verb->extras & EXTRA_VERSION) && is_version_meant(argc, argv)) {
        return cli_fail(EXIT_USAGE,
                        "the order's version is named with --if-version N, this program's is told "
                        "by makegood --version");
    }
    if (asks_service(verb->extras)) {
        (void)unsetenv("MAKEGOOD_CONFIG"); /* it says how to reach the rest, by options unknown here */
    }
    if (mg_config_load(&program, argc, argv, &config, &action, &cli.words, &err) != MG_OK) {
        return cli_fail(EXIT_USAGE, "%s", err.text);
    }
    enum exit_code code = EXIT_DONE;
    if (action == MG_CONFIG_RUN) {
        code = usage_check(verb, &cli);
    }
    if (action == MG_CONFIG_CHECK && !asks_service(verb->extras) &&
        (mg_broker_check_address(&cli.options.broker, &err) != MG_OK || cli_check_dsn(&cli, &err) != MG_OK)) {
        code = cli_fail_err(&err);
    }
    if (code == EXIT_DONE && action == MG_CONFIG_RUN) {
        cli.is_json = strcmp(cli.options.output, "json") == 0;
        cli.loop = mg_loop_create();
        code = cli.loop != NULL ? verb->run(&cli)
                                : cli_fail(EXIT_ERROR, "could not start: no memory or descriptors");
        if (cli.loop != NULL) {
            cli_close(&cli);
        }
    }
    mg_config_destroy(config);
    return code;
}

int main(int argc, char **argv)
{
    char hardening[MG_HARDENING_SIZE];
    mg_harden(hardening);
    mg_log_open("makegood", "", MG_LOG_ERROR);
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        help_print(argc < 2 ? stderr : stdout);
        return argc < 2 ? EXIT_USAGE : EXIT_DONE;
    }
    if (strcmp(argv[1], "--man") == 0) {
        manual_print(stdout);
        return EXIT_DONE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        (void)printf("makegood %s\n", MG_VERSION);
        return EXIT_DONE;
    }
    const struct verb *verb = verb_find(argv[1], argc > 2 ? argv[2] : NULL);
    bool asks_help = argc > 2 && (strcmp(argv[2], "--help") == 0 || strcmp(argv[2], "-h") == 0);
    if (verb == NULL && asks_help && noun_help_print(stdout, argv[1])) {
        return EXIT_DONE;
    }
    if (verb == NULL && argc == 2 && noun_help_print(stderr, argv[1])) {
        return cli_fail(EXIT_USAGE, "say what to do with it: makegood %s VERB", argv[1]);
    }
    if (verb == NULL) {
        return cli_fail(EXIT_USAGE, "there is no verb \"%s%s%s\"; see makegood --help", argv[1],
                        argc > 2 ? " " : "", argc > 2 ? argv[2] : "");
    }
    int skipped = verb->verb != NULL ? 2 : 1;
    argv[skipped] = argv[0];
    return verb_run(verb, argc - skipped, argv + skipped);
}
