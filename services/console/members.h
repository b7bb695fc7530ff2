/* The members of a request's body, by members.def. */
#ifndef MG_CONSOLE_MEMBERS_H
#define MG_CONSOLE_MEMBERS_H

#include "console/console_parts.h"
#include "operator/document.h"

/* Whether members.def has each member of the body at this address, with its type. An address that is unknown
 * to it is refused by its caller. */
bool mg_members_check(struct mg_slice body, const char *noun, const char *verb,
                      char ret_refusal[MG_REFUSAL_SIZE]);
/* A number of a checked body; 0 if it is absent. */
uint64_t mg_member_number(struct mg_slice body, const char *pointer);

#endif
