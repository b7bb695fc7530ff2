/* The files of a new project inside the executable; project_files.cmake makes the table of deploy/examples.
 */
#ifndef MG_CLI_PROJECT_FILES_H
#define MG_CLI_PROJECT_FILES_H

#include <sys/types.h>

#include "base/buf.h"

struct mg_project_file {
    const char *language; /* of the projects that have it; NULL: all */
    const char *name;     /* below the project's folder, in at most one folder of its own */
    mode_t mode;          /* before the umask */
    struct mg_slice bytes;
};
extern const struct mg_project_file MG_PROJECT_FILES[]; /* ends with name NULL */

#endif
