/*
 * Words of operators: limits, moments, labels, and the parameters with which a bulk action is started. The
 * tool and the console read and check them here, so both accept the same.
 */
#ifndef MG_OPERATOR_OPTION_WORDS_H
#define MG_OPERATOR_OPTION_WORDS_H

#include "base/config.h"
#include "core/key.h"
#include "io/store/bulk.h"

/* ---- limits of a service ---- */

/* Reads a limit for struct mg_service_setting: NULL for NULL and "", "0" for "none", else `text` itself.
 * False: it is not a number above 0 and up to `max`, or it has a fraction although `is_whole`. */
bool mg_limit_parse(const char *text, bool is_whole, double max, const char **ret_limit);

/* ---- moments, for the reports that are bounded by time ---- */

#define MG_MOMENT_SIZE  24
#define MG_MOMENT_RIGHT "how long ago (15m, 2h, 7d) or a time in UTC (2026-01-31T12:00:00Z, 2026-01-31)"

/* Converts to the form of the reports. A time becomes milliseconds since 1970; a duration becomes a
 * negative number of milliseconds before the database's now; "" stays "". False: the text is neither;
 * MG_MOMENT_RIGHT describes the accepted forms. */
bool mg_moment_parse(const char *text, char ret_number[MG_MOMENT_SIZE]);

/* ---- labels as operators write them, customer=17, and as the reports take them ---- */

#define MG_LABEL_RIGHT "NAME=VALUE, as in customer=17"
/* Labels as JSON. Those of a bulk action are in the key of an index. */
#define MG_LABELS_TEXT_SIZE    1280
#define MG_LABELS_REFUSAL_SIZE 256

struct mg_label_words {
    struct {
        struct mg_slice name, value;
    } pairs[MG_LABELS_MAX]; /* sorted by name, so that equal labels give equal text */
    int count;
};

/* Adds one label, which must outlive `words`. False: `ret_refusal` names the mistake. */
bool mg_label_words_add(struct mg_label_words *words, struct mg_slice text,
                        char ret_refusal[MG_LABELS_REFUSAL_SIZE]);
/* Adds the labels of a list in one text: "customer=17, country=CH". A comma begins another label only if a
 * name and "=" follow, so a value may hold commas. "" adds none. */
bool mg_label_words_add_all(struct mg_label_words *words, const char *text,
                            char ret_refusal[MG_LABELS_REFUSAL_SIZE]);
/* Writes a JSON object of texts, or "" for no labels. False: it is too long. */
bool mg_label_words_write(const struct mg_label_words *words, char *ret_json, size_t size,
                          char ret_refusal[MG_LABELS_REFUSAL_SIZE]);

/* ---- bulk actions ---- */

#define MG_BULK_CANARY_TEXT "5" /* the default */
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
/* The refusal of an empty condition: without it the filter would choose more than was meant. */
#define MG_FILTER_EMPTY                                                                                      \
    "it is empty; leave it out for any, or write - for a failure without a step or service"
/* Whether the filter has any condition; without one it selects all failures. */
bool mg_bulk_filter_is_narrow(const struct mg_failure_filter *filter);
/* False: `word` is not in MG_BULK_VERBS_RIGHT. */
bool mg_bulk_verb_parse(const char *word, enum mg_cause_kind *ret_verb);
/* NULL and "" give MG_BULK_RATE. False: `text` does not match MG_BULK_RATE_RIGHT. */
bool mg_bulk_rate_parse(const char *text, const char **ret_rate);

#endif
