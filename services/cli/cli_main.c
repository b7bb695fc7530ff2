/* makegood: finds the verb, reads its options, runs it. */
#include <stdlib.h>
#include <string.h>

#include "base/harden.h"
#include "base/log.h"
#include "base/print.h"
#include "verb_table.h"
#include "wire/command.h"

/* True if --version follows a verb. The option parser would print the tool's version and exit with 0,
 * without the change. The operator most likely intended --if-version, the version of the order. */
static bool is_version_meant(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--version") == 0 || strncmp(argv[i], "--version=", 10) == 0) {
            return true;
        }
    }
    return false;
}

enum form { FORM_TABLE, FORM_JSON, FORM_JSONL };

static bool form_parse(const char *word, enum form *ret_form)
{
    static const char *const words[] = {[FORM_TABLE] = "table", [FORM_JSON] = "json", [FORM_JSONL] = "jsonl"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcmp(words[i], word) == 0) {
            *ret_form = (enum form)i;
            return true;
        }
    }
    return false;
}

static enum mg_exit_code usage_check(const struct mg_verb *verb, struct mg_cli *cli)
{
    enum form form = FORM_TABLE;
    char name[MG_VERB_NAME_SIZE], line[128];
    if (cli->words.count < verb->min_words || cli->words.count > verb->max_words) {
        mg_verb_write(verb, line, sizeof(line));
        return mg_cli_fail(MG_EXIT_USAGE, "usage: makegood %s [options]; --help shows them", line);
    }
    if (!form_parse(cli->options.output, &form)) {
        return mg_cli_fail(MG_EXIT_USAGE, "--output %.80s: expected table, json or jsonl",
                           cli->options.output);
    }
    if (verb->prints == MG_PRINTS_TEXT && form != FORM_TABLE) {
        return mg_cli_fail(MG_EXIT_USAGE, "--output %s: %s prints no JSON", cli->options.output,
                           mg_verb_name(verb, name));
    }
    if ((verb->extras & MG_EXTRA_REASON) && !cli->options.is_dry_run &&
        !mg_option_is_given(cli->options.reason)) {
        return mg_cli_fail(MG_EXIT_USAGE, "%s changes something: give the reason with --reason TEXT",
                           mg_verb_name(verb, name));
    }
    size_t reason_len = strlen(mg_option_text(cli->options.reason));
    if ((verb->extras & MG_EXTRA_REASON) && reason_len > 0 &&
        (reason_len < MG_COMMAND_REASON_MIN || reason_len > MG_COMMAND_REASON_MAX)) {
        return mg_cli_fail(MG_EXIT_USAGE, "--reason: %d to %d bytes", MG_COMMAND_REASON_MIN,
                           MG_COMMAND_REASON_MAX);
    }
    (void)snprintf(cli->limit, sizeof(cli->limit), "%lld", (long long)cli->options.limit);
    cli->verb_arg = verb->arg;
    cli->is_json = form != FORM_TABLE || verb->prints == MG_PRINTS_JSON;
    cli->is_lines = form == FORM_JSONL;
    cli->is_list = verb->prints == MG_PRINTS_LIST;
    mg_style_read(&cli->style, cli->options.is_utc, cli->options.is_verbose);
    if (cli->options.is_watching && cli->is_json) {
        return mg_cli_fail(MG_EXIT_USAGE, "--watch draws for people; order watch -o jsonl follows an order");
    }
    return MG_EXIT_DONE;
}

