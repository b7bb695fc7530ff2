/*
 * The shape of a workflow's payload, `input`: the members of a submission, and the types of expressions over
 * it. A shape is a word (text, number, boolean, time, any), an object of shapes, or a list of one shape. "?"
 * after the word, or after a member's name, makes the member optional.
 */
#ifndef MG_WORKFLOW_INPUT_SHAPE_H
#define MG_WORKFLOW_INPUT_SHAPE_H

#include "expr/expr.h"
#include "json/reader.h"

#define MG_INPUT_SHAPES_MAX                                                                                  \
    256 /* members and lists in all; a payload of more is described in parts, by "any" */

struct mg_input_shape;

/* Reads `input`; NULL after a fault. The shapes live in the arena. */
const struct mg_input_shape *mg_input_read(struct mg_slice input, struct mg_arena *arena,
                                           struct mg_json_faults *faults);
/* Checks a payload. MG_BAD_INPUT: the text has the pointer below /payload, and a correction. */
enum mg_class mg_input_check(const struct mg_input_shape *shape, struct mg_slice payload,
                             struct mg_err *err) MG_MUSTCHECK;

/* Appends a payload as an example: each member that is not optional, with a value of its type. */
void mg_input_example(const struct mg_input_shape *shape, struct mg_buf *ret_json);

/* The shape as the compiler of expressions asks for it; its `root` is the caller's. */
enum mg_expr_type mg_input_type(void *arg, const void *shape);
const void *mg_input_member(void *arg, const void *shape, struct mg_slice name, bool *ret_is_there,
                            const char **ret_nearest);
const void *mg_input_element(void *arg, const void *shape);
const char *const *mg_input_words(void *arg, const void *shape);
bool mg_input_is_optional(const void *shape); /* of a member */
/* A shape of which only the type is known; NULL for a type that `input` has no word for. */
const struct mg_input_shape *mg_input_shape_of(enum mg_expr_type type);
/* A text that is one of the NULL-ended words. NULL: no memory. */
const struct mg_input_shape *mg_input_shape_of_words(const char *const *words, struct mg_arena *arena);

#endif
