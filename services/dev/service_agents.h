/* The services of `makegood dev --service`: an agent each. */
#ifndef MG_DEV_SERVICE_AGENTS_H
#define MG_DEV_SERVICE_AGENTS_H

#include <limits.h>

#include "base/config.h"
#include "core/key.h"
#include "dev_folder.h"

#define MG_DEV_SERVICES_FOLDER                                                                               \
    "services" /* of the state folder: files of NAME=URL, and of services that are added later */

struct mg_dev_service {
    char name[MG_NAME_MAX + 1];
    char file[PATH_MAX]; /* its service file */
};

struct mg_dev_services {
    struct mg_dev_service items[MG_LIST_MAX];
    const char *names[MG_LIST_MAX];
    int count;
};

/* Reads a service file. Its mistakes are printed. MG_BAD_INPUT: the text has the first one. */
enum mg_class mg_dev_service_read(const char *path, struct mg_dev_service *ret_service,
                                  struct mg_err *err) MG_MUSTCHECK;
/* Reads NAME=URL, for which it writes a file into the state folder, or the path of a service file. The
 * mistakes of a file are printed. MG_BAD_INPUT: the text names the first word that is wrong. */
enum mg_class mg_dev_services_read(const struct mg_list *words, const struct mg_state *state,
                                   struct mg_dev_services *ret_services, struct mg_err *err) MG_MUSTCHECK;

#endif
