/* See folder.h. */
#include "agents/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "core/key.h"
#include "service/service.h"

#define SUFFIX           ".json"
#define SERVICE_FILE_MAX (64 * 1024) /* as the agent's own bound */

bool mg_stamp_equal(const struct mg_stamp *a, const struct mg_stamp *b)
{
    return a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns && a->size == b->size &&
           a->inode == b->inode;
}

static int64_t time_ns(struct timespec time)
{
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* The length of NAME; 0: no service file. */
static size_t name_len(const char *file)
{
    size_t len = strlen(file), suffix = sizeof(SUFFIX) - 1;
    bool is_one =
        len > suffix && strcmp(file + len - suffix, SUFFIX) == 0 && mg_name_is_valid(file, len - suffix);
    return is_one ? len - suffix : 0;
}

static bool is_listed(const struct mg_listing *listing, const char *file, size_t len)
{
    for (int i = 0; i < listing->count; i++) {
        const char *name = listing->files[i].name;
        if (strlen(name) == len && memcmp(name, file, len) == 0) {
            return true;
        }
    }
    return false;
}

static void file_add(struct mg_listing *listing, int folder, int directory, const char *file)
{
    size_t len = name_len(file);
    struct stat found;
    if (len == 0 || fstatat(directory, file, &found, 0) != 0 || !S_ISREG(found.st_mode) ||
        is_listed(listing, file, len)) {
        return;
    }
    if (listing->count == MG_AGENTS_MAX) {
        listing->surplus++;
        return;
    }
    memcpy(listing->files[listing->count].name, file, len); /* the listing began as zeros */
    listing->files[listing->count].folder = folder;
    listing->files[listing->count++].stamp = (struct mg_stamp){.mtime_ns = time_ns(found.st_mtim),
                                                               .ctime_ns = time_ns(found.st_ctim),
                                                               .size = (int64_t)found.st_size,
                                                               .inode = (uint64_t)found.st_ino};
}

static enum mg_class folder_list(const struct mg_list *folders, int index, struct mg_listing *listing,
                                 struct mg_err *err)
{
    DIR *open = opendir(folders->items[index]);
    if (open == NULL) {
        return mg_err_set(err, MG_BAD_INPUT, "could not read the folder of service files %s: %s",
                          folders->items[index], strerror(errno));
    }
    errno = 0;
    for (struct dirent *entry = readdir(open); entry != NULL; entry = readdir(open)) {
        file_add(listing, index, dirfd(open), entry->d_name);
        errno = 0;
    }
    int failed = errno;
    (void)closedir(open);
    return failed == 0 ? MG_OK
                       : mg_err_set(err, MG_BAD_INPUT, "could not read the folder of service files %s: %s",
                                    folders->items[index], strerror(failed));
}

enum mg_class mg_folders_list(const struct mg_list *folders, struct mg_listing *ret_listing,
                              struct mg_err *err)
{
    enum mg_class class = MG_OK;
    memset(ret_listing, 0, sizeof(*ret_listing));
    for (int i = 0; i < folders->count && class == MG_OK; i++) {
        class = folder_list(folders, i, ret_listing, err);
    }
    return class;
}

void mg_service_path(const struct mg_list *folders, int folder, const char *name,
                     char ret_path[MG_SERVICE_PATH_SIZE])
{
    (void)snprintf(ret_path, MG_SERVICE_PATH_SIZE, "%s/%s" SUFFIX, folders->items[folder], name);
}

static enum mg_class name_check(const char *path, const char *name, const struct mg_service *service,
                                struct mg_err *err)
{
    if (strcmp(service->name, name) == 0) {
        return MG_OK;
    }
    return mg_err_set(err, MG_BAD_INPUT, "%s describes the service %s: rename the file to %s" SUFFIX, path,
                      service->name, service->name);
}

enum mg_class mg_service_file_check(const char *path, const char *name, struct mg_err *err)
{
    struct mg_buf text;
    struct mg_service *service = NULL;
    mg_buf_init(&text, SERVICE_FILE_MAX);
    enum mg_class class = mg_file_text(path, false, &text, err);
    if (class == MG_OK) {
        class = mg_service_parse(mg_buf_slice(&text), NULL, &service, err);
        class = class == MG_OK ? name_check(path, name, service, err) : mg_err_prefix(err, "%s", path);
    }
    mg_service_destroy(service);
    mg_buf_finish(&text);
    return class;
}
