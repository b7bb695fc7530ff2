/* See bulk_words.h. */
#include "operator/bulk_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/key.h"

#define BULK_RATE_MIN 0.001
#define BULK_RATE_MAX 1000
/* Longer than any useful part of an error's text. */
#define ERROR_MAX_BYTES 255

static const char *or_empty(const char *text)
{
    return text != NULL ? text : "";
}

static bool moment_read(const char *name, const char *text, char ret_number[MG_MOMENT_SIZE],
                        char ret_refusal[MG_BULK_REFUSAL_SIZE])
{
    if (!mg_moment_parse(or_empty(text), ret_number)) {
        (void)snprintf(ret_refusal, MG_BULK_REFUSAL_SIZE, "%s %.80s: expected " MG_MOMENT_RIGHT, name, text);
        return false;
    }
    return true;
}

static bool services_read(const struct mg_list *list, char ret_text[MG_BULK_SERVICES_MAX],
                          char ret_refusal[MG_BULK_REFUSAL_SIZE])
{
    size_t len = 0;
    ret_text[0] = '\0';
    for (int i = 0; list != NULL && i < list->count; i++) {
        const char *name = list->items[i];
        if (!mg_name_is_valid(name, strlen(name)) || len + strlen(name) + 2 > MG_BULK_SERVICES_MAX) {
            (void)snprintf(ret_refusal, MG_BULK_REFUSAL_SIZE,
                           "service %.80s: invalid name, or too many services", name);
            return false;
        }
        len += (size_t)snprintf(ret_text + len, MG_BULK_SERVICES_MAX - len, "%s%s", i > 0 ? " " : "", name);
    }
    return true;
}

_Static_assert(MG_LABELS_REFUSAL_SIZE == MG_BULK_REFUSAL_SIZE, "a refusal goes out as it is");

static bool labels_read(const struct mg_bulk_words *words, char ret_json[MG_LABELS_TEXT_SIZE],
                        char ret_refusal[MG_BULK_REFUSAL_SIZE])
{
    struct mg_label_words labels = {.count = 0};
    for (int i = 0; words->labels != NULL && i < words->labels->count; i++) {
        if (!mg_label_words_add(&labels, mg_slice_of(words->labels->items[i]), ret_refusal)) {
            return false;
        }
    }
    return mg_label_words_add_all(&labels, or_empty(words->label_text), ret_refusal) &&
           mg_label_words_write(&labels, ret_json, MG_LABELS_TEXT_SIZE, ret_refusal);
}

bool mg_bulk_filter_read(const struct mg_bulk_words *words, struct mg_bulk_filter *ret,
                         char ret_refusal[MG_BULK_REFUSAL_SIZE])
{
    ret->filter = (struct mg_failure_filter){.workflow = or_empty(words->workflow),
                                             .step = or_empty(words->step),
                                             .error = or_empty(words->error),
                                             .services = ret->services,
                                             .since = ret->since,
                                             .until = ret->until,
                                             .labels = ret->labels};
    if (strlen(ret->filter.error) > ERROR_MAX_BYTES || strlen(ret->filter.workflow) > MG_NAME_MAX ||
        strlen(ret->filter.step) > MG_NAME_MAX) {
        (void)snprintf(ret_refusal, MG_BULK_REFUSAL_SIZE,
                       "workflow, step and error: up to %d, %d and %d bytes", MG_NAME_MAX, MG_NAME_MAX,
                       ERROR_MAX_BYTES);
        return false;
    }
    return services_read(words->services, ret->services, ret_refusal) &&
           labels_read(words, ret->labels, ret_refusal) &&
           moment_read("since", words->since, ret->since, ret_refusal) &&
           moment_read("until", words->until, ret->until, ret_refusal);
}

bool mg_bulk_filter_is_narrow(const struct mg_failure_filter *filter)
{
    return filter->workflow[0] != '\0' || filter->step[0] != '\0' || filter->error[0] != '\0' ||
           filter->services[0] != '\0' || filter->since[0] != '\0' || filter->until[0] != '\0' ||
           filter->labels[0] != '\0';
}

bool mg_bulk_verb_parse(const char *word, enum mg_cause_kind *ret_verb)
{
    return mg_cause_parse(word, strlen(word), ret_verb) &&
           (*ret_verb == MG_CAUSE_RESUME || *ret_verb == MG_CAUSE_COMPENSATE || *ret_verb == MG_CAUSE_CANCEL);
}

bool mg_bulk_rate_parse(const char *text, const char **ret_rate)
{
    char *end = NULL;
    *ret_rate = or_empty(text)[0] != '\0' ? text : MG_BULK_RATE;
    double number = strtod(*ret_rate, &end);
    return strspn(*ret_rate, "0123456789.") == strlen(*ret_rate) && *end == '\0' && number >= BULK_RATE_MIN &&
           number <= BULK_RATE_MAX;
}
