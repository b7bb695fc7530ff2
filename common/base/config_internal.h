/* What the files of the configuration share: config.c collects, config_name.c knows names, config_value.c
 * reads values, config_print.c answers --help and --print-config, config_man.c --man. Nobody else includes
 * this. */
#ifndef MG_BASE_CONFIG_INTERNAL_H
#define MG_BASE_CONFIG_INTERNAL_H

#include <stddef.h>

#include "base/config.h"

#define MG_CONFIG_ENV_PREFIX "MAKEGOOD_"
/* Longer than any option's name with the prefix or "-file". */
#define MG_CONFIG_NAME_MAX 64
/* "file /etc/makegood/scheduler.conf:12": where a value came from; longer paths are cut. */
#define MG_CONFIG_ORIGIN_SIZE 256

/* In rising order of weight. */
enum mg_config_tier { MG_TIER_DEFAULT, MG_TIER_FILE, MG_TIER_ENVIRONMENT, MG_TIER_FLAG };

/* One option's value so far. `text` and `list` borrow from the config's own copies. */
struct mg_config_value {
    enum mg_config_tier tier;
    char origin[MG_CONFIG_ORIGIN_SIZE];
    const char *secret_path; /* of the file that holds the text; NULL: none does */
    const char *text;
    int64_t number;
    bool flag;
    struct mg_list list;
};

/* The options that every program has. */
struct mg_config_builtin {
    const char *name, *value_name, *help; /* value_name NULL: takes none */
};
extern const struct mg_config_builtin mg_config_builtins[]; /* ends with name NULL */

size_t mg_config_name_len(const struct mg_option *option); /* without the letter */
char mg_config_letter(const struct mg_option *option);     /* 0: none */
void mg_config_env_name(const struct mg_option *option, const char *suffix,
                        char ret_name[MG_CONFIG_NAME_MAX]);

bool mg_config_is_builtin(const struct mg_program *program, const char *name, size_t len);
/* The option called "name", or the secret whose file is "name-file"; NULL: none. */
const struct mg_option *mg_config_find(const struct mg_program *program, const char *name, size_t len,
                                       bool *ret_is_file_name);
const struct mg_option *mg_config_find_letter(const struct mg_program *program, char letter); /* NULL: none */
/* `origin` is "" for the command line; there the built-in options count too, and names wear dashes. */
enum mg_class mg_config_refuse_unknown(const struct mg_program *program, const char *origin, const char *name,
                                       size_t len, struct mg_err *err);

/* Reads `text` into `value` (lists: appended, one item). MG_BAD_INPUT says what is wrong and what would be
 * right, without the source. `text` is borrowed. */
enum mg_class mg_config_value_parse(const struct mg_option *option, const char *text,
                                    struct mg_config_value *value, struct mg_err *err) MG_MUSTCHECK;
/* Makes text from outside fit to stand in a one-line message: cut, and control characters replaced. */
void mg_config_quote(const char *text, char *ret_text, size_t size);

/* Room for an option's description. */
#define MG_CONFIG_HELP_SIZE 1024
/* What an option does, its limits and its default, for --help and --man. */
void mg_config_describe(const struct mg_option *option, char ret_text[MG_CONFIG_HELP_SIZE]);

void mg_config_print_values(const struct mg_program *program, const struct mg_config_value *values,
                            FILE *out);

#endif
