/* Expressions before there is an order: mistakes of the author, bounds, types, references; and that
 * evaluation stays within its bounds. */
#include <stdio.h>
#include <stdlib.h>

#include "expr_fixture.h"

/* Evaluation allocates nothing: link options --wrap=malloc, --wrap=calloc, --wrap=realloc. */
static bool is_evaluating;
static int allocations;
void *real_malloc(size_t size) __asm__("__real_malloc");
void *real_calloc(size_t count, size_t size) __asm__("__real_calloc");
void *real_realloc(void *old, size_t size) __asm__("__real_realloc");
void *test_malloc(size_t size) __asm__("__wrap_malloc");
void *test_calloc(size_t count, size_t size) __asm__("__wrap_calloc");
void *test_realloc(void *old, size_t size) __asm__("__wrap_realloc");

void *test_malloc(size_t size)
{
    allocations += is_evaluating;
    return real_malloc(size);
}

void *test_calloc(size_t count, size_t size)
{
    allocations += is_evaluating;
    return real_calloc(count, size);
}

void *test_realloc(void *old, size_t size)
{
    allocations += is_evaluating;
    return real_realloc(old, size);
}

static const struct {
    const char *text;
    int column;
    enum mg_expr_mistake mistake;
    const char *says;
} MISTAKES[] = {
    {"", 1, MG_EXPR_MISTAKE_SYNTAX, "the expression is empty; write a condition"},
    {"  ", 3, MG_EXPR_MISTAKE_SYNTAX, "a value is expected where the expression ends"},
    {"payload.total >", 16, MG_EXPR_MISTAKE_SYNTAX, "a value is expected where the expression ends"},
    {"payload.total > > 1", 17, MG_EXPR_MISTAKE_SYNTAX, "a value is expected before \">\""},
    {"payload.total 1", 15, MG_EXPR_MISTAKE_SYNTAX, "\"1\" does not continue the expression"},
    {"'\xc3\xa4\xc3\xa4' == payload.total && payloda.x == 1", 26, MG_EXPR_MISTAKE_NAME,
     "no such name \"payloda\"; did you mean \"payload\"?"},
    {"basket.total", 1, MG_EXPR_MISTAKE_NAME, "there are payload, results, state, values, order"},
    {"let.x", 1, MG_EXPR_MISTAKE_NAME, "this word is reserved"},
    {"payload.items.all(item, itme.qty > 0)", 25, MG_EXPR_MISTAKE_NAME, "did you mean \"item\"?"},
    {"values.gros > 1", 8, MG_EXPR_MISTAKE_NAME,
     "\"values.gros\" is not there; did you mean \"values.gross\"?"},
    {"results[\"ship\"] == 1", 9, MG_EXPR_MISTAKE_NAME, "\"results.ship\" is not there"},
    {"results.score.x == 1 && state == 1", 31, MG_EXPR_MISTAKE_SYNTAX,
     "\"state\" is no value itself; one of its names follows: state.score"},
    {"results[payload.x]", 9, MG_EXPR_MISTAKE_SYNTAX, "\"]\" is expected behind a name in brackets"},
    {"lenght(payload.items)", 1, MG_EXPR_MISTAKE_NAME, "no function \"lenght\"; there are has, size"},
    {"sizes(payload.items)", 1, MG_EXPR_MISTAKE_NAME, "did you mean \"size\"?"},
    {"payload.items.exist(i, true)", 15, MG_EXPR_MISTAKE_NAME,
     "no function \"exist\"; did you mean \"exists\"?"},
    {"payload.items.map(i, i.x)", 15, MG_EXPR_MISTAKE_NAME, "there are startsWith"},
    {"payload.sku.matches('a')", 13, MG_EXPR_MISTAKE_NAME, "there are startsWith"},
    {"round(payload.total)", 1, MG_EXPR_MISTAKE_SYNTAX, "round() is written so: round(payload.total, 2)"},
    {"size(payload, 1)", 1, MG_EXPR_MISTAKE_SYNTAX, "size() is written so"},
    {"payload.items.all(i.qty > 0)", 15, MG_EXPR_MISTAKE_SYNTAX, "all() is written so"},
    {"payload.items.all(payload, true)", 19, MG_EXPR_MISTAKE_NAME, "has a meaning already"},
    {"payload.items.all(for, true)", 15, MG_EXPR_MISTAKE_SYNTAX, "all() is written so"},
    {"has(payload)", 1, MG_EXPR_MISTAKE_SYNTAX, "has() asks for a member: has(payload.coupon)"},
    {"has(payload['x'])", 1, MG_EXPR_MISTAKE_SYNTAX, "has() asks for a member"},
    {"payload.in", 9, MG_EXPR_MISTAKE_SYNTAX, "a name is expected behind \".\"; write others in brackets"},
    {"payload.", 9, MG_EXPR_MISTAKE_SYNTAX, "a name is expected behind \".\""},
    {"payload.total / 2", 15, MG_EXPR_MISTAKE_SYNTAX, "write divide(a, b, places)"},
    {"payload.total % 2", 15, MG_EXPR_MISTAKE_SYNTAX, "there is no %"},
    {"payload.total = 2", 15, MG_EXPR_MISTAKE_SYNTAX, "two values are compared by =="},
    {"true & false", 6, MG_EXPR_MISTAKE_SYNTAX, "joined by && and ||"},
    {"{'a': 1}", 1, MG_EXPR_MISTAKE_SYNTAX, "there are no objects to write here"},
    {"${/payload/x} == 1", 1, MG_EXPR_MISTAKE_SYNTAX, "names its values plainly: payload.total"},
    {"payload.x # 1", 11, MG_EXPR_MISTAKE_SYNTAX, "unexpected \"#\""},
    {"(1 + 2", 7, MG_EXPR_MISTAKE_SYNTAX, "\")\" is expected to close the bracket"},
    {"[1, 2", 6, MG_EXPR_MISTAKE_SYNTAX, "\"]\" is expected at the end of a list"},
    {"true ? 1", 9, MG_EXPR_MISTAKE_SYNTAX, "\":\" is expected between the two values"},
    {"'abc", 1, MG_EXPR_MISTAKE_SYNTAX, "a text without its closing quote"},
    {"'''abc''", 1, MG_EXPR_MISTAKE_SYNTAX, "a text without its closing quote"},
    {"'a\nb'", 1, MG_EXPR_MISTAKE_SYNTAX, "a text without its closing quote"},
    {"'\\q'", 2, MG_EXPR_MISTAKE_SYNTAX, "no such escape"},
    {"'\\ud800'", 2, MG_EXPR_MISTAKE_SYNTAX, "no such escape"},
    {"'\\u00'", 2, MG_EXPR_MISTAKE_SYNTAX, "no such escape"},
    {"'\\x00'", 2, MG_EXPR_MISTAKE_SYNTAX, "cannot hold the character NUL"},
    {"'a\xff'", 3, MG_EXPR_MISTAKE_SYNTAX, "no UTF-8"},
    {"12u", 3, MG_EXPR_MISTAKE_SYNTAX, "a number has digits, a point and an exponent only"},
    {"0x1F", 2, MG_EXPR_MISTAKE_SYNTAX, "a number has digits"},
    {"12345678901234567890123456789012345", 1, MG_EXPR_MISTAKE_SYNTAX, "a number of more than 34 digits"},
    {"1 == 'a'", 3, MG_EXPR_MISTAKE_TYPE, "1 is a number and 'a' is a text; they can never be equal"},
    {"1 + 'a'", 3, MG_EXPR_MISTAKE_TYPE, "string() makes a text"},
    {"payload.x * 'a'", 11, MG_EXPR_MISTAKE_TYPE, "* needs a number; 'a' is a text"},
    {"payload.x + true", 11, MG_EXPR_MISTAKE_TYPE, "+ needs a number; true is a boolean"},
    {"'a' < 1", 5, MG_EXPR_MISTAKE_TYPE, "have an order"},
    {"payload.x < true", 11, MG_EXPR_MISTAKE_TYPE, "have an order"},
    {"!1", 1, MG_EXPR_MISTAKE_TYPE, "! needs a boolean; 1 is a number"},
    {"-'a'", 1, MG_EXPR_MISTAKE_TYPE, "- needs a number; 'a' is a text"},
    {"payload.x == 1 || 'a'", 16, MG_EXPR_MISTAKE_TYPE, "|| needs a boolean; 'a' is a text"},
    {"1 ? 2 : 3", 3, MG_EXPR_MISTAKE_TYPE, "? needs a boolean"},
    {"1 in 2", 3, MG_EXPR_MISTAKE_TYPE, "in needs a list; 2 is a number"},
    {"'a'.x", 5, MG_EXPR_MISTAKE_TYPE, "a member needs an object; 'a' is a text"},
    {"size(1)", 1, MG_EXPR_MISTAKE_TYPE, "size() needs a list; 1 is a number"},
    {"round('a', 2)", 1, MG_EXPR_MISTAKE_TYPE, "round() needs a number"},
    {"time('tomorrow')", 1, MG_EXPR_MISTAKE_TYPE, "write RFC 3339"},
    {"time('2026-02-29T00:00:00Z')", 1, MG_EXPR_MISTAKE_TYPE, "write RFC 3339"},
    {"time('2026-01-31T24:00:00Z')", 1, MG_EXPR_MISTAKE_TYPE, "write RFC 3339"},
    {"time('9999-12-31T23:59:59-00:01')", 1, MG_EXPR_MISTAKE_TYPE, "years 1 to 9999"},
    {"time('2026-01-31T12:00:00')", 1, MG_EXPR_MISTAKE_TYPE, "write RFC 3339"},
    {"duration('2 hours')", 1, MG_EXPR_MISTAKE_TYPE, "duration(\"1h30m\")"},
    {"duration('')", 1, MG_EXPR_MISTAKE_TYPE, "no duration"},
    {"payload.items.all(i, 1)", 15, MG_EXPR_MISTAKE_TYPE, "all() needs a boolean; 1 is a number"},
    {"payload.items.sum(i, i.x == 1)", 15, MG_EXPR_MISTAKE_TYPE,
     "sum() needs a number; i.x == 1 is a boolean"},
};

