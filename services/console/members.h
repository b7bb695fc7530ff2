/* The members of a request's body, by members.def. */
#ifndef MG_CONSOLE_MEMBERS_H
#define MG_CONSOLE_MEMBERS_H

#include "console/console_parts.h"
#include "operator/document.h"

/* Whether members.def has each member of the body at this address, with its type. An address that is unknown
 * to it is refused by its caller. */
bool mg_members_check(struct json_t *body, const char *noun, const char *verb,
                      char ret_refusal[MG_REFUSAL_SIZE]);
/* These read a checked body. The text is "" if it is absent. False: it does not fit into `size`. */
bool mg_member_text(const struct json_t *body, const char *name, char *ret_text, size_t size);
/* 0 if it is absent. */
uint64_t mg_member_number(const struct json_t *body, const char *name);

#endif
