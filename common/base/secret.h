/* Texts that hold a password, token or key: no copy of them stays in freed memory. */
#ifndef MG_BASE_SECRET_H
#define MG_BASE_SECRET_H

/* Wipes and frees; accepts NULL. */
void mg_secret_free(char *text);

#endif
