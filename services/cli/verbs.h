/*
 * The tool's verbs and their options, as tables: what runs, what --help says, the manual page and the
 * completion of shells all come from these. A noun's verbs stand at the end of the file that runs them
 * (order_verbs.c for those of several files); verbs.c names the nouns. An option stands in options.c, once,
 * whatever verbs have it.
 */
#ifndef MG_CLI_VERBS_H
#define MG_CLI_VERBS_H

#include "cli.h"

/* Which options a verb has beside those that every verb has. */
enum extra {
    EXTRA_REASON = 1 << 0, /* of a verb that changes something: why, and by whom */
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
    EXTRA_BATCH = 1 << 21,
    EXTRA_RESULT = 1 << 22,
    EXTRA_POLICY = 1 << 23,
    EXTRA_EXPORT = 1 << 24,
    EXTRA_CONSOLE = 1 << 25,
    EXTRA_STRICT = 1 << 27,
    EXTRA_APART = 1 << 20, /* no option: of a verb that asks neither broker nor database */
    EXTRA_ALONE = 1 << 26, /* nor anybody else, and prints in one form: it has no common option at all */
};

struct verb {
    const char *noun, *verb; /* verb NULL: the noun is one */
    const char *words;       /* what stands behind it */
    int min_words, max_words;
    int extras;
    cli_verb_fn *run;
    const char *summary;
};

/* Each ends with noun NULL. */
extern const struct verb ORDER_VERBS[], WORKFLOW_VERBS[], ALERT_VERBS[], DEAD_VERBS[], SERVICE_VERBS[],
    BATCH_VERBS[], BROKER_VERBS[], DB_VERBS[], DOCTOR_VERBS[], TOP_VERBS[], PROBE_VERBS[], CONSOLE_VERBS[],
    COMPLETION_VERBS[];

/* ---- verbs.c ---- */

/* All verbs, in the order in which they are shown; NULL after the last. */
const struct verb *verb_at(int index);
/* `name` may be NULL: of a noun that is a verb nothing else is asked. NULL: there is no such verb. */
const struct verb *verb_find(const char *noun, const char *name);
#define VERB_NAME_SIZE 32 /* the longest is half of it */
/* "order show", "doctor"; returns `ret_name`. */
const char *verb_name(const struct verb *verb, char ret_name[VERB_NAME_SIZE]);
/* "order show ORDER"; `size` bytes at `ret_text`. */
void verb_write(const struct verb *verb, char *ret_text, size_t size);

/* ---- options.c ---- */

#define OPTIONS_MAX 80 /* room for all that there are, and the end */

#define EXTRA_ANY ~(EXTRA_APART | EXTRA_ALONE) /* the options of all verbs */

/* Such a verb must work where the rest is down, or not even configured. */
bool extras_are_apart(int extras);
/* The options of a verb with these extras, whose values go to `to`; ends with name NULL. Returns how many of
 * them, the first, are not for its extras' sake. */
size_t options_make(struct cli_options *to, int extras, struct mg_option list[OPTIONS_MAX]);

/* ---- help.c ---- */

void help_print(FILE *out);
/* The verbs of one noun; false if there is no such noun. */
bool noun_help_print(FILE *out, const char *noun);
/* The manual page of the tool: all verbs, and the options of all of them. */
void manual_print(FILE *out);

#endif
