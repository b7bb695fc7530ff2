/*
 * Workflows of a run's orders: small ones that together use every policy a definition can name, and five
 * services that differ in how they treat keys (remote.c). Rough runs have more of both (rough.c).
 */
#include <assert.h>
#include <stdlib.h>

#include "choice.h"
#include "nodes.h"
#include "orders.h"
#include "remote.h"
#include "scheduler.h"
#include "service/service.h"
#include "workflow/workflow.h"

#define UNDO() UNDO_WITH("")
#define UNDO_WITH(more)                                                                                      \
    "\"undo\":{\"method\":\"DELETE\",\"path\":\"/of/${/do_key}\",\"complete_within\":\"4s\"," more           \
    "\"retry\":{\"attempts\":6,\"backoff\":\"200ms\",\"max_backoff\":\"2s\",\"cool_down\":\"5s\",\"cool_downs\":3}}"
/* By the number that the service gave, and in no other way. */
#define UNDO_OF(step)                                                                                        \
    "\"undo\":{\"method\":\"DELETE\",\"path\":\"/no/${/results/" step                                        \
    "/number}\",\"complete_within\":\"4s\","                                                                 \
    "\"retry\":{\"attempts\":6,\"backoff\":\"200ms\",\"max_backoff\":\"2s\",\"cool_down\":\"5s\",\"cool_downs\":3}}"
/* By the number of a deed, with the `n` of its order after it. */
#define UNDO_BY(mark)                                                                                        \
    "\"undo\":{\"method\":\"DELETE\",\"path\":\"/no/" mark "\",\"complete_within\":\"4s\","                  \
    "\"retry\":{\"attempts\":6,\"backoff\":\"200ms\",\"max_backoff\":\"2s\",\"cool_down\":\"5s\",\"cool_downs\":3}}"
#define VERIFY_OF(step) "\"verify\":{\"method\":\"GET\",\"path\":\"/no/${/results/" step "/number}\"}"
#define VERIFY          "\"verify\":{\"method\":\"GET\",\"path\":\"/of/${/do_key}\"}"
#define DO(body)                                                                                                       \
    "\"do\":{\"method\":\"POST\",\"path\":\"\\/do\",\"body\":{\"order\":\"${/order_id}\",\"n\":\"${/payload/n}\"" body \
    "}}"
/* Without results: an operator may settle any step, and then it has none. */
#define OUTPUT              "\"output\":{\"n\":\"${/payload/n}\",\"of\":\"${/order_id}\"}"
#define STEP(name, service) "{\"step\":\"" name "\",\"service\":\"" service "\","
/* A value of the answer to a step that may be skipped, or 0. */
#define NUMBER_OR_0(name, step)  ",\"" name "\":\"${= has(results." step ") ? results." step ".number : 0}\""
#define WHEN(condition)          "\"when\":\"" condition "\","
#define REQUIRE(condition, text) "{\"that\":\"" condition "\",\"text\":\"" text "\"}"
/* The answers of clerk. */
#define JUDGED   "\"done_when\":\"result.state == 'done'\",\"refused_when\":\"result.state == 'refused'\","
#define BY_STATE "\"on_unknown\":\"verify\"," JUDGED
/* The moment in the order's row; check_branch.c compares. */
#define AT ",\"at\":\"${= order.accepted_at}\""
/* The steps of `branch` and `fork`. choice.c has the fate of each, written apart from these conditions. */
#define AFTER(steps) "\"after\":[" steps "],"
#define NEEDS(step)  "\"needs\":[\"" step "\"],"
#define LOOK         STEP("look", "stock") RETRY("4") DO(AT) "," UNDO() "},"
#define FAST                                                                                                 \
    STEP("fast", "bank")                                                                                     \
    AFTER("\"look\"")                                                                                        \
    WHEN("payload.express && results.look.grade != 'none'") RETRY("3") DO("") "," UNDO() "},"
#define SLOW                                                                                                 \
    STEP("slow", "stock")                                                                                    \
    AFTER("\"look\"")                                                                                        \
    WHEN("!payload.express")                                                                                 \
    "\"require\":[" REQUIRE("payload.zone != 'x'", "no way there") "," REQUIRE(                              \
        "payload.weight <= 5", "too heavy") "]," RETRY("3") DO("") "," UNDO() "},"
