/* Words for a shell, as `makegood dev` prints and writes them. */
#include "dev/doors.h"
#include "suite.h"

static void assert_word(const char *text, const char *word)
{
    struct mg_buf buf;
    mg_buf_init(&buf, 1024);
    mg_shell_append(&buf, mg_slice_of(text));
    ck_assert(!buf.failed);
    ck_assert_str_eq(buf.data, word);
    mg_buf_finish(&buf);
}

/* Catches: a connection string with quotes of its own, which ends the word and leaves the rest to the shell.
 */
START_TEST(a_text_is_one_word_whatever_it_holds)
{
    assert_word("", "''");
    assert_word("host=/tmp/a b port=5432", "'host=/tmp/a b port=5432'");
    assert_word("password='x y' $HOME `id`", "'password='\\''x y'\\'' $HOME `id`'");
    assert_word("'", "''\\'''");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shell");
    TCase *cases = tcase_create("all");
    tcase_add_test(cases, a_text_is_one_word_whatever_it_holds);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
