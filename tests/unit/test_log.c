/* Log lines: valid JSON for any logged text, bounded, and never a reason to wait. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "suite.h"

static int saved_stderr, ends[2];
static char line[4 * PIPE_BUF];
static bool has_no_memory;

/* The linker gives it the place of the library's (CMakeLists.txt). */
void *real_realloc(void *old, size_t size) __asm__("__real_realloc");
void *test_realloc(void *old, size_t size) __asm__("__wrap_realloc");

void *test_realloc(void *old, size_t size)
{
    return has_no_memory ? NULL : real_realloc(old, size);
}

static void set_up(void)
{
    saved_stderr = dup(STDERR_FILENO);
    ck_assert_int_ge(saved_stderr, 0);
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    ck_assert_int_ge(dup2(ends[1], STDERR_FILENO), 0);
    mg_log_open("scheduler", "host:1:2", MG_LOG_INFO);
}

static void tear_down(void)
{
    (void)dup2(saved_stderr, STDERR_FILENO);
    (void)close(saved_stderr);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

/* The lines written since the last call; "" if there are none. */
static const char *read_line(int fd)
{
    (void)fcntl(fd, F_SETFL, O_NONBLOCK); /* our end: the writer's is another description */
    ssize_t len = read(fd, line, sizeof(line) - 1);
    line[len > 0 ? len : 0] = '\0';
    return line;
}

/* The other end of a terminal gets the output piece by piece: the read waits for the line's end. */
static const char *await_line(int master)
{
    size_t len = 0;
    while (len < sizeof(line) - 1 && (len == 0 || line[len - 1] != '\n')) {
        ssize_t more = read(master, line + len, sizeof(line) - 1 - len);
        ck_assert_int_gt(more, 0);
        len += (size_t)more;
    }
    line[len] = '\0';
    return line;
}

/* Catches: a line that is not the one JSON object that collectors expect. */
START_TEST(a_line_is_one_json_object)
{
    mg_log(MG_LOG_WARN, "order \"7\" waits\n", MG_LOG_TEXT("reason", "breaker\topen\xff"),
           MG_LOG_NUMBER("attempt", -3));
    const char *text = read_line(ends[0]);
    ck_assert_int_eq(strncmp(text, "{\"ts\":\"20", 9), 0);
    ck_assert_str_eq(text + strlen("{\"ts\":\"2026-01-31T12:34:56.789Z\""),
                     ",\"level\":\"warn\",\"service\":\"scheduler\",\"instance\":\"host:1:2\","
                     "\"message\":\"order \\\"7\\\" waits\\n\",\"reason\":\"breaker\\topen\\ufffd\","
                     "\"attempt\":-3}\n");
}
END_TEST

/* Catches: a process that ends for lack of memory without a log line, because the line needs some. */
START_TEST(want_of_memory_can_be_logged)
{
    has_no_memory = true;
    mg_log(MG_LOG_ERROR, "no memory for a call", MG_LOG_TEXT("order_id", "o-7"));
    has_no_memory = false;
    ck_assert_ptr_nonnull(strstr(read_line(ends[0]), "\"no memory for a call\",\"order_id\":\"o-7\"}\n"));
}
END_TEST

/* Catches: lines below the level, and a level that is misspelt but accepted. */
START_TEST(lines_below_the_level_are_not_written)
{
    enum mg_log_level level = MG_LOG_ERROR;
    mg_log(MG_LOG_DEBUG, "unseen", MG_LOG_NONE);
    ck_assert_str_eq(read_line(ends[0]), "");
    ck_assert(mg_log_level_parse("debug", &level));
    ck_assert_int_eq(level, MG_LOG_DEBUG);
    ck_assert(!mg_log_level_parse("verbose", &level));
    ck_assert(!mg_log_level_parse(NULL, &level));
    ck_assert_int_eq(level, MG_LOG_DEBUG);
    mg_log_open("scheduler", "i", level);
    mg_log(MG_LOG_DEBUG, "seen", MG_LOG_NONE);
    ck_assert_ptr_nonnull(strstr(read_line(ends[0]), "\"seen\"}\n"));
}
END_TEST

/* Catches: text that escapes make longer, and that fills the room which the end of the line needs. */
START_TEST(a_line_of_escapes_keeps_room_for_its_end)
{
    char quotes[5000], control[512];
    memset(quotes, '"', sizeof(quotes) - 1);
    quotes[sizeof(quotes) - 1] = '\0';
    memset(control, '\1', sizeof(control) - 1);
    control[sizeof(control) - 1] = '\0';
    mg_log(MG_LOG_INFO, "quotes", MG_LOG_TEXT("first", quotes), MG_LOG_NUMBER("second", 2));
    const char *text = read_line(ends[0]);
    ck_assert_uint_le(strlen(text), PIPE_BUF);
    ck_assert_ptr_nonnull(strstr(text, "\"cut\":true}\n"));
    for (size_t len = 0; len < sizeof(control); len++) {
        mg_log(MG_LOG_INFO, "both", MG_LOG_TEXT("reason", control), MG_LOG_TEXT("id", control + len));
        text = read_line(ends[0]);
        ck_assert_uint_le(strlen(text), PIPE_BUF);
        ck_assert_ptr_nonnull(strstr(text, "}\n"));
    }
}
END_TEST

/* Catches: a line longer than a pipe takes in one piece, or one that is cut in the middle of its JSON. */
START_TEST(a_long_value_is_cut_and_the_line_stays_whole)
{
    char value[3 * PIPE_BUF];
    memset(value, 'x', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    mg_log(MG_LOG_INFO, "long", MG_LOG_TEXT("first", value), MG_LOG_NUMBER("second", 2));
    const char *text = read_line(ends[0]);
    ck_assert_uint_le(strlen(text), PIPE_BUF);
    ck_assert_ptr_nonnull(strstr(text, "\"first\":\"xxxx"));
    ck_assert_ptr_nonnull(strstr(text, "xxx\",\"second\":2,\"cut\":true}\n"));
}
END_TEST

/* Catches: a service that stalls because its log is not read; lines lost without a count. */
START_TEST(a_full_pipe_drops_lines_and_counts_them)
{
    char value[3000];
    memset(value, 'x', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    int64_t start = mg_clock_boot_ms();
    errno = EXDEV;
    for (int i = 0; i < 200; i++) {
        mg_log(MG_LOG_INFO, "much", MG_LOG_TEXT("value", value));
    }
    ck_assert_int_eq(errno, EXDEV);
    ck_assert_int_lt(mg_clock_boot_ms() - start, 5000);
    uint64_t dropped = mg_log_dropped();
    ck_assert_uint_gt(dropped, 100);

    int flags = fcntl(STDERR_FILENO, F_GETFL);
    ck_assert_int_eq(flags & O_NONBLOCK, 0); /* the description that others share is as it was */
    uint64_t whole = 0;
    char last = '\n';
    while (read_line(ends[0])[0]) {
        for (const char *at = line; *at; at++) {
            whole += *at == '\n';
        }
        last = line[strlen(line) - 1];
    }
    ck_assert_int_eq(last, '\n'); /* no half line */
    ck_assert_uint_eq(whole, 200 - dropped);
    mg_log(MG_LOG_INFO, "again", MG_LOG_NONE);
    ck_assert_ptr_nonnull(strstr(read_line(ends[0]), "\"again\""));
    ck_assert_uint_eq(mg_log_dropped(), dropped);
}
END_TEST

/* Catches: the same standstill where the log is a socket, as under systemd. */
START_TEST(a_full_socket_drops_lines_and_counts_them)
{
    int pair[2];
    char value[3000];
    memset(value, 'x', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    ck_assert_int_ge(dup2(pair[1], STDERR_FILENO), 0);
    mg_log_open("agent", "i", MG_LOG_INFO);
    for (int i = 0; i < 2000; i++) {
        mg_log(MG_LOG_INFO, "much", MG_LOG_TEXT("value", value));
    }
    ck_assert_uint_gt(mg_log_dropped(), 0);
    ck_assert_ptr_nonnull(strstr(read_line(pair[0]), "\"much\""));
    (void)close(pair[0]);
    uint64_t dropped = mg_log_dropped();
    mg_log(MG_LOG_INFO, "nobody", MG_LOG_NONE); /* and no SIGPIPE */
    ck_assert_uint_eq(mg_log_dropped(), dropped + 1);
    (void)close(pair[1]);
}
END_TEST

/* Catches: a log file overwritten from its start by a second description. */
START_TEST(a_file_is_written_where_it_stands)
{
    FILE *file = tmpfile();
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(dup2(fileno(file), STDERR_FILENO), 0);
    ck_assert_int_eq(write(STDERR_FILENO, "before\n", 7), 7);
    mg_log_open("agent", "i", MG_LOG_INFO);
    mg_log(MG_LOG_INFO, "one", MG_LOG_NONE);
    mg_log(MG_LOG_INFO, "two", MG_LOG_NONE);
    ck_assert_int_eq(lseek(fileno(file), 0, SEEK_SET), 0);
    const char *text = read_line(fileno(file));
    ck_assert_int_eq(strncmp(text, "before\n{", 8), 0);
    ck_assert_ptr_nonnull(strstr(text, "\"two\"}\n"));
    (void)fclose(file);
}
END_TEST

/* Catches: escape sequences from outside that reach the terminal and steer it; JSON where a person reads. */
START_TEST(a_terminal_gets_readable_text_without_control_characters)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    ck_assert_int_ge(master, 0);
    ck_assert_int_eq(grantpt(master), 0);
    ck_assert_int_eq(unlockpt(master), 0);
    int terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
    ck_assert_int_ge(terminal, 0);
    ck_assert_int_ge(dup2(terminal, STDERR_FILENO), 0);
    mg_log_open("agent", "i", MG_LOG_INFO);
    mg_log(MG_LOG_WARN, "bad \x1b[31mreply\xc2\x9b", MG_LOG_TEXT("order_id", "7"),
           MG_LOG_TEXT("text", "a b\x1b]0;x\a\xe2\x80\xae\xe2\x81\xa6"
                               "c"),
           MG_LOG_NUMBER("attempt", 2));
    ck_assert_str_eq(
        await_line(master) + strlen("12:34:56.789 "),
        "warn  bad \\u001b[31mreply?? order_id=7 text=\"a b\\u001b]0;x\\u0007??????c\" attempt=2\r\n");
    (void)close(terminal);
    (void)close(master);
}
END_TEST

static char sunk[PIPE_BUF];
static enum mg_log_level sunk_level;

static void sink(enum mg_log_level level, const char *text)
{
    ck_assert_uint_lt(strlen(text), sizeof(sunk));
    memcpy(sunk, text, strlen(text) + 1);
    sunk_level = level;
}

/* Catches: a line for a program that has a line end, is in two places, or is not of its level. */
START_TEST(a_sink_gets_one_line_without_its_end)
{
    static char value[PIPE_BUF];
    memset(value, 'x', sizeof(value) - 1);
    mg_log_sink_set(sink, MG_LOG_WARN);
    mg_log(MG_LOG_WARN, "order \"7\"\nwaits", MG_LOG_TEXT("reason", "a b"), MG_LOG_NUMBER("attempt", -3));
    ck_assert_str_eq(sunk, "order \\\"7\\\"\\nwaits reason=\"a b\" attempt=-3");
    ck_assert_int_eq(sunk_level, MG_LOG_WARN);
    mg_log(MG_LOG_INFO, "less", MG_LOG_NONE);
    ck_assert_ptr_null(strstr(sunk, "less"));
    mg_log(MG_LOG_ERROR, "long", MG_LOG_TEXT("value", value));
    ck_assert_int_eq(strncmp(sunk, "long value=xxx", 14), 0);
    ck_assert_str_eq(sunk + strlen(sunk) - strlen("x …"), "x …");
    ck_assert_str_eq(read_line(ends[0]), "");
    mg_log_sink_set(NULL, MG_LOG_INFO);
    mg_log(MG_LOG_INFO, "back", MG_LOG_NONE);
    ck_assert_ptr_nonnull(strstr(read_line(ends[0]), "\"back\"}\n"));
    ck_assert_ptr_null(strstr(sunk, "back"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("log");
    TCase *tests = tcase_create("log");
    tcase_set_timeout(tests, 30);
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, a_line_is_one_json_object);
    tcase_add_test(tests, want_of_memory_can_be_logged);
    tcase_add_test(tests, lines_below_the_level_are_not_written);
    tcase_add_test(tests, a_long_value_is_cut_and_the_line_stays_whole);
    tcase_add_test(tests, a_line_of_escapes_keeps_room_for_its_end);
    tcase_add_test(tests, a_full_pipe_drops_lines_and_counts_them);
    tcase_add_test(tests, a_full_socket_drops_lines_and_counts_them);
    tcase_add_test(tests, a_file_is_written_where_it_stands);
    tcase_add_test(tests, a_terminal_gets_readable_text_without_control_characters);
    tcase_add_test(tests, a_sink_gets_one_line_without_its_end);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
