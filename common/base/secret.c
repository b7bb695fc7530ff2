/* See secret.h. */
#include "base/secret.h"

#include <stdlib.h>
#include <string.h>

void mg_secret_free(char *text)
{
    if (text != NULL) {
        explicit_bzero(text, strlen(text));
    }
    free(text);
}

bool mg_secret_renew(char **value, char **old, char *fresh)
{
    if (strcmp(*value, fresh) == 0) {
        mg_secret_free(fresh);
        return false;
    }
    mg_secret_free(*old);
    *old = *value;
    *value = fresh;
    return true;
}
