/*
 * Runs a fuzz target without a fuzzer: each file of the folders given, then inputs made from them by a few
 * edits. The same folders give the same inputs in each run.
 *
 *   fuzz_json [-n INPUTS] FILE|FOLDER…
 *
 * With AddressSanitizer an input that is a finding is written to ./finding-<target>; give that file to see it
 * again.
 */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

#include "fuzz.h"

#define SEEDS_MAX        4096
#define INPUT_MAX        8192
#define EDITS_MAX        4
#define PIECE_MAX        64
#define FOLDERS_MAX_OPEN 8

struct input {
    size_t len;
    uint8_t *bytes;
};

static struct input seeds[SEEDS_MAX];
static size_t seed_count;
static struct input current; /* exactly as long as it says */
static const char *target = "target";
static uint64_t state = 20261121;

/* splitmix64: the same inputs in each run */
static uint64_t draw(uint64_t below)
{
    uint64_t z = state += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return (z ^ (z >> 31)) % below;
}

#if defined(__SANITIZE_ADDRESS__)
static void keep_finding(void)
{
    char path[256];
    (void)snprintf(path, sizeof path, "finding-%s", target);
    FILE *file = fopen(path, "wb");
    if (file == NULL) return;
    if (current.len > 0) (void)fwrite(current.bytes, 1, current.len, file);
    (void)fclose(file);
    (void)fprintf(stderr, "the input is in ./%s\n", path);
}

/* So that an abort is a death like others. The sanitizer's library looks for it by name. */
__attribute__((visibility("default"))) const char *__asan_default_options(void)
{
    return "handle_abort=1";
}
#endif

static void try_input(const uint8_t *bytes, size_t len)
{
    current = (struct input){len, malloc(len > 0 ? len : 1)};
    FUZZ_REQUIRE(current.bytes != NULL);
    if (len > 0) memcpy(current.bytes, bytes, len);
    (void)LLVMFuzzerTestOneInput(current.bytes, len);
    free(current.bytes);
    current = (struct input){0, NULL};
}

static int on_file(const char *path, const struct stat *about, int kind, struct FTW *where)
{
    (void)about, (void)where;
    uint8_t bytes[INPUT_MAX];
    if (kind != FTW_F || seed_count == SEEDS_MAX) return 0;
    FILE *file = fopen(path, "rb");
    if (file == NULL) return -1;
    struct input seed = {fread(bytes, 1, sizeof bytes, file), NULL};
    (void)fclose(file); /* only read */
    seed.bytes = malloc(seed.len + 1);
    if (seed.bytes == NULL) return -1;
    memcpy(seed.bytes, bytes, seed.len);
    seeds[seed_count++] = seed;
    return 0;
}

/* The order in which a folder is read is the file system's; the inputs must not depend on it. */
static int compare(const void *a, const void *b)
{
    const struct input *one = a, *other = b;
    size_t len = one->len < other->len ? one->len : other->len;
    int order = memcmp(one->bytes, other->bytes, len);
    return order != 0 ? order : (one->len > other->len) - (one->len < other->len);
}

/* Puts `len` bytes in place of `old_len` at `at`, as far as there is room. */
static void splice(struct input *input, size_t at, size_t old_len, const uint8_t *bytes, size_t len)
{
    if (old_len > input->len - at) old_len = input->len - at;
    if (input->len - old_len + len > INPUT_MAX) return;
    memmove(input->bytes + at + len, input->bytes + at + old_len, input->len - at - old_len);
    memmove(input->bytes + at, bytes, len);
    input->len += len - old_len;
}

static void edit(struct input *input)
{
    const struct input *other = &seeds[draw(seed_count)];
    size_t at = draw(input->len + 1), piece = draw(PIECE_MAX), from = draw(other->len + 1);
    size_t other_len = other->len - from < piece ? other->len - from : piece;
    static const char marks[] = "{}[]\",:\\/$~0129-eE.@=%?# \n"; /* and NUL */
    uint8_t byte = draw(4) == 0 ? (uint8_t)draw(256) : (uint8_t)marks[draw(sizeof marks)];
    switch (draw(6)) {
    case 0:
        splice(input, at, 1, &byte, 1);
        break;
    case 1:
        splice(input, at, 0, &byte, 1);
        break;
    case 2:
        splice(input, at, piece, &byte, 0);
        break;
    case 3:
        if (at < input->len) input->bytes[at] ^= (uint8_t)(1U << draw(8));
        break;
    case 4:
        splice(input, at, 0, other->bytes + from, other_len);
        break;
    default:
        splice(input, at, piece, other->bytes + from, other_len);
        break;
    }
}

static void try_made(long inputs)
{
    static uint8_t bytes[INPUT_MAX];
    for (long i = 0; i < inputs && seed_count > 0; i++) {
        const struct input *seed = &seeds[draw(seed_count)];
        struct input made = {seed->len, bytes};
        memcpy(bytes, seed->bytes, seed->len);
        for (uint64_t edits = 1 + draw(EDITS_MAX); edits > 0; edits--)
            edit(&made);
        try_input(made.bytes, made.len);
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
    qsort(seeds, seed_count, sizeof seeds[0], compare);
    for (size_t i = 0; i < seed_count; i++)
        try_input(seeds[i].bytes, seeds[i].len);
    try_made(inputs);
    (void)fprintf(stderr, "%s: %zu files and %ld inputs made from them: no finding\n", target, seed_count,
                  inputs);
    for (size_t i = 0; i < seed_count; i++)
        free(seeds[i].bytes);
    return 0;
}
