/*
 * Parameters with which an operator starts a bulk action. The tool and the console read and check them here,
 * so both accept the same.
 */
#ifndef MG_OPERATOR_BULK_WORDS_H
#define MG_OPERATOR_BULK_WORDS_H

#include "base/config.h"
#include "io/store/bulk.h"
#include "operator/moment.h"

#define BULK_CANARY      "5" /* the default */
#define BULK_CANARY_MAX  10000
#define BULK_RATE        "5"
#define BULK_STOP_ABOVE  "10"
#define BULK_VERBS_RIGHT "resume, compensate or cancel"
#define BULK_RATE_RIGHT  "orders a second, 0.001 to 1000"
/* Room for the names of several services. */
#define BULK_SERVICES_MAX 512
#define BULK_REFUSAL_SIZE 256

/* The chosen failures; NULL is "". */
struct bulk_words {
    const char *workflow, *step, *error, *since, *until;
    const struct mg_list *services;
};

/* The filter points into this struct and into the words, so it must not be copied or outlive them. */
struct bulk_filter {
    struct mg_failure_filter filter;
    char since[MOMENT_SIZE], until[MOMENT_SIZE], services[BULK_SERVICES_MAX];
};

/* False: `ret_refusal` names the wrong parameter and the expected form. */
bool bulk_filter_read(const struct bulk_words *words, struct bulk_filter *ret_filter,
                      char ret_refusal[BULK_REFUSAL_SIZE]);
/* Whether the filter has any condition; without one it selects all failures. */
bool bulk_filter_is_narrow(const struct mg_failure_filter *filter);
/* False: `word` is none of BULK_VERBS_RIGHT. */
bool bulk_verb_parse(const char *word, enum mg_cause_kind *ret_verb);
/* NULL and "" give BULK_RATE. False: `text` does not match BULK_RATE_RIGHT. */
bool bulk_rate_parse(const char *text, const char **ret_rate);

#endif
