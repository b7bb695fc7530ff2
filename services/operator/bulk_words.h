/*
 * Parameters with which an operator starts a bulk action. The tool and the console read and check them here,
 * so both accept the same.
 */
#ifndef MG_OPERATOR_BULK_WORDS_H
#define MG_OPERATOR_BULK_WORDS_H

#include "base/config.h"
#include "io/store/bulk.h"
#include "operator/labels.h"
#include "operator/moment.h"

#define MG_BULK_CANARY_TEXT "5" /* the default */
#define MG_BULK_CANARY_MAX  10000
#define MG_BULK_RATE        "5"
#define MG_BULK_STOP_ABOVE  "10"
#define MG_BULK_VERBS_RIGHT "resume, compensate or cancel"
#define MG_BULK_RATE_RIGHT  "orders a second, 0.001 to 1000"
/* Room for the names of several services. */
#define MG_BULK_SERVICES_MAX 512
#define MG_BULK_REFUSAL_SIZE 256

/* The chosen failures; NULL is "". */
struct mg_bulk_words {
    const char *workflow, *step, *error, *since, *until;
    const struct mg_list *services;
    const struct mg_list *labels; /* one label each */
    const char *label_text;       /* further ones in one text */
};

/* The filter points into this struct and into the words, so it must not be copied or outlive them. */
struct mg_bulk_filter {
    struct mg_failure_filter filter;
    char since[MG_MOMENT_SIZE], until[MG_MOMENT_SIZE], services[MG_BULK_SERVICES_MAX],
        labels[MG_LABELS_TEXT_SIZE];
};

/* False: `ret_refusal` names the wrong parameter and the expected form. */
bool mg_bulk_filter_read(const struct mg_bulk_words *words, struct mg_bulk_filter *ret_filter,
                         char ret_refusal[MG_BULK_REFUSAL_SIZE]);
/* Whether the filter has any condition; without one it selects all failures. */
bool mg_bulk_filter_is_narrow(const struct mg_failure_filter *filter);
/* False: `word` is not in MG_BULK_VERBS_RIGHT. */
bool mg_bulk_verb_parse(const char *word, enum mg_cause_kind *ret_verb);
/* NULL and "" give MG_BULK_RATE. False: `text` does not match MG_BULK_RATE_RIGHT. */
bool mg_bulk_rate_parse(const char *text, const char **ret_rate);

#endif
