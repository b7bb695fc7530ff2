/* See merge.h. */
#include "agents/merge.h"

#include <string.h>

#define HELP "# HELP "

/* The next line of `rest`, without its line feed; `rest` moves after it. False: there is none. */
static bool line_next(struct mg_slice *rest, struct mg_slice *ret_line)
{
    if (rest->len == 0) {
        return false;
    }
    const char *feed = memchr(rest->data, '\n', rest->len);
    size_t len = feed != NULL ? (size_t)(feed - rest->data) : rest->len;
    *ret_line = (struct mg_slice){rest->data, len};
    rest->data += len;
    rest->len -= len;
    if (feed != NULL) {
        rest->data++;
        rest->len--;
    }
    return true;
}

static bool begins(struct mg_slice line, const char *words)
{
    size_t len = strlen(words);
    return line.len >= len && memcmp(line.data, words, len) == 0;
}

/* The name of the family that a HELP line begins; absent for another line. */
static struct mg_slice family_of(struct mg_slice line)
{
    if (!begins(line, HELP)) {
        return (struct mg_slice){NULL, 0};
    }
    const char *name = line.data + sizeof(HELP) - 1;
    size_t rest = line.len - (sizeof(HELP) - 1);
    const char *blank = memchr(name, ' ', rest);
    return (struct mg_slice){name, blank != NULL ? (size_t)(blank - name) : rest};
}

/* The part of `text` after the family's HELP line; absent: the text has no such family. */
static struct mg_slice family_find(struct mg_slice text, struct mg_slice name)
{
    struct mg_slice line;
    while (line_next(&text, &line)) {
        struct mg_slice found = family_of(line);
        if (found.data != NULL && mg_slice_equal(found, name)) {
            return text;
        }
    }
    return (struct mg_slice){NULL, 0};
}

static void sample_append(struct mg_slice line, const char *agent, struct mg_buf *ret_text)
{
    size_t name = 0;
    while (name < line.len && line.data[name] != '{' && line.data[name] != ' ') {
        name++;
    }
    bool has_labels = name < line.len && line.data[name] == '{';
    mg_buf_append(ret_text, line.data, name);
    if (agent != NULL) {
        mg_buf_printf(ret_text, "{agent=\"%s\"%s", agent, has_labels ? "," : "}");
        name += has_labels ? 1 : 0;
    }
    mg_buf_append(ret_text, line.data + name, line.len - name);
    mg_buf_append_text(ret_text, "\n");
}

/* The samples at the beginning of `rest`, up to the next family. `with_type`: its TYPE line, too. */
static void family_append(struct mg_slice rest, const char *agent, bool with_type, struct mg_buf *ret_text)
{
    struct mg_slice line;
    while (line_next(&rest, &line) && family_of(line).data == NULL) {
        if (!begins(line, "#")) {
            sample_append(line, agent, ret_text);
        } else if (with_type) {
            mg_buf_append_slice(ret_text, line);
            mg_buf_append_text(ret_text, "\n");
        }
    }
}

static bool is_in_earlier(const struct mg_metrics_text *texts, int count, struct mg_slice name)
{
    for (int i = 0; i < count; i++) {
        if (family_find(texts[i].text, name).data != NULL) {
            return true;
        }
    }
    return false;
}

void mg_metrics_merge(const struct mg_metrics_text *texts, int count, struct mg_buf *ret_text)
{
    for (int i = 0; i < count; i++) {
        struct mg_slice rest = texts[i].text, line;
        while (line_next(&rest, &line)) {
            struct mg_slice name = family_of(line);
            if (name.data == NULL || is_in_earlier(texts, i, name)) {
                continue;
            }
            mg_buf_append_slice(ret_text, line);
            mg_buf_append_text(ret_text, "\n");
            family_append(rest, texts[i].agent, true, ret_text);
            for (int later = i + 1; later < count; later++) {
                struct mg_slice more = family_find(texts[later].text, name);
                if (more.data != NULL) {
                    family_append(more, texts[later].agent, false, ret_text);
                }
            }
        }
    }
}
