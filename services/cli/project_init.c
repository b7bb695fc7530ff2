/* `init`: writes a project into a folder: a service, its file, a workflow with cases, and the way to run
 * them. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/print.h"
#include "project_files.h"
#include "verb_table.h"

#define LANGUAGES "node or python"

static bool is_wanted(const struct mg_project_file *file, const char *language)
{
    return file->language == NULL || strcmp(file->language, language) == 0;
}

static bool is_language(const char *language)
{
    for (const struct mg_project_file *file = MG_PROJECT_FILES; file->name != NULL; file++) {
        if (file->language != NULL && strcmp(file->language, language) == 0) {
            return true;
        }
    }
    return false;
}

static bool path_make(const char *folder, const char *name, char ret_path[PATH_MAX])
{
    int len = snprintf(ret_path, PATH_MAX, "%s/%s", folder, name);
    return len > 0 && len < PATH_MAX;
}

static enum mg_exit_code path_fail(const char *action, const char *path)
{
    return mg_cli_fail(MG_EXIT_ERROR, "could not %s %.300s: %s", action, path, strerror(errno));
}

/* Before the first file is written, so that a project is whole or untouched. */
static enum mg_exit_code absence_check(const char *folder, const char *language)
{
    char path[PATH_MAX];
    struct stat found;
    for (const struct mg_project_file *file = MG_PROJECT_FILES; file->name != NULL; file++) {
        if (!path_make(folder, file->name, path)) {
            return mg_cli_fail(MG_EXIT_USAGE, "the path of the folder is too long");
        }
        if (is_wanted(file, language) && lstat(path, &found) == 0) {
            return mg_cli_fail(MG_EXIT_CONFLICT,
                               "%.300s is there already, and nothing is overwritten; give another folder",
                               path);
        }
    }
    return MG_EXIT_DONE;
}

/* All folders above a file. */
static enum mg_exit_code folders_make(char *path)
{
    enum mg_exit_code code = MG_EXIT_DONE;
    for (char *slash = path; code == MG_EXIT_DONE && (slash = strchr(slash + 1, '/')) != NULL;) {
        *slash = '\0';
        code = mkdir(path, 0777) == 0 || errno == EEXIST ? MG_EXIT_DONE : path_fail("make the folder", path);
        *slash = '/';
    }
    return code;
}

static enum mg_exit_code bytes_write(const struct mg_project_file *file, const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, file->mode);
    if (fd < 0) {
        return path_fail("make", path);
    }
    bool is_written = write(fd, file->bytes.data, file->bytes.len) == (ssize_t)file->bytes.len;
    return close(fd) == 0 && is_written ? MG_EXIT_DONE : path_fail("write", path);
}

static enum mg_exit_code file_write(const struct mg_project_file *file, const char *folder)
{
    char path[PATH_MAX];
    (void)path_make(folder, file->name, path); /* absence_check has seen that it fits */
    enum mg_exit_code code = folders_make(path);
    return code == MG_EXIT_DONE ? bytes_write(file, path) : code;
}

static enum mg_exit_code verb_init(struct mg_cli *cli)
{
    const char *language = cli->words.items[0];
    const char *folder = cli->words.count > 1 ? cli->words.items[1] : ".";
    if (!is_language(language)) {
        return mg_cli_fail(MG_EXIT_USAGE, "there is no project in %.80s: expected " LANGUAGES, language);
    }
    enum mg_exit_code code = absence_check(folder, language);
    for (const struct mg_project_file *file = MG_PROJECT_FILES; file->name != NULL && code == MG_EXIT_DONE;
         file++) {
        code = is_wanted(file, language) ? file_write(file, folder) : MG_EXIT_DONE;
    }
    if (code == MG_EXIT_DONE) {
        mg_print(stdout, "%s is a project now; %s/README.md has the commands that run it\n", folder, folder);
    }
    return code;
}

const struct mg_verb MG_INIT_VERBS[] = {
    {"init", NULL, "node|python [FOLDER]", 1, 2, MG_EXTRA_APART | MG_EXTRA_ALONE | MG_EXTRA_FILES,
     MG_PRINTS_TEXT, verb_init,
     "writes a new project: a service, a workflow with cases, and the commands that run them", 0},
    {0}};
