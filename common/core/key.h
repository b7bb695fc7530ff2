/* Identities by law 8, derived identities: from order, step, kind, generation and attempt. */
#ifndef MG_CORE_KEY_H
#define MG_CORE_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/model.h"

/* "<order>.<step>.undo.4294967295" and NUL; also holds "<order>.<step>.<attempt>.verify". */
#define MG_KEY_SIZE (MG_ORDER_ID_MAX + 1 + MG_NAME_MAX + 1 + 10 + 1 + 10 + 1)

/* Labels by which operators find an order. As many as one line of a list has room for; a value is a name or a
 * number, and stays far below the largest key of an index. */
#define MG_LABELS_MAX      8
#define MG_LABEL_NAME_MAX  32
#define MG_LABEL_VALUE_MAX 128
/* Bytes of a line's key. A name and a value or two have room, and an entry of an index stays short. */
#define MG_LINE_KEY_MAX 256

/* Writes "<order>.<step>.<do|undo>[.<generation>]", by which the service de-duplicates. A verify carries the
 * key of its do. Generation 0 is not written. */
void mg_key_write(const char *order_id, const char *step, enum mg_kind kind, uint32_t generation,
                  char ret_key[MG_KEY_SIZE]);

/* The generation of a step's key, of its do or of its undo. Both only rise. */
static inline uint32_t mg_key_generation(const struct mg_step *step, enum mg_kind kind)
{
    return step->generation + (kind == MG_KIND_UNDO ? step->undo_generation : 0);
}

/* Writes "<order>.<step>.<attempt>.<kind>": the correlation id of a request and its reply. */
void mg_correlation_write(const char *order_id, const char *step, uint32_t attempt, enum mg_kind kind,
                          char ret_correlation[MG_KEY_SIZE]);

bool mg_name_is_valid(const char *text, size_t len);
/* The name of a label: [a-z][a-z0-9_]*. */
bool mg_label_name_is_valid(const char *text, size_t len);
bool mg_order_id_is_valid(const char *text, size_t len);

#endif
