/* OpenSSL's verdict on a certificate as a message that names the side that must act. */
#include "io/tls/certificate_fault.h"

#include <arpa/inet.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <time.h>

#define NAME_SIZE  80  /* for a certificate's owner in a message */
#define NAMES_SIZE 140 /* for all names in a certificate */

void mg_tls_write_time(const ASN1_TIME *time, char text[MG_TLS_TIME_SIZE])
{
    struct tm when = {0};
    text[0] = '\0';
    if (ASN1_TIME_to_tm(time, &when) == 1) {
        (void)strftime(text, MG_TLS_TIME_SIZE, "%Y-%m-%d %H:%M UTC", &when);
    }
}

static void write_name(const X509_NAME *name, char text[NAME_SIZE])
{
    text[0] = '\0';
    BIO *out = BIO_new(BIO_s_mem());
    if (out != NULL && X509_NAME_print_ex(out, name, 0, XN_FLAG_RFC2253) >= 0) {
        int n = BIO_read(out, text, NAME_SIZE - 1);
        text[n > 0 ? n : 0] = '\0';
    }
    BIO_free(out);
}

static void write_alternative_names(const X509 *certificate, char text[NAMES_SIZE])
{
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < sk_GENERAL_NAME_num(names) && used < NAMES_SIZE - 1; i++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);
        char item[INET6_ADDRSTRLEN + 64] = "";
        if (name->type == GEN_DNS) {
            (void)snprintf(item, sizeof(item), "%.*s", ASN1_STRING_length(name->d.dNSName),
                           (const char *)ASN1_STRING_get0_data(name->d.dNSName));
        } else if (name->type == GEN_IPADD) {
            int len = ASN1_STRING_length(name->d.iPAddress); /* from the peer: any length */
            if (len == 4 || len == 16) {
                (void)inet_ntop(len == 4 ? AF_INET : AF_INET6, ASN1_STRING_get0_data(name->d.iPAddress), item,
                                sizeof(item));
            }
        }
        if (item[0] == '\0') {
            continue;
        }
        for (char *c = item; *c != '\0'; c++) { /* from the peer: any bytes */
            *c = *c > ' ' && *c <= '~' ? *c : '?';
        }
        int n = snprintf(text + used, NAMES_SIZE - used, "%s%s", used > 0 ? ", " : "", item);
        used = n < 0 || used + (size_t)n >= NAMES_SIZE ? NAMES_SIZE - 1 : used + (size_t)n;
    }
    GENERAL_NAMES_free(names);
}

void mg_tls_judge(X509_STORE_CTX *store, const struct mg_tls_words *words, char *ret_text, size_t size)
{
    const X509 *certificate = X509_STORE_CTX_get_current_cert(store);
    const X509 *peers = X509_STORE_CTX_get0_cert(store);
    int code = X509_STORE_CTX_get_error(store);
    char owner[NAME_SIZE] = "", issuer[NAME_SIZE] = "", names[NAMES_SIZE], from[MG_TLS_TIME_SIZE] = "",
         to[MG_TLS_TIME_SIZE] = "";
    if (certificate != NULL) {
        write_name(X509_get_subject_name(certificate), owner);
        write_name(X509_get_issuer_name(certificate), issuer);
        mg_tls_write_time(X509_get0_notBefore(certificate), from);
        mg_tls_write_time(X509_get0_notAfter(certificate), to);
    }
    const char *trusted = words->ca_file[0] == '\0' ? "the system's CAs" : words->ca_file;
    switch (code) {
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
        write_name(X509_get_subject_name(peers), owner); /* OpenSSL looks at the CA's certificate here */
        (void)snprintf(
            ret_text, size,
            "the %s's certificate (%s) comes from the CA %s, which is not in %s; give its CA with %s",
            words->peer, owner, issuer, trusted, words->ca_option);
        return;
    case X509_V_ERR_CERT_HAS_EXPIRED:
        (void)snprintf(ret_text, size, "the %s's certificate (%s) expired on %s; renew it there",
                       X509_STORE_CTX_get_error_depth(store) > 0 ? "CA" : words->peer, owner, to);
        return;
    case X509_V_ERR_CERT_NOT_YET_VALID:
        (void)snprintf(
            ret_text, size,
            "the %s's certificate (%s) is not valid before %s; compare the clocks of both machines",
            words->peer, owner, from);
        return;
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        write_alternative_names(certificate, names);
        (void)snprintf(
            ret_text, size,
            "the %s's certificate (%s) is for %s, not for %s; use one of its names to connect, or give the %s a "
            "certificate with this one",
            words->peer, owner, names[0] == '\0' ? "no host" : names, words->host, words->peer);
        return;
    default:
        (void)snprintf(ret_text, size, "the %s's certificate (%s) is not good: %s", words->peer, owner,
                       X509_verify_cert_error_string(code));
    }
}