static enum mg_exit_code verb_run(const struct mg_verb *verb, int argc, char **argv)
{
    struct mg_cli cli = {.is_json = false};
    struct mg_verb_program own;
    cli_verb_fn *run = verb->run != NULL ? verb->run : mg_help_answer;
    mg_verb_program_make(verb, &cli.options, &own);
    struct mg_config *config = NULL;
    enum mg_config_action action = MG_CONFIG_RUN;
    struct mg_err err;
    if ((verb->extras & MG_EXTRA_VERSION) && is_version_meant(argc, argv)) {
        return mg_cli_fail(MG_EXIT_USAGE,
                           "--if-version N names the version to act on; makegood --version prints this "
                           "program's");
    }
    if (mg_extras_are_apart(verb->extras) || (verb->extras & MG_EXTRA_DEV)) {
        /* It holds options that this verb does not accept, or servers that are no place for development. */
        (void)unsetenv("MAKEGOOD_CONFIG");
    }
    if (!mg_extras_are_apart(verb->extras) && !(verb->extras & MG_EXTRA_DEV) &&
        mg_tool_context_apply(argc, argv, (verb->extras & MG_EXTRA_SERVERS) == 0, &cli.context, &err) !=
            MG_OK) {
        return mg_cli_fail(MG_EXIT_USAGE, "%s", err.text);
    }
    if (cli.context.ignored[0] != '\0') {
        mg_cli_note("%s is not used: it must be yours, and only you may write it", cli.context.ignored);
    }
    if (mg_config_load(&own.program, argc, argv, &config, &action, &cli.words, &err) != MG_OK) {
        return mg_cli_fail(MG_EXIT_USAGE, "%s", err.text);
    }
    cli.config = config;
    enum mg_exit_code code = MG_EXIT_DONE;
    if (action == MG_CONFIG_RUN) {
        code = usage_check(verb, &cli);
    }
    if (action == MG_CONFIG_CHECK && !mg_extras_are_apart(verb->extras) && !(verb->extras & MG_EXTRA_DEV) &&
        (mg_broker_check_address(&cli.options.broker, &err) != MG_OK ||
         mg_cli_check_dsn(&cli, &err) != MG_OK)) {
        code = mg_cli_fail_err(&err);
    }
    bool is_server = (verb->extras & MG_EXTRA_SERVERS) != 0;
    if (is_server && code == MG_EXIT_DONE && action != MG_CONFIG_EXIT) {
        cli.only_checks = action == MG_CONFIG_CHECK;
        code = run(&cli);
    } else if (code == MG_EXIT_DONE && action == MG_CONFIG_RUN) {
        cli.loop = mg_loop_create();
        code = cli.loop != NULL ? (cli.options.is_watching ? mg_cli_watch(&cli, run) : run(&cli))
                                : mg_cli_fail(MG_EXIT_ERROR, "could not start: no memory or descriptors");
        if (cli.loop != NULL) {
            mg_cli_close(&cli);
            mg_readings_free(&cli);
        }
        mg_answers_end(&cli, code);
    }
    mg_config_destroy(config);
    return code;
}

static const struct mg_verb *verb_of(int argc, char **argv)
{
    return argc > 1 ? mg_verb_find(argv[1], argc > 2 ? argv[2] : NULL) : NULL;
}

/* Answers a question about the program itself, or runs a verb. */
static enum mg_exit_code words_run(int argc, char **argv)
{
    const struct mg_verb *verb = verb_of(argc, argv);
    char refusal[256];
    if (argc < 2 && mg_project_print()) {
        return MG_EXIT_DONE;
    }
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        mg_help_print(argc < 2 ? stderr : stdout);
        return argc < 2 ? MG_EXIT_USAGE : MG_EXIT_DONE;
    }
    if (strcmp(argv[1], "__complete") == 0) {
        mg_completion_print(argc - 2, argv + 2);
        return MG_EXIT_DONE;
    }
    if (strcmp(argv[1], "--man") == 0) {
        mg_manual_print(stdout);
        return MG_EXIT_DONE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        mg_print(stdout, "makegood %s\n", MG_VERSION);
        return MG_EXIT_DONE;
    }
    bool asks_help = argc > 2 && (strcmp(argv[2], "--help") == 0 || strcmp(argv[2], "-h") == 0);
    if (verb == NULL && asks_help && mg_noun_help_print(stdout, argv[1])) {
        return MG_EXIT_DONE;
    }
    if (verb == NULL && argc == 2 && mg_noun_help_print(stderr, argv[1])) {
        return mg_cli_fail(MG_EXIT_USAGE, "name the verb: makegood %s VERB", argv[1]);
    }
    if (verb == NULL) {
        mg_verb_refuse(argv[1], argc > 2 ? argv[2] : NULL, refusal, sizeof(refusal));
        return mg_cli_fail(MG_EXIT_USAGE, "%s", refusal);
    }
    int skipped = verb->verb != NULL ? 2 : 1;
    argv[skipped] = argv[0];
    return verb_run(verb, argc - skipped, argv + skipped);
}

int main(int argc, char **argv)
{
    char hardening[MG_HARDENING_SIZE];
    const struct mg_verb *verb = verb_of(argc, argv);
    /* These run programs, or write files that the user names. */
    bool writes_files =
        verb != NULL && (verb->extras & (MG_EXTRA_EXPORT | MG_EXTRA_TEST | MG_EXTRA_DEV | MG_EXTRA_AGENTS |
                                         MG_EXTRA_COMMAND | MG_EXTRA_FILES)) != 0;
    (writes_files ? mg_harden_but_files : mg_harden)(hardening);
    mg_log_open("makegood", "", MG_LOG_ERROR);
    enum mg_exit_code code = words_run(argc, argv);
    enum mg_exit_code flushed = mg_cli_flush(); /* a part of an answer is no answer */
    return code != MG_EXIT_DONE ? code : flushed;
}
