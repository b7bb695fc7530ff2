/*
 * Runs a fuzz target without a fuzzer: each file of the given folders, then inputs made from them (mutate.h).
 * The same folders give the same inputs in each run.
 *
 *   fuzz_json [-n INPUTS] FILE|FOLDER…
 *
 * With AddressSanitizer a finding is written to ./finding-<target>; give that file to reproduce it.
 */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

#include "fuzz.h"
#include "mutate.h"

#define SEEDS_MAX        4096
#define INPUT_MAX        32768 /* longer than the longest example */
#define FOLDERS_MAX_OPEN 8

static struct mg_slice seeds[SEEDS_MAX];
static size_t seed_count;
static struct mg_slice current; /* exactly as long as its length states */
static const char *target = "target";

#if defined(__SANITIZE_ADDRESS__)
static void keep_finding(void)
{
    char path[256];
    (void)snprintf(path, sizeof(path), "finding-%s", target);
    FILE *file = fopen(path, "wb");
    if (file == NULL) {
        return;
    }
    if (current.len > 0) {
        (void)fwrite(current.data, 1, current.len, file);
    }
    (void)fclose(file);
    (void)fprintf(stderr, "the input is in ./%s\n", path);
}

/* The sanitizer's library finds this function by name. It makes an abort a reported death like others. */
__attribute__((visibility("default"))) const char *__asan_default_options(void)
{
    return "handle_abort=1";
}
#endif

static void try_input(const char *bytes, size_t len)
{
    char *copy = malloc(len > 0 ? len : 1);
    FUZZ_REQUIRE(copy != NULL);
    if (len > 0) {
        memcpy(copy, bytes, len);
    }
    current = (struct mg_slice){copy, len};
    (void)LLVMFuzzerTestOneInput((const uint8_t *)copy, len);
    current = (struct mg_slice){NULL, 0};
    free(copy);
}

static int on_file(const char *path, const struct stat *about, int kind, struct FTW *where)
{
    (void)about, (void)where;
    static char bytes[INPUT_MAX + 1];
    if (kind != FTW_F) {
        return 0;
    }
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return -1;
    }
    size_t len = fread(bytes, 1, sizeof(bytes), file);
    (void)fclose(file); /* only read */
    char *copy = malloc(len + 1);
    if (copy == NULL || len > INPUT_MAX || seed_count == SEEDS_MAX) {
        (void)fprintf(stderr, "%s: %s is too long or one too many\n", target, path);
        free(copy);
        return -1;
    }
    memcpy(copy, bytes, len);
    seeds[seed_count++] = (struct mg_slice){copy, len};
    return 0;
}

/* The order of a folder's files depends on the file system; the inputs must not depend on it. */
static int compare(const void *a, const void *b)
{
    const struct mg_slice *one = a, *other = b;
    size_t len = one->len < other->len ? one->len : other->len;
    int order = memcmp(one->data, other->data, len);
    return order != 0 ? order : (one->len > other->len) - (one->len < other->len);
}

static void try_made(long inputs)
{
    static const char MARKS[] = "{}[]\",:\\/$~0129-eE.@=%?# \n"; /* and NUL */
    static char bytes[INPUT_MAX];
    struct mutator mutator = {seeds, seed_count, {MARKS, sizeof(MARKS)}, sizeof(bytes), 20261121};
    for (long i = 0; i < inputs; i++) {
        try_input(bytes, mutate_next(&mutator, bytes));
    }
}

int main(int argc, char **argv)
{
    long inputs = 0;
    int first = 1;
    const char *slash = strrchr(argv[0], '/');
    target = slash == NULL ? argv[0] : slash + 1;
    if (argc > 2 && strcmp(argv[1], "-n") == 0) {
        inputs = strtol(argv[2], NULL, 10);
        first = 3;
    }
    if (first >= argc) {
        (void)fprintf(stderr, "usage: %s [-n INPUTS] FILE|FOLDER…\n", target);
        return 2;
    }
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_set_death_callback(keep_finding);
#endif
    for (int i = first; i < argc; i++) {
        if (nftw(argv[i], on_file, FOLDERS_MAX_OPEN, FTW_PHYS) != 0) {
            (void)fprintf(stderr, "%s: cannot read %s\n", target, argv[i]);
            return 2;
        }
    }
    if (seed_count == 0) {
        (void)fprintf(stderr, "%s: no file is there\n", target);
        return 2;
    }
    qsort(seeds, seed_count, sizeof(seeds[0]), compare);
    for (size_t i = 0; i < seed_count; i++) {
        try_input(seeds[i].data, seeds[i].len);
    }
    try_made(inputs);
    (void)fprintf(stderr, "%s: %zu files and %ld inputs made from them: no finding\n", target, seed_count,
                  inputs);
    return 0;
}
