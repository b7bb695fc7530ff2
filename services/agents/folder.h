/* The service files of folders, and the check of one file. These calls block on the disk. */
#ifndef MG_AGENTS_FOLDER_H
#define MG_AGENTS_FOLDER_H

#include <stdbool.h>
#include <stdint.h>

#include "agents/agents.h"
#include "core/model.h"

/* Differs once a file was written or replaced. */
struct mg_stamp {
    int64_t mtime_ns, ctime_ns, size;
    uint64_t inode;
};
bool mg_stamp_equal(const struct mg_stamp *a, const struct mg_stamp *b);

struct mg_listing {
    struct {
        char name[MG_NAME_MAX + 1]; /* "payment" for payment.json */
        int folder;                 /* its place in the list */
        struct mg_stamp stamp;
    } files[MG_AGENTS_MAX];
    int count;
    int surplus; /* service files beyond MG_AGENTS_MAX, which are not served */
};

/* Lists the files NAME.json with a valid NAME, each NAME once. Other files, such as an editor's, are skipped.
 * MG_BAD_INPUT: a folder is unreadable. */
enum mg_class mg_folders_list(const struct mg_list *folders, struct mg_listing *ret_listing,
                              struct mg_err *err) MG_MUSTCHECK;
#define MG_SERVICE_PATH_SIZE 4096
void mg_service_path(const struct mg_list *folders, int folder, const char *name,
                     char ret_path[MG_SERVICE_PATH_SIZE]);

/* Checks a service file whole, and that it describes the service `name`. MG_BAD_INPUT: the text has file,
 * line, column and cure. */
enum mg_class mg_service_file_check(const char *path, const char *name, struct mg_err *err) MG_MUSTCHECK;

#endif
