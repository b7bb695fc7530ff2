/* Reports changes of a folder's files. */
#ifndef MG_BASE_LOOP_FOLDER_H
#define MG_BASE_LOOP_FOLDER_H

#include "base/loop.h"

struct mg_folder_watch;
/* Calls `fn` soon after a file of the folder was written, added, removed or renamed, once or more often; not
 * for folders within it. Some mounts of other machines report nothing, and a folder that was removed never
 * again: a caller looks by itself, too, now and then. NULL: the folder cannot be watched. */
struct mg_folder_watch *mg_folder_watch_create(struct mg_loop *loop, const char *path, mg_loop_fn *fn,
                                               void *arg);
void mg_folder_watch_destroy(struct mg_folder_watch *watch); /* accepts NULL */

#endif
