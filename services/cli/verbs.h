/*
 * The tool's verbs and options as tables. The dispatch, --help, the manual page and the shell completions all
 * use them. A noun's verbs stand at the end of the file that runs them (order_verbs.c if there are several);
 * verbs.c lists the nouns. Each option stands once, in options.c.
 */
#ifndef MG_CLI_VERBS_H
#define MG_CLI_VERBS_H

#include "cli.h"

/* The options of a verb beside those of every verb. */
enum mg_extra {
    MG_EXTRA_REASON = 1 << 0, /* of verbs that change something: the reason, and the operator */
    MG_EXTRA_VERSION = 1 << 1,
    MG_EXTRA_STEP = 1 << 2,
    MG_EXTRA_OUTCOME = 1 << 3,
    MG_EXTRA_SET = 1 << 4,
    MG_EXTRA_WAIT = 1 << 5,
    MG_EXTRA_FILTER = 1 << 6,
    MG_EXTRA_LIMIT = 1 << 7,
    MG_EXTRA_ALL = 1 << 8,
    MG_EXTRA_QUEUE = 1 << 9,
    MG_EXTRA_SERVICE = 1 << 10,
    MG_EXTRA_MIGRATIONS = 1 << 11,
    MG_EXTRA_STATES = 1 << 12,
    MG_EXTRA_CLIENT = 1 << 13,
    MG_EXTRA_HTTP = 1 << 14,
    MG_EXTRA_FAILURE = 1 << 15,
    MG_EXTRA_TIME = 1 << 16,
    MG_EXTRA_AFTER = 1 << 17,
    MG_EXTRA_PAUSE = 1 << 18,
    MG_EXTRA_LIMITS = 1 << 19,
    MG_EXTRA_BULK = 1 << 21,
    MG_EXTRA_RESULT = 1 << 22,
    MG_EXTRA_POLICY = 1 << 23,
    MG_EXTRA_EXPORT = 1 << 24,
    MG_EXTRA_CONSOLE = 1 << 25,
    MG_EXTRA_STRICT = 1 << 27,
    MG_EXTRA_DRAW = 1 << 28,
    MG_EXTRA_TEST = 1 << 29,
    MG_EXTRA_APART = 1 << 20, /* no option: the verb uses neither broker nor database */
    MG_EXTRA_ALONE = 1 << 26, /* no server at all and one output format: no common option */
};

/* A verb's answer as JSON. proto/cli/NOUN.schema.json holds its schema; tests compare. */
enum mg_prints {
    MG_PRINTS_ONE,     /* one object */
    MG_PRINTS_LIST,    /* any number of answers: one array, or one line each */
    MG_PRINTS_JSON,    /* one object, whatever --output says */
    MG_PRINTS_TEXT,    /* no JSON */
    MG_PRINTS_NOTHING, /* the verb runs until a signal ends it */
    MG_PRINTS_ANY,     /* for the manual page of all verbs */
};

struct mg_verb {
    const char *noun, *verb; /* verb NULL: the noun is itself the verb */
    const char *words;       /* arguments, as the usage shows them */
    int min_words, max_words;
    int extras;
    enum mg_prints prints;
    cli_verb_fn *run;
    const char *summary;
};

/* Each ends with noun NULL. */
extern const struct mg_verb MG_ORDER_VERBS[], MG_WORKFLOW_VERBS[], MG_ALERT_VERBS[], MG_DEAD_VERBS[],
    MG_SERVICE_VERBS[], MG_BULK_VERBS[], MG_BROKER_VERBS[], MG_DB_VERBS[], MG_DOCTOR_VERBS[], MG_TOP_VERBS[],
    MG_PROBE_VERBS[], MG_CONSOLE_VERBS[], MG_COMPLETION_VERBS[];

/* ---- verbs.c ---- */

/* All verbs in display order; NULL after the last. */
const struct mg_verb *mg_verb_at(int index);
/* `name` may be NULL; it is ignored if the noun is itself a verb. NULL: no such verb. */
const struct mg_verb *mg_verb_find(const char *noun, const char *name);
#define MG_VERB_NAME_SIZE 32 /* twice the longest name */
/* "order show", "doctor"; returns `ret_name`. */
const char *mg_verb_name(const struct mg_verb *verb, char ret_name[MG_VERB_NAME_SIZE]);
/* "order show ORDER"; `size` bytes at `ret_text`. */
void mg_verb_write(const struct mg_verb *verb, char *ret_text, size_t size);

/* ---- options.c ---- */

#define MG_OPTIONS_MAX 80 /* room for all options and the end mark */

#define MG_EXTRA_ANY ~(MG_EXTRA_APART | MG_EXTRA_ALONE) /* the options of all verbs */

/* Such a verb must work while the servers are down or not configured. */
bool mg_extras_are_apart(int extras);
struct mg_verb_options {
    struct mg_option all[MG_OPTIONS_MAX]; /* the verb's own, then those of every verb; ends with name NULL */
    size_t own_count;
    const struct mg_option *connections; /* the last ones of `all`; NULL: none */
};
/* The options of a verb with these extras. Their values are stored in `to`. */
void mg_options_make(struct mg_cli_options *to, int extras, enum mg_prints prints,
                     struct mg_verb_options *ret);

/* ---- completion.c ---- */

/* The hidden verb __complete: prints the candidates for the last of the words after "makegood". No server is
 * read. Words that lead nowhere print nothing. */
void mg_completion_print(int count, char **words);

/* ---- help.c ---- */

void mg_help_print(FILE *out);
/* Prints the verbs of one noun; false: no such noun. */
bool mg_noun_help_print(FILE *out, const char *noun);
/* Prints the manual page: all verbs and all options. */
void mg_manual_print(FILE *out);

#endif
