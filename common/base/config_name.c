/*
 * Names of options: from the text in the input to an option of the table, and the error for an unknown name.
 * That error always suggests the nearest known name, because most unknown names are typing errors.
 */
#include <ctype.h>
#include <string.h>

#include "base/config_internal.h"

const struct mg_config_builtin mg_config_builtins[] = {
    {"config", "FILE", "configuration file: lines \"name = value\"; \"#\" starts a comment"},
    {"check-config", NULL, "check the configuration and exit"},
    {"print-config", NULL, "print the configuration in force, without secrets, and exit"},
    {"help", NULL, "print this help and exit"},
    {"man", NULL, "print the manual page, as roff, and exit"},
    {"version", NULL, "print the version and exit"},
    {0}};

size_t mg_config_name_len(const struct mg_option *option)
{
    return strcspn(option->name, "|");
}

char mg_config_letter(const struct mg_option *option)
{
    const char *bar = strchr(option->name, '|');
    return bar ? bar[1] : '\0';
}

void mg_config_env_name(const struct mg_option *option, const char *suffix, char ret_name[MG_CONFIG_NAME_MAX])
{
    (void)snprintf(ret_name, MG_CONFIG_NAME_MAX, MG_CONFIG_ENV_PREFIX "%.*s%s",
                   (int)mg_config_name_len(option), option->name, suffix);
    for (char *at = ret_name; *at; at++) {
        *at = *at == '-' ? '_' : (char)toupper((unsigned char)*at);
    }
}

static bool is_name(const char *name, size_t len, const char *word)
{
    return strlen(word) == len && strncmp(name, word, len) == 0;
}

bool mg_config_is_builtin(const struct mg_program *program, const char *name, size_t len)
{
    if (!program->manual && is_name(name, len, "man")) {
        return false;
    }
    for (const struct mg_config_builtin *builtin = mg_config_builtins; builtin->name; builtin++) {
        if (is_name(name, len, builtin->name)) {
            return true;
        }
    }
    return false;
}

const struct mg_option *mg_config_find(const struct mg_program *program, const char *name, size_t len,
                                       bool *ret_is_file_name)
{
    for (const struct mg_option *option = program->options; option->name; option++) {
        size_t own_len = mg_config_name_len(option);
        if (len < own_len || strncmp(name, option->name, own_len) != 0) {
            continue;
        }
        *ret_is_file_name = len != own_len;
        if (len == own_len || (option->is_secret && is_name(name + own_len, len - own_len, "-file"))) {
            return option;
        }
    }
    return NULL;
}

const struct mg_option *mg_config_find_letter(const struct mg_program *program, char letter)
{
    for (const struct mg_option *option = program->options; option->name; option++) {
        if (mg_config_letter(option) == letter) {
            return option;
        }
    }
    return NULL;
}

/* Levenshtein's distance, for texts up to MG_CONFIG_NAME_MAX. */
static size_t distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    size_t row[MG_CONFIG_NAME_MAX + 1];

    if (a_len > MG_CONFIG_NAME_MAX) {
        a_len = MG_CONFIG_NAME_MAX;
    }
    if (b_len > MG_CONFIG_NAME_MAX) {
        b_len = MG_CONFIG_NAME_MAX;
    }
    for (size_t j = 0; j <= b_len; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= a_len; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
            size_t shorter = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            diagonal = row[j];
            row[j] = replaced < shorter ? replaced : shorter;
        }
    }
    return row[b_len];
}

enum mg_class mg_config_refuse_unknown(const struct mg_program *program, const char *origin, const char *name,
                                       size_t len, struct mg_err *err)
{
    const char *nearest = "help", *dashes = origin[0] ? "" : "--";
    size_t best = SIZE_MAX, nearest_len = strlen(nearest);
    char cut[MG_CONFIG_NAME_MAX], quoted[MG_CONFIG_NAME_MAX];

    (void)snprintf(cut, sizeof(cut), "%.*s", (int)(len < sizeof(cut) ? len : sizeof(cut)), name);
    mg_config_quote(cut, quoted, sizeof(quoted));
    for (const struct mg_option *option = program->options; option->name; option++) {
        size_t far = distance(name, len, option->name, mg_config_name_len(option));
        if (far < best) {
            best = far;
            nearest = option->name;
            nearest_len = mg_config_name_len(option);
        }
    }
    for (const struct mg_config_builtin *it = mg_config_builtins; !origin[0] && it->name; it++) {
        size_t far = distance(name, len, it->name, strlen(it->name));
        if (far < best && mg_config_is_builtin(program, it->name, strlen(it->name))) {
            best = far;
            nearest = it->name;
            nearest_len = strlen(nearest);
        }
    }
    return mg_err_set(err, MG_BAD_INPUT, "%s%sunknown option \"%s%s\"; the nearest known one is \"%s%.*s\"",
                      origin, origin[0] ? ": " : "", dashes, quoted, dashes, (int)nearest_len, nearest);
}
