/*
 * Templates and the values in them. The input is the template and, after an optional NUL, the values. No
 * value may turn a path or a JSON text into another one.
 */
#include "fuzz.h"
#include "json/json.h"
#include "wire/http_url.h"
#include "workflow/template.h"

static const struct mg_json_limits WIDE = {16 * FUZZ_TEXT_MAX, 100, FUZZ_TEXT_MAX, true};
static const char VALUES[] =
    "{\"order_id\":\"o-1\",\"n\":14.00,\"t\":true,\"z\":null,\"e\":\"\",\"up\":\"..\","
    "\"o\":{ \"a\" : 1.10 },\"q\":\"a\\\"b\\n\",\"u\":\"M\xc3\xbcnster/Nord 5%?a=b&c#d\","
    "\"dollar\":\"${/n}\"}";

static struct mg_slice value_of(void *arg, const struct mg_template_piece *reference)
{
    const struct mg_slice *values = arg;
    const char *pointer = reference->text.data;
    if (pointer[0] == '=') {
        return mg_slice_of(strlen(pointer) % 2 == 0 ? "{ \"n\" : 14.00 }" : "\"a/b\"");
    }
    return mg_json_find(*values, pointer);
}

static struct mg_slice any_value(void *arg, const struct mg_template_piece *reference)
{
    (void)arg, (void)reference;
    return mg_slice_of("\"x\"");
}

static bool on_reference(void *arg, const struct mg_template_piece *reference)
{
    int *count = arg;
    const char *pointer = reference->text.data;
    FUZZ_REQUIRE(pointer[0] == '/' || (pointer[0] == '=' && strlen(pointer) <= 1025));
    (*count)++;
    return true;
}

static size_t count_of(const struct mg_buf *buf, char c)
{
    size_t count = 0;
    for (size_t i = 0; i < buf->len; i++) {
        count += buf->data[i] == c;
    }
    return count;
}

static void is_refused(enum mg_class class, const struct mg_err *err)
{
    FUZZ_REQUIRE(class == MG_BAD_INPUT || class == MG_PERMANENT);
    FUZZ_REQUIRE(err->class == class && err->text[0] != '\0');
}

/* False: such a definition is never loaded. */
static bool compile(struct mg_slice template, enum mg_template_form form, struct mg_arena *arena,
                    struct mg_template *ret_template, int *ret_references)
{
    struct mg_err err;
    *ret_references = 0;
    enum mg_class class = mg_template_compile(template, form, arena, ret_template, &err);
    if (class != MG_OK) {
        is_refused(class, &err);
        return false;
    }
    mg_template_each(ret_template, on_reference, ret_references);
    return true;
}

static void try_path(struct mg_slice template, struct mg_slice values, struct mg_arena *arena)
{
    const struct mg_template_values any = {any_value, NULL}, some = {value_of, &values};
    struct mg_template compiled;
    static const char shape[] = "/?#&=";
    struct mg_buf plain, path;
    struct mg_err err;
    int references;
    if (!compile(template, MG_TEMPLATE_PATH, arena, &compiled, &references)) {
        return;
    }
    mg_buf_init(&plain, FUZZ_TEXT_MAX);
    mg_buf_init(&path, FUZZ_TEXT_MAX);
    FUZZ_REQUIRE(mg_template_render(&compiled, &any, &plain, &err) == MG_OK);
    enum mg_class class = mg_template_render(&compiled, &some, &path, &err);
    if (class == MG_OK) {
        for (size_t i = 0; i < sizeof(shape) - 1; i++) {
            FUZZ_REQUIRE(count_of(&path, shape[i]) == count_of(&plain, shape[i]));
        }
        FUZZ_REQUIRE(references > 0 || mg_slice_equal(mg_buf_slice(&path), mg_buf_slice(&plain)));
    } else {
        is_refused(class, &err);
    }
    mg_buf_finish(&plain);
    mg_buf_finish(&path);
}

static void try_json(struct mg_slice template, struct mg_slice values, struct mg_arena *arena)
{
    const struct mg_template_values some = {value_of, &values};
    struct mg_template compiled;
    struct mg_buf first, second;
    struct mg_err err;
    int references;
    if (!compile(template, MG_TEMPLATE_JSON, arena, &compiled, &references)) {
        return;
    }
    mg_buf_init(&first, 16 * FUZZ_TEXT_MAX);
    mg_buf_init(&second, 16 * FUZZ_TEXT_MAX);
    enum mg_class class = mg_template_render(&compiled, &some, &first, &err);
    if (class == MG_OK) {
        FUZZ_REQUIRE(mg_json_check(mg_buf_slice(&first), &WIDE, &err) == MG_OK);
        FUZZ_REQUIRE(mg_template_render(&compiled, &some, &second, &err) == MG_OK);
        fuzz_require_same(&first, &second);
        return;
    }
    FUZZ_REQUIRE(class == MG_PERMANENT && references > 0 && err.text[0] != '\0');
    mg_buf_finish(&first);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mg_slice rest = {(const char *)data, size}, template = fuzz_take(&rest), values = fuzz_take(&rest);
    struct mg_arena *arena = mg_arena_create(100 * FUZZ_TEXT_MAX);
    struct mg_err err;
    FUZZ_REQUIRE(arena != NULL);
    if (mg_json_check(values, &MG_JSON_LIMITS_DATA, &err) != MG_OK) {
        values = mg_slice_of(VALUES);
    }
    if (template.len > 0 && template.data[0] == '/') {
        const char *fault = mg_path_fault(template);
        FUZZ_REQUIRE(fault == NULL || fault[0] != '\0');
        try_path(template, values, arena);
    } else if (mg_json_check(template, &MG_JSON_LIMITS_DATA, &err) == MG_OK) {
        try_json(template, values, arena);
    }
    mg_arena_destroy(arena);
    return 0;
}
