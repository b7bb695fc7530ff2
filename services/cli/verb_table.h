/*
 * The tool's verbs and options as tables. The dispatch, --help, the manual page and the shell completions all
 * use them. A noun's verbs stand at the end of the file that runs them (order_verbs.c if there are several);
 * verb_table.c lists the nouns. Each option stands once, in options.c.
 */
#ifndef MG_CLI_VERB_TABLE_H
#define MG_CLI_VERB_TABLE_H

#include "cli.h"

/* The options of a verb besides those of every verb: bits of a uint64_t. REASON, for verbs that change
 * something, has the reason and the operator. */
#define MG_EXTRA_REASON     (UINT64_C(1) << 0)
#define MG_EXTRA_VERSION    (UINT64_C(1) << 1)
#define MG_EXTRA_STEP       (UINT64_C(1) << 2)
#define MG_EXTRA_OUTCOME    (UINT64_C(1) << 3)
#define MG_EXTRA_SET        (UINT64_C(1) << 4)
#define MG_EXTRA_WAIT       (UINT64_C(1) << 5)
#define MG_EXTRA_FILTER     (UINT64_C(1) << 6)
#define MG_EXTRA_LIMIT      (UINT64_C(1) << 7)
#define MG_EXTRA_ALL        (UINT64_C(1) << 8)
#define MG_EXTRA_QUEUE      (UINT64_C(1) << 9)
#define MG_EXTRA_SERVICE    (UINT64_C(1) << 10)
#define MG_EXTRA_MIGRATIONS (UINT64_C(1) << 11)
#define MG_EXTRA_STATES     (UINT64_C(1) << 12)
#define MG_EXTRA_CLIENT     (UINT64_C(1) << 13)
#define MG_EXTRA_HTTP       (UINT64_C(1) << 14)
#define MG_EXTRA_FAILURE    (UINT64_C(1) << 15)
#define MG_EXTRA_TIME       (UINT64_C(1) << 16)
#define MG_EXTRA_AFTER      (UINT64_C(1) << 17)
#define MG_EXTRA_PAUSE      (UINT64_C(1) << 18)
#define MG_EXTRA_LIMITS     (UINT64_C(1) << 19)
#define MG_EXTRA_BULK       (UINT64_C(1) << 20)
#define MG_EXTRA_RESULT     (UINT64_C(1) << 21)
#define MG_EXTRA_POLICY     (UINT64_C(1) << 22)
#define MG_EXTRA_EXPORT     (UINT64_C(1) << 23)
#define MG_EXTRA_CONSOLE    (UINT64_C(1) << 24)
#define MG_EXTRA_STRICT     (UINT64_C(1) << 25)
#define MG_EXTRA_DRAW       (UINT64_C(1) << 26)
#define MG_EXTRA_TEST       (UINT64_C(1) << 27)
#define MG_EXTRA_AUDIT      (UINT64_C(1) << 28)
#define MG_EXTRA_GATEWAY    (UINT64_C(1) << 31)
#define MG_EXTRA_DEV        (UINT64_C(1) << 32)
#define MG_EXTRA_AGENTS     (UINT64_C(1) << 33)
#define MG_EXTRA_CONFORM    (UINT64_C(1) << 34)
#define MG_EXTRA_COMMAND    (UINT64_C(1) << 35) /* no option: the verb runs the command that its words are */
#define MG_EXTRA_SIGNAL     (UINT64_C(1) << 36)
#define MG_EXTRA_KEY        (UINT64_C(1) << 37)
#define MG_EXTRA_SIMULATE   (UINT64_C(1) << 38)
#define MG_EXTRA_LINE       (UINT64_C(1) << 39)
#define MG_EXTRA_FILES      (UINT64_C(1) << 50) /* no option: the verb makes files */
#define MG_EXTRA_TIMES      (UINT64_C(1) << 40) /* prints times */
#define MG_EXTRA_WATCH      (UINT64_C(1) << 41)
#define MG_EXTRA_VERBOSE    (UINT64_C(1) << 42)
#define MG_EXTRA_LIST       (MG_EXTRA_TIMES | MG_EXTRA_WATCH) /* of lists */
#define MG_EXTRA_ACTIONS    (UINT64_C(1) << 44)
#define MG_EXTRA_SERVERS    (MG_EXTRA_CONSOLE | MG_EXTRA_GATEWAY | MG_EXTRA_AGENTS)
#define MG_EXTRA_APART      (UINT64_C(1) << 29) /* no option: the verb uses neither broker nor database */
#define MG_EXTRA_ALONE      (UINT64_C(1) << 30) /* no server at all and one output format: no common option */

/* A verb's answer as JSON. proto/cli/NOUN.schema.json holds its schema; tests compare. */
enum mg_prints {
    MG_PRINTS_ONE,     /* one object */
    MG_PRINTS_LIST,    /* any number of answers: one array, or one line each */
    MG_PRINTS_JSON,    /* one object, for each --output */
    MG_PRINTS_TEXT,    /* no JSON */
    MG_PRINTS_NOTHING, /* the verb runs until a signal ends it */
    MG_PRINTS_ANY,     /* for the manual page of all verbs */
};

