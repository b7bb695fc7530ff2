/* Names and values for the tests of expressions, as a workflow would supply them. */
#ifndef MG_TEST_EXPR_FIXTURE_H
#define MG_TEST_EXPR_FIXTURE_H

#include <check.h>
#include <string.h>

#include "expr/expr.h"
#include "json/json.h"
#include "suite.h"

enum { ROOT_PAYLOAD, ROOT_RESULTS, ROOT_STATE, ROOT_VALUES, ROOT_ORDER };
enum { VALUE_GROSS, VALUE_ALLOWED, VALUE_TWICE, VALUE_LONG, VALUE_COUNT };

static const char *const STEPS[] = {"score", "express", "ship-it", NULL};
static const char *const VALUES[] = {"gross", "allowed", "twice", "long", NULL};
static const char *const ORDER[] = {"id", NULL};
static const struct mg_expr_root ROOTS[] = {
    {"payload", NULL}, {"results", STEPS}, {"state", STEPS}, {"values", VALUES}, {"order", ORDER},
};
static const struct mg_expr_names NAMES = {.roots = ROOTS, .root_count = 5};

static const char *const VALUE_TEXTS[] = {"round(payload.total * 1.077, 2)", "[\"CH\", \"LI\"]",
                                          "values.gross + values.gross", "payload.text + payload.text"};

static const char PAYLOAD[] =
    " {\"total\": 14.00, \"country\": \"CH\", \"express\": false, \"none\": null, \"text\": \"M\\u00fcll\\n\","
    " \"plain\": \"M\xc3\xbcll\", \"empty\": \"\", \"at\": \"2026-01-31T12:00:00Z\","
    " \"never\": \"9999-12-31T23:59:59-05:00\", \"always\": \"0001-01-01T00:00:00+00:01\","
    " \"wide\": 0.12345678901234567890123456789012345, \"exp\": 1.5e3, \"zero\": -0,"
    " \"items\": [{\"sku\": \"a\", \"qty\": 2, \"price\": 1.50}, {\"sku\": \"b\", \"qty\": 1, \"price\": 2.25}],"
    " \"tags\": [\"x\", \"y\"], \"mixed\": [1, \"a\", null], \"nothing\": [], \"ship-to\": {\"zip\": \"8000\"},"
    " \"object\": {\"b\": 1.0, \"a\": [true]}, \"same\": {\"\\u0061\": [ true ], \"b\": 1},"
    " \"more\": {\"b\": 1, \"a\": [true], \"c\": 2} } ";

struct world {
    struct mg_arena *arena;
    const struct mg_expr *values[VALUE_COUNT];
    struct mg_expr_room room;
    struct mg_err err;
    const char *payload;
};
static struct world world;

static struct mg_expr_found world_find(void *arg, int root, int member)
{
    (void)arg;
    switch (root) {
    case ROOT_PAYLOAD:
        return (struct mg_expr_found){.json = mg_slice_of(world.payload)};
    case ROOT_RESULTS:
        return (struct mg_expr_found){.json = mg_slice_of(member == 0   ? "{\"risk\":\"high\",\"n\":3}"
                                                          : member == 2 ? "7"
                                                                        : NULL)};
    case ROOT_STATE:
        return (struct mg_expr_found){.json = mg_slice_of(member == 1 ? "\"skipped\"" : "\"done\"")};
    case ROOT_ORDER:
        return (struct mg_expr_found){.json = mg_slice_of("\"o-1\"")};
    default:
        return (struct mg_expr_found){.expr = world.values[member]};
    }
}

static const struct mg_expr_scope SCOPE = {.find = world_find};

static inline enum mg_class world_compile(const char *text, const struct mg_expr **ret_expr)
{
    return mg_expr_compile(mg_slice_of(text), &NAMES, world.arena, ret_expr, NULL, &world.err);
}

static inline void world_open(void)
{
    struct mg_err err;
    world = (struct world){.arena = mg_arena_create(1024 * 1024), .payload = PAYLOAD};
    ck_assert_int_eq(mg_json_check(mg_slice_of(PAYLOAD), &MG_JSON_LIMITS_DEFAULT, &err), MG_OK);
    for (int i = 0; i < VALUE_COUNT; i++) {
        ck_assert_msg(world_compile(VALUE_TEXTS[i], &world.values[i]) == MG_OK, "%s", world.err.text);
    }
}

static inline void world_close(void)
{
    mg_arena_destroy(world.arena);
}

#endif
