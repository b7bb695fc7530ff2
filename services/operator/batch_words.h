/*
 * What people say when they start a batch, in the tool and in the console: read and judged in one place, so
 * that both take the same.
 */
#ifndef MG_OPERATOR_BATCH_WORDS_H
#define MG_OPERATOR_BATCH_WORDS_H

#include "base/config.h"
#include "io/store/batch.h"
#include "operator/moment.h"

#define BATCH_CANARY      "5" /* as nobody says otherwise */
#define BATCH_CANARY_MAX  10000
#define BATCH_RATE        "5"
#define BATCH_STOP_ABOVE  "10"
#define BATCH_VERBS_RIGHT "resume, compensate or cancel"
#define BATCH_RATE_RIGHT  "orders a second, 0.001 to 1000"
/* Several services have names of their own length. */
#define BATCH_SERVICES_MAX 512
#define BATCH_REFUSAL_SIZE 256

/* Which failures; NULL is "". */
struct batch_words {
    const char *workflow, *step, *error, *since, *until;
    const struct mg_list *services;
};

/* The filter's texts are those below and those of the words: it stays where it was made. */
struct batch_filter {
    struct mg_failure_filter filter;
    char since[MOMENT_SIZE], until[MOMENT_SIZE], services[BATCH_SERVICES_MAX];
};

/* False: `ret_refusal` says which word is wrong, by its name, and what would be right. */
bool batch_filter_read(const struct batch_words *words, struct batch_filter *ret_filter,
                       char ret_refusal[BATCH_REFUSAL_SIZE]);
/* Whether it asks for anything, or for all failures. */
bool batch_filter_is_narrow(const struct mg_failure_filter *filter);
/* False: it is none of BATCH_VERBS_RIGHT. */
bool batch_verb_parse(const char *word, enum mg_cause_kind *ret_verb);
/* NULL and "" are BATCH_RATE. False: it is not BATCH_RATE_RIGHT. */
bool batch_rate_parse(const char *text, const char **ret_rate);

#endif
