/*
 * Identities and digests: libuuid draws and writes UUIDs, libcrypto hashes. No function here reports a
 * failure, because no caller could continue: a wrong digest would merge two orders. A library that cannot
 * hash or draw ends the process; the restart recovers.
 */
#include "base/id.h"

#include <assert.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uuid/uuid.h>

#define HOST_MAX  64 /* Linux: HOST_NAME_MAX */
#define STAT_SIZE 1024
/* proc(5): field 22 of /proc/self/stat is the 20th after the name in parentheses. */
#define STAT_START_TIME 20

static_assert(sizeof(uuid_t) == 16, "a UUID has 128 bits");

/* Makegood's own namespace, drawn once. Changing it would give orders new identities on redelivery. */
static const unsigned char NAMESPACE[16] = {0x7c, 0x1f, 0x3b, 0x0e, 0x52, 0xd4, 0x4a, 0x6b,
                                            0x9e, 0x83, 0x0d, 0x2a, 0xc6, 0x71, 0xf5, 0x48};

bool mg_uuid_is_valid(const char *text)
{
    return strlen(text) == MG_UUID_SIZE - 1 && strspn(text, "0123456789abcdef-") == MG_UUID_SIZE - 1;
}

void mg_uuid_random(char ret_text[MG_UUID_SIZE])
{
    uuid_t uuid;

    uuid_generate_random(uuid);
    uuid_unparse_lower(uuid, ret_text);
}

/* The hashed name is "<length of sender>:<sender>:<message id>". Without the length, "a:" + "b" and "a" +
 * ":b" would be one order. */
void mg_uuid_derived(struct mg_slice sender, struct mg_slice message_id, char ret_text[MG_UUID_SIZE])
{
    char length[24];
    unsigned char digest[EVP_MAX_MD_SIZE];
    int length_len = snprintf(length, sizeof(length), "%zu:", sender.len);

    EVP_MD_CTX *context = EVP_MD_CTX_new();
    if (!context || EVP_DigestInit_ex(context, EVP_sha1(), NULL) != 1 ||
        EVP_DigestUpdate(context, NAMESPACE, sizeof(NAMESPACE)) != 1 ||
        EVP_DigestUpdate(context, length, (size_t)length_len) != 1 ||
        EVP_DigestUpdate(context, sender.data, sender.len) != 1 || EVP_DigestUpdate(context, ":", 1) != 1 ||
        EVP_DigestUpdate(context, message_id.data, message_id.len) != 1 ||
        EVP_DigestFinal_ex(context, digest, NULL) != 1) {
        abort();
    }
    EVP_MD_CTX_free(context);

    uuid_t uuid;
    memcpy(uuid, digest, sizeof(uuid));
    uuid[6] = (unsigned char)((uuid[6] & 0x0f) | 0x50); /* version 5 */
    uuid[8] = (unsigned char)((uuid[8] & 0x3f) | 0x80); /* the variant of RFC 9562 */
    uuid_unparse_lower(uuid, ret_text);
}

/* Fetched once for the life of the process: EVP_sha256() searches the providers at each digest, which costs
 * more than that of a name (OpenSSL, crypto(7), "Performance"). */
static const EVP_MD *sha256;

static void sha256_fetch(void)
{
    sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
}

void mg_sha256(struct mg_slice bytes, uint8_t ret_digest[MG_SHA256_SIZE])
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    unsigned int len = 0;

    if (pthread_once(&once, sha256_fetch) != 0 || sha256 == NULL ||
        EVP_Digest(bytes.data ? bytes.data : "", bytes.len, ret_digest, &len, sha256, NULL) != 1 ||
        len != MG_SHA256_SIZE) {
        abort();
    }
}

char *mg_hex_write(const uint8_t *bytes, size_t size, char *ret_text)
{
    static const char DIGITS[] = "0123456789abcdef";
    for (size_t i = 0; i < size; i++) {
        *ret_text++ = DIGITS[bytes[i] >> 4];
        *ret_text++ = DIGITS[bytes[i] & 15];
    }
    return ret_text;
}

int mg_hex_digit(char c)
{
    char letter = (char)(c | 0x20);
    return c >= '0' && c <= '9' ? c - '0' : letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

bool mg_hex_read(const char *text, size_t size, uint8_t *ret_bytes)
{
    for (size_t i = 0; i < size; i++) {
        int high = mg_hex_digit(text[2 * i]), low = mg_hex_digit(text[2 * i + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        ret_bytes[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

/* Start of this process in clock ticks since boot. It is the same for every call, and differs for a successor
 * with the same process id; the first process of a container always has the same id. */
static unsigned long long start_time(void)
{
    char text[STAT_SIZE];
    FILE *file = fopen("/proc/self/stat", "re");
    size_t len = file ? fread(text, 1, sizeof(text) - 1, file) : 0;

    if (file) {
        (void)fclose(file); /* only read */
    }
    text[len] = '\0';
    const char *at = strrchr(text, ')'); /* the name before it may hold anything */
    for (int i = 0; at && i < STAT_START_TIME; i++) {
        at = strchr(at + 1, ' ');
    }
    return at ? strtoull(at, NULL, 10) : 0;
}

void mg_instance_name(char *ret_text, size_t size)
{
    char host[HOST_MAX + 1] = "";
    char tail[64];

    if (gethostname(host, sizeof(host) - 1) != 0 || host[0] == '\0') {
        memcpy(host, "localhost", sizeof("localhost"));
    }
    int tail_len = snprintf(tail, sizeof(tail), ":%ld:%llu", (long)getpid(), start_time());
    /* If room is short the host is cut: process id and start time distinguish instances on one host. */
    int room = size > (size_t)tail_len + 1 ? (int)(size - (size_t)tail_len - 1) : 0;
    (void)snprintf(ret_text, size, "%.*s%s", room, host, tail);
}
