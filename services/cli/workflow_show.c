/* `workflow show` and `workflow draw`: a stored definition, and the picture of one. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "definition.h"
#include "operator/graph.h"
#include "verb_table.h"

/* Mermaid repeats the conditions of a step at each arrow into it: 2,016 arrows, escaped. */
#define PICTURE_MAX_BYTES ((size_t)16 * 1024 * 1024)

/* ---- draw ---- */

typedef void picture_fn(const struct mg_workflow *workflow, const struct mg_graph *graph, bool shows_undo,
                        struct mg_buf *out);

static const struct {
    const char *name;
    picture_fn *write;
} PICTURES[] = {
    {"mermaid", mg_graph_write_mermaid},
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
        return mg_cli_fail(MG_EXIT_USAGE, "--as %s: expected mermaid or svg", cli->options.picture);
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

enum mg_exit_code mg_verb_workflow_show(struct mg_cli *cli)
{
    struct mg_buf text;
    const char *version = cli->words.count > 1 ? cli->words.items[1] : NULL;
    enum mg_exit_code code = mg_definition_fetch(cli, cli->words.items[0], version, &text);
    if (code != MG_EXIT_DONE) {
        return code;
    }
    if (text.len > 0 && text.data[text.len - 1] != '\n') {
        mg_buf_append_text(&text, "\n");
    }
    return text_print(&text);
}
