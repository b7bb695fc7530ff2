/* Labels as operators write them, customer=17, and as the reports take them. */
#ifndef MG_OPERATOR_LABELS_H
#define MG_OPERATOR_LABELS_H

#include "base/buf.h"
#include "core/key.h"

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

#endif
