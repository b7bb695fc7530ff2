/*
 * Names and values of HTTP headers (RFC 9110 §5) in definitions, service files and messages. libcurl sends
 * them unchanged, so a character that could end a header line is refused wherever one comes in.
 */
#ifndef MG_WIRE_HTTP_HEADER_H
#define MG_WIRE_HTTP_HEADER_H

#include "base/buf.h"

#define MG_HEADER_CONTROL_FAULT "it holds a control character, which no header may"
#define MG_HEADER_NAME_MAX      63   /* MG_JSON_NAME_MAX: it is a member's name in a request */
#define MG_HEADER_VALUE_MAX     4096 /* common servers accept 8 KiB for all headers together */
/* The `headers` of one action: as many as a service file may give. */
#define MG_ACTION_HEADERS_MAX 16

bool mg_header_name_is_valid(struct mg_slice name); /* a token of RFC 9110 §5.6.2 */
bool mg_header_name_is(struct mg_slice name, const char *word);
/* True for headers that the agent, its service file or libcurl sets: a second one would contradict it. */
bool mg_header_is_reserved(struct mg_slice name);

/* False if a control character is in it: no value with this part may be sent. */
bool mg_header_part_is_printable(struct mg_slice part);
/* NULL if the value may be sent, else its fault. libcurl drops a header whose value is blank. */
const char *mg_header_value_fault(struct mg_slice value);

/* NULL for a media type with or without parameters (RFC 9110 §8.3.1), or a list of them; else its fault. */
const char *mg_media_type_fault(struct mg_slice text);
/* application/json or one of the types "…+json" (RFC 6839), with any parameters. */
bool mg_media_type_is_json(const char *type);

#endif
