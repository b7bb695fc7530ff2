/* See callback_token.h. */
#include "wire/callback_token.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/hmac.h"
#include "base/id.h"
#include "core/key.h"

#define FILE_MAX 1024 /* MG_CALLBACK_SECRETS_MAX lines with their ends */
/* Keeps the digest apart from others that the same secret might sign. */
#define PURPOSE "makegood callback 1\n"
/* "ORDER/STEP/GENERATION": no name has a slash in it. */
#define NAMED_SIZE (MG_ORDER_ID_MAX + 1 + MG_NAME_MAX + 1 + 10 + 1)
#define BYTES_MAX  (MG_SHA256_SIZE + NAMED_SIZE)

/* ---- secrets ---- */

enum mg_class mg_callback_secrets_parse(struct mg_slice text, struct mg_callback_secrets *ret_secrets,
                                        struct mg_err *err)
{
    struct mg_callback_secrets secrets = {.count = 0};
    for (int number = 1; text.len > 0; number++) {
        struct mg_slice line = mg_slice_line_take(&text);
        if (line.len == 0) {
            continue;
        }
        if (secrets.count == MG_CALLBACK_SECRETS_MAX) {
            mg_callback_secrets_wipe(&secrets);
            return mg_err_set(err, MG_BAD_INPUT, "it has more than %d secrets", MG_CALLBACK_SECRETS_MAX);
        }
        if (line.len < MG_CALLBACK_SECRET_MIN || line.len > MG_CALLBACK_SECRET_MAX ||
            memchr(line.data, '\0', line.len) != NULL) {
            mg_callback_secrets_wipe(&secrets);
            return mg_err_set(err, MG_BAD_INPUT,
                              "line %d: expected a secret of %d to %d bytes, as of: openssl rand -hex 32",
                              number, MG_CALLBACK_SECRET_MIN, MG_CALLBACK_SECRET_MAX);
        }
        memcpy(secrets.texts[secrets.count++], line.data, line.len);
    }
    if (secrets.count == 0) {
        return mg_err_set(err, MG_BAD_INPUT, "it has no secret");
    }
    *ret_secrets = secrets;
    mg_callback_secrets_wipe(&secrets);
    return MG_OK;
}

enum mg_class mg_callback_secrets_read(const char *path, struct mg_callback_secrets *ret_secrets,
                                       struct mg_err *err)
{
    char text[FILE_MAX + 1];
    ssize_t len = mg_file_read(path, false, text, sizeof(text)); /* a FIFO must not block the loop */
    enum mg_class class =
        len < 0          ? mg_err_set(err, MG_BAD_INPUT, "%s", strerror(errno))
        : len > FILE_MAX ? mg_err_set(err, MG_BAD_INPUT, "it is longer than %d bytes", FILE_MAX)
                         : mg_callback_secrets_parse((struct mg_slice){text, (size_t)len}, ret_secrets, err);
    explicit_bzero(text, sizeof(text));
    return class == MG_OK ? MG_OK : mg_err_prefix(err, "could not read --callback-secret-file %s", path);
}

void mg_callback_secrets_wipe(struct mg_callback_secrets *secrets)
{
    explicit_bzero(secrets, sizeof(*secrets));
}

/* ---- tokens ---- */

static bool digest_make(const char *secret, struct mg_slice named, uint8_t ret_digest[MG_HMAC_MAX])
{
    const struct mg_slice parts[] = {mg_slice_of(PURPOSE), named};
    return mg_hmac(MG_HASH_SHA256, mg_slice_of(secret), parts, 2, ret_digest) == MG_SHA256_SIZE;
}

/* base64url without padding (RFC 4648 §5). */
static bool text_make(const uint8_t *bytes, size_t len, char ret_text[MG_CALLBACK_TOKEN_SIZE])
{
    char memory[MG_CALLBACK_TOKEN_SIZE + 4];
    struct mg_buf buf;
    mg_buf_init_fixed(&buf, memory, sizeof(memory));
    mg_buf_append_base64(&buf, (struct mg_slice){(const char *)bytes, len});
    size_t used = 0;
    for (; !buf.failed && used < buf.len && buf.data[used] != '='; used++) {
        char c = buf.data[used];
        ret_text[used] = (char)(c == '+' ? '-' : c == '/' ? '_' : c);
    }
    ret_text[used] = '\0';
    return !buf.failed;
}

