/*
 * The arena of buf.h: memory that lives exactly as long as one batch. Each piece is zeroed or written before
 * it is handed out, so no byte of one batch is readable in the next. Unused parts of a block are not zeroed
 * and cost nothing.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

/* The first block fits the texts of one message; an agent holds thousands of messages at a time. The other
 * blocks fit the texts of some dozen messages. A larger piece gets a block of its own. */
#define FIRST_SIZE (2 * 1024)
#define BLOCK_SIZE (16 * 1024)
#define SHORT_SIZE 256
#define ALIGNMENT  _Alignof(max_align_t)

struct block {
    struct block *next;
    size_t used, size;
    _Alignas(max_align_t) char bytes[];
};

struct mg_arena {
    struct block *blocks; /* the block with room comes first */
    size_t used, max;     /* bytes handed out, rounded up to the alignment */
};

struct mg_arena *mg_arena_create(size_t max_bytes)
{
    struct mg_arena *arena = calloc(1, sizeof(*arena));
    if (arena) {
        arena->max = max_bytes;
    }
    return arena;
}

void mg_arena_destroy(struct mg_arena *arena)
{
    if (!arena) {
        return;
    }
    while (arena->blocks) {
        struct block *block = arena->blocks;
        arena->blocks = block->next;
        free(block);
    }
    free(arena);
}

size_t mg_arena_used(const struct mg_arena *arena)
{
    return arena->used;
}

/* Returns a piece with undefined content. */
static char *take(struct mg_arena *arena, size_t size)
{
    if (size == 0) {
        size = 1; /* every piece has an address of its own */
    }
    if (size > SIZE_MAX - sizeof(struct block) - ALIGNMENT) {
        return NULL;
    }
    size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (size > arena->max - arena->used) {
        return NULL;
    }

    struct block *block = arena->blocks;
    if (!block || size > block->size - block->used) {
        size_t usual = arena->blocks ? BLOCK_SIZE : FIRST_SIZE;
        size_t block_size = size > usual ? size : usual;
        block = malloc(sizeof(*block) + block_size);
        if (!block) {
            return NULL;
        }
        *block = (struct block){.size = block_size};
        if (arena->blocks && block_size > usual) { /* full at once: the one with room stays in front */
            block->next = arena->blocks->next;
            arena->blocks->next = block;
        } else {
            block->next = arena->blocks;
            arena->blocks = block;
        }
    }
    char *piece = block->bytes + block->used;
    block->used += size;
    arena->used += size;
    return piece;
}

void *mg_arena_alloc(struct mg_arena *arena, size_t size)
{
    void *piece = take(arena, size);
    if (piece) {
        memset(piece, 0, size);
    }
    return piece;
}

struct mg_slice mg_arena_copy(struct mg_arena *arena, struct mg_slice slice)
{
    char *copy = mg_arena_text(arena, slice);
    return copy ? (struct mg_slice){copy, slice.len} : (struct mg_slice){NULL, 0};
}

char *mg_arena_text(struct mg_arena *arena, struct mg_slice slice)
{
    if (!slice.data || slice.len == SIZE_MAX) {
        return NULL;
    }
    char *copy = take(arena, slice.len + 1);
    if (!copy) {
        return NULL;
    }
    if (slice.len > 0) {
        memcpy(copy, slice.data, slice.len);
    }
    copy[slice.len] = '\0';
    return copy;
}

char *mg_arena_printf(struct mg_arena *arena, const char *format, ...)
{
    /* Most texts fit here and are formatted only once. */
    char shorts[SHORT_SIZE];
    va_list args;

    va_start(args, format);
    int len = vsnprintf(shorts, sizeof(shorts), format, args);
    va_end(args);
    if (len < 0) {
        return NULL;
    }
    if ((size_t)len < sizeof(shorts)) {
        return mg_arena_text(arena, (struct mg_slice){shorts, (size_t)len});
    }
    char *text = take(arena, (size_t)len + 1);
    if (!text) {
        return NULL;
    }
    va_start(args, format);
    (void)vsnprintf(text, (size_t)len + 1, format, args); /* measured above */
    va_end(args);
    return text;
}
