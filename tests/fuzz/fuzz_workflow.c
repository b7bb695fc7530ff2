/*
 * Workflow definitions, and the requests that they render. The input is the definition and, after an optional
 * NUL, a payload. Every action of an accepted definition is rendered; the result must be a request that an
 * agent accepts.
 */
#include "core/key.h"
#include "fuzz.h"
#include "wire/request.h"
#include "workflow/workflow.h"

#define ARENA_MAX (2 * FUZZ_TEXT_MAX)

static const char PAYLOAD[] =
    "{\"id\":\"c/1 \xc3\xbc\",\"n\":14.00,\"t\":true,\"z\":null,\"o\":{\"a\":[1,2]},"
    "\"customer\":{\"id\":\"../x\"},\"items\":[{\"sku\":\"a\\\"b\\n\",\"n\":2}]}";
static const char RESULT[] = "{\"id\":\"r?1#\",\"n\":1.50,\"greeting\":\"${/payload/n}\"}";

static void on_mistake(void *arg, struct mg_json_place place, const char *pointer, const char *text)
{
    int *count = arg;
    FUZZ_REQUIRE(pointer == NULL || pointer[0] == '\0' || pointer[0] == '/');
    FUZZ_REQUIRE(text[0] != '\0' && place.line >= (pointer != NULL ? 1 : 0));
    (*count)++;
}

/* Every step follows only steps of the list, and the steps have an order that keeps this. */
static void plan_can_be_followed(const struct mg_workflow *workflow)
{
    const struct mg_plan *plan = &workflow->plan;
    FUZZ_REQUIRE(plan->step_count >= 1 && plan->step_count <= MG_STEPS_MAX);
    uint64_t done = 0;
    for (int round = 0; round < plan->step_count; round++) {
        for (int i = 0; i < plan->step_count; i++) {
            if ((plan->steps[i].after & ~done) == 0) {
                done |= UINT64_C(1) << i;
            }
        }
    }
    FUZZ_REQUIRE(done == (plan->step_count == 64 ? UINT64_MAX : (UINT64_C(1) << plan->step_count) - 1));
}

static void step_is_sound(const struct mg_workflow *workflow, int index)
{
    const struct mg_step_plan *plan = &workflow->plan.steps[index];
    const struct mg_workflow_step *step = &workflow->steps[index];
    FUZZ_REQUIRE(mg_name_is_valid(step->name, strlen(step->name)));
    FUZZ_REQUIRE(mg_workflow_step_index(workflow, mg_slice_of(step->name)) == index);
    if (plan->is_wait) {
        FUZZ_REQUIRE(step->service[0] == '\0' && !plan->has_undo && !plan->is_pivot && !plan->has_verify);
        FUZZ_REQUIRE(plan->is_until ? plan->has_guard && plan->wait_ms == 0
                                    : plan->wait_ms > 0 && plan->wait_ms <= MG_WAIT_MAX_MS);
        return;
    }
    FUZZ_REQUIRE(mg_name_is_valid(step->service, strlen(step->service)));
    FUZZ_REQUIRE(plan->complete_within_ms > 0 && plan->complete_within_ms <= MG_STEP_COMPLETE_WITHIN_MAX_MS);
    FUZZ_REQUIRE(plan->undo_complete_within_ms > 0 &&
                 plan->undo_complete_within_ms <= MG_STEP_COMPLETE_WITHIN_MAX_MS);
    FUZZ_REQUIRE(plan->retry.attempts >= 1 && plan->retry.max_backoff_ms >= plan->retry.backoff_ms);
    FUZZ_REQUIRE(!plan->is_at_most_once || plan->retry.attempts == 1);
    FUZZ_REQUIRE(step->actions[MG_KIND_DO].is_present);
    FUZZ_REQUIRE(step->actions[MG_KIND_UNDO].is_present == plan->has_undo);
    FUZZ_REQUIRE(step->actions[MG_KIND_VERIFY].is_present == plan->has_verify);
    FUZZ_REQUIRE(plan->has_verify ||
                 (plan->on_unknown != MG_ON_UNKNOWN_VERIFY && plan->finish_within_ms == 0));
}

