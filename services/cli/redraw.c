/*
 * --watch: the answer of a verb, drawn again and again. A frame is the text of both outputs of the verb, kept
 * in memory until it is whole. On a terminal it replaces the one before and is cut to the height and the
 * width; elsewhere it is printed only if it differs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/print.h"
#include "cli.h"

/* A list costs the database up to 0.1 s. */
#define PERIOD_MS 2000

#define CLEAR_ALL   "\x1b[H\x1b[2J"
#define HOME        "\x1b[H"
#define CLEAR_LINE  "\x1b[K"
#define CLEAR_BELOW "\x1b[J"
#define WRAP_OFF    "\x1b[?7l" /* the terminal cuts a line that is too long */
#define WRAP_ON     "\x1b[?7h"

struct frame {
    char *text;
    size_t len;
    enum mg_exit_code code;
};

/* False: no memory. */
static bool frame_take(struct mg_cli *cli, cli_verb_fn *run, struct frame *ret)
{
    FILE *output = stdout, *errors = stderr;
    FILE *taken = open_memstream(&ret->text, &ret->len);
    if (taken == NULL) {
        return false;
    }
    stdout = taken;
    stderr = taken;
    ret->code = run(cli);
    stdout = output;
    stderr = errors;
    return fclose(taken) == 0;
}

static bool is_same(const struct frame *a, const struct frame *b)
{
    return a->text != NULL && a->len == b->len && memcmp(a->text, b->text, a->len) == 0;
}

/* The lines below the last row are counted instead. */
static void frame_draw(const struct frame *frame, int rows, bool is_first)
{
    const char *at = frame->text, *end = at + frame->len;
    int left = 0;
    (void)fputs(is_first ? CLEAR_ALL : HOME, stdout);
    (void)fputs(WRAP_OFF, stdout);
    for (int row = 0; at < end; row++) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        size_t len = (size_t)((line_end != NULL ? line_end : end) - at);
        if (rows == 0 || row + 2 < rows) {
            (void)fwrite(at, 1, len, stdout);
            (void)fputs(CLEAR_LINE "\n", stdout);
        } else {
            left++;
        }
        at += len + 1;
    }
    if (left > 0) {
        mg_print(stdout, "%d more lines" CLEAR_LINE "\n", left);
    }
    (void)fputs(CLEAR_BELOW WRAP_ON, stdout);
}

static enum mg_exit_code frame_print(const struct mg_cli *cli, const struct frame *frame,
                                     const struct frame *before)
{
    if (cli->style.is_terminal) {
        frame_draw(frame, cli->style.rows, before->text == NULL);
    } else if (!is_same(before, frame)) {
        (void)fputs(before->text != NULL ? "\n" : "", stdout);
        (void)fwrite(frame->text, 1, frame->len, stdout);
    }
    return mg_cli_flush();
}

enum mg_exit_code mg_cli_watch(struct mg_cli *cli, cli_verb_fn *run)
{
    struct frame before = {.text = NULL};
    enum mg_exit_code code = MG_EXIT_DONE;
    while (code == MG_EXIT_DONE) {
        struct frame frame = {.text = NULL};
        mg_style_read(&cli->style, cli->options.is_utc, cli->options.is_verbose);
        if (!frame_take(cli, run, &frame)) {
            free(frame.text);
            code = mg_cli_fail(MG_EXIT_ERROR, "could not go on watching: no memory");
            break;
        }
        bool is_wrong = before.text == NULL && frame.code != MG_EXIT_DONE; /* from the start on */
        if (is_wrong) {
            (void)fwrite(frame.text, 1, frame.len, stderr);
        } else {
            code = frame_print(cli, &frame, &before);
        }
        free(before.text);
        before = frame;
        if (is_wrong || cli->is_settled) {
            code = code == MG_EXIT_DONE ? frame.code : code;
            break;
        }
        if (code == MG_EXIT_DONE && !mg_cli_pause(cli, PERIOD_MS)) {
            code = mg_cli_fail(MG_EXIT_ERROR, "could not go on watching: no memory");
        }
    }
    free(before.text);
    return code;
}
