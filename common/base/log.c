/*
 * Log lines on stderr that never block the loop. A line is built whole, at most PIPE_BUF bytes long, and
 * written by one call, which a pipe takes whole or not at all. A line that would block is dropped and
 * counted.
 *
 * O_NONBLOCK belongs to the open file description, which stderr shares with the parent process. Setting it
 * there would break a shell or another service. So a pipe or a terminal is opened again, a socket gets
 * MSG_DONTWAIT, and any other file is checked by poll(2) first.
 */
#include "base/log.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/json_write.h"

/* A value longer than this is cut when its line is full; enough to recognise anything that belongs in a log.
 */
#define VALUE_CUT 256
#define NAME_SIZE 128
/* The end of a line: ,"cut":true} or its form in text, and the line feed. */
#define LINE_END_SIZE 16
#define LINE_MAX_SIZE (PIPE_BUF - LINE_END_SIZE)

/* The process has one stderr, hence one state, opened once, before there is a second thread. */
static struct {
    char service[NAME_SIZE], instance[NAME_SIZE];
    _Atomic enum mg_log_level level;
    _Atomic(mg_log_sink_fn *) sink; /* NULL: stderr */
    int fd;
    bool is_open, is_own_fd, is_socket, is_text;
    atomic_bool is_torn; /* the last line went out in part: end it before the next */
    _Atomic uint64_t dropped;
} log_state = {.fd = STDERR_FILENO, .level = MG_LOG_INFO};

static const char *const LEVELS[] = {
    [MG_LOG_DEBUG] = "debug", [MG_LOG_INFO] = "info", [MG_LOG_WARN] = "warn", [MG_LOG_ERROR] = "error"};
#define LEVEL_COUNT (sizeof(LEVELS) / sizeof(LEVELS[0]))

enum form { FORM_JSON, FORM_TERMINAL, FORM_SINK };

/* A line that is being built. */
struct line {
    struct mg_json_writer json; /* its buffer holds the line, whatever its form */
    enum form form;
};

static void copy_name(char *ret_name, const char *name)
{
    size_t len = name ? strnlen(name, NAME_SIZE - 1) : 0;
    if (len > 0) {
        memcpy(ret_name, name, len);
    }
    ret_name[len] = '\0';
}

/* Opens stderr's target again. Not for regular files: a second description has its own position and would
 * overwrite lines of others. A regular file does not block for lack of a reader either. */
static void open_stream(void)
{
    struct stat info;

    if (log_state.is_own_fd) {
        (void)close(log_state.fd); /* opened for lines that are out already */
    }
    log_state.fd = STDERR_FILENO;
    log_state.is_own_fd = false;
    log_state.is_socket = false;
    log_state.is_text = isatty(STDERR_FILENO) == 1;
    if (fstat(STDERR_FILENO, &info) != 0) {
        return;
    }
    log_state.is_socket = S_ISSOCK(info.st_mode);
    if (!S_ISFIFO(info.st_mode) && !log_state.is_text) {
        return;
    }
    int fd = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) {
        return; /* owned by another user, or without a reader: poll(2) remains */
    }
    log_state.fd = fd;
    log_state.is_own_fd = true;
}

void mg_log_sink_set(mg_log_sink_fn *sink, enum mg_log_level level)
{
    atomic_store(&log_state.sink, sink);
    atomic_store(&log_state.level, level);
}

void mg_log_open(const char *service, const char *instance, enum mg_log_level level)
{
    copy_name(log_state.service, service);
    copy_name(log_state.instance, instance);
    atomic_store(&log_state.level, level);
    log_state.is_torn = false;
    log_state.is_open = true;
    open_stream();
}

bool mg_log_level_parse(const char *text, enum mg_log_level *ret_level)
{
    for (size_t i = 0; text && i < LEVEL_COUNT; i++) {
        if (strcmp(text, LEVELS[i]) == 0) {
            *ret_level = (enum mg_log_level)i;
            return true;
        }
    }
    return false;
}

/* True if the text can stand on a terminal without quotes: no blank, no control character, only ASCII (C1
 * controls and bidirectional marks steer terminals, too). */
static bool is_bare(struct mg_slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] <= ' ' || text.data[i] > '~' || text.data[i] == '"' || text.data[i] == '\\') {
            return false;
        }
    }
    return text.len > 0;
}

/* JSON's escapes serve for terminals too, once C1 controls and marks of direction are taken out. */
static void append_quoted(struct mg_buf *line, struct mg_slice text)
{
    size_t start = line->len;

    mg_buf_append_json(line, text);
    for (size_t i = start; i < line->len; i++) {
        memset(line->data + i, '?', mg_text_steers(line->data + i, line->len - i));
    }
}

static void append_value(struct line *line, struct mg_slice text)
{
    if (line->form != FORM_JSON && is_bare(text)) {
        mg_buf_append_slice(line->json.buf, text);
    } else {
        append_quoted(line->json.buf, text);
    }
}

static void append_field(struct line *line, const struct mg_log_field *field, size_t text_max)
{
    if (line->form != FORM_JSON) {
        mg_buf_printf(line->json.buf, " %s=", field->key);
    } else {
        mg_json_name(&line->json, field->key);
    }
    if (field->text) {
        append_value(line, (struct mg_slice){field->text, strnlen(field->text, text_max)});
    } else {
        mg_buf_printf(line->json.buf, "%" PRId64, field->number);
    }
}

