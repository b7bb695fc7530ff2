/* `workflow show` and `workflow draw`: a stored definition, and the picture of one. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "definition.h"
#include "operator/graph.h"
#include "verbs.h"

/* 64 steps with all their arrows take less than a third. */
#define PICTURE_MAX_BYTES ((size_t)1024 * 1024)

/* ---- draw ---- */

typedef void picture_fn(const struct mg_workflow *workflow, const struct mg_graph *graph, bool shows_undo,
                        struct mg_buf *out);

static const struct {
    const char *name;
    picture_fn *write;
} PICTURES[] = {
    {"mermaid", mg_graph_write_mermaid},
    {"dot", mg_graph_write_dot},
    {"svg", mg_graph_write_svg},
};

static picture_fn *picture_find(const char *name)
{
    for (size_t i = 0; i < sizeof(PICTURES) / sizeof(PICTURES[0]); i++) {
        if (strcmp(PICTURES[i].name, name) == 0) {
            return PICTURES[i].write;
        }
    }
    return NULL;
}

static enum mg_exit_code text_print(struct mg_buf *text)
{
    bool is_whole =
        !text->failed && fwrite(text->data, 1, text->len, stdout) == text->len && fflush(stdout) == 0;
    enum mg_exit_code code = text->failed ? mg_cli_fail(MG_EXIT_ERROR, "could not print: no memory")
                             : is_whole   ? MG_EXIT_DONE
                                        : mg_cli_fail(MG_EXIT_ERROR, "could not print: %s", strerror(errno));
    mg_buf_finish(text);
    return code;
}

enum mg_exit_code mg_verb_workflow_draw(struct mg_cli *cli)
{
    picture_fn *write = picture_find(cli->options.picture);
    struct mg_workflow *workflow = NULL;
    if (write == NULL) {
        return mg_cli_fail(MG_EXIT_USAGE, "--as %s: expected mermaid, dot or svg", cli->options.picture);
    }
    enum mg_exit_code code = mg_definition_read(cli->words.items[0], &workflow);
    if (code != MG_EXIT_DONE) {
        return code;
    }
    static struct mg_graph graph;
    struct mg_buf text;
    mg_buf_init(&text, PICTURE_MAX_BYTES);
    mg_graph_lay_out(workflow, &graph);
    write(workflow, &graph, cli->options.shows_undo, &text);
    mg_workflow_destroy(workflow);
    return text_print(&text);
}

/* ---- show ---- */

struct showing {
    bool is_over, is_found, is_failed;
    struct mg_buf text;
    struct mg_err err;
};

static void definition_got(void *arg, bool is_found, int64_t version, struct mg_slice text,
                           const struct mg_err *err)
{
    struct showing *showing = arg;
    (void)version;
    showing->is_over = true;
    showing->is_found = is_found;
    if (err != NULL) {
        showing->is_failed = true;
        showing->err = *err;
    } else if (is_found) {
        mg_buf_append_slice(&showing->text, text);
        if (text.len > 0 && text.data[text.len - 1] != '\n') {
            mg_buf_append_text(&showing->text, "\n");
        }
    }
}

/* 0: the newest; -1: no version. */
static int64_t version_read(const struct mg_cli *cli)
{
    if (cli->words.count < 2) {
        return 0;
    }
    const char *text = cli->words.items[1];
    char *end;
    long version = strtol(text, &end, 10);
    return *end == '\0' && end != text && version > 0 && version <= INT32_MAX ? version : -1;
}

enum mg_exit_code mg_verb_workflow_show(struct mg_cli *cli)
{
    const char *name = cli->words.items[0];
    struct showing showing = {.is_over = false};
    int64_t version = version_read(cli);
    if (version < 0) {
        return mg_cli_fail(MG_EXIT_USAGE, "version %s: expected a whole number of 1 or more",
                           cli->words.items[1]);
    }
    enum mg_exit_code code = mg_cli_open_store(cli, false);
    if (code != MG_EXIT_DONE) {
        return code;
    }
    mg_buf_init(&showing.text,
                PICTURE_MAX_BYTES + 1); /* a definition was limited to this when it was loaded */
    mg_store_get_workflow(cli->store, name, version, definition_got, &showing);
    if (!mg_cli_wait(cli, &showing.is_over, cli->options.timeout_ms)) {
        code = mg_cli_fail(MG_EXIT_TIMED_OUT, "the database did not answer in time");
    } else if (showing.is_failed) {
        code = mg_cli_fail_err(&showing.err);
    } else if (!showing.is_found) {
        code = mg_cli_fail(MG_EXIT_NOT_FOUND,
                           "no workflow %s%s%s is stored; `makegood workflow list` lists them", name,
                           version > 0 ? ", version " : "", version > 0 ? cli->words.items[1] : "");
    } else {
        return text_print(&showing.text);
    }
    mg_buf_finish(&showing.text);
    return code;
}
