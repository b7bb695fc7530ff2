/* Texts that hold a password, token or key: no copy of them stays in freed memory. */
#ifndef MG_BASE_SECRET_H
#define MG_BASE_SECRET_H

#include <stdbool.h>

/* Wipes and frees; accepts NULL. */
void mg_secret_free(char *text);

/* Puts `fresh` in the place of `*value`, which becomes `*old`; the text that was `*old` is wiped. Takes
 * `fresh` over. False: it is the same text, and nothing has changed. */
bool mg_secret_renew(char **value, char **old, char *fresh);

#endif
