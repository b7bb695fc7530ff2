/* Identities: derived ones are the same for ever, drawn ones never. */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/id.h"
#include "suite.h"

static void derive(const char *sender, const char *message_id, char ret_text[MG_UUID_SIZE])
{
    mg_uuid_derived(mg_slice_of(sender), mg_slice_of(message_id), ret_text);
}

/* Catches: a namespace, name or byte order that differs from that of stored orders. The expected value is
 * uuid.uuid5(UUID("7c1f3b0e-52d4-4a6b-9e83-0d2ac671f548"), "4:shop:msg-1") of Python. */
START_TEST(a_derived_id_is_the_uuid_that_others_compute)
{
    char id[MG_UUID_SIZE];
    derive("shop", "msg-1", id);
    ck_assert_str_eq(id, "1a843720-778c-5580-a8a0-bee9761c2751");
}
END_TEST

/* Catches: two messages that become one order because sender and id run into each other. */
START_TEST(a_derived_id_keeps_sender_and_message_apart)
{
    char a[MG_UUID_SIZE], b[MG_UUID_SIZE];
    derive("ab", "c", a);
    derive("a", "bc", b);
    ck_assert_str_ne(a, b);
    derive("a:", "b", a);
    derive("a", ":b", b);
    ck_assert_str_ne(a, b);
    derive("", "x", a);
    mg_uuid_derived(mg_slice_of(NULL), mg_slice_of("x"), b);
    ck_assert_str_eq(a, b);
}
END_TEST

/* Catches: drawn ids that repeat, or are no version 4. */
START_TEST(a_random_id_is_version_4_and_new)
{
    char a[MG_UUID_SIZE], b[MG_UUID_SIZE];
    mg_uuid_random(a);
    mg_uuid_random(b);
    ck_assert_str_ne(a, b);
    ck_assert_uint_eq(strlen(a), MG_UUID_SIZE - 1);
    ck_assert_int_eq(a[14], '4');
    ck_assert_ptr_nonnull(strchr("89ab", a[19]));
    ck_assert_uint_eq(strspn(a, "0123456789abcdef-"), MG_UUID_SIZE - 1);
    ck_assert(mg_random_u64() != mg_random_u64());
}
END_TEST

/* Catches: another digest than SHA-256; the expected values are those of FIPS 180-4. */
START_TEST(a_digest_is_sha_256)
{
    static const uint8_t of_abc[] = {0xba, 0x78, 0x16, 0xbf}, of_nothing[] = {0xe3, 0xb0, 0xc4, 0x42};
    uint8_t digest[MG_SHA256_SIZE];
    mg_sha256(mg_slice_of("abc"), digest);
    ck_assert_mem_eq(digest, of_abc, sizeof(of_abc));
    ck_assert_uint_eq(digest[31], 0xad);
    mg_sha256(mg_slice_of(NULL), digest);
    ck_assert_mem_eq(digest, of_nothing, sizeof(of_nothing));
}
END_TEST

/* Catches: an instance that changes its name while it runs, or loses its process id when room is short. */
START_TEST(an_instance_name_distinguishes_processes)
{
    char name[128], again[128], tail[128], cut[32];
    mg_instance_name(name, sizeof(name));
    mg_instance_name(again, sizeof(again));
    ck_assert_str_eq(name, again);
    (void)snprintf(tail, sizeof(tail), ":%ld:", (long)getpid());
    ck_assert_ptr_nonnull(strstr(name, tail));
    ck_assert_str_ne(strrchr(name, ':'), ":0");
    mg_instance_name(cut, sizeof(cut));
    ck_assert_ptr_nonnull(strstr(cut, tail));
    ck_assert_str_eq(strrchr(cut, ':'), strrchr(name, ':'));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("id");
    TCase *tests = tcase_create("id");
    tcase_add_test(tests, a_derived_id_is_the_uuid_that_others_compute);
    tcase_add_test(tests, a_derived_id_keeps_sender_and_message_apart);
    tcase_add_test(tests, a_random_id_is_version_4_and_new);
    tcase_add_test(tests, a_digest_is_sha_256);
    tcase_add_test(tests, an_instance_name_distinguishes_processes);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
