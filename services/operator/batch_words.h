/*
 * Parameters with which an operator starts a batch. The tool and the console read and check them here, so
 * both accept the same.
 */
#ifndef MG_OPERATOR_BATCH_WORDS_H
#define MG_OPERATOR_BATCH_WORDS_H

#include "base/config.h"
#include "io/store/batch.h"
#include "operator/moment.h"

#define BATCH_CANARY      "5" /* the default */
#define BATCH_CANARY_MAX  10000
#define BATCH_RATE        "5"
#define BATCH_STOP_ABOVE  "10"
#define BATCH_VERBS_RIGHT "resume, compensate or cancel"
#define BATCH_RATE_RIGHT  "orders a second, 0.001 to 1000"
/* Room for the names of several services. */
#define BATCH_SERVICES_MAX 512
#define BATCH_REFUSAL_SIZE 256

/* The chosen failures; NULL is "". */
struct batch_words {
    const char *workflow, *step, *error, *since, *until;
    const struct mg_list *services;
};

/* The filter points into this struct and into the words, so it must not be copied or outlive them. */
struct batch_filter {
    struct mg_failure_filter filter;
    char since[MOMENT_SIZE], until[MOMENT_SIZE], services[BATCH_SERVICES_MAX];
};

/* False: `ret_refusal` names the wrong parameter and the expected form. */
bool batch_filter_read(const struct batch_words *words, struct batch_filter *ret_filter,
                       char ret_refusal[BATCH_REFUSAL_SIZE]);
/* Whether the filter has any condition; without one it selects all failures. */
bool batch_filter_is_narrow(const struct mg_failure_filter *filter);
/* False: `word` is none of BATCH_VERBS_RIGHT. */
bool batch_verb_parse(const char *word, enum mg_cause_kind *ret_verb);
/* NULL and "" give BATCH_RATE. False: `text` does not match BATCH_RATE_RIGHT. */
bool batch_rate_parse(const char *text, const char **ret_rate);

#endif