/* Appends the whole field if it fits, else its beginning, else nothing. False: a part was left out. */
static bool try_field(struct line *line, const struct mg_log_field *field)
{
    struct mg_buf *text = line->json.buf;
    size_t start = text->len;

    append_field(line, field, text->max);
    bool is_whole = !text->failed && (!field->text || strnlen(field->text, text->max) < text->max);
    for (int i = 0; text->failed && i < 2; i++) {
        text->len = start;
        text->failed = false;
        if (i == 0) {
            append_field(line, field, VALUE_CUT);
        }
    }
    if (text->data) {
        text->data[text->len] = '\0';
    }
    return is_whole;
}

/* A sentence: escaped, since it may quote external text, and without quotes around it. */
static void append_sentence(struct mg_buf *text, const char *message)
{
    size_t start = text->len;
    append_quoted(text, (struct mg_slice){message, strnlen(message, LINE_MAX_SIZE / 8)});
    if (!text->failed) {
        memmove(text->data + start, text->data + start + 1, text->len - start - 1);
        text->len -= 2;
        text->data[text->len] = '\0';
    }
}

static bool append_start(struct line *line, enum mg_log_level level, const char *message)
{
    struct mg_json_writer *json = &line->json;
    char time[MG_TIME_TEXT_SIZE];
    mg_time_format(mg_clock_wall_ms(), time);

    if (line->form == FORM_TERMINAL) { /* the time of day is enough there */
        mg_buf_printf(json->buf, "%.12s %-5s ", time + 11, LEVELS[level]);
    }
    if (line->form != FORM_JSON) {
        append_sentence(json->buf, message);
    } else {
        mg_json_object_begin(json);
        mg_json_member_word(json, "ts", time);
        mg_json_member_word(json, "level", LEVELS[level]);
        mg_json_member_string(json, "service", log_state.service);
        mg_json_member_string(json, "instance", log_state.instance);
        mg_json_member_text(json, "message", (struct mg_slice){message, strnlen(message, LINE_MAX_SIZE / 8)});
    }
    return !json->buf->failed;
}

static void append_end(struct line *line, bool is_whole)
{
    if (line->form == FORM_JSON && !is_whole) {
        mg_json_member_bool(&line->json, "cut", true);
    } else if (!is_whole) {
        mg_buf_append_text(line->json.buf, " …");
    }
    if (line->form == FORM_JSON) {
        mg_json_object_end(&line->json);
    }
    if (line->form != FORM_SINK) {
        mg_buf_append_text(line->json.buf, "\n");
    }
}

/* Builds the whole line, with room for its end. False: not even its beginning has room. */
static bool line_build(struct line *line, enum mg_log_level level, const char *message,
                       const struct mg_log_field *fields)
{
    bool is_whole = true;
    if (!append_start(line, level, message)) {
        return false;
    }
    for (const struct mg_log_field *field = fields; field && field->key; field++) {
        if (!try_field(line, field)) {
            is_whole = false;
        }
    }
    line->json.buf->max += LINE_END_SIZE;
    line->json.buf->capacity += LINE_END_SIZE;
    append_end(line, is_whole);
    return !line->json.buf->failed;
}

/* One attempt; true if the whole line is written. */
static bool write_line(const char *line, size_t len)
{
    ssize_t written;

    if (log_state.is_socket) {
        written = send(log_state.fd, line, len, MSG_DONTWAIT | MSG_NOSIGNAL);
    } else {
        struct pollfd ready = {.fd = log_state.fd, .events = POLLOUT};
        if (!log_state.is_own_fd && (poll(&ready, 1, 0) != 1 || !(ready.revents & POLLOUT))) {
            return false;
        }
        written = write(log_state.fd, line, len);
    }
    if (written > 0) {
        log_state.is_torn = (size_t)written < len;
    }
    return written == (ssize_t)len;
}

/* True: the whole line is on stderr. */
static bool line_out(struct line *line, enum mg_log_level level, const char *message,
                     const struct mg_log_field *fields)
{
    struct mg_buf *text = line->json.buf;
    if (!log_state.is_open) {
        open_stream();
        log_state.is_open = true;
    }
    line->form = log_state.is_text ? FORM_TERMINAL : FORM_JSON;
    if (log_state.is_torn) {
        mg_buf_append_text(text, "\n");
    }
    return line_build(line, level, message, fields) && write_line(text->data, text->len);
}

void mg_log_write(enum mg_log_level level, const char *message, const struct mg_log_field *fields)
{
    char memory[PIPE_BUF + 1]; /* no allocation: an out-of-memory line needs to be written, too */
    struct mg_buf text = {.data = memory, .capacity = LINE_MAX_SIZE + 1, .max = LINE_MAX_SIZE};
    struct line line = {.json = mg_json_compact(&text), .form = FORM_SINK};
    mg_log_sink_fn *sink = atomic_load(&log_state.sink);
    int saved_errno = errno; /* a log call during error handling must not change errno */

    assert(level <= MG_LOG_ERROR && message);
    if (level < atomic_load(&log_state.level)) {
        return;
    }
    if (sink != NULL && line_build(&line, level, message, fields)) {
        sink(level, text.data);
    } else if (sink != NULL || !line_out(&line, level, message, fields)) {
        atomic_fetch_add_explicit(&log_state.dropped, 1, memory_order_relaxed);
    }
    errno = saved_errno;
}

uint64_t mg_log_dropped(void)
{
    return atomic_load_explicit(&log_state.dropped, memory_order_relaxed);
}
