/*
 * Bearer tokens of a server's users, from a file with one line for each: rights, name, SHA-256 of the token
 * in hexadecimal. Lines that begin with # are comments. So the file lets its readers in nowhere.
 */
#ifndef MG_IO_HTTP_TOKENS_H
#define MG_IO_HTTP_TOKENS_H

#include "base/buf.h"
#include "base/id.h"

#define MG_TOKENS_MAX      256
#define MG_TOKEN_NAME_SIZE 64
#define MG_TOKEN_MAX       512 /* bytes of a token; a longer one is of no user */

struct mg_token {
    unsigned int rights; /* as the format reads them; never 0 */
    char name[MG_TOKEN_NAME_SIZE];
    uint8_t digest[MG_SHA256_SIZE];
};

struct mg_tokens_format {
    /* Reads the first word of a line; 0: it is not valid. */
    unsigned int (*rights_of)(struct mg_slice word);
    bool (*is_name)(struct mg_slice name); /* besides mg_token_name_is_valid; NULL: any other name is valid */
    const char *expected;                  /* a line's form, for a refusal */
};

/* Reads the file of the option --tokens-file, as above. The caller frees the tokens. MG_BAD_INPUT: the text
 * names the line. */
enum mg_class mg_tokens_read(const char *path, const struct mg_tokens_format *format,
                             struct mg_token **ret_tokens, int *ret_count, struct mg_err *err) MG_MUSTCHECK;
/* Printable ASCII without blanks: a name goes into the database and on pages. */
bool mg_token_name_is_valid(struct mg_slice name);
/* The last token of this text with any of `rights`; NULL: none. Its duration does not depend on the tokens'
 * contents. */
const struct mg_token *mg_token_find(const struct mg_token *tokens, int count, struct mg_slice text,
                                     unsigned int rights);

#endif