#define WRAP                                                                                                 \
    STEP("wrap", "stock")                                                                                    \
    NEEDS("fast")                                                                                            \
    WHEN("payload.weight > 2 && results.look.grade == 'gold'")                                               \
    RETRY("3") DO(",\"of\":\"${/results/fast/number}\"") "," UNDO() "},"
#define STAMP                                                                                                \
    STEP("stamp", "bank") AFTER("\"wrap\"") RETRY("3") DO(NUMBER_OR_0("wrap", "wrap") AT) "," UNDO() "},"
#define INSURE                                                                                               \
    STEP("insure", "clerk")                                                                                  \
    NEEDS("slow")                                                                                            \
    WHEN("has(payload.value)")                                                                               \
    "\"require\":[" REQUIRE("payload.value <= 100",                                                          \
                            "too much") "],\"finish_within\":\"40s\"," BY_STATE RETRY("3")                   \
        DO("") "," VERIFY "," UNDO() "},"
#define JOIN                                                                                                 \
    STEP("join", "stock")                                                                                    \
    AFTER("\"stamp\",\"insure\"")                                                                            \
    RETRY("3") DO(NUMBER_OR_0("wrap", "wrap") NUMBER_OR_0("insured", "insure")) "," UNDO() "},"
#define SEAL                                                                                                 \
    STEP("seal", "bank")                                                                                     \
    AFTER("\"join\"") NEEDS("wrap") RETRY("3") DO(",\"of\":\"${/results/wrap/number}\"") "," UNDO() "}"
#define BRANCH(name, on_failure)                                                                             \
    "{\"workflow\":\"" name "\",\"version\":1,\"complete_within\":\"90s\",\"on_failure\":\"" on_failure      \
    "\",\"on_expiry\":\"" on_failure "\",\"require\":[" REQUIRE(                                             \
        "payload.weight < 9", SIM_REQUIREMENT) "],\"steps\":[" LOOK FAST SLOW WRAP STAMP INSURE JOIN SEAL    \
                                               "]}"
/* Of rough runs. The last step of some is refused to half of their orders, which turn back. */
#define HALF "\"require\":[" REQUIRE("payload.n < 20", "turns back") "],"
#define ONCE "\"at_most_once\":true,\"complete_within\":\"4s\",\"retry\":{\"attempts\":1},"
#define UNDO_POLLED                                                                                          \
    UNDO_WITH("\"done_when\":\"result.state == 'undone'\",\"refused_when\":\"result.state == 'refused'\","   \
              "\"finish_within\":\"20s\",\"poll\":\"2s\","                                                   \
              "\"verify\":{\"method\":\"GET\",\"path\":\"/undo/${/do_key}\"},")
#define RETRY(attempts)                                                                                      \
    "\"complete_within\":\"4s\",\"retry\":{\"attempts\":" attempts                                           \
    ",\"backoff\":\"200ms\",\"max_backoff\":\"2s\",\"cool_down\":\"5s\",\"cool_downs\":1},"

