/*
 * For the tests of TLS over HTTP: certificates of two authorities, made once a process by
 * deploy/tls/make-dev-certs. Paths are "<tls_dir>/<ca>/<name>/cert.pem".
 */
#ifndef TESTS_TLS_FIXTURE_H
#define TESTS_TLS_FIXTURE_H

#include <check.h>
#include <ftw.h>
#include <openssl/ssl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char tls_dir[64] = "/tmp/makegood-tls-XXXXXX";

#define PATH_SIZE 192
struct path {
    char text[PATH_SIZE];
};

/* tls_path("ours/server/cert.pem").text */
static inline struct path tls_path(const char *name)
{
    struct path path;
    (void)snprintf(path.text, sizeof(path.text), "%s/%s", tls_dir, name);
    return path;
}

static inline void run_command(char *const *words)
{
    pid_t pid;
    int status = -1;
    if (posix_spawn(&pid, words[0], NULL, NULL, words, environ) != 0 || waitpid(pid, &status, 0) != pid ||
        status != 0) {
        abort();
    }
}

static inline void make_authority(const char *name)
{
    char maker[] = MG_SOURCE_DIR "/deploy/tls/make-dev-certs", host[] = "--host", client_word[] = "--client",
         expired[] = "--expired", server_name[] = "server", client_name[] = "client", old_name[] = "old";
    struct path dir = tls_path(name);
    run_command(
        (char *[]){maker, dir.text, host, server_name, client_word, client_name, expired, old_name, NULL});
}

/* Called in main, before Check forks. */
static inline void tls_set_up(void)
{
    if (!mkdtemp(tls_dir)) {
        abort();
    }
    make_authority("ours");
    make_authority("others");
}

static inline int remove_one(const char *path, const struct stat *stat, int flag, struct FTW *walk)
{
    (void)stat, (void)flag, (void)walk;
    return remove(path);
}

static inline void tls_tear_down(void)
{
    (void)nftw(tls_dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static inline void file_write(const char *path, const char *text, size_t len)
{
    FILE *file = fopen(path, "we");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(text, 1, len, file), len);
    ck_assert_int_eq(fclose(file), 0);
}

static inline void file_copy(const char *from, const char *to)
{
    char text[16384];
    FILE *file = fopen(from, "re");
    ck_assert_ptr_nonnull(file);
    size_t len = fread(text, 1, sizeof(text), file);
    (void)fclose(file);
    file_write(to, text, len);
}

#endif