START_TEST(a_mistake_has_its_column_and_what_would_be_right)
{
    const struct mg_expr *expr = NULL;
    struct mg_expr_place place = {0, MG_EXPR_MISTAKE_SYNTAX};
    enum mg_class class =
        mg_expr_compile(mg_slice_of(MISTAKES[_i].text), &NAMES, world.arena, &expr, &place, &world.err);
    ck_assert_msg(class == MG_BAD_INPUT, "%s", MISTAKES[_i].text);
    ck_assert_ptr_null(expr);
    ck_assert_msg(strstr(world.err.text, MISTAKES[_i].says) != NULL, "%s: %s", MISTAKES[_i].text,
                  world.err.text);
    ck_assert_msg(place.column == MISTAKES[_i].column && place.mistake == MISTAKES[_i].mistake, "%s: %d, %s",
                  MISTAKES[_i].text, place.column, world.err.text);
    char column[20];
    (void)snprintf(column, sizeof(column), "column %d: ", place.column);
    ck_assert_int_eq(strncmp(world.err.text, column, strlen(column)), 0);
}
END_TEST

/* ---- bounds ---- */

/* `count` times `part`, between two others. */
static char *repeat(const char *begin, const char *part, int count, const char *end)
{
    static char text[8192];
    size_t len = strlen(part);
    ck_assert_uint_lt(strlen(begin) + len * (size_t)count + strlen(end), sizeof(text));
    char *at = stpcpy(text, begin);
    for (int i = 0; i < count; i++) {
        at = stpcpy(at, part);
    }
    (void)stpcpy(at, end);
    return text;
}