struct mg_verb {
    const char *noun, *verb; /* verb NULL: the noun is itself the verb */
    const char *words;       /* arguments, as the usage shows them */
    int min_words, max_words;
    uint64_t extras;
    enum mg_prints prints;
    cli_verb_fn *run; /* NULL: mg_help_answer */
    const char *summary;
    int arg; /* for `run`, if several verbs have one */
};

/* Each ends with noun NULL. */
extern const struct mg_verb MG_ORDER_VERBS[], MG_WORKFLOW_VERBS[], MG_ALERT_VERBS[], MG_DEAD_VERBS[],
    MG_SIGNAL_VERBS[], MG_SCHEDULE_VERBS[], MG_SERVICE_VERBS[], MG_BULK_VERBS[], MG_BROKER_VERBS[],
    MG_DB_VERBS[], MG_DOCTOR_VERBS[], MG_TOP_VERBS[], MG_PROBE_VERBS[], MG_SERVER_VERBS[], MG_DEV_VERBS[],
    MG_AGENT_VERBS[], MG_CLIENT_VERBS[], MG_AUDIT_VERBS[], MG_COMPLETION_VERBS[], MG_INIT_VERBS[],
    MG_HELP_VERBS[];

/* ---- verb_table.c ---- */

/* All verbs in display order; NULL after the last. */
const struct mg_verb *mg_verb_at(int index);
/* The first verb of a noun, or of its plural: "orders". NULL: no such noun. */
const struct mg_verb *mg_noun_find(const char *noun);
const struct mg_verb *mg_noun_next(const struct mg_verb *verb); /* of the same noun; NULL: none */
/* `name` may be NULL; it is ignored if the noun is itself a verb. "ls" is "list". NULL: no such verb. */
const struct mg_verb *mg_verb_find(const char *noun, const char *name);
/* Writes that there is no such verb, with the nearest one if one is near; `size` bytes at `ret_text`. */
void mg_verb_refuse(const char *noun, const char *name, char *ret_text, size_t size);
#define MG_VERB_NAME_SIZE 32 /* twice the longest name */
/* "order show", "doctor"; returns `ret_name`. */
const char *mg_verb_name(const struct mg_verb *verb, char ret_name[MG_VERB_NAME_SIZE]);
/* "order show ORDER"; `size` bytes at `ret_text`. */
void mg_verb_write(const struct mg_verb *verb, char *ret_text, size_t size);

/* ---- options.c ---- */

#define MG_OPTIONS_MAX 112 /* room for all options and the end mark */

#define MG_EXTRA_ANY ~(MG_EXTRA_APART | MG_EXTRA_ALONE) /* the options of all verbs */

/* Such a verb must work while the servers are down or not configured. */
bool mg_extras_are_apart(uint64_t extras);
struct mg_verb_options {
    struct mg_option all[MG_OPTIONS_MAX]; /* the verb's own, then those of every verb; ends with name NULL */
    size_t own_count;
    const struct mg_option *connections; /* the last ones of `all`; NULL: none */
};
/* The options of a verb with these extras. Their values are stored in `to`. */
void mg_options_make(struct mg_cli_options *to, uint64_t extras, enum mg_prints prints,
                     struct mg_verb_options *ret);

/* ---- verb_examples.c ---- */

#define MG_EXAMPLES_MAX 8 /* of one verb */

/* All examples, or those of a verb: command lines and their meanings; each list ends with term NULL. */
extern const struct mg_manual_entry MG_EXAMPLES[];
void mg_examples_of(const struct mg_verb *verb, struct mg_manual_entry ret[MG_EXAMPLES_MAX + 1]);

/* ---- completion.c ---- */

/* The hidden verb __complete: prints the candidates for the last of the words after "makegood". Words that
 * lead nowhere print nothing. */
void mg_completion_print(int count, char **words);
/* completion_names.c: prints the names of orders (`kind` begins with "ORDER"), workflows, services,
 * schedules, alerts or bulk actions, each after `prefix`. False: another kind. */
bool mg_completion_names(const char *kind, const char *typed, const char *prefix, int prefix_len);

/* ---- project_summary.c ---- */

/* In the folder of a project prints a summary, in at most ten lines. False: it is no such folder. */
bool mg_project_print(void);

/* ---- help.c ---- */

/* Reads a verb's command line, and prints its --help. Not to be copied: it points into itself. */
struct mg_verb_program {
    struct mg_program program;
    struct mg_verb_options options;
    struct mg_manual_entry examples[MG_EXAMPLES_MAX + 1];
    char name[MG_VERB_NAME_SIZE + 16], usage[64];
};
/* The values of the options are stored in `to`. */
void mg_verb_program_make(const struct mg_verb *verb, struct mg_cli_options *to, struct mg_verb_program *ret);

enum { MG_HELP_OF_WORDS, MG_HELP_OF_VERSION };
cli_verb_fn mg_help_answer;
void mg_help_print(FILE *out);
/* Prints the verbs of one noun; false: no such noun, or it is itself a verb. */
bool mg_noun_help_print(FILE *out, const char *noun);
/* Prints the manual page: all verbs and all options. */
void mg_manual_print(FILE *out);

#endif