static const struct {
    const char *name, *text;
} WORKFLOWS[] = {
    {"line", "{\"workflow\":\"line\",\"version\":1,\"complete_within\":\"60s\","
             "\"labels\":{\"n\":\"${/payload/n}\",\"gone\":\"${/payload/gone}\"}," OUTPUT
             ",\"steps\":[" STEP("reserve", "stock") RETRY("4") DO("") "," UNDO() "}," STEP("charge", "bank")
                 RETRY("4") DO(",\"of\":\"${/results/reserve/number}\"") "," UNDO() "}," STEP("ship", "stock")
                     RETRY("3") DO("") "," UNDO() "}]}"},
    {"fan",
     "{\"workflow\":\"fan\",\"version\":1,\"complete_within\":\"60s\"," OUTPUT
     ",\"steps\":[" STEP("begin", "stock") RETRY("4") DO("") "," UNDO() "}," STEP(
         "left", "bank") "\"after\":[\"begin\"],\"on_unknown\":\"verify\"," RETRY("4")
         DO(",\"of\":\"${/results/begin/number}\"") "," VERIFY "," UNDO() "}," STEP(
             "right",
             "stock") "\"after\":[\"begin\"],\"on_unknown\":\"verify\",\"absent_is_final\":true," RETRY("4")
             DO("") "," VERIFY "," UNDO() "}," STEP(
                 "join", "bank") "\"after\":[\"left\",\"right\"],\"on_unknown\":\"verify\"," RETRY("3")
                 DO("") "," VERIFY "," UNDO() "}]}"},
    {"pivot",
     "{\"workflow\":\"pivot\",\"version\":1,\"complete_within\":\"45s\",\"steps\":[" STEP(
         "hold", "bank") "\"on_unknown\":\"verify\"," RETRY("4")
         DO("") "," VERIFY "," UNDO() "}," STEP("commit", "stock") "\"pivot\":true," RETRY("4")
             DO("") ",\"undo\":\"none\"}," STEP("tell", "stock") RETRY("8") DO("") ",\"undo\":\"none\"}]}"},
    {"letter",
     "{\"workflow\":\"letter\",\"version\":1,\"complete_within\":\"60s\",\"steps\":[" STEP("reserve", "bank")
         RETRY("4") DO("") "," UNDO() "}," STEP(
             "send",
             "post") "\"at_most_once\":true,\"on_unknown\":\"operator\","
                     "\"complete_within\":\"4s\",\"retry\":{\"attempts\":1}," DO("") ",\"undo\":\"none\"}]}"},
    {"build", "{\"workflow\":\"build\",\"version\":1,\"complete_within\":\"90s\",\"steps\":[" STEP(
                  "lay", "yard") "\"finish_within\":\"40s\",\"on_unknown\":\"verify\"," RETRY("4")
                  DO("") "," VERIFY "," UNDO() "}," STEP("paint", "bank") RETRY("3")
                      DO(",\"of\":\"${/results/lay/number}\"") "," UNDO() "}]}"},
    {"haul",
     "{\"workflow\":\"haul\",\"version\":1,\"complete_within\":\"120s\",\"steps\":[" STEP(
         "carry", "yard") "\"at_most_once\":true,\"on_unknown\":\"operator\",\"complete_within\":\"4s\","
                          "\"finish_within\":\"60s\",\"poll\":\"1s\","
                          "\"retry\":{\"attempts\":1,\"backoff\":\"200ms\",\"max_backoff\":\"4s\"}," DO(
                              "") "," VERIFY "," UNDO() "}]}"},
    {"strict",
     "{\"workflow\":\"strict\",\"version\":1,\"complete_within\":\"30s\",\"on_failure\":\"error\","
     "\"on_expiry\":\"error\",\"steps\":[" STEP("one", "bank") "\"on_unknown\":\"verify\"," RETRY("3")
         DO("") "," VERIFY "," UNDO() "}," STEP("two", "stock") RETRY("3") DO("") "," UNDO() "}]}"},
    {"till",
     "{\"workflow\":\"till\",\"version\":1,\"complete_within\":\"45s\",\"steps\":[" STEP("pay", "bank")
         RETRY("2") "\"learn\":\"repeat\"," DO("") "," UNDO_OF("pay") "}," STEP("pack", "stock") RETRY("2")
             DO(",\"of\":\"${/results/pay/number}\"") "," UNDO() "}]}"},
    {"desk",
     "{\"workflow\":\"desk\",\"version\":1,\"complete_within\":\"45s\",\"steps\":[" STEP("hire", "stock")
         RETRY("2") "\"learn\":\"verify\",\"absent_is_final\":true,\"on_unknown\":\"retry\"," DO(
             "") "," VERIFY "," UNDO_OF("hire") "}," STEP("bill", "bank") RETRY("2")
             DO(",\"of\":\"${/results/hire/number}\"") "," UNDO() "}]}"},
    {"dock",
     "{\"workflow\":\"dock\",\"version\":1,\"complete_within\":\"90s\",\"steps\":[" STEP("load", "yard")
         RETRY("2") "\"finish_within\":\"40s\",\"learn\":\"repeat\",\"on_unknown\":\"retry\"," DO(
             "") "," VERIFY_OF("load") "," UNDO_OF("load") "}," STEP("seal", "bank") RETRY("2")
             DO("") "," UNDO() "}]}"},
    {"branch", BRANCH("branch", "compensate")},
    {"fork", BRANCH("fork", "error")},
    {"claim",
     "{\"workflow\":\"claim\",\"version\":1,\"complete_within\":\"120s\",\"steps\":[" STEP("hold", "bank")
         RETRY("4") DO("") "," UNDO() "}," STEP(
             "file", "clerk") "\"finish_within\":\"40s\",\"poll\":\"2s\"," BY_STATE RETRY("2")
             DO("") "," VERIFY "," UNDO() "}," STEP("sign", "clerk") BY_STATE RETRY("4")
                 DO(",\"of\":\"${/results/file/number}\"") "," VERIFY "," UNDO() "}]}"},
    {"deed",
     "{\"workflow\":\"deed\",\"version\":1,\"complete_within\":\"120s\",\"values\":{\"mark\":"
     "\"string(results.enter['deed/no']) + '-' + string(payload.n)\"},\"steps\":[" STEP(
         "write", "clerk") "\"learn\":\"repeat\",\"on_unknown\":\"retry\"," JUDGED RETRY("2")
         DO("") "," UNDO_BY("${= results.write['deed/no']}-${/payload/n}") "}," STEP(
             "enter",
             "clerk") "\"learn\":\"verify\",\"absent_is_final\":true,\"on_unknown\":\"retry\",\"finish_within\":\"40s\"," JUDGED
             RETRY("2") DO(",\"of\":\"${= results.write['deed/no']}\"") "," VERIFY "," UNDO_BY(
                 "${= values.mark}") "}," STEP("lodge",
                                               "clerk") "\"learn\":\"repeat\",\"finish_within\":\"40s\"," BY_STATE
                 RETRY("2") DO("") "," VERIFY "," UNDO_BY(
                     "${= string(results.lodge['deed/no']) + '-' + string(payload.n)}") "}," STEP("bind",
                                                                                                  "bank")
                     RETRY("2") DO(",\"of\":\"${= results.enter['deed/no']}\"") "," UNDO() "}]}"},
    {"rest",
     "{\"workflow\":\"rest\",\"version\":1,\"complete_within\":\"90s\",\"steps\":[" STEP("reserve",
                                                                                         "stock") RETRY("4")
         DO("") "," UNDO() "},"
                           "{\"step\":\"pause\",\"wait\":{\"for\":\"5s\"}}," STEP("charge", "bank") RETRY("3") DO(
                               "") "," UNDO() "},"
                                              "{\"step\":\"dawn\",\"after\":[],\"wait\":{\"until\":\"payload.dawn\"}}," STEP(
                                                  "ship", "stock") AFTER("\"charge\",\"dawn\"") RETRY("3")
                                                  DO("") "," UNDO() "}]}"},
    {"approve",
     "{\"workflow\":\"approve\",\"version\":1,\"complete_within\":\"90s\",\"steps\":[" STEP(
         "hold", "stock") RETRY("4")
         DO("") "," UNDO() "},"
                           "{\"step\":\"nod\",\"wait\":{\"signal\":\"nod\",\"within\":\"30s\"},"
                           "\"done_when\":\"result.ok\",\"refused_when\":\"!result.ok\"}," STEP(
                               "pay", "bank") RETRY("3")
                               DO("") "," UNDO() "},"
                                                 "{\"step\":\"eyes\",\"after\":[],\"wait\":{\"signal\":"
                                                 "\"eyes\",\"within\":\"15s\",\"of\":2,\"on_timeout\":"
                                                 "\"skip\"}}," STEP("send", "stock") AFTER("\"pay\",\"eyes\"")
                                                     RETRY("3") DO("") "," UNDO() "}]}"},
    {SIM_LINE_WORKFLOW, "{\"workflow\":\"" SIM_LINE_WORKFLOW "\",\"version\":1,\"complete_within\":\"60s\","
                        "\"sequence\":{\"key\":\"all\",\"on_error\":\"release\"},\"steps\":[" STEP(
                            "reserve", "stock") RETRY("3") DO("") "," UNDO() "}," STEP("charge", "bank")
                            RETRY("2") DO(",\"of\":\"${/results/reserve/number}\"") "," UNDO() "}]}"},
    /* from here on only in rough runs */
    {"coin", "{\"workflow\":\"coin\",\"version\":1,\"complete_within\":\"90s\",\"steps\":[" STEP(
                 "strike", "mint") "\"on_unknown\":\"verify\"," RETRY("4")
                 DO("") "," VERIFY "," UNDO() "}," STEP("test", "mint") ONCE
     "\"on_unknown\":\"verify\"," DO("") "," VERIFY "," UNDO() "}," STEP("bless", "bank") HALF RETRY("3")
         DO("") "," UNDO() "}]}"},
    {"medal",
     "{\"workflow\":\"medal\",\"version\":1,\"complete_within\":\"90s\",\"on_failure\":\"error\",\"on_expiry\":\"error\",\"steps\":[" STEP(
         "cast", "mint") "\"on_unknown\":\"retry\"," RETRY("4") DO("") "," UNDO() "}," STEP("gild", "mint")
         ONCE "\"on_unknown\":\"operator\"," DO("") "," UNDO() "}," STEP("hang", "stock") HALF RETRY("3")
             DO("") "," UNDO() "}]}"},
    {"stay", "{\"workflow\":\"stay\",\"version\":1,\"complete_within\":\"90s\",\"steps\":[" STEP(
                 "book", "inn") "\"on_unknown\":\"verify\"," RETRY("4")
                 DO("") "," VERIFY "," UNDO() "}," STEP("air", "inn") "\"on_unknown\":\"operator\"," RETRY(
                     "3") DO("") "," UNDO() "}," STEP("bill", "inn") "\"on_unknown\":\"retry\"," RETRY("3")
                     DO("") "," UNDO() "}]}"},
    {"cargo",
     "{\"workflow\":\"cargo\",\"version\":1,\"complete_within\":\"90s\",\"steps\":[" STEP(
         "land",
         "pier") "\"finish_within\":\"40s\",\"learn\":\"repeat\",\"on_unknown\":\"verify\"," RETRY("3")
         DO("") "," VERIFY "," UNDO_OF("land") "}," STEP("store", "stock") HALF RETRY("2")
             DO("") "," UNDO() "}]}"},
    {"refund",
     "{\"workflow\":\"refund\",\"version\":1,\"complete_within\":\"90s\",\"steps\":[" STEP("hold", "bank")
         RETRY("3") DO("") "," UNDO() "}," STEP("pay", "fund") "\"on_unknown\":\"verify\"," RETRY("3")
             DO("") "," VERIFY "," UNDO_POLLED "}," STEP("give", "stock") HALF RETRY("2")
                 DO("") "," UNDO() "}]}"},
};
#define ROUGH_WORKFLOWS 5
#define ROUGH_SERVICES  4
#define WORKFLOW_COUNT  ((int)(sizeof(WORKFLOWS) / sizeof(WORKFLOWS[0])))

