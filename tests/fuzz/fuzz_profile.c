/*
 * Profiles, `makegood workflow simulate --profile`. The input is the file, which is read for a workflow with
 * steps of every kind. A refusal has its place in the file. An accepted one has its values within their
 * bounds; then a few orders run by it, and a few ways: each order has one end or is open.
 */
#include <stdlib.h>

#include "fuzz.h"
#include "json/scan.h"
#include "rehearse/exploration.h"
#include "rehearse/simulation.h"

#define ACTION(path) "{\"method\":\"POST\",\"path\":\"" path "\"}"
#define STEP(name, service)                                                                                  \
    "{\"step\":\"" name "\",\"service\":\"" service "\",\"do\":" ACTION("/" name) ",\"undo\":" ACTION("/u")
#define POLLED  ",\"finish_within\":\"1h\",\"verify\":" ACTION("/v")
#define ORDERS  20
#define WAYS    50
#define STOP_MS 3600000

/* The workflow of the examples, as far as their profiles name it, and steps that those have not. */
static const char DEFINITION[] = "{\"workflow\":\"fulfilment\",\"version\":1,\"complete_within\":\"300d\","
                                 "\"sequence\":{\"key\":\"k/${/payload/k}\"},\"steps\":[" STEP(
                                     "reserve", "inventory") "}," STEP("charge", "payment") POLLED
    "}," STEP("express",
              "payment") ",\"when\":\"payload.express\"},"
                         "{\"step\":\"hold\",\"wait\":{\"until\":\"payload.at\"}},"
                         "{\"step\":\"approve\",\"wait\":{\"signal\":\"approved\",\"within\":\"1h\","
                         "\"of\":2,\"choices\":{\"Approve\":{\"ok\":true},\"Reject\":{\"ok\":false}}},"
                         "\"done_when\":\"result.ok == true\",\"refused_when\":\"result.ok == false\"}," STEP(
                             "book", "carrier") "}]}";

static struct mg_workflow *workflow;
static struct mg_service *services[MG_STEPS_MAX];

static void fixture_make(void)
{
    static const char SERVICE[] = "{\"service\":\"s\",\"url\":\"http://127.0.0.1\"}";
    struct mg_err err;
    if (workflow != NULL) {
        return;
    }
    FUZZ_REQUIRE(mg_workflow_parse(mg_slice_of(DEFINITION), NULL, &workflow, &err) == MG_OK);
    for (int i = 0; i < workflow->plan.step_count; i++) {
        if (workflow->plan.steps[i].is_wait) {
            continue;
        }
        FUZZ_REQUIRE(mg_service_parse(mg_slice_of(SERVICE), NULL, &services[i], &err) == MG_OK);
    }
}

struct told {
    struct mg_slice text;
    int count;
};

static void on_mistake(void *arg, struct mg_json_place place, const char *pointer, const char *text)
{
    struct told *told = arg;
    bool is_blank = pointer == NULL && mg_json_trim(told->text).len == 0; /* its text names the place */
    FUZZ_REQUIRE(is_blank || fuzz_has_place(told->text, place));
    FUZZ_REQUIRE(pointer == NULL || pointer[0] == '\0' || pointer[0] == '/');
    FUZZ_REQUIRE(text[0] != '\0');
    told->count++;
}

static void spread_is_sound(const struct mg_spread *spread)
{
    FUZZ_REQUIRE(spread->low_ms >= 0 && spread->low_ms <= spread->high_ms &&
                 spread->high_ms <= MG_WAIT_MAX_MS);
    FUZZ_REQUIRE(!spread->is_skewed || spread->low_ms > 0);
}

static void choices_are_sound(const struct mg_choices *choices)
{
    uint64_t sum = 0;
    FUZZ_REQUIRE(choices->count <= MG_SIGNAL_CHOICES_MAX);
    for (int i = 0; i < choices->count; i++) {
        FUZZ_REQUIRE(choices->items[i].payload.len > 0);
        sum += choices->items[i].share;
    }
    FUZZ_REQUIRE(sum <= MG_SHARE_ALL);
}