/* False: it is no such text. */
static bool text_read(struct mg_slice text, uint8_t ret_bytes[BYTES_MAX], size_t *ret_len)
{
    char padded[MG_CALLBACK_TOKEN_SIZE + 4];
    size_t len = 0;
    if (text.len >= MG_CALLBACK_TOKEN_SIZE) {
        return false;
    }
    for (; len < text.len; len++) {
        char c = text.data[len];
        if (c == '+' || c == '/' || c == '=') {
            return false;
        }
        padded[len] = (char)(c == '-' ? '+' : c == '_' ? '/' : c);
    }
    while (len % 4 != 0) {
        padded[len++] = '=';
    }
    return mg_base64_read((struct mg_slice){padded, len}, ret_bytes, BYTES_MAX, ret_len) &&
           *ret_len > MG_SHA256_SIZE;
}

bool mg_callback_token_make(const struct mg_callback_secrets *secrets, int place,
                            const struct mg_callback *callback, char ret_token[MG_CALLBACK_TOKEN_SIZE])
{
    uint8_t bytes[MG_HMAC_MAX + NAMED_SIZE];
    char named[NAMED_SIZE];
    int len = snprintf(named, sizeof(named), "%s/%s/%lu", callback->order_id, callback->step,
                       (unsigned long)callback->generation);
    ret_token[0] = '\0';
    if (place >= secrets->count || len <= 0 || (size_t)len >= sizeof(named) ||
        !digest_make(secrets->texts[place], (struct mg_slice){named, (size_t)len}, bytes)) {
        return false;
    }
    memcpy(bytes + MG_SHA256_SIZE, named, (size_t)len);
    return text_make(bytes, MG_SHA256_SIZE + (size_t)len, ret_token);
}

/* Takes the text up to the next slash; false: it does not fit. */
static bool part_take(struct mg_slice *rest, char *ret_text, size_t size)
{
    const char *slash = memchr(rest->data, '/', rest->len);
    size_t len = slash != NULL ? (size_t)(slash - rest->data) : rest->len;
    if (slash == NULL || len >= size) {
        return false;
    }
    memcpy(ret_text, rest->data, len);
    ret_text[len] = '\0';
    *rest = (struct mg_slice){slash + 1, rest->len - len - 1};
    return true;
}

/* A valid digest covers only texts that mg_callback_token_make has written; so only the form is looked at. */
static bool named_read(struct mg_slice named, struct mg_callback *ret_callback)
{
    unsigned long long generation = 0;
    if (!part_take(&named, ret_callback->order_id, sizeof(ret_callback->order_id)) ||
        !part_take(&named, ret_callback->step, sizeof(ret_callback->step)) || named.len == 0) {
        return false;
    }
    for (size_t i = 0; i < named.len; i++) {
        if (named.data[i] < '0' || named.data[i] > '9' || generation > UINT32_MAX) {
            return false;
        }
        generation = generation * 10 + (unsigned long long)(named.data[i] - '0');
    }
    ret_callback->generation = (uint32_t)generation;
    return generation <= UINT32_MAX &&
           mg_order_id_is_valid(ret_callback->order_id, strlen(ret_callback->order_id)) &&
           mg_name_is_valid(ret_callback->step, strlen(ret_callback->step));
}

bool mg_callback_token_read(const struct mg_callback_secrets *secrets, struct mg_slice token,
                            struct mg_callback *ret_callback)
{
    uint8_t bytes[BYTES_MAX] = {0}, digest[MG_HMAC_MAX];
    char again[MG_CALLBACK_TOKEN_SIZE];
    size_t len = 0;
    bool has_form = text_read(token, bytes, &len), is_made = false;
    len = has_form ? len : MG_SHA256_SIZE;
    const struct mg_slice named = {(const char *)bytes + MG_SHA256_SIZE, len - MG_SHA256_SIZE};
    for (int i = 0; i < MG_CALLBACK_SECRETS_MAX; i++) { /* each, so that the duration tells nothing */
        bool is_equal = digest_make(secrets->texts[i], named, digest) &&
                        mg_secret_is_equal(digest, bytes, MG_SHA256_SIZE);
        is_made = is_made || (is_equal && i < secrets->count);
    }
    /* One token has one text: the last digit of base64 may have bits that no byte needs. */
    return is_made && has_form && text_make(bytes, len, again) && mg_slice_is(token, again) &&
           named_read(named, ret_callback);
}
