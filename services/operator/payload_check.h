/* Holds the payload of an order against its workflow, as a scheduler does at its acceptance. */
#ifndef MG_OPERATOR_PAYLOAD_CHECK_H
#define MG_OPERATOR_PAYLOAD_CHECK_H

#include "json/json.h"

/* `payload` is checked JSON. MG_BAD_INPUT: the text names the place and the remedy. */
enum mg_class mg_operator_payload_check(struct mg_slice definition, struct mg_slice payload,
                                        struct mg_err *err) MG_MUSTCHECK;

#endif
