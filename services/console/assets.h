/* The files of services/console/web inside the executable; web.cmake makes the table. */
#ifndef MG_CONSOLE_ASSETS_H
#define MG_CONSOLE_ASSETS_H

#include "base/buf.h"

struct mg_asset {
    const char *name, *type;
    struct mg_slice bytes;
};
extern const struct mg_asset MG_ASSETS[]; /* ends with name NULL */

#endif