static const struct {
    const char *begin, *part, *end;
    int most; /* so many are taken, one more is refused */
    const char *says;
} LIMITS[] = {
    {"'", "a", "'", 1022, "1025 bytes; an expression has at most 1024"},
    {"1", "+1", "", 95, "more than 96 operations in a row"},
    {"", "!", "true", 95, "more than 96 operations in a row"},
    {"payload", ".a", "", 95, "more than 96 operations in a row"},
    {"[1", ",1", "]", 254, "more than 256 values and operations"},
};

START_TEST(each_bound_is_at_its_documented_value)
{
    const struct mg_expr *expr;
    char *text = repeat(LIMITS[_i].begin, LIMITS[_i].part, LIMITS[_i].most, LIMITS[_i].end);
    ck_assert_msg(world_compile(text, &expr) == MG_OK, "%s", world.err.text);
    text = repeat(LIMITS[_i].begin, LIMITS[_i].part, LIMITS[_i].most + 1, LIMITS[_i].end);
    ck_assert_int_eq(world_compile(text, &expr), MG_BAD_INPUT);
    ck_assert_msg(strstr(world.err.text, LIMITS[_i].says) != NULL, "%s", world.err.text);
}
END_TEST

START_TEST(nesting_is_bounded)
{
    static const char *const PAIRS[][3] = {
        {"(", "1", ")"}, {"[", "1", "]"}, {"size([", "1", "])"}, {"true?1:", "2", ""}};
    const struct mg_expr *expr;
    for (size_t i = 0; i < sizeof(PAIRS) / sizeof(PAIRS[0]); i++) {
        for (int count = 1; count <= 40; count++) {
            char text[1024], *at = text;
            int depth = i == 2 ? 2 * count : count;
            for (int j = 0; j < 2 * count + 1; j++) {
                at = stpcpy(at, PAIRS[i][j < count ? 0 : j == count ? 1 : 2]);
            }
            ck_assert_msg((world_compile(text, &expr) == MG_OK) == (depth <= MG_EXPR_DEPTH_MAX), "%s: %s",
                          text, world.err.text);
        }
    }
    ck_assert_int_eq(world_compile("payload.a.all(x, x.b.all(y, y.c > 1))", &expr), MG_OK);
    ck_assert_int_eq(world_compile("payload.a.all(x, x.b.all(y, y.c.all(z, z > 1)))", &expr), MG_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(world.err.text, "loops nested more than 2 deep"));
}
END_TEST

