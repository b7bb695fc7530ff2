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
