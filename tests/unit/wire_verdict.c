/*
 * The C readers' verdict on files: for each pair MESSAGE FILE on the command line one line, "ok" or "refused:
 * why". proto_examples.py compares it with an independent validator of the JSON Schemas.
 */
#include <stdio.h>
#include <string.h>

#include "wire_readers.h"

#define FILE_MAX_BYTES (8 * 1024 * 1024)

static int judge(const char *message, const char *path)
{
    struct mg_buf text;
    char block[4096];
    size_t n, reader = 0;
    FILE *file = fopen(path, "re");

    while (reader < READER_COUNT && strcmp(READERS[reader].message, message) != 0) {
        reader++;
    }
    if (file == NULL || reader == READER_COUNT) {
        (void)fprintf(stderr, "wire_verdict: cannot read \"%s\" as \"%s\"\n", path, message);
        if (file != NULL) {
            (void)fclose(file); /* only read */
        }
        return 1;
    }
    mg_buf_init(&text, FILE_MAX_BYTES);
    while ((n = fread(block, 1, sizeof(block), file)) > 0) {
        mg_buf_append(&text, block, n);
    }
    (void)fclose(file); /* only read */
    struct mg_arena *arena = mg_arena_create(FILE_MAX_BYTES);
    struct mg_err err = {MG_OK, ""};
    enum mg_class class = READERS[reader].read(mg_buf_slice(&text), arena, &err);
    if (class == MG_OK) {
        (void)printf("ok\n");
    } else {
        (void)printf("refused: %s: %s\n", mg_class_name(class), err.text);
    }
    mg_arena_destroy(arena);
    mg_buf_finish(&text);
    return 0;
}

int main(int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        if (judge(argv[i], argv[i + 1]) != 0) {
            return 2;
        }
    }
    return argc % 2 == 1 ? 0 : 2;
}
