/*
 * Options of an executable: flags over environment over file. One table per executable declares each option
 * with its type, default, limits and help; `--help`, `--man`, `--version`, `--print-config` and
 * `--check-config` come from it.
 *
 * The file (`--config FILE`, or MAKEGOOD_CONFIG) has lines `name = value`; `#` at the start of a line or
 * after a blank starts a comment. An option marked secret is never printed, and its value may also be read
 * from a file, whose last line feed is not part of it: `--amqp-url-file F` / MAKEGOOD_AMQP_URL_FILE /
 * `amqp-url-file = F`. On the command line, which every user of the machine can read, a secret with a
 * password in it is refused. An environment variable that is empty counts as not set.
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
    MG_OPTION_LIST, /* struct mg_list; may be given several times, or comma-separated in environment and file
                     */
};

#define MG_LIST_MAX 64 /* more entries than any option of ours has use for */
struct mg_list {
    const char *items[MG_LIST_MAX];
    int count;
};

struct mg_option {
    const char *name; /* "sweep-period": flag --sweep-period, file sweep-period, environment
                         MAKEGOOD_SWEEP_PERIOD; "output|o": on the command line also as -o VALUE */
    enum mg_option_type type;
    void *target; /* where the value goes, of the type named above; texts live as long as the config */
    const char *default_value; /* as one would write it; NULL: absent ("" , 0, false, empty list) */
    int64_t min, max;          /* for integers and durations; max 0: no limits */
    bool is_secret;
    const char *value_name; /* shown in --help: "DIR", "N", "DURATION" */
    const char *help;       /* what it does and, for a limit, its reason; one sentence */
};

/* A part of the manual page: terms and what they mean. */
struct mg_manual_entry {
    const char *term, *text;
};
struct mg_manual_part {
    const char *title;                     /* "EXIT STATUS" */
    const struct mg_manual_entry *entries; /* ends with term NULL */
};

/* What the manual page says beyond the table of options. Texts are plain; an empty line parts paragraphs. */
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
    const struct mg_manual *manual;  /* NULL: there is no --man */
};

struct mg_config;

enum mg_config_action {
    MG_CONFIG_RUN,
    MG_CONFIG_CHECK, /* --check-config was given and all is well: caller does its own checks, then exits 0 */
    MG_CONFIG_EXIT,  /* --help, --man, --version or --print-config has been answered on stdout: exit 0 */
};

/* Reads all sources into the options' targets. Words that are no options are left in `ret_words` (argv order;
 * NULL: no word is allowed). MG_BAD_INPUT: unknown option, bad value, unreadable file; the message names the
 * source and what would be right. */
enum mg_class mg_config_load(const struct mg_program *program, int argc, char **argv,
                             struct mg_config **ret_config, enum mg_config_action *ret_action,
                             struct mg_list *ret_words, struct mg_err *err) MG_MUSTCHECK;
void mg_config_destroy(struct mg_config *config); /* wipes secrets; accepts NULL */

/* Reads the file of a secret again and gives what it holds to `take`, which says whether it is right. Then
 * the option's target is the new text; the old one is wiped and gone, so nobody may still borrow it. After an
 * error nothing has changed. `*ret_state` tells what there was to read. */
enum mg_config_reread { MG_REREAD_NO_FILE, MG_REREAD_SAME, MG_REREAD_NEW };
typedef enum mg_class mg_config_take_fn(void *arg, const char *text, struct mg_err *err);
enum mg_class mg_config_reread_secret(struct mg_config *config, const char *name, mg_config_take_fn *take,
                                      void *arg, enum mg_config_reread *ret_state,
                                      struct mg_err *err) MG_MUSTCHECK;

#define MG_FLAG_NAME_SIZE 64 /* the longest option and "-file" */

/* A flag as it stands on the command line. */
struct mg_config_flag {
    char name[MG_FLAG_NAME_SIZE];  /* without dashes */
    char letter;                   /* as -o; 0: none */
    const char *value_name, *help; /* value_name NULL: takes none */
};
/* Tells every flag that the program knows: options, files of secrets, and what every program has. `flag`
 * lives for the call only. */
void mg_config_walk_flags(const struct mg_program *program,
                          void (*tell)(void *arg, const struct mg_config_flag *flag), void *arg);

void mg_config_print_help(const struct mg_program *program, FILE *out);
void mg_config_print_man(const struct mg_program *program, FILE *out); /* roff; `manual` must be there */

/* An AMQP URL or DSN with its password replaced by "***", for logs; `size` bytes at `ret_text`. */
void mg_url_redact(const char *url, char *ret_text, size_t size);
/* Whether mg_url_redact would hide something. `guest:guest`, with which every RabbitMQ comes, is no secret.
 */
bool mg_url_has_password(const char *url);

#endif
