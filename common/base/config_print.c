/*
 * --help and --print-config from the table of options. The output of --print-config is a valid configuration
 * file. A secret is never printed, only its presence and its source.
 */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/config_internal.h"
#include "base/print.h"

#define HELP_WIDTH    88
#define HELP_INDENT   8
#define DURATION_SIZE 32

static void print_wrapped(const char *text, FILE *out)
{
    while (*text) {
        size_t len = strlen(text);
        if (len > HELP_WIDTH - HELP_INDENT) {
            len = HELP_WIDTH - HELP_INDENT;
            while (len > 0 && text[len] != ' ') {
                len--;
            }
            if (len == 0) { /* one word is wider than the line */
                len = strcspn(text, " ");
            }
        }
        mg_print(out, "%*s%.*s\n", HELP_INDENT, "", (int)len, text);
        text += len;
        text += strspn(text, " ");
    }
}

void mg_config_describe(const struct mg_option *option, char ret_text[MG_CONFIG_HELP_SIZE])
{
    char limits[2 * DURATION_SIZE + 16] = "", initial[128] = "";

    if (option->max != 0 && option->type == MG_OPTION_INTEGER) {
        (void)snprintf(limits, sizeof(limits), " [%" PRId64 " to %" PRId64 "]", option->min, option->max);
    }
    if (option->max != 0 && option->type == MG_OPTION_DURATION) {
        char min[DURATION_SIZE], max[DURATION_SIZE];
        mg_duration_format(option->min, min, sizeof(min));
        mg_duration_format(option->max, max, sizeof(max));
        (void)snprintf(limits, sizeof(limits), " [%s to %s]", min, max);
    }
    if (option->default_value && option->default_value[0] && !option->is_secret) {
        (void)snprintf(initial, sizeof(initial), " (default: %s)", option->default_value);
    }
    (void)snprintf(ret_text, MG_CONFIG_HELP_SIZE, "%s%s%s%s", option->help ? option->help : "",
                   option->type == MG_OPTION_LIST ? "; repeatable" : "", limits, initial);
}

static void print_option_help(const struct mg_option *option, FILE *out)
{
    char text[MG_CONFIG_HELP_SIZE], letter[8] = "";

    if (mg_config_letter(option)) {
        (void)snprintf(letter, sizeof(letter), "-%c, ", mg_config_letter(option));
    }
    mg_print(out, "  %s--%.*s", letter, (int)mg_config_name_len(option), option->name);
    if (option->type != MG_OPTION_FLAG) {
        mg_print(out, " %s", option->value_name ? option->value_name : "VALUE");
    }
    if (option->is_secret) {
        mg_print(out, "   or --%.*s-file FILE", (int)mg_config_name_len(option), option->name);
    }
    (void)fputs("\n", out);
    mg_config_describe(option, text);
    print_wrapped(text, out);
}

void mg_config_walk_flags(const struct mg_program *program,
                          void (*visit)(void *arg, const struct mg_config_flag *flag), void *arg)
{
    for (const struct mg_option *option = program->options; option->name; option++) {
        int name_len = (int)mg_config_name_len(option);
        struct mg_config_flag flag = {.letter = mg_config_letter(option), .help = option->help};

        (void)snprintf(flag.name, sizeof(flag.name), "%.*s", name_len, option->name);
        if (option->type != MG_OPTION_FLAG) {
            flag.value_name = option->value_name ? option->value_name : "VALUE";
        }
        visit(arg, &flag);
        if (!option->is_secret) {
            continue;
        }
        (void)snprintf(flag.name, sizeof(flag.name), "%.*s-file", name_len, option->name);
        flag.value_name = "FILE";
        visit(arg, &flag);
    }
    for (const struct mg_config_builtin *it = mg_config_builtins; it->name; it++) {
        struct mg_config_flag flag = {.value_name = it->value_name, .help = it->help};

        if (!mg_config_is_builtin(program, it->name, strlen(it->name))) {
            continue;
        }
        (void)snprintf(flag.name, sizeof(flag.name), "%s", it->name);
        visit(arg, &flag);
    }
}

static void print_examples(const struct mg_manual_entry *example, FILE *out)
{
    if (example && example->term) {
        (void)fputs("examples:\n", out);
    }
    for (; example && example->term; example++) {
        mg_print(out, "  %s\n", example->term);
        print_wrapped(example->text, out);
    }
}

void mg_config_print_help(const struct mg_program *program, FILE *out)
{
    const struct mg_option *option = program->options;

    mg_print(out, "usage: %s %s\n%s\n\n", program->name, program->usage ? program->usage : "[options]",
             program->summary ? program->summary : "");
    print_examples(program->examples, out);
    if (program->examples && program->examples->term) {
        (void)fputs("\n", out);
    }
    (void)fputs("options:\n", out);
    for (; option->name && option != program->connections; option++) {
        print_option_help(option, out);
    }
    for (const struct mg_config_builtin *it = mg_config_builtins; it->name; it++) {
        if (!mg_config_is_builtin(program, it->name, strlen(it->name))) {
            continue;
        }
        mg_print(out, "  --%s%s%s\n%*s%s\n", it->name, it->value_name ? " " : "",
                 it->value_name ? it->value_name : "", HELP_INDENT, "", it->help);
    }
    if (option->name) {
        (void)fputs("\nconnection options:\n", out);
    }
    for (; option->name; option++) {
        print_option_help(option, out);
    }
    (void)fputs(
        "\nEvery option can also be set in the environment, as MAKEGOOD_ and its name in capitals with\n"
        "_ for -, or in the file of --config. A flag overrides the environment, the environment the file.\n",
        out);
}

static void print_value(const struct mg_option *option, const struct mg_config_value *value, FILE *out)
{
    char duration[DURATION_SIZE];

    switch (option->type) {
    case MG_OPTION_TEXT:
        mg_print(out, "%s", value->text ? value->text : "");
        break;
    case MG_OPTION_INTEGER:
        mg_print(out, "%" PRId64, value->number);
        break;
    case MG_OPTION_DURATION:
        mg_duration_format(value->number, duration, sizeof(duration));
        mg_print(out, "%s", duration);
        break;
    case MG_OPTION_FLAG:
        mg_print(out, "%s", value->flag ? "true" : "false");
        break;
    case MG_OPTION_LIST:
        for (int i = 0; i < value->list.count; i++) {
            mg_print(out, "%s", i > 0 ? "," : "");
            mg_print(out, "%s", value->list.items[i]);
        }
        break;
    }
}

void mg_config_print_values(const struct mg_program *program, const struct mg_config_value *values, FILE *out)
{
    for (const struct mg_option *option = program->options; option->name; option++) {
        const struct mg_config_value *value = &values[option - program->options];
        int name_len = (int)mg_config_name_len(option);
        char origin[MG_CONFIG_ORIGIN_SIZE];

        mg_config_quote(value->origin, origin, sizeof(origin));
        if (option->is_secret) {
            bool is_set = value->text && value->text[0];
            mg_print(out, "# %.*s is %s (secret, not shown)", name_len, option->name,
                     is_set ? "set" : "not set");
        } else {
            /* An option without value and default may be outside its limits, so the printed file must not set
             * it. */
            bool is_absent = value->tier == MG_TIER_DEFAULT && !option->default_value;
            mg_print(out, "%s%.*s = ", is_absent ? "# " : "", name_len, option->name);
            print_value(option, value, out);
        }
        mg_print(out, "  # %s\n", origin);
    }
}
