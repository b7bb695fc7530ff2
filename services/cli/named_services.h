/* The service files that a file of cases or a profile names, for verbs that run a workflow without servers.
 */
#ifndef MG_CLI_NAMED_SERVICES_H
#define MG_CLI_NAMED_SERVICES_H

#include "cli.h"
#include "service/service.h"
#include "workflow/workflow.h"

#define MG_SERVICE_FILES_MAX 64 /* as many as a workflow has steps */

struct mg_service_files {
    struct mg_service *services[MG_SERVICE_FILES_MAX + MG_STEPS_MAX]; /* owned */
    int count;
    const struct mg_service *by_step[MG_STEPS_MAX]; /* NULL: the step waits */
};

/* Reads files. `paths` are quoted, and relative to the folder of the file that names them. Prints all
 * mistakes. End with mg_service_files_free in any case. */
enum mg_exit_code mg_service_files_read(struct mg_service_files *files, const char *named_by,
                                        const struct mg_slice *paths, int count);
/* Finds the service of each step; one without a file has the defaults of a service file. */
enum mg_exit_code mg_service_files_match(struct mg_service_files *files, const struct mg_workflow *workflow);
void mg_service_files_free(struct mg_service_files *files);

#endif
