/*
 * The service's own words in a refusing body: its code, its text, and the bytes that are kept of it, as the
 * service file's `error` asks for them. Pure. A body may be anything.
 */
#ifndef MG_AGENT_REFUSAL_H
#define MG_AGENT_REFUSAL_H

#include "service/service.h"
#include "wire/reply.h"

/* "http_422" or "http_422/SOLD_OUT": of the service's code the characters A to Z, a to z, 0 to 9, ".", "_"
 * and
 * "-", and one "_" for each run of others between them. Cut at MG_ERROR_CODE_MAX. A number counts as its
 * digits. `limits` are those of an answer. */
void mg_refusal_code(const struct mg_service *service, int status, struct mg_slice body,
                     const struct mg_json_limits *limits, char ret_code[MG_ERROR_CODE_MAX + 1]);
/* The service's text without controls, cut at a character; "" if there is none, or if the file keeps nothing
 * of a body. */
void mg_refusal_message(const struct mg_service *service, struct mg_slice body,
                        const struct mg_json_limits *limits, char ret_message[MG_ERROR_MESSAGE_MAX + 1]);
/* The kept beginning of the body, cut at a character where there are characters. */
struct mg_slice mg_refusal_kept(const struct mg_service *service, struct mg_slice body);

#endif