#define SERVICE(name)           SERVICE_OF(name, "2")
#define SERVICE_OF(name, tries) SERVICE_WITH(name, tries, "16")
#define SERVICE_WITH(name, tries, calls)                                                                     \
    "{\"service\":\"" name "\",\"url\":\"http://127.0.0.1:1/" name                                           \
    "\",\"headers\":{\"X-Simul\\u0061ted\":\"\\u0079es\"},\"tries\":" tries                                  \
    ",\"try_timeout\":\"1500ms\",\"concurrency\":" calls ",\"breaker\":{\"open_for\":\"2s\"}}"
static const struct {
    const char *name, *text;
} SERVICES[] = {
    {"stock", SERVICE("stock")},     {"bank", SERVICE("bank")},   {"post", SERVICE("post")},
    {"yard", SERVICE("yard")},       {"clerk", SERVICE("clerk")}, {"mint", SERVICE_OF("mint", "1")},
    {"inn", SERVICE_OF("inn", "1")}, {"pier", SERVICE("pier")},   {"fund", SERVICE("fund")}};

int sim_rough_workflows(void)
{
    return WORKFLOW_COUNT - ROUGH_WORKFLOWS;
}

int sim_workflow_count(void)
{
    return sim_is_rough_run() ? WORKFLOW_COUNT : sim_rough_workflows();
}

const char *sim_workflow_name(int index)
{
    return WORKFLOWS[index].name;
}

int sim_service_count(void)
{
    int count = (int)(sizeof(SERVICES) / sizeof(SERVICES[0]));
    return sim_is_rough_run() ? count : count - ROUGH_SERVICES;
}

const char *sim_service_text(int index)
{
    return sim_is_full_run() && index == SIM_STOCK ? SERVICE_WITH("stock", "2", "1") : SERVICES[index].text;
}

const char *sim_service_name(int index)
{
    return SERVICES[index].name;
}

struct mg_definition *sim_definitions_create(struct mg_err *err)
{
    struct mg_definition *list = NULL;
    for (int i = sim_workflow_count() - 1; i >= 0; i--) {
        struct mg_definition *definition = calloc(1, sizeof(*definition));
        assert(definition != NULL);
        definition->next = list;
        list = definition;
        if (mg_workflow_parse(mg_slice_of(WORKFLOWS[i].text), NULL, &definition->workflow, err) != MG_OK) {
            mg_definitions_destroy(list);
            return NULL;
        }
    }
    return list;
}
