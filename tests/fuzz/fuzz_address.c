/*
 * Addresses that contain passwords: AMQP URLs, connection strings of PostgreSQL, and listening addresses of
 * HTTP. The input is an address of any kind. In a second pass its parts surround a password, which must
 * appear neither in log text nor in a refusal.
 */
#include <stdlib.h>

#include "base/config.h"
#include "base/host.h"
#include "fuzz.h"
#include "io/amqp/address.h"
#include "io/http/server.h"
#include "io/pg/dsn.h"
#include "io/store/store.h"

#define SECRET "s3cr3t-7Q"

static void is_refused_with_reason(enum mg_class class, const struct mg_err *err)
{
    if (class == MG_OK) {
        return;
    }
    FUZZ_REQUIRE(class == MG_BAD_INPUT && err->class == class && err->text[0] != '\0');
}

/* Passes the text to every reader of addresses; no refusal may contain the secret. */
static void try_readers(const char *text, const char *secret)
{
    for (int is_plaintext_allowed = 0; is_plaintext_allowed < 2; is_plaintext_allowed++) {
        struct mg_err err = {MG_OK, ""};
        const struct mg_broker_address address = {.url = text, .is_plaintext_allowed = is_plaintext_allowed};
        is_refused_with_reason(mg_broker_check_address(&address, &err), &err);
        FUZZ_REQUIRE(secret == NULL || strstr(err.text, secret) == NULL);
        err = (struct mg_err){MG_OK, ""};
        is_refused_with_reason(mg_dsn_check(text, is_plaintext_allowed, &err), &err);
        FUZZ_REQUIRE(secret == NULL || strstr(err.text, secret) == NULL);
        err = (struct mg_err){MG_OK, ""};
        const struct mg_http_server_options options = {.address = text,
                                                       .is_plaintext_allowed = is_plaintext_allowed};
        if (secret == NULL) {
            is_refused_with_reason(mg_http_server_check(&options, &err), &err);
        }
    }
    (void)mg_host_is_loopback(text);
}

/* A redacted text that is cut to any size is a prefix of the whole. */
static void redact(const char *text, const char *secret)
{
    size_t size = 4 * strlen(text) + 16; /* asterisks may be longer than the hidden text */
    char *whole = malloc(size), part[24];
    FUZZ_REQUIRE(whole != NULL);
    mg_url_redact(text, whole, size);
    FUZZ_REQUIRE(strlen(whole) < size - 1);
    FUZZ_REQUIRE(secret == NULL || strstr(whole, secret) == NULL);
    FUZZ_REQUIRE(secret == NULL || mg_url_has_password(text));
    if (strcmp(whole, text) != 0 && strstr(whole, "***") == NULL) {
        FUZZ_REQUIRE(false);
    }
    for (size_t len = 1; len <= sizeof(part); len++) {
        mg_url_redact(text, part, len);
        FUZZ_REQUIRE(strlen(part) < len && strncmp(part, whole, len - 1) == 0);
    }
    free(whole);
}

/* `parts` ends with NULL. */
static void try_around(const char *const *parts)
{
    struct mg_buf text;
    mg_buf_init(&text, FUZZ_TEXT_MAX);
    for (int i = 0; parts[i] != NULL; i++) {
        mg_buf_append_text(&text, parts[i]);
    }
    FUZZ_REQUIRE(!text.failed);
    redact(text.data, SECRET);
    try_readers(text.data, SECRET);
    mg_buf_finish(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mg_slice rest = {(const char *)data, size};
    if (fuzz_contains(rest, SECRET)) {
        return 0;
    }
    char *first = fuzz_take_text(&rest), *second = fuzz_take_text(&rest);
    redact(first, NULL);
    try_readers(first, NULL);
    const char *const texts[][6] = {
        {"amqp://user:", first, SECRET, second, "@host/", NULL},
        {"amqp://user:", SECRET, "@host/", first, second, NULL},
        {"postgresql://user:", first, SECRET, second, "@localhost/orders", NULL},
        {"postgresql://user:", SECRET, "@localhost/", first, second, NULL},
        {"host=db password=", SECRET, first, " ", second, NULL},
        {"host=db user=", first, " password=", SECRET, second, NULL},
        {"host=", first, " password=", SECRET, second, NULL},
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        try_around(texts[i]);
    }
    free(first);
    free(second);
    return 0;
}