static char big[1200 * 1024];

/* A payload of `count` elements, up to what a broker's message may hold. */
static void open_payload(const char *element, int count)
{
    char *at = stpcpy(big, "{\"total\": 1, \"text\": \"x\", \"items\": [");
    for (int i = 0; i < count; i++) {
        at = stpcpy(at, element);
        at = stpcpy(at, i + 1 < count ? "," : "]}");
        ck_assert(at < big + sizeof(big) - 100);
    }
    world.payload = big;
}

static const struct {
    const char *text, *element, *says;
    int count;
} HOSTILE[] = {
    {"payload.items.exists(x, payload.items.exists(y, x + y < 0))", "1",
     "takes more than 20000 steps; the loop over payload.items was at its element ", 3000},
    {"payload.items.all(x, x in payload.items)", "{\"a\":1}", "takes more than 20000 steps", 4000},
    {"payload.items.all(x, size(x) > 0)", "[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]",
     "takes more than 20000 steps", 20000},
    {"payload.items.all(x, x == payload.items[0])", "{\"a\":[1,2],\"b\":{\"c\":null}}",
     "takes more than 20000 steps", 9000},
    {"payload.items == payload.items && payload.items == payload.items", "[1,[2]]",
     "takes more than 20000 steps", 12000},
    {"payload.items.sum(x, size(string(x)) * 1.000001) > 0", "12345678901234.5678",
     "takes more than 20000 steps", 9000},
    {"payload.items.exists(x, x.contains('aab'))",
     "\"\\naaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"", "takes more than 20000 steps", 18000},
    {"payload.items.sum(x, divide(x, 7, 34)) > 0", "1", "takes more than 20000 steps", 9000},
    {"payload.missing", "{\"a\":1,\"b\":2,\"c\":3}", "there is no member", 30000},
    {"size(payload.items) + size(payload.items) + size(payload.items)", "1", "takes more than 20000 steps",
     60000},
    {"payload.items.all(x, (x == 2 || payload.missing == 1) ? true : true)", "1",
     "takes more than 20000 steps", 9000},
};

/* Catches: an evaluation without an end, and one that takes memory. */
START_TEST(a_hostile_payload_ends_within_the_steps)
{
    const struct mg_expr *expr;
    struct mg_expr_value value;
    int steps = 0;
    open_payload(HOSTILE[_i].element, HOSTILE[_i].count);
    ck_assert_msg(world_compile(HOSTILE[_i].text, &expr) == MG_OK, "%s", world.err.text);
    is_evaluating = true;
    enum mg_class class = mg_expr_evaluate(expr, &SCOPE, &world.room, &value, &steps, &world.err);
    is_evaluating = false;
    ck_assert_int_eq(class, MG_PERMANENT);
    ck_assert_msg(strstr(world.err.text, HOSTILE[_i].says) != NULL, "%s", world.err.text);
    ck_assert_int_le(steps, MG_EXPR_STEPS_MIN);
    ck_assert_int_eq(allocations, 0);
}
END_TEST

/* Catches: a number of steps that does not follow the size of the values, or follows it without a bound. */
START_TEST(the_steps_follow_the_size_of_the_values)
{
    static const struct {
        size_t bytes;
        int steps;
    } SIZES[] = {{0, MG_EXPR_STEPS_MIN},
                 {5000, MG_EXPR_STEPS_MIN},
                 {5001, 20004},
                 {256 * 1024, 1024 * 1024},
                 {(size_t)64 * 1024 * 1024, 4 * 1024 * 1024}};
    const struct mg_expr *expr;
    struct mg_expr_value value;
    char says[64];
    open_payload("1", 12000);
    ck_assert_int_eq(world_compile("payload.items.all(x, payload.items.all(y, y > 0))", &expr), MG_OK);
    for (size_t i = 0; i < sizeof(SIZES) / sizeof(SIZES[0]); i++) {
        struct mg_expr_scope scope = SCOPE;
        int steps = 0;
        scope.bytes = SIZES[i].bytes;
        ck_assert_int_eq(mg_expr_evaluate(expr, &scope, &world.room, &value, &steps, &world.err),
                         MG_PERMANENT);
        (void)snprintf(says, sizeof(says), "takes more than %d steps", SIZES[i].steps);
        ck_assert_msg(strstr(world.err.text, says) != NULL, "%s", world.err.text);
        ck_assert_int_eq(steps, SIZES[i].steps);
    }
}
END_TEST

/* Catches: an end of the steps that counts as an error next to a decision. */
START_TEST(the_end_of_the_steps_is_absorbed_by_nothing)
{
    const struct mg_expr *expr;
    struct mg_expr_value value;
    open_payload("1", 9000);
    ck_assert_int_eq(world_compile("payload.items.all(x, payload.items.all(y, y > 0)) || true", &expr),
                     MG_OK);
    ck_assert_int_eq(mg_expr_evaluate(expr, &SCOPE, &world.room, &value, NULL, &world.err), MG_PERMANENT);
    ck_assert_int_eq(
        world_compile("[1].exists(z, payload.items.all(x, size(payload.items) > 1)) || true", &expr), MG_OK);
    ck_assert_int_eq(mg_expr_evaluate(expr, &SCOPE, &world.room, &value, NULL, &world.err), MG_PERMANENT);
    ck_assert_ptr_nonnull(strstr(world.err.text, "takes more than 20000 steps"));
}
END_TEST

/* Catches: values that double each other, 2 to the 40th in all, each with the steps of a whole. */
START_TEST(values_share_the_steps_of_the_whole)
{
    const struct mg_expr *expr;
    struct mg_expr_value value;
    int steps = 0;
    ck_assert_int_eq(world_compile("values.twice + values.twice", &expr), MG_OK);
    ck_assert_int_eq(mg_expr_evaluate(expr, &SCOPE, &world.room, &value, &steps, &world.err), MG_OK);
    ck_assert_int_gt(steps, 4 * 7);
    world.values[VALUE_GROSS] = world.values[VALUE_TWICE]; /* a circle, which no definition has */
    ck_assert_int_eq(mg_expr_evaluate(expr, &SCOPE, &world.room, &value, &steps, &world.err), MG_PERMANENT);
    ck_assert_ptr_nonnull(strstr(world.err.text, "values nested more than 256 deep"));
    ck_assert_int_eq(world_compile("values.twice == 1 || true", &expr), MG_OK);
    ck_assert_int_eq(mg_expr_evaluate(expr, &SCOPE, &world.room, &value, &steps, &world.err), MG_PERMANENT);
}
END_TEST

/* Catches: texts that grow by a loop; and that a row of texts is above the bound though each is below. */
START_TEST(texts_that_are_made_are_bounded)
{
    const struct mg_expr *expr;
    struct mg_expr_value value;
    struct mg_buf json;
    static char payload[6000];
    (void)snprintf(payload, sizeof(payload), "{\"text\": \"%s\", \"total\": 1}",
                   repeat("", "ab\\n", 500, ""));
    world.payload = payload;
    ck_assert_int_eq(world_compile("payload.text + payload.text + payload.text == 'x'", &expr), MG_OK);
    ck_assert_int_eq(mg_expr_evaluate(expr, &SCOPE, &world.room, &value, NULL, &world.err), MG_PERMANENT);
    ck_assert_ptr_nonnull(strstr(world.err.text, "texts made here are above 4096 bytes"));
    ck_assert_int_eq(
        world_compile("[1, 2, 3, 4].all(x, payload.text + 'c' != string(x)) && "
                      "payload.text + 'c' != 'd' && payload.text + 'e' != 'f' && payload.text + 'g' != 'h'",
                      &expr),
        MG_OK);
    ck_assert_msg(mg_expr_evaluate(expr, &SCOPE, &world.room, &value, NULL, &world.err) == MG_OK, "%s",
                  world.err.text);
    ck_assert_int_eq(world_compile("payload.text + payload.text", &expr), MG_OK);
    ck_assert_int_eq(mg_expr_evaluate(expr, &SCOPE, &world.room, &value, NULL, &world.err), MG_OK);
    mg_buf_init(&json, 8192);
    mg_expr_write_json(&value, &json);
    ck_assert_uint_eq(json.len, 2 + 2 * 500 * strlen("ab\\n"));
    mg_buf_finish(&json);
}
END_TEST

/* ---- types by shape ---- */

/* {"total": number, "items": [{"qty": number, "sku": text}]} */
enum { SHAPE_PAYLOAD = 1, SHAPE_TOTAL, SHAPE_ITEMS, SHAPE_ITEM, SHAPE_QTY, SHAPE_SKU, SHAPE_COUNT };
static const char SHAPES[SHAPE_COUNT];

static const void *shape_root(void *arg, int root, int member)
{
    (void)arg;
    return root == ROOT_PAYLOAD && member == -1 ? &SHAPES[SHAPE_PAYLOAD] : NULL;
}

static enum mg_expr_type shape_type(void *arg, const void *shape)
{
    static const enum mg_expr_type TYPES[] = {MG_EXPR_UNKNOWN, MG_EXPR_OBJECT, MG_EXPR_NUMBER, MG_EXPR_LIST,
                                              MG_EXPR_OBJECT,  MG_EXPR_NUMBER, MG_EXPR_TEXT};
    (void)arg;
    return TYPES[(const char *)shape - SHAPES];
}

static const void *shape_member(void *arg, const void *shape, struct mg_slice name, bool *ret_is_there,
                                const char **ret_nearest)
{
    (void)arg;
    if (shape == &SHAPES[SHAPE_PAYLOAD]) {
        if (mg_slice_is(name, "total")) {
            return &SHAPES[SHAPE_TOTAL];
        }
        if (mg_slice_is(name, "items")) {
            return &SHAPES[SHAPE_ITEMS];
        }
        *ret_nearest = "total";
    } else if (shape == &SHAPES[SHAPE_ITEM]) {
        if (mg_slice_is(name, "qty")) {
            return &SHAPES[SHAPE_QTY];
        }
        if (mg_slice_is(name, "sku")) {
            return &SHAPES[SHAPE_SKU];
        }
    }
    *ret_is_there = false;
    return NULL;
}

static const void *shape_element(void *arg, const void *shape)
{
    (void)arg;
    return shape == &SHAPES[SHAPE_ITEMS] ? &SHAPES[SHAPE_ITEM] : NULL;
}

static const struct {
    const char *text;
    enum mg_expr_type type; /* UNKNOWN: it is a mistake */
    const char *says;
} SHAPED[] = {
    {"payload.total", MG_EXPR_NUMBER, NULL},
    {"payload.items[0].sku", MG_EXPR_TEXT, NULL},
    {"payload.items.all(i, i.qty > 0 && i.sku != '')", MG_EXPR_BOOLEAN, NULL},
    {"payload.items.sum(i, i.qty) > payload.total", MG_EXPR_BOOLEAN, NULL},
    {"payload.total == 'x'", MG_EXPR_UNKNOWN, "payload.total is a number and 'x' is a text"},
    {"payload.totl > 1", MG_EXPR_UNKNOWN, "payload has no member \"totl\"; did you mean \"total\"?"},
    {"has(payload.totl)", MG_EXPR_UNKNOWN, "payload has no member \"totl\""},
    {"payload.items.all(i, i.colour == 'red')", MG_EXPR_UNKNOWN, "i has no member \"colour\""},
    {"payload.items.all(i, i.sku > 0)", MG_EXPR_UNKNOWN, "i.sku is a text and 0 is a number"},
    {"payload.total.all(i, true)", MG_EXPR_UNKNOWN, "all() needs a list; payload.total is a number"},
    {"payload.items.qty", MG_EXPR_UNKNOWN, "a member needs an object; payload.items is a list"},
    {"payload.items['a']", MG_EXPR_UNKNOWN, "an index of a list needs a number"},
    {"payload.total ? 1 : 2", MG_EXPR_UNKNOWN, "? needs a boolean"},
    {"payload.items[0].sku + 1", MG_EXPR_UNKNOWN, "string() makes a text"},
};

START_TEST(known_shapes_give_types)
{
    static const struct mg_expr_shapes SHAPES_OF = {shape_root,    shape_type, shape_member,
                                                    shape_element, NULL,       NULL};
    const struct mg_expr_names names = {.roots = ROOTS, .root_count = 5, .shapes = &SHAPES_OF};
    const struct mg_expr *expr;
    enum mg_class class =
        mg_expr_compile(mg_slice_of(SHAPED[_i].text), &names, world.arena, &expr, NULL, &world.err);
    if (SHAPED[_i].says != NULL) {
        ck_assert_int_eq(class, MG_BAD_INPUT);
        ck_assert_msg(strstr(world.err.text, SHAPED[_i].says) != NULL, "%s", world.err.text);
        return;
    }
    ck_assert_msg(class == MG_OK, "%s", world.err.text);
    ck_assert_int_eq(mg_expr_type_of(expr), SHAPED[_i].type);
}
END_TEST

/* ---- references ---- */

static char seen_text[1000];

static void note(void *arg, const struct mg_expr_reference *reference)
{
    const struct mg_expr_root *root = &ROOTS[reference->root];
    size_t len = strlen(seen_text);
    (void)arg;
    len += (size_t)snprintf(seen_text + len, sizeof(seen_text) - len, "%d:%s%s%s%.*s%s", reference->column,
                            root->name, reference->member >= 0 ? "." : "",
                            reference->member >= 0 ? root->members[reference->member] : "",
                            (int)reference->path.len, reference->path.data, reference->is_asked ? "?" : "");
    for (int i = 0; i < reference->fact_count; i++) {
        const struct mg_expr_fact *fact = &reference->facts[i];
        const struct mg_expr_root *of = &ROOTS[fact->root];
        len += (size_t)snprintf(seen_text + len, sizeof(seen_text) - len, "{%s%s%.*s%s%.*s}", of->name,
                                fact->member >= 0 ? of->members[fact->member] : "", (int)fact->path.len,
                                fact->path.data,
                                fact->is_has       ? ""
                                : fact->is_negated ? "!="
                                                   : "=",
                                (int)fact->text.len, fact->text.data != NULL ? fact->text.data : "");
    }
    (void)snprintf(seen_text + len, sizeof(seen_text) - len, " ");
}

static const struct {
    const char *text, *seen;
} REFERENCES[] = {
    {"1 + 2", ""},
    {"payload.a.b > 1", "1:payload.a.b "},
    {"payload['a'][0].c == results.score.x + 1", "1:payload['a'][0].c 22:results.score.x "},
    {"payload.items[payload.n].x > 1", "1:payload.items 15:payload.n "},
    {"payload.items.all(i, i.x > values.gross)", "1:payload.items 28:values.gross "},
    {"has(results.express)", "5:results.express? "},
    {"has(results.express.id)", "5:results.express.id? 5:results.express "},
    {"has(results.express) && results.express.id == 1",
     "5:results.express? 25:results.express.id{resultsexpress} "},
    {"results.express.id == 1 && has(results.express)",
     "1:results.express.id{resultsexpress} 32:results.express? "},
    {"!has(results.express) || results.express.id == 1",
     "6:results.express? 26:results.express.id{resultsexpress} "},
    {"has(results.express) || results.express.id == 1", "5:results.express? 25:results.express.id "},
    {"has(results.express) ? results.express.id : payload.x",
     "5:results.express? 24:results.express.id{resultsexpress} 45:payload.x "},
    {"!has(results.express) ? payload.x : results.express.id",
     "6:results.express? 25:payload.x 37:results.express.id{resultsexpress} "},
    {"state.express == 'done' && results.express.id == 1",
     "1:state.express 28:results.express.id{stateexpress=done} "},
    {"'done' != state.express ? 0 : results.express.id",
     "11:state.express 31:results.express.id{stateexpress=done} "},
    {"(has(results.express) && payload.x) && payload.items.exists(i, i == results.express.id)",
     "6:results.express?{payloadx} "},
};

START_TEST(each_reference_is_listed_with_what_holds_there)
{
    const struct mg_expr *expr;
    seen_text[0] = '\0';
    ck_assert_msg(world_compile(REFERENCES[_i].text, &expr) == MG_OK, "%s", world.err.text);
    mg_expr_references(expr, note, NULL);
    ck_assert(mg_expr_is_constant(expr) == (REFERENCES[_i].seen[0] == '\0'));
    if (_i + 1 < (int)(sizeof(REFERENCES) / sizeof(REFERENCES[0]))) {
        ck_assert_str_eq(seen_text, REFERENCES[_i].seen);
    } else { /* a guard two levels above */
        ck_assert_ptr_nonnull(strstr(seen_text, "69:results.express.id{resultsexpress} "));
    }
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

int main(void)
{
    Suite *suite = suite_create("expr_compile");
    TCase *tests = tcase_create("expr_compile");
    tcase_add_checked_fixture(tests, world_open, world_close);
    tcase_add_loop_test(tests, a_mistake_has_its_column_and_what_would_be_right, 0, COUNT(MISTAKES));
    tcase_add_loop_test(tests, each_bound_is_at_its_documented_value, 0, COUNT(LIMITS));
    tcase_add_test(tests, nesting_is_bounded);
    tcase_add_loop_test(tests, a_hostile_payload_ends_within_the_steps, 0, COUNT(HOSTILE));
    tcase_add_test(tests, the_steps_follow_the_size_of_the_values);
    tcase_add_test(tests, the_end_of_the_steps_is_absorbed_by_nothing);
    tcase_add_test(tests, values_share_the_steps_of_the_whole);
    tcase_add_test(tests, texts_that_are_made_are_bounded);
    tcase_add_loop_test(tests, known_shapes_give_types, 0, COUNT(SHAPED));
    tcase_add_loop_test(tests, each_reference_is_listed_with_what_holds_there, 0, COUNT(REFERENCES));
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
