/* See mutate.h. */
#include "mutate.h"

#include <string.h>

#define EDITS_MAX 4
#define PIECE_MAX 64

struct text {
    char *bytes;
    size_t len, len_max;
};

/* splitmix64 (Steele, Lea, Flood 2014) */
static uint64_t draw(struct mutator *mutator, uint64_t below)
{
    uint64_t z = mutator->state += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return (z ^ (z >> 31)) % below;
}

/* Replaces `old_len` bytes at `at` by `piece`, if there is room. */
static void splice(struct text *text, size_t at, size_t old_len, struct mg_slice piece)
{
    if (old_len > text->len - at) {
        old_len = text->len - at;
    }
    if (text->len - old_len + piece.len > text->len_max) {
        return;
    }
    memmove(text->bytes + at + piece.len, text->bytes + at + old_len, text->len - at - old_len);
    if (piece.len > 0) {
        memcpy(text->bytes + at, piece.data, piece.len);
    }
    text->len += piece.len - old_len;
}

static void edit(struct mutator *mutator, struct text *text)
{
    struct mg_slice other = mutator->seeds[draw(mutator, mutator->seed_count)];
    size_t at = draw(mutator, text->len + 1), old_len = draw(mutator, PIECE_MAX);
    size_t from = draw(mutator, other.len + 1), rest = other.len - from;
    char byte = draw(mutator, 4) == 0 ? (char)draw(mutator, 256)
                                      : mutator->marks.data[draw(mutator, mutator->marks.len)];
    const struct mg_slice nothing = {"", 0}, one = {&byte, 1};
    const struct mg_slice piece = {other.data + from, rest < old_len ? rest : old_len};
    switch (draw(mutator, 8)) {
    case 0:
        splice(text, at, 1, one);
        break;
    case 1:
        splice(text, at, 0, one);
        break;
    case 2:
        splice(text, at, 1, nothing);
        break;
    case 3:
        splice(text, at, old_len, nothing);
        break;
    case 4:
        if (at < text->len) {
            text->bytes[at] ^= (char)(1U << draw(mutator, 8));
        }
        break;
    case 5:
        splice(text, at, 0, piece);
        break;
    case 6:
        splice(text, at, old_len, piece);
        break;
    default:
        splice(text, at, draw(mutator, 2) * old_len, other);
        break;
    }
}

size_t mutate_next(struct mutator *mutator, char *ret_bytes)
{
    struct mg_slice seed = mutator->seeds[draw(mutator, mutator->seed_count)];
    struct text text = {ret_bytes, seed.len, mutator->len_max};
    memcpy(ret_bytes, seed.data, seed.len);
    for (uint64_t edits = 1 + draw(mutator, EDITS_MAX); edits > 0; edits--) {
        edit(mutator, &text);
    }
    return text.len;
}
