/* Prints --help and the manual page from the tables of verbs and options. */
#include <assert.h>
#include <string.h>

#include "base/print.h"
#include "verb_table.h"

static const struct mg_manual_entry EXIT_CODES[] = {
    {"0", "done"},     {"1", "error"},     {"2", "usage"},       {"3", "not found"},
    {"4", "conflict"}, {"5", "timed out"}, {"6", "unavailable"}, {0}};

void mg_help_print(FILE *out)
{
    mg_print(out, "makegood %s: operates Makegood\n\nusage: makegood NOUN VERB [words] [options]\n\n",
             MG_VERSION);
    const struct mg_verb *verb = NULL;
    for (int i = 0; (verb = mg_verb_at(i)) != NULL; i++) {
        char line[64];
        mg_verb_write(verb, line, sizeof(line));
        mg_print(out, "  %-26s %s\n", line, verb->summary);
    }
    (void)fputs(
        "\nmakegood NOUN VERB --help shows the options of a verb; makegood --man prints the manual page.\n"
        "exit codes:",
        out);
    for (const struct mg_manual_entry *code = EXIT_CODES; code->term != NULL; code++) {
        mg_print(out, "%s %s %s", code != EXIT_CODES ? "," : "", code->term, code->text);
    }
    (void)fputs("\n", out);
}

bool mg_noun_help_print(FILE *out, const char *noun)
{
    const struct mg_verb *verb = mg_noun_find(noun);
    if (verb == NULL || verb->verb == NULL) {
        return false;
    }
    (void)fputs("its verbs:\n", out);
    for (; verb != NULL; verb = mg_noun_next(verb)) {
        char line[64];
        (void)snprintf(line, sizeof(line), "%s %s", verb->verb, verb->words);
        mg_print(out, "  %-20s %s\n", line, verb->summary);
    }
    return true;
}

void mg_verb_program_make(const struct mg_verb *verb, struct mg_cli_options *to, struct mg_verb_program *ret)
{
    char name[MG_VERB_NAME_SIZE];
    mg_options_make(to, verb->extras, verb->prints, &ret->options);
    mg_examples_of(verb, ret->examples);
    (void)snprintf(ret->name, sizeof(ret->name), "makegood %s", mg_verb_name(verb, name));
    (void)snprintf(ret->usage, sizeof(ret->usage), "%s%s[options]", verb->words,
                   verb->words[0] != '\0' ? " " : "");
    ret->program = (struct mg_program){.name = ret->name,
                                       .summary = verb->summary,
                                       .usage = ret->usage,
                                       .options = ret->options.all,
                                       .connections = ret->options.connections,
                                       .examples = ret->examples};
}

/* ---- `help` and `version` ---- */

static enum mg_exit_code help_of_words(struct mg_cli *cli)
{
    const char *noun = cli->words.count > 0 ? cli->words.items[0] : NULL;
    const char *name = cli->words.count > 1 ? cli->words.items[1] : NULL;
    const struct mg_verb *verb = noun != NULL ? mg_verb_find(noun, name) : NULL;
    struct mg_cli_options unused;
    struct mg_verb_program program;
    char refusal[256];
    if (noun == NULL) {
        mg_help_print(stdout);
    } else if (verb != NULL) {
        mg_verb_program_make(verb, &unused, &program);
        mg_config_print_help(&program.program, stdout);
    } else if (name != NULL || !mg_noun_help_print(stdout, noun)) {
        mg_verb_refuse(noun, name, refusal, sizeof(refusal));
        return mg_cli_fail(MG_EXIT_USAGE, "%s", refusal);
    }
    return MG_EXIT_DONE;
}

enum mg_exit_code mg_help_answer(struct mg_cli *cli)
{
    if (cli->verb_arg == MG_HELP_OF_VERSION) {
        mg_print(stdout, "makegood %s\n", MG_VERSION);
        return MG_EXIT_DONE;
    }
    return help_of_words(cli);
}

/* ---- the manual page ---- */

#define TERM_SIZE 384
#define VERBS_MAX 96 /* in the manual page */

/* Writes a verb's usage: its words, and its own options. */
static void verb_describe(const struct mg_verb *verb, char *ret_text, size_t size)
{
    struct mg_cli_options unused;
    struct mg_verb_options options;
    mg_options_make(&unused, verb->extras, verb->prints, &options);

    mg_verb_write(verb, ret_text, size);
    for (const struct mg_option *option = options.all; option < options.all + options.own_count; option++) {
        bool is_optional = strcmp(option->name, "reason") != 0;
        size_t len = strlen(ret_text);
        (void)snprintf(ret_text + len, size - len, " %s--%.*s%s%s%s", is_optional ? "[" : "",
                       (int)strcspn(option->name, "|"), option->name, option->value_name != NULL ? " " : "",
                       option->value_name != NULL ? option->value_name : "", is_optional ? "]" : "");
    }
}

void mg_manual_print(FILE *out)
{
    static const struct mg_manual_entry files[] = {
        {"/etc/makegood/operator.conf",
         "Configuration file for operators, from the packages. Set MAKEGOOD_CONFIG to it."},
        {"~/.config/makegood/contexts",
         "Sections with variables for the servers, for --context. Only files that no other user can write are read."},
        {".makegood/env", "Servers of `makegood dev`, in the folder of a project."},
        {"/usr/share/makegood/migrations", "Migrations of the schema, from the packages."},
        {0}};
    static const struct mg_manual_entry keys[] = {{"tab, right and left, 1 to 5", "selects another list"},
                                                  {"up and down, page up and page down, home and end",
                                                   "selects another row; k, j, g and G do the same"},
                                                  {"q, control-C", "quits"},
                                                  {0}};
    static const struct mg_manual_part after[] = {
        {"KEYS OF TOP", keys}, {"EXIT STATUS", EXIT_CODES}, {"FILES", files}, {"EXAMPLES", MG_EXAMPLES}, {0}};
    struct mg_manual_entry verbs[VERBS_MAX + 1] = {0};
    const struct mg_manual_part before[] = {{"VERBS", verbs}, {0}};
    struct mg_manual manual = {
        1,
        "makegood shows orders and their history, changes orders that need an operator, and prepares "
        "database and broker. It changes orders only by commands to the schedulers, never in the database.\n\n"
        "Verbs that change something require --reason. ORDER is the id of an order.",
        before, after, "makegood-scheduler(8), makegood-agent(8), makegood-supervisor(8)"};
    char terms[VERBS_MAX][TERM_SIZE];
    struct mg_cli_options unused;
    struct mg_verb_options options;

    const struct mg_verb *verb = NULL;
    for (int i = 0; (verb = mg_verb_at(i)) != NULL; i++) {
        assert(i < VERBS_MAX);
        verb_describe(verb, terms[i], sizeof(terms[i]));
        verbs[i] = (struct mg_manual_entry){terms[i], verb->summary};
    }
    mg_options_make(&unused, MG_EXTRA_ANY, MG_PRINTS_ANY, &options);
    for (struct mg_option *option = options.all; option->name != NULL; option++) {
        if (strcmp(option->name, "timeout") == 0) {
            option->default_value = NULL;
            option->help =
                "maximum wait for an answer; if not given, 10s, for probe 3s, for verbs with --wait 1h";
        }
    }
    const struct mg_program program = {.name = "makegood",
                                       .summary =
                                           "operates Makegood: orders, workflows, alerts, schema, queues",
                                       .usage = "NOUN VERB [words] [options]",
                                       .options = options.all,
                                       .connections = options.connections,
                                       .manual = &manual};
    mg_config_print_man(&program, out);
}
