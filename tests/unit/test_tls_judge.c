/* Text from a peer's certificate, where a stranger wrote it. */
#include "io/tls/certificate_fault.h"
#include "suite.h"

#include <check.h>
#include <openssl/x509v3.h>
#include <string.h>

static void judge(const char *names, char *ret_text, size_t size)
{
    X509 *certificate = X509_new();
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, names);
    X509_STORE *trusted = X509_STORE_new();
    X509_STORE_CTX *store = X509_STORE_CTX_new();
    ck_assert(certificate != NULL && extension != NULL && trusted != NULL && store != NULL);
    ck_assert_int_eq(X509_add_ext(certificate, extension, -1), 1);
    ck_assert_int_eq(X509_STORE_CTX_init(store, trusted, certificate, NULL), 1);
    X509_STORE_CTX_set_current_cert(store, certificate);
    X509_STORE_CTX_set_error(store, X509_V_ERR_HOSTNAME_MISMATCH);
    const struct mg_tls_words words = {"broker", "rabbitmq", "ca.pem", "--amqp-ca-file"};
    mg_tls_judge(store, &words, ret_text, size);
    X509_STORE_CTX_free(store);
    X509_STORE_free(trusted);
    X509_EXTENSION_free(extension);
    X509_free(certificate);
}

START_TEST(names_and_addresses_are_printed)
{
    char text[512] = "";
    judge("DNS:else.where,IP:10.0.0.7,IP:2001:db8::1", text, sizeof(text));
    ck_assert_msg(strstr(text, "else.where, 10.0.0.7, 2001:db8::1") != NULL, "%s", text);
}
END_TEST

/* Catches: a read past the end of an address that is shorter than any address. */
START_TEST(an_address_of_no_known_length_is_passed_over)
{
    char text[512] = "";
    judge("DER:30:0a:87:02:01:02:82:04:72:65:61:6c", text, sizeof(text)); /* 2 bytes; then DNS:real */
    ck_assert_msg(strstr(text, "real") != NULL, "%s", text);
    ck_assert_msg(strstr(text, ", real") == NULL, "%s", text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tls_judge");
    TCase *all = tcase_create("names");
    tcase_add_test(all, names_and_addresses_are_printed);
    tcase_add_test(all, an_address_of_no_known_length_is_passed_over);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