static void agent_takes(struct mg_slice rendered, enum mg_kind kind, struct mg_arena *arena)
{
    struct mg_request request = {.order_id = "o-1",
                                 .step = "s",
                                 .service = "s",
                                 .attempt = 1,
                                 .kind = kind,
                                 .idempotency_key = "o-1.s.do",
                                 .do_key = "o-1.s.do",
                                 .complete_by_ms = 1769862896789,
                                 .sent_at_ms = 1769862896789,
                                 .request = rendered};
    struct mg_request read;
    struct mg_buf body;
    struct mg_err err;
    mg_buf_init(&body, FUZZ_TEXT_MAX);
    mg_request_write(&request, &body);
    if (!body.failed) {
        FUZZ_REQUIRE(mg_request_parse(mg_buf_slice(&body), arena, &read, &err) == MG_OK);
    }
    mg_buf_finish(&body);
}

static void render(const struct mg_workflow *workflow, int step, enum mg_kind kind, struct mg_slice payload,
                   struct mg_arena *arena)
{
    struct mg_slice results[MG_STEPS_MAX];
    for (int i = 0; i < MG_STEPS_MAX; i++) {
        results[i] = mg_slice_of(RESULT);
    }
    const struct mg_render_input input = {
        .workflow = workflow, .order_id = "o-1", .payload = payload, .results = results};
    struct mg_buf first, second;
    struct mg_err err;
    mg_buf_init(&first, FUZZ_TEXT_MAX);
    mg_buf_init(&second, FUZZ_TEXT_MAX);
    enum mg_class class = mg_workflow_render(&input, step, kind, "o-1.s.undo", "o-1.s.do", &first, &err);
    if (class == MG_OK) {
        agent_takes(mg_buf_slice(&first), kind, arena);
        /* law 8, derived identities: the same key carries the same bytes */
        FUZZ_REQUIRE(mg_workflow_render(&input, step, kind, "o-1.s.undo", "o-1.s.do", &second, &err) ==
                     MG_OK);
        fuzz_require_same(&first, &second);
        return;
    }
    FUZZ_REQUIRE(class == MG_PERMANENT && err.text[0] != '\0');
    mg_buf_finish(&first);
}

static void try_taken(const struct mg_workflow *workflow, struct mg_slice payload)
{
    FUZZ_REQUIRE(mg_name_is_valid(workflow->name, strlen(workflow->name)) && workflow->version > 0);
    plan_can_be_followed(workflow);
    struct mg_arena *arena = mg_arena_create(ARENA_MAX);
    FUZZ_REQUIRE(arena != NULL);
    for (int i = 0; i < workflow->plan.step_count; i++) {
        step_is_sound(workflow, i);
        for (int kind = 0; kind < MG_KIND_COUNT; kind++) {
            if (workflow->steps[i].actions[kind].is_present) {
                render(workflow, i, (enum mg_kind)kind, payload, arena);
            }
        }
    }
    mg_arena_destroy(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mg_slice rest = {(const char *)data, size}, text = fuzz_take(&rest), payload = fuzz_take(&rest);
    struct mg_workflow *workflow = NULL;
    struct mg_err err, scratch;
    int count = 0;
    const struct mg_mistakes mistakes = {on_mistake, &count};
    if (mg_json_check(payload, &MG_JSON_LIMITS_DATA, &scratch) != MG_OK) {
        payload = mg_slice_of(PAYLOAD);
    }
    enum mg_class class = mg_workflow_parse(text, &mistakes, &workflow, &err);
    if (class != MG_OK) {
        fuzz_require_refusal(class, &err, NULL, 0);
        FUZZ_REQUIRE(class == MG_BAD_INPUT && workflow == NULL && count > 0);
        return 0;
    }
    FUZZ_REQUIRE(count == 0 && mg_slice_equal(workflow->text, text));
    try_taken(workflow, payload);
    mg_workflow_destroy(workflow);
    return 0;
}
