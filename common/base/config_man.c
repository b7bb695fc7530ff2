/* --man: the manual page, from the table of options and the program's `struct mg_manual`. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/config_internal.h"

/* ---- roff, with the macros of man(7): texts are plain; characters that are special to it are escaped ----
 */

/* The line length that checkers of manual pages require. */
#define LINE_MAX_CHARS 78

static void print_escaped(FILE *out, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '\\') {
            (void)fputs("\\e", out);
        } else if (text[i] == '-') {
            (void)fputs("\\-", out); /* a minus, which copies as typed, not a hyphen */
        } else if (text[i] == '\'') {
            (void)fputs("\\(aq", out);
        } else if (text[i] == '`') {
            (void)fputs("\\(ga", out);
        } else if (text[i] == '~') {
            (void)fputs("\\(ti", out);
        } else if (text[i] == '"') {
            (void)fputs("\\(dq", out);
        } else {
            (void)fputc((unsigned char)text[i], out);
        }
    }
}

/* A word at the start of a line must not look like a request. */
static void print_word(FILE *out, const char *word, size_t len, size_t *column)
{
    if (*column > 0 && *column + 1 + len > LINE_MAX_CHARS) {
        (void)fputc('\n', out);
        *column = 0;
    }
    if (*column > 0) {
        (void)fputc(' ', out);
    }
    if (*column == 0 && word[0] == '.') {
        (void)fputs("\\&", out);
    }
    print_escaped(out, word, len);
    *column += len + 1;
    if (word[len - 1] == '.') { /* roff separates sentences by line ends */
        (void)fputc('\n', out);
        *column = 0;
    }
}

static void man_text(FILE *out, const char *text)
{
    size_t column = 0;

    while (*text) {
        size_t blank = strspn(text, " \n");
        if (memchr(text, '\n', blank)) {
            (void)fprintf(out, "%s.PP\n", column > 0 ? "\n" : "");
            column = 0;
        }
        text += blank;
        size_t len = strcspn(text, " \n");
        if (len > 0) {
            print_word(out, text, len, &column);
        }
        text += len;
    }
    if (column > 0) {
        (void)fputc('\n', out);
    }
}

static void print_date(FILE *out)
{
    const char *epoch = getenv("SOURCE_DATE_EPOCH");
    time_t seconds = epoch && epoch[0] ? (time_t)strtoll(epoch, NULL, 10) : time(NULL);
    char date[sizeof("2000-01-01")] = "";
    struct tm utc;

    if (gmtime_r(&seconds, &utc)) {
        (void)strftime(date, sizeof(date), "%Y-%m-%d", &utc);
    }
    (void)fputs(date, out);
}

static void man_begin(FILE *out, const char *name, int section, const char *summary)
{
    (void)fputs(".TH ", out);
    for (const char *at = name; *at; at++) {
        char upper = (char)toupper((unsigned char)*at);
        print_escaped(out, &upper, 1);
    }
    (void)fprintf(out, " %d \"", section);
    print_date(out);
    (void)fputs("\" \"Makegood " MG_VERSION "\" \"Makegood\"\n.SH NAME\n", out);
    print_escaped(out, name, strlen(name));
    (void)fputs(" \\- ", out);
    print_escaped(out, summary, strcspn(summary, "\n"));
    (void)fputc('\n', out);
}

static void man_heading(FILE *out, const char *title)
{
    (void)fprintf(out, ".SH %s\n", title);
}

static void man_command(FILE *out, const char *name, const char *words)
{
    (void)fputs(".B ", out);
    print_escaped(out, name, strlen(name));
    (void)fputc('\n', out);
    man_text(out, words);
}

static void man_term(FILE *out, const char *term, const char *text)
{
    (void)fputs(".TP\n.B ", out);
    print_escaped(out, term, strlen(term));
    (void)fputc('\n', out);
    man_text(out, text);
}

/* ---- the page ---- */

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
    man_term(out, term, text);
}

static void print_options(const struct mg_program *program, FILE *out)
{
    const struct mg_option *option = program->options;

    man_heading(out, "OPTIONS");
    for (; option->name && option != program->connections; option++) {
        print_option(option, out);
    }
    for (const struct mg_config_builtin *it = mg_config_builtins; it->name; it++) {
        char term[TERM_SIZE];
        (void)snprintf(term, sizeof(term), "--%s%s%s", it->name, it->value_name ? " " : "",
                       it->value_name ? it->value_name : "");
        man_term(out, term, it->help);
    }
    (void)fputs(".PP\n", out);
    man_text(out, "Durations are written 250ms, 10s, 15m, 2h or 1d.");
    if (option->name) {
        man_heading(out, "CONNECTION OPTIONS");
    }
    for (; option->name; option++) {
        print_option(option, out);
    }
}

static void print_environment(const struct mg_program *program, FILE *out)
{
    bool has_secret = false;

    man_heading(out, "ENVIRONMENT");
    man_text(out, "Every option can also be set in the environment, or in the file of --config. A flag "
                  "overrides the environment, the environment overrides the file. An empty variable "
                  "counts as not set.");
    for (const struct mg_option *option = program->options; option->name; option++) {
        char name[MG_CONFIG_NAME_MAX], file_name[MG_CONFIG_NAME_MAX], term[TERM_SIZE], text[TERM_SIZE];
        mg_config_env_name(option, "", name);
        mg_config_env_name(option, "_FILE", file_name);
        (void)snprintf(term, sizeof(term), "%s%s%s", name, option->is_secret ? ", " : "",
                       option->is_secret ? file_name : "");
        (void)snprintf(text, sizeof(text), "as --%.*s", (int)mg_config_name_len(option), option->name);
        man_term(out, term, text);
        has_secret = has_secret || option->is_secret;
    }
    man_term(out, MG_CONFIG_ENV_PREFIX "CONFIG", "as --config");
    if (has_secret) {
        (void)fputs(".PP\n", out);
        man_text(out, "Keep secrets in files: other users may read the environment and the command line. The "
                      "last line feed of the file is not part of the secret.");
    }
}

static void print_parts(const struct mg_manual_part *part, FILE *out)
{
    for (; part && part->title; part++) {
        man_heading(out, part->title);
        for (const struct mg_manual_entry *entry = part->entries; entry->term; entry++) {
            man_term(out, entry->term, entry->text);
        }
    }
}

void mg_config_print_man(const struct mg_program *program, FILE *out)
{
    const struct mg_manual *manual = program->manual;

    man_begin(out, program->name, manual->section, program->summary);
    man_heading(out, "SYNOPSIS");
    man_command(out, program->name, program->usage);
    man_heading(out, "DESCRIPTION");
    man_text(out, manual->description);
    print_parts(manual->before, out);
    print_options(program, out);
    print_environment(program, out);
    print_parts(manual->after, out);
    man_heading(out, "SEE ALSO");
    man_text(out, manual->see_also);
}
