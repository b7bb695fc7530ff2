/* See tls/check.h. libcurl, librabbitmq and libpq use OpenSSL's parser too. */
#include "io/tls/check.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "base/secret.h"

/* The bundle of all public CAs is about 220 KiB; a larger file is some other file. */
#define FILE_MAX_BYTES (1024 * 1024)

static bool is_given(const char *path)
{
    return path != NULL && path[0] != '\0';
}

static enum mg_class file_read(const char *what, const char *path, char **ret_text, struct mg_err *err)
{
    char *text = calloc(1, FILE_MAX_BYTES + 1);
    if (text == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not read %s %s: no memory", what, path);
    }
    ssize_t len = mg_file_read(path, false, text, FILE_MAX_BYTES);
    enum mg_class class = MG_OK;
    if (len < 0) {
        class = mg_err_set(err, MG_BAD_INPUT, "could not read %s %s: %s", what, path, strerror(errno));
    } else if (len == FILE_MAX_BYTES) {
        class = mg_err_set(err, MG_BAD_INPUT, "could not use %s %s: it is larger than %d bytes", what, path,
                           FILE_MAX_BYTES);
    }
    if (class == MG_OK) {
        *ret_text = text;
    } else {
        mg_secret_free(text);
    }
    return class;
}

static enum mg_class refuse(struct mg_err *err, const char *what, const char *path, const char *why)
{
    return mg_err_set(err, MG_BAD_INPUT, "could not use %s %s: %s", what, path, why);
}

static X509 *cert_parse(const char *text)
{
    BIO *bio = BIO_new_mem_buf(text, -1);
    X509 *cert = bio != NULL ? PEM_read_bio_X509(bio, NULL, NULL, NULL) : NULL;
    BIO_free(bio);
    return cert;
}

/* Otherwise OpenSSL asks at the terminal. */
static int on_passphrase(char *buffer, int size, int is_writing, void *arg)
{
    (void)buffer, (void)size, (void)is_writing;
    *(bool *)arg = true;
    return -1;
}

static EVP_PKEY *key_parse(const char *text, bool *ret_is_encrypted)
{
    BIO *bio = BIO_new_mem_buf(text, -1);
    EVP_PKEY *key = bio != NULL ? PEM_read_bio_PrivateKey(bio, NULL, on_passphrase, ret_is_encrypted) : NULL;
    BIO_free(bio);
    return key;
}

static void warn_of_dates(const X509 *cert, const char *path, struct mg_tls_pair *pair)
{
    const ASN1_TIME *from = X509_get0_notBefore(cert), *to = X509_get0_notAfter(cert);
    bool is_early = X509_cmp_current_time(from) > 0, is_late = X509_cmp_current_time(to) < 0;
    struct tm at;
    char day[32] = "";
    if (!is_early && !is_late) {
        return;
    }
    if (ASN1_TIME_to_tm(is_late ? to : from, &at) == 1) {
        (void)strftime(day, sizeof(day), "%Y-%m-%d", &at);
    }
    (void)snprintf(pair->warning, sizeof(pair->warning), "certificate %.160s %s %s; peers will refuse it",
                   path, is_late ? "expired on" : "is not valid before", day);
}

static enum mg_class pair_judge(const struct mg_tls_files *files, struct mg_tls_pair *pair,
                                struct mg_err *err)
{
    bool is_encrypted = false;
    enum mg_class class = MG_OK;
    X509 *cert = cert_parse(pair->cert);
    EVP_PKEY *key = key_parse(pair->key, &is_encrypted);
    if (cert == NULL) {
        class = refuse(err, "certificate", files->cert_file,
                       "it holds no certificate in PEM (-----BEGIN CERTIFICATE-----)");
    } else if (is_encrypted) {
        class = refuse(err, "key", files->key_file,
                       "it has a passphrase, and no terminal to type it; store it without one");
    } else if (key == NULL) {
        class = refuse(err, "key", files->key_file,
                       "it holds no private key in PEM (-----BEGIN PRIVATE KEY-----)");
    } else if (X509_check_private_key(cert, key) != 1) {
        class = mg_err_set(err, MG_BAD_INPUT, "could not use key %s: it is not the key of certificate %s",
                           files->key_file, files->cert_file);
    }
    ERR_clear_error(); /* the queue is the thread's: errors left in it would be taken for another call's */
    if (class == MG_OK) {
        warn_of_dates(cert, files->cert_file, pair);
    }
    X509_free(cert);
    EVP_PKEY_free(key);
    return class;
}

enum mg_class mg_tls_pair_read(const struct mg_tls_files *files, struct mg_tls_pair *ret_pair,
                               struct mg_err *err)
{
    struct mg_tls_pair pair = {.cert = NULL};
    bool has_cert = is_given(files->cert_file), has_key = is_given(files->key_file);
    if (has_cert != has_key) {
        return mg_err_set(err, MG_BAD_INPUT, "%s %s stands alone: certificate and key files belong together",
                          has_cert ? "certificate" : "key", has_cert ? files->cert_file : files->key_file);
    }
    enum mg_class class = MG_OK;
    if (has_cert) {
        class = file_read("certificate", files->cert_file, &pair.cert, err);
        if (class == MG_OK) {
            class = file_read("key", files->key_file, &pair.key, err);
        }
        if (class == MG_OK) {
            class = pair_judge(files, &pair, err);
        }
    }
    if (class == MG_OK) {
        *ret_pair = pair;
    } else {
        mg_tls_pair_finish(&pair);
    }
    return class;
}

void mg_tls_pair_finish(struct mg_tls_pair *pair)
{
    free(pair->cert);
    mg_secret_free(pair->key);
    pair->cert = pair->key = NULL;
}

enum mg_class mg_tls_check(const struct mg_tls_files *files, char *ret_warning, size_t size,
                           struct mg_err *err)
{
    struct mg_tls_pair pair;
    char *ca = NULL;
    enum mg_class class = mg_tls_pair_read(files, &pair, err);
    if (class != MG_OK) {
        return class;
    }
    (void)snprintf(ret_warning, size, "%s", pair.warning);
    mg_tls_pair_finish(&pair);
    if (!is_given(files->ca_file)) {
        return MG_OK;
    }
    class = file_read("CA file", files->ca_file, &ca, err);
    if (class != MG_OK) {
        return class;
    }
    X509 *cert = cert_parse(ca);
    if (cert == NULL) {
        class = refuse(err, "CA file", files->ca_file,
                       "it holds no certificate in PEM (-----BEGIN CERTIFICATE-----)");
    }
    ERR_clear_error();
    X509_free(cert);
    free(ca);
    return class;
}
