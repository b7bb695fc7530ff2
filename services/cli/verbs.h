/*
 * The tool's verbs and options as tables. The dispatch, --help, the manual page and the shell completions all
 * use them. A noun's verbs stand at the end of the file that runs them (order_verbs.c if there are several);
 * verbs.c lists the nouns. Each option stands once, in options.c.
 */
#ifndef MG_CLI_VERBS_H
#define MG_CLI_VERBS_H

#include "cli.h"

/* The options of a verb beside those of every verb. */
enum extra {
    EXTRA_REASON = 1 << 0, /* of verbs that change something: the reason, and the operator */
    EXTRA_VERSION = 1 << 1,
    EXTRA_STEP = 1 << 2,
    EXTRA_OUTCOME = 1 << 3,
    EXTRA_SET = 1 << 4,
    EXTRA_WAIT = 1 << 5,
    EXTRA_FILTER = 1 << 6,
    EXTRA_LIMIT = 1 << 7,
    EXTRA_ALL = 1 << 8,
    EXTRA_QUEUE = 1 << 9,
    EXTRA_SERVICE = 1 << 10,
    EXTRA_MIGRATIONS = 1 << 11,
    EXTRA_STATES = 1 << 12,
    EXTRA_CLIENT = 1 << 13,
    EXTRA_HTTP = 1 << 14,
    EXTRA_FAILURE = 1 << 15,
    EXTRA_TIME = 1 << 16,
    EXTRA_AFTER = 1 << 17,
    EXTRA_PAUSE = 1 << 18,
    EXTRA_LIMITS = 1 << 19,
    EXTRA_BULK = 1 << 21,
    EXTRA_RESULT = 1 << 22,
    EXTRA_POLICY = 1 << 23,
    EXTRA_EXPORT = 1 << 24,
    EXTRA_CONSOLE = 1 << 25,
    EXTRA_STRICT = 1 << 27,
    EXTRA_APART = 1 << 20, /* no option: the verb uses neither broker nor database */
    EXTRA_ALONE = 1 << 26, /* no server at all and one output format: no common option */
};

struct verb {
    const char *noun, *verb; /* verb NULL: the noun is itself the verb */
    const char *words;       /* arguments, as the usage shows them */
    int min_words, max_words;
    int extras;
    cli_verb_fn *run;
    const char *summary;
};

/* Each ends with noun NULL. */
extern const struct verb ORDER_VERBS[], WORKFLOW_VERBS[], ALERT_VERBS[], DEAD_VERBS[], SERVICE_VERBS[],
    BULK_VERBS[], BROKER_VERBS[], DB_VERBS[], DOCTOR_VERBS[], TOP_VERBS[], PROBE_VERBS[], CONSOLE_VERBS[],
    COMPLETION_VERBS[];

/* ---- verbs.c ---- */

/* All verbs in display order; NULL after the last. */
const struct verb *verb_at(int index);
/* `name` may be NULL; it is ignored if the noun is itself a verb. NULL: no such verb. */
const struct verb *verb_find(const char *noun, const char *name);
#define VERB_NAME_SIZE 32 /* twice the longest name */
/* "order show", "doctor"; returns `ret_name`. */
const char *verb_name(const struct verb *verb, char ret_name[VERB_NAME_SIZE]);
/* "order show ORDER"; `size` bytes at `ret_text`. */
void verb_write(const struct verb *verb, char *ret_text, size_t size);

/* ---- options.c ---- */

#define OPTIONS_MAX 80 /* room for all options and the end mark */

#define EXTRA_ANY ~(EXTRA_APART | EXTRA_ALONE) /* the options of all verbs */

/* Such a verb must work while the servers are down or not configured. */
bool extras_are_apart(int extras);
struct verb_options {
    struct mg_option all[OPTIONS_MAX]; /* the verb's own, then those of every verb; ends with name NULL */
    size_t own_count;
    const struct mg_option *connections; /* the last ones of `all`; NULL: none */
};
/* The options of a verb with these extras. Their values are stored in `to`. */
void options_make(struct cli_options *to, int extras, struct verb_options *ret);

/* ---- completion.c ---- */

/* The hidden verb __complete: prints the candidates for the last of the words after "makegood". No server is
 * read. Words that lead nowhere print nothing. */
void complete_print(int count, char **words);

/* ---- help.c ---- */

void help_print(FILE *out);
/* Prints the verbs of one noun; false: no such noun. */
bool noun_help_print(FILE *out, const char *noun);
/* Prints the manual page: all verbs and all options. */
void manual_print(FILE *out);

#endif
