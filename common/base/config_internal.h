/* Shared by the files of the configuration: config.c collects, config_name.c resolves names, config_value.c
 * parses values, config_print.c prints --help and --print-config, config_man.c prints --man. No other file
 * includes this header. */
#ifndef MG_BASE_CONFIG_INTERNAL_H
#define MG_BASE_CONFIG_INTERNAL_H

#include <stddef.h>

#include "base/config.h"

#define MG_CONFIG_ENV_PREFIX "MAKEGOOD_"
/* Longer than any option's name with the prefix or "-file". */
#define MG_CONFIG_NAME_MAX 64
/* "file /etc/makegood/scheduler.conf:12": the source of a value; longer paths are cut. */
#define MG_CONFIG_ORIGIN_SIZE 256

/* In rising order of precedence. */
enum mg_config_tier { MG_TIER_DEFAULT, MG_TIER_FILE, MG_TIER_ENVIRONMENT, MG_TIER_FLAG };

/* One option's current value. `text` and `list` borrow from the config's own copies. */
struct mg_config_value {
    enum mg_config_tier tier;
    char origin[MG_CONFIG_ORIGIN_SIZE];
    const char *secret_path; /* path of the file that holds the text; NULL: none */
    const char *text;
    int64_t number;
    bool flag;
    struct mg_list list;
};

/* The options that every program has. */
struct mg_config_builtin {
    const char *name, *value_name, *help; /* value_name NULL: no value */
};
extern const struct mg_config_builtin mg_config_builtins[]; /* ends with name NULL */

size_t mg_config_name_len(const struct mg_option *option); /* without the letter */
char mg_config_letter(const struct mg_option *option);     /* 0: none */
void mg_config_env_name(const struct mg_option *option, const char *suffix,
                        char ret_name[MG_CONFIG_NAME_MAX]);

bool mg_config_is_builtin(const struct mg_program *program, const char *name, size_t len);
/* The option "name", or the secret whose file is "name-file"; NULL: none. */
const struct mg_option *mg_config_find(const struct mg_program *program, const char *name, size_t len,
                                       bool *ret_is_file_name);
const struct mg_option *mg_config_find_letter(const struct mg_program *program, char letter); /* NULL: none */
/* `origin` is "" for the command line. Built-in options count there, too, and names are shown with dashes. */
enum mg_class mg_config_refuse_unknown(const struct mg_program *program, const char *origin, const char *name,
                                       size_t len, struct mg_err *err);

/* Parses `text` into `value` (a list: appends one item). MG_BAD_INPUT: the text names the mistake and a valid
 * form, without the source. `text` is borrowed. */
enum mg_class mg_config_value_parse(const struct mg_option *option, const char *text,
                                    struct mg_config_value *value, struct mg_err *err) MG_MUSTCHECK;
/* Makes external text safe for a one-line message: cut, with control characters replaced. */
void mg_config_quote(const char *text, char *ret_text, size_t size);

/* Room for an option's description. */
#define MG_CONFIG_HELP_SIZE 1024
/* Describes an option, its limits and its default, for --help and --man. */
void mg_config_describe(const struct mg_option *option, char ret_text[MG_CONFIG_HELP_SIZE]);

void mg_config_print_values(const struct mg_program *program, const struct mg_config_value *values,
                            FILE *out);

#endif
