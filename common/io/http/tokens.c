/* See tokens.h. */
#include "io/http/tokens.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hmac.h"

#define FILE_MAX (64 * 1024) /* enough for MG_TOKENS_MAX lines with comments */

bool mg_token_name_is_valid(struct mg_slice name)
{
    for (size_t i = 0; i < name.len; i++) {
        if (name.data[i] <= ' ' || name.data[i] > '~') {
            return false;
        }
    }
    return name.len > 0;
}

/* The digest of an empty token, as `printf %s "$token" | sha256sum` makes it if the variable is not set. */
static bool is_digest_of_nothing(const uint8_t digest[MG_SHA256_SIZE])
{
    uint8_t nothing[MG_SHA256_SIZE];
    mg_sha256(mg_slice_of(""), nothing);
    return memcmp(digest, nothing, sizeof(nothing)) == 0;
}

/* Takes the part before the first of these bytes, or all of it. */
static struct mg_slice piece_take(struct mg_slice *rest, const char *ends, size_t end_count)
{
    struct mg_slice piece = {rest->data, 0};
    while (piece.len < rest->len && memchr(ends, piece.data[piece.len], end_count) == NULL) {
        piece.len++;
    }
    size_t used = piece.len + (piece.len < rest->len);
    *rest = (struct mg_slice){rest->data + used, rest->len - used};
    return piece;
}

/* Empty after the last word. CR counts as a blank, because some editors leave one at the end of each line. */
static struct mg_slice word_take(struct mg_slice *line)
{
    struct mg_slice word = {line->data, 0};
    while (word.len == 0 && line->len > 0) {
        word = piece_take(line, " \t\r", 3);
    }
    return word;
}

static bool line_parse(const struct mg_tokens_format *format, struct mg_slice line,
                       struct mg_token *ret_token)
{
    struct mg_slice rights = word_take(&line), name = word_take(&line), digest = word_take(&line);
    if (word_take(&line).len > 0 || !mg_token_name_is_valid(name) || name.len >= MG_TOKEN_NAME_SIZE ||
        (format->is_name != NULL && !format->is_name(name)) || digest.len != (size_t)2 * MG_SHA256_SIZE ||
        !mg_hex_read(digest.data, MG_SHA256_SIZE, ret_token->digest)) {
        return false;
    }
    memcpy(ret_token->name, name.data, name.len);
    ret_token->name[name.len] = '\0';
    ret_token->rights = format->rights_of(rights);
    return ret_token->rights != 0;
}

static const struct mg_token *token_of_digest(const struct mg_token *tokens, int count,
                                              const uint8_t digest[MG_SHA256_SIZE])
{
    for (int i = 0; i < count; i++) {
        if (memcmp(tokens[i].digest, digest, MG_SHA256_SIZE) == 0) {
            return &tokens[i];
        }
    }
    return NULL;
}

static enum mg_class tokens_parse(const char *path, const struct mg_tokens_format *format,
                                  struct mg_slice text, struct mg_token *ret_tokens, int *ret_count,
                                  struct mg_err *err)
{
    for (int number = 1; text.len > 0; number++) {
        struct mg_slice line = piece_take(&text, "\n", 1), rest = line;
        struct mg_slice first = word_take(&rest);
        if (first.len == 0 || first.data[0] == '#') {
            continue;
        }
        if (*ret_count == MG_TOKENS_MAX) {
            return mg_err_set(err, MG_BAD_INPUT,
                              "could not read --tokens-file %s: it has more than %d entries", path,
                              MG_TOKENS_MAX);
        }
        struct mg_token *token = &ret_tokens[(*ret_count)++];
        if (!line_parse(format, line, token)) {
            return mg_err_set(err, MG_BAD_INPUT, "could not read --tokens-file %s, line %d: expected %s",
                              path, number, format->expected);
        }
        const struct mg_token *same = token_of_digest(ret_tokens, *ret_count - 1, token->digest);
        if (same != NULL) {
            return mg_err_set(
                err, MG_BAD_INPUT,
                "could not read --tokens-file %s, line %d: this token is also that of \"%s\", above; each "
                "name has a token of its own",
                path, number, same->name);
        }
        if (is_digest_of_nothing(token->digest)) {
            return mg_err_set(
                err, MG_BAD_INPUT,
                "could not read --tokens-file %s, line %d: this is the SHA-256 of an empty token", path,
                number);
        }
    }
    return *ret_count > 0
               ? MG_OK
               : mg_err_set(err, MG_BAD_INPUT, "could not read --tokens-file %s: it has no entry", path);
}

static enum mg_class file_read(const char *path, const struct mg_tokens_format *format, char *text,
                               struct mg_token *ret_tokens, int *ret_count, struct mg_err *err)
{
    ssize_t len = mg_file_read(path, false, text, FILE_MAX + 1); /* a FIFO must not block the loop */
    if (len < 0) {
        return mg_err_set(err, MG_BAD_INPUT, "could not read --tokens-file %s: %s", path, strerror(errno));
    }
    if (len > FILE_MAX) {
        return mg_err_set(err, MG_BAD_INPUT, "could not read --tokens-file %s: it is longer than %d bytes",
                          path, FILE_MAX);
    }
    return tokens_parse(path, format, (struct mg_slice){text, (size_t)len}, ret_tokens, ret_count, err);
}

enum mg_class mg_tokens_read(const char *path, const struct mg_tokens_format *format,
                             struct mg_token **ret_tokens, int *ret_count, struct mg_err *err)
{
    char *text = malloc(FILE_MAX + 1);
    struct mg_token *tokens = calloc(MG_TOKENS_MAX, sizeof(*tokens));
    *ret_count = 0;
    enum mg_class class = text == NULL || tokens == NULL
                              ? mg_err_set(err, MG_TRANSIENT, "could not read tokens: no memory")
                              : file_read(path, format, text, tokens, ret_count, err);
    free(text);
    if (class != MG_OK) {
        free(tokens);
        return class;
    }
    *ret_tokens = tokens;
    return MG_OK;
}

const struct mg_token *mg_token_find(const struct mg_token *tokens, int count, struct mg_slice text,
                                     unsigned int rights)
{
    const struct mg_token *found = NULL;
    uint8_t digest[MG_SHA256_SIZE];
    mg_sha256(text, digest);
    for (int i = 0; i < count; i++) {
        if (mg_secret_is_equal(tokens[i].digest, digest, sizeof(digest)) &&
            (tokens[i].rights & rights) != 0) {
            found = &tokens[i];
        }
    }
    return found;
}
