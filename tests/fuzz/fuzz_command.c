/* Commands of the supervisor and the operator's tool, and their answers. The input is the body; all readers
 * get it. */
#include "core/key.h"
#include "fuzz.h"
#include "wire/command.h"
#include "wire/service_control.h"

#define ARENA_MAX (1024 * 1024)

static void is_same_command(const struct mg_command *a, const struct mg_command *b)
{
    FUZZ_REQUIRE(strcmp(a->command_id, b->command_id) == 0 && strcmp(a->order_id, b->order_id) == 0);
    FUZZ_REQUIRE(strcmp(a->signal, b->signal) == 0 && strcmp(a->key, b->key) == 0);
    FUZZ_REQUIRE(a->generation == b->generation && mg_slice_equal(a->payload, b->payload));
    FUZZ_REQUIRE(strcmp(a->step, b->step) == 0 && a->kind == b->kind && a->attempt == b->attempt);
    FUZZ_REQUIRE(a->version == b->version && a->seq == b->seq && a->outcome == b->outcome);
    FUZZ_REQUIRE(strcmp(a->by, b->by) == 0 && strcmp(a->reason, b->reason) == 0);
    FUZZ_REQUIRE(a->set_count == b->set_count && a->set_count <= MG_COMMAND_SETS_MAX);
    for (int i = 0; i < a->set_count; i++) {
        FUZZ_REQUIRE(mg_slice_equal(a->sets[i].pointer, b->sets[i].pointer));
        FUZZ_REQUIRE(mg_slice_equal(a->sets[i].value, b->sets[i].value));
    }
}

/* The payload changes of a resume: any set at any place leaves the payload valid JSON. */
static void sets_can_be_made(const struct mg_command *command)
{
    static const char payload[] = "{\"a\":[1,2.00],\"b\":{\"c\":\"d\"}}";
    struct mg_err err;
    for (int i = 0; i < command->set_count; i++) {
        struct mg_buf changed;
        mg_buf_init(&changed, FUZZ_TEXT_MAX);
        enum mg_class class = mg_json_set(mg_slice_of(payload), command->sets[i].pointer.data,
                                          command->sets[i].value, &changed, &err);
        FUZZ_REQUIRE(class == MG_OK || (class == MG_BAD_INPUT && err.text[0] != '\0'));
        struct mg_json_limits limits = MG_JSON_LIMITS_DATA;
        limits.max_depth *= 2; /* the value's levels are added to the payload's */
        if (class == MG_OK) {
            FUZZ_REQUIRE(mg_json_check(mg_buf_slice(&changed), &limits, &err) == MG_OK);
        }
        mg_buf_finish(&changed);
    }
}

static void try_command(struct mg_slice body, struct mg_arena *arena)
{
    struct mg_command command, again;
    struct mg_buf first, second;
    struct mg_err err;
    FUZZ_POISON(command);
    enum mg_class class = mg_command_parse(body, &MG_JSON_LIMITS_DATA, arena, &command, &err);
    if (class != MG_OK) {
        FUZZ_REQUIRE_REFUSAL(class, err, command);
        return;
    }
    bool has_order = mg_order_id_is_valid(command.order_id, strlen(command.order_id));
    FUZZ_REQUIRE(has_order != (command.key[0] != '\0'));
    mg_buf_init(&first, FUZZ_TEXT_MAX);
    mg_buf_init(&second, FUZZ_TEXT_MAX);
    mg_command_write(&command, &first);
    class = mg_command_parse(mg_buf_slice(&first), &MG_JSON_LIMITS_DATA, arena, &again, &err);
    FUZZ_REQUIRE(class == MG_OK);
    is_same_command(&command, &again);
    sets_can_be_made(&command);
    mg_command_write(&again, &second);
    fuzz_require_same(&first, &second);
}

static void try_result(struct mg_slice body)
{
    struct mg_command_result result, again;
    struct mg_buf first, second;
    struct mg_err err;
    FUZZ_POISON(result);
    enum mg_class class = mg_command_result_parse(body, &result, &err);
    if (class != MG_OK) {
        FUZZ_REQUIRE_REFUSAL(class, err, result);
        return;
    }
    mg_buf_init(&first, FUZZ_TEXT_MAX);
    mg_buf_init(&second, FUZZ_TEXT_MAX);
    mg_command_result_write(&result, &first);
    FUZZ_REQUIRE(mg_command_result_parse(mg_buf_slice(&first), &again, &err) == MG_OK);
    FUZZ_REQUIRE(result.verdict == again.verdict && result.version == again.version);
    mg_command_result_write(&again, &second);
    fuzz_require_same(&first, &second);
}

static void try_control(struct mg_slice body)
{
    struct mg_service_control control, again;
    struct mg_buf first, second;
    struct mg_err err;
    FUZZ_POISON(control);
    enum mg_class class = mg_service_control_parse(body, &control, &err);
    if (class != MG_OK) {
        FUZZ_REQUIRE_REFUSAL(class, err, control);
        return;
    }
    FUZZ_REQUIRE(mg_name_is_valid(control.service, strlen(control.service)));
    FUZZ_REQUIRE(control.is_down == (control.prober[0] != '\0'));
    FUZZ_REQUIRE(control.share_count >= 0 && control.share_count <= MG_SHARES_MAX);
    FUZZ_REQUIRE(control.is_limited || control.share_count == 0);
    mg_buf_init(&first, FUZZ_TEXT_MAX);
    mg_buf_init(&second, FUZZ_TEXT_MAX);
    mg_service_control_write(&control, &first);
    FUZZ_REQUIRE(mg_service_control_parse(mg_buf_slice(&first), &again, &err) == MG_OK);
    FUZZ_REQUIRE(control.epoch == again.epoch && control.version == again.version);
    FUZZ_REQUIRE(control.is_undecided == again.is_undecided);
    FUZZ_REQUIRE(control.is_paused == again.is_paused && control.is_limited == again.is_limited);
    FUZZ_REQUIRE(control.is_down == again.is_down && strcmp(control.prober, again.prober) == 0);
    FUZZ_REQUIRE(control.share_count == again.share_count);
    for (int i = 0; i < control.share_count; i++) {
        const struct mg_share *a = &control.shares[i], *b = &again.shares[i];
        FUZZ_REQUIRE(a->instance[0] != '\0' && strcmp(a->instance, b->instance) == 0);
        FUZZ_REQUIRE(a->concurrency == b->concurrency && a->concurrency >= 0 && a->rate_per_s >= 0);
    }
    mg_service_control_write(&again, &second);
    fuzz_require_same(&first, &second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mg_slice body = {(const char *)data, size};
    struct mg_arena *arena = mg_arena_create(ARENA_MAX);
    FUZZ_REQUIRE(arena != NULL);
    try_command(body, arena);
    mg_arena_destroy(arena);
    try_result(body);
    try_control(body);
    return 0;
}