static void profile_is_sound(const struct mg_profile *profile)
{
    FUZZ_REQUIRE(profile->orders >= 1 && profile->orders <= MG_PROFILE_ORDERS_MAX && profile->seed >= 1);
    FUZZ_REQUIRE(profile->rate >= 1 && profile->stop_after_ms >= 1 &&
                 profile->stop_after_ms <= MG_WAIT_MAX_MS);
    FUZZ_REQUIRE(profile->lines >= 0 && profile->lines <= MG_PROFILE_LINES_MAX);
    FUZZ_REQUIRE(profile->service_count <= MG_CASE_SERVICES_MAX && profile->claim_count <= MG_CLAIMS_MAX);
    for (int i = 0; i < workflow->plan.step_count; i++) {
        FUZZ_REQUIRE(profile->when[i] <= MG_SHARE_ALL || profile->when[i] == MG_WHEN_OPEN);
        FUZZ_REQUIRE(profile->outages[i].count <= MG_OUTAGES_MAX);
        FUZZ_REQUIRE(profile->signals[i].share <= MG_SHARE_ALL);
        spread_is_sound(&profile->signals[i].time);
        choices_are_sound(&profile->choices[i]);
        for (int kind = 0; kind < MG_KIND_COUNT; kind++) {
            const struct mg_habit *habit = &profile->habits[i][kind];
            spread_is_sound(&habit->time);
            spread_is_sound(&habit->finish);
            FUZZ_REQUIRE(habit->fail <= MG_SHARE_ALL && habit->refuse <= MG_SHARE_ALL);
            FUZZ_REQUIRE(habit->lose <= MG_SHARE_ALL);
        }
    }
}

static void orders_run(struct mg_profile *profile)
{
    struct mg_tally *tally = NULL;
    struct mg_err err;
    profile->orders = ORDERS;
    profile->stop_after_ms = STOP_MS; /* a year of an outage is probed every 5 s */
    profile->lines = profile->lines > 0 ? profile->lines : 1;
    for (int i = 0; i < workflow->plan.step_count; i++) {
        profile->has_signal[i] = true; /* in no order, if nothing is set */
    }
    if (mg_profile_check(profile, &err) != MG_OK) {
        fuzz_require_refusal(err.class, &err, NULL, 0);
        return;
    }
    FUZZ_REQUIRE(mg_simulate(profile, (const struct mg_service *const *)services, &tally, &err) == MG_OK);
    uint64_t count = tally->open + tally->rejected;
    for (int i = 0; i < MG_ORDER_STATE_COUNT; i++) {
        count += tally->ends[i].count;
    }
    FUZZ_REQUIRE(tally->orders == ORDERS && count == ORDERS);
    free(tally);
}

static void ways_run(const struct mg_profile *profile)
{
    struct mg_exploration exploration;
    struct mg_err err;
    FUZZ_REQUIRE(mg_explore(profile, WAYS, &exploration, &err) == MG_OK);
    uint64_t count = exploration.other_ends;
    for (int i = 0; i < exploration.end_count; i++) {
        count += exploration.ends[i].count;
    }
    FUZZ_REQUIRE(count == exploration.ways && count <= WAYS);
    mg_exploration_finish(&exploration);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct told told = {.text = {(const char *)data, size}};
    const struct mg_mistakes mistakes = {on_mistake, &told};
    struct mg_err err;
    fixture_make();
    struct mg_profile *profile = mg_profile_create(workflow);
    FUZZ_REQUIRE(profile != NULL);
    enum mg_class class = mg_profile_read(profile, told.text, &mistakes, &err);
    if (class == MG_OK) {
        FUZZ_REQUIRE(told.count == 0);
        profile_is_sound(profile);
        ways_run(profile);
        orders_run(profile);
    } else {
        fuzz_require_refusal(class, &err, NULL, 0);
        FUZZ_REQUIRE(class == MG_BAD_INPUT && told.count > 0);
    }
    mg_profile_destroy(profile);
    return 0;
}
