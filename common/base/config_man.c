/* --man: the manual page, from the table of options and the program's `struct mg_manual`. */
#include <string.h>

#include "base/config_internal.h"
#include "base/man.h"

#define TERM_SIZE 256

static void print_option(const struct mg_option *option, FILE *out)
{
    char term[TERM_SIZE], text[MG_CONFIG_HELP_SIZE], letter[8] = "", file[TERM_SIZE / 2] = "", value[64] = "";
    int name_len = (int)mg_config_name_len(option);

    if (mg_config_letter(option)) {
        (void)snprintf(letter, sizeof(letter), "-%c, ", mg_config_letter(option));
    }
    if (option->type != MG_OPTION_FLAG) {
        (void)snprintf(value, sizeof(value), " %s", option->value_name ? option->value_name : "VALUE");
    }
    if (option->is_secret) {
        (void)snprintf(file, sizeof(file), ", --%.*s-file FILE", name_len, option->name);
    }
    (void)snprintf(term, sizeof(term), "%s--%.*s%s%s", letter, name_len, option->name, value, file);
    mg_config_describe(option, text);
    mg_man_term(out, term, text);
}

static void print_options(const struct mg_program *program, FILE *out)
{
    const struct mg_option *option = program->options;

    mg_man_heading(out, "OPTIONS");
    for (; option->name && option != program->connections; option++) {
        print_option(option, out);
    }
    for (const struct mg_config_builtin *it = mg_config_builtins; it->name; it++) {
        char term[TERM_SIZE];
        (void)snprintf(term, sizeof(term), "--%s%s%s", it->name, it->value_name ? " " : "",
                       it->value_name ? it->value_name : "");
        mg_man_term(out, term, it->help);
    }
    (void)fputs(".PP\n", out);
    mg_man_text(out, "Durations are written 250ms, 10s, 15m, 2h or 1d.");
    if (option->name) {
        mg_man_heading(out, "CONNECTION OPTIONS");
    }
    for (; option->name; option++) {
        print_option(option, out);
    }
}

static void print_environment(const struct mg_program *program, FILE *out)
{
    bool has_secret = false;

    mg_man_heading(out, "ENVIRONMENT");
    mg_man_text(out, "Every option can also be set in the environment, or in the file of --config. A flag "
                     "overrides the environment, the environment overrides the file. An empty variable "
                     "counts as not set.");
    for (const struct mg_option *option = program->options; option->name; option++) {
        char name[MG_CONFIG_NAME_MAX], file_name[MG_CONFIG_NAME_MAX], term[TERM_SIZE], text[TERM_SIZE];
        mg_config_env_name(option, "", name);
        mg_config_env_name(option, "_FILE", file_name);
        (void)snprintf(term, sizeof(term), "%s%s%s", name, option->is_secret ? ", " : "",
                       option->is_secret ? file_name : "");
        (void)snprintf(text, sizeof(text), "as --%.*s", (int)mg_config_name_len(option), option->name);
        mg_man_term(out, term, text);
        has_secret = has_secret || option->is_secret;
    }
    mg_man_term(out, MG_CONFIG_ENV_PREFIX "CONFIG", "as --config");
    if (has_secret) {
        (void)fputs(".PP\n", out);
        mg_man_text(out,
                    "Keep secrets in files: other users may read the environment and the command line. The "
                    "last line feed of the file is not part of the secret.");
    }
}

static void print_parts(const struct mg_manual_part *part, FILE *out)
{
    for (; part && part->title; part++) {
        mg_man_heading(out, part->title);
        for (const struct mg_manual_entry *entry = part->entries; entry->term; entry++) {
            mg_man_term(out, entry->term, entry->text);
        }
    }
}

void mg_config_print_man(const struct mg_program *program, FILE *out)
{
    const struct mg_manual *manual = program->manual;

    mg_man_begin(out, program->name, manual->section, program->summary);
    mg_man_heading(out, "SYNOPSIS");
    mg_man_command(out, program->name, program->usage);
    mg_man_heading(out, "DESCRIPTION");
    mg_man_text(out, manual->description);
    print_parts(manual->before, out);
    print_options(program, out);
    print_environment(program, out);
    print_parts(manual->after, out);
    mg_man_heading(out, "SEE ALSO");
    mg_man_text(out, manual->see_also);
}
