/*
 * Options of an executable: flags override the environment, the environment overrides the file. One table per
 * executable declares each option with its type, default, limits and help. `--help`, `--man`, `--version`,
 * `--print-config` and `--check-config` are generated from it.
 *
 * The file (`--config FILE`, or MAKEGOOD_CONFIG) has lines `name = value`; `#` at the start of a line or
 * after a blank starts a comment. An option marked secret is never printed. Its value may also be read from a
 * file, without that file's last line feed: `--amqp-url-file F` / MAKEGOOD_AMQP_URL_FILE / `amqp-url-file =
 * F`. The command line is readable for every user of the machine, so a secret with a password is refused
 * there. An empty environment variable counts as not set. On the command line, an option without a default
 * has a value that is not empty.
 */
#ifndef MG_BASE_CONFIG_H
#define MG_BASE_CONFIG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

enum mg_option_type {
    MG_OPTION_TEXT,     /* const char * */
    MG_OPTION_INTEGER,  /* int64_t, within min..max */
    MG_OPTION_DURATION, /* int64_t milliseconds, within min..max; written "250ms", "10s", … */
    MG_OPTION_FLAG,     /* bool; --name or --name=false on the command line */
    MG_OPTION_LIST,     /* struct mg_list; repeatable, or comma-separated in environment and file */
};

#define MG_LIST_MAX 64 /* more entries than any option needs */
struct mg_list {
    const char *items[MG_LIST_MAX];
    int count;
};

struct mg_option {
    const char *name; /* "sweep-period": flag --sweep-period, file sweep-period, environment
                         MAKEGOOD_SWEEP_PERIOD; "output|o": on the command line also as -o VALUE */
    enum mg_option_type type;
    void *target; /* target of the value, of the type named above; texts live as long as the config */
    const char *default_value; /* in the form of the input; NULL: absent ("" , 0, false, empty list) */
    int64_t min, max;          /* for integers and durations; max 0: no limits */
    bool is_secret;
    const char *value_name; /* shown in --help: "DIR", "N", "DURATION" */
    const char *help;       /* value, unit and, for a limit, its reason; no capital, no full stop */
};

/* A part of the manual page: terms and their meanings. */
struct mg_manual_entry {
    const char *term, *text;
};
struct mg_manual_part {
    const char *title;                     /* "EXIT STATUS" */
    const struct mg_manual_entry *entries; /* ends with term NULL */
};

/* The manual page beyond the table of options. Texts are plain; an empty line separates paragraphs. */
struct mg_manual {
    int section;
    const char *description;
    const struct mg_manual_part *before, *after; /* the options; each ends with title NULL; NULL: none */
    const char *see_also;                        /* "makegood(1), makegood-agent(8)" */
};

struct mg_program {
    const char *name;                /* "makegood-scheduler" */
    const char *summary;             /* one sentence for --help */
    const char *usage;               /* words after the name in the usage line, "[options]" */
    const struct mg_option *options; /* ends with name NULL */
    /* The first of `options` that --help and --man list in a section of their own, which is the last one.
     * NULL: none. */
    const struct mg_option *connections;
    const struct mg_manual *manual;         /* NULL: no --man */
    const struct mg_manual_entry *examples; /* command lines, for --help; ends with term NULL; NULL: none */
};

struct mg_config;

enum mg_config_action {
    MG_CONFIG_RUN,
    MG_CONFIG_CHECK, /* --check-config was given, no error so far: the caller runs its own checks, then exits
                        0 */
    MG_CONFIG_EXIT,  /* --help, --man, --version or --print-config is already printed on stdout: exit 0 */
};

/* Reads all sources into the options' targets. Words that are not options go to `ret_words` (argv order;
 * NULL: words are refused). MG_BAD_INPUT: unknown option, bad value, unreadable file; the message names the
 * source and a valid form. */
enum mg_class mg_config_load(const struct mg_program *program, int argc, char **argv,
                             struct mg_config **ret_config, enum mg_config_action *ret_action,
                             struct mg_list *ret_words, struct mg_err *err) MG_MUSTCHECK;
void mg_config_destroy(struct mg_config *config); /* wipes secrets; accepts NULL */

/* Reads a secret's file again and passes its content to `take`, which validates it. On success the option's
 * target is the new text. The old text is wiped and freed, so no pointer to it may remain. After an error
 * nothing has changed. `*ret_state`: no file, the same content, or new content. */
enum mg_config_reread { MG_REREAD_NO_FILE, MG_REREAD_SAME, MG_REREAD_NEW };
typedef enum mg_class mg_config_take_fn(void *arg, const char *text, struct mg_err *err);
enum mg_class mg_config_reread_secret(struct mg_config *config, const char *name, mg_config_take_fn *take,
                                      void *arg, enum mg_config_reread *ret_state,
                                      struct mg_err *err) MG_MUSTCHECK;

#define MG_FLAG_NAME_SIZE 64 /* the longest option and "-file" */

/* A flag of the command line. */
struct mg_config_flag {
    char name[MG_FLAG_NAME_SIZE];  /* without dashes */
    char letter;                   /* as -o; 0: none */
    const char *value_name, *help; /* value_name NULL: no value */
};
/* Calls `visit` for every flag of the program: options, files of secrets, and built-in options. `flag` lives
 * until `visit` returns. */
void mg_config_walk_flags(const struct mg_program *program,
                          void (*visit)(void *arg, const struct mg_config_flag *flag), void *arg);

void mg_config_print_help(const struct mg_program *program, FILE *out);
void mg_config_print_man(const struct mg_program *program, FILE *out); /* roff; `manual` must be set */

/* Writes an AMQP URL or DSN with its password replaced by "***", for logs; `size` bytes at `ret_text`. */
void mg_url_redact(const char *url, char *ret_text, size_t size);
/* True if mg_url_redact would hide a secret. `guest:guest`, RabbitMQ's default user, is no secret. */
bool mg_url_has_password(const char *url);

#endif
