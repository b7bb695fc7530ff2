/*
 * Evaluates expressions for the scripts next to it. Each line of the input is {"expr": "…", "roots": {…}};
 * each line of the output is one of
 *   {"value": …, "text": "…", "steps": 3}   text: as within a longer text; absent for null, lists and objects
 *   {"error": "column 1: …"}                at evaluation
 *   {"refused": "syntax|name|type", "text": "column 1: …"}
 *   {"refused": "json", "text": "…"}        the line is no JSON that the project would take
 * With --time COUNT each expression is evaluated so often, and the line has "ns" and "compile_ns" too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json_write.h"
#include "expr/expr.h"
#include "json/json.h"
#include "json/scan.h"

#define ROOTS_MAX 32
#define WIDE      (16 * 1024 * 1024)

struct line {
    struct mg_expr_root roots[ROOTS_MAX];
    struct mg_slice values[ROOTS_MAX];
    char names[ROOTS_MAX][65];
    int count;
};

static struct mg_expr_found find(void *arg, int root, int member)
{
    const struct line *line = arg;
    (void)member;
    return (struct mg_expr_found){.json = line->values[root]};
}

static void read_roots(struct line *line, struct mg_slice roots)
{
    struct mg_slice name, value;
    struct mg_json_walk walk = mg_json_walk_of(roots);
    for (line->count = 0; line->count < ROOTS_MAX && mg_json_walk_next(&walk, &name, &value); line->count++) {
        (void)snprintf(line->names[line->count], sizeof(line->names[0]), "%.*s", (int)name.len - 2,
                       name.data + 1);
        line->roots[line->count] = (struct mg_expr_root){.name = line->names[line->count]};
        line->values[line->count] = value;
    }
}

static long now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000L + now.tv_nsec;
}

static void evaluate(const struct mg_expr *expr, struct line *line, long times, long compile_ns,
                     struct mg_json_writer *out, struct mg_buf *buf)
{
    static struct mg_expr_room room;
    struct mg_expr_scope scope = {.find = find, .arg = line};
    struct mg_expr_value value;
    struct mg_err err;
    struct mg_buf text;
    int steps = 0;
    enum mg_class class = MG_OK;
    long best = 0, total = 0;

    for (long i = 0; i < times; i++) {
        long begin = now_ns();
        class = mg_expr_evaluate(expr, &scope, &room, &value, &steps, &err);
        long took = now_ns() - begin;
        total += took;
        best = i == 0 || took < best ? took : best;
    }
    if (class != MG_OK) {
        mg_json_member_string(out, "error", err.text);
    } else {
        mg_json_name(out, "value");
        mg_expr_write_json(&value, buf);
        mg_buf_init(&text, WIDE);
        if (mg_expr_write_text(&value, &text)) {
            mg_json_member_text(out, "text", text.len > 0 ? mg_buf_slice(&text) : mg_slice_of(""));
        }
        mg_buf_finish(&text);
    }
    mg_json_member_int(out, "steps", steps);
    if (times > 1) {
        mg_json_member_int(out, "ns", total / times);
        mg_json_member_int(out, "best_ns", best);
        mg_json_member_int(out, "compile_ns", compile_ns);
    }
}

static void answer(struct mg_slice json, long times, struct mg_buf *buf)
{
    static const char *const MISTAKES[] = {"syntax", "name", "type"};
    static struct line line;
    struct mg_json_writer out = mg_json_compact(buf);
    struct mg_arena *arena = mg_arena_create(WIDE);
    struct mg_expr_place place;
    const struct mg_expr *expr;
    struct mg_err err;
    struct mg_buf text;

    mg_buf_init(&text, WIDE);
    read_roots(&line, mg_json_find(json, "/roots"));
    (void)mg_json_string(mg_json_find(json, "/expr"), &text);
    struct mg_expr_names names = {.roots = line.roots, .root_count = line.count};
    long begin = now_ns();
    enum mg_class class = mg_expr_compile(mg_buf_slice(&text), &names, arena, &expr, &place, &err);
    long compile_ns = now_ns() - begin;
    mg_json_object_begin(&out);
    if (class != MG_OK) {
        mg_json_member_string(&out, "refused", MISTAKES[place.mistake]);
        mg_json_member_string(&out, "text", err.text);
    } else {
        evaluate(expr, &line, times, compile_ns, &out, buf);
    }
    mg_json_object_end(&out);
    mg_buf_finish(&text);
    mg_arena_destroy(arena);
}

int main(int argc, char **argv)
{
    static const struct mg_json_limits LIMITS = {WIDE, 100, WIDE, true};
    long times = argc == 3 && strcmp(argv[1], "--time") == 0 ? strtol(argv[2], NULL, 10) : 1;
    char *json = NULL;
    size_t size = 0;
    ssize_t len;
    while ((len = getline(&json, &size, stdin)) > 0) {
        struct mg_slice slice = {json, (size_t)len};
        struct mg_err err;
        struct mg_buf buf;
        mg_buf_init(&buf, WIDE);
        if (mg_json_check(slice, &LIMITS, &err) != MG_OK) {
            struct mg_json_writer out = mg_json_compact(&buf);
            mg_json_object_begin(&out);
            mg_json_member_string(&out, "refused", "json");
            mg_json_member_string(&out, "text", err.text);
            mg_json_object_end(&out);
        } else {
            answer(slice, times, &buf);
        }
        if (buf.failed) {
            (void)fprintf(stderr, "expr_lines: an answer is above %d bytes\n", WIDE);
            return 2;
        }
        (void)printf("%s\n", buf.data);
        mg_buf_finish(&buf);
    }
    free(json);
    return 0;
}
