/* The picture of a workflow: layers, arrows that say something, boxes that do not touch, and its forms. */
#include "operator/graph.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"

static struct mg_workflow workflow;
static struct mg_graph graph;
static struct mg_buf text;

static void set_up(void)
{
    memset(&workflow, 0, sizeof(workflow));
    mg_buf_init(&text, 1024 * 1024);
}

static void tear_down(void)
{
    mg_buf_finish(&text);
}

static void step_add(const char *name, uint64_t after)
{
    int i = workflow.plan.step_count++;
    (void)snprintf(workflow.steps[i].name, sizeof(workflow.steps[i].name), "%s", name);
    (void)snprintf(workflow.steps[i].service, sizeof(workflow.steps[i].service), "service-%d", i);
    workflow.plan.steps[i].after = after;
    workflow.plan.steps[i].has_undo = true;
}

static bool has_edge(int from, int to)
{
    for (int i = 0; i < graph.edge_count; i++) {
        if (graph.edges[i].from == from && graph.edges[i].to == to) {
            return true;
        }
    }
    return false;
}

/* A diamond, and an arrow that follows from two others. */
static void diamond(void)
{
    step_add("first", 0);
    step_add("left", 1);
    step_add("right", 1);
    step_add("join", 1 | 2 | 4);
}

START_TEST(a_step_is_below_all_steps_before_it)
{
    diamond();
    mg_graph_lay_out(&workflow, &graph);
    ck_assert_int_eq(graph.layer_count, 3);
    ck_assert_int_eq(graph.spots[0].layer, 0);
    ck_assert_int_eq(graph.spots[1].layer, 1);
    ck_assert_int_eq(graph.spots[2].layer, 1);
    ck_assert_int_eq(graph.spots[3].layer, 2);
    ck_assert_int_lt(graph.spots[1].x, graph.spots[2].x);
    ck_assert_int_eq(graph.spots[0].x, graph.spots[3].x);
}
END_TEST

START_TEST(an_arrow_that_follows_from_others_is_left_out)
{
    diamond();
    mg_graph_lay_out(&workflow, &graph);
    ck_assert_int_eq(graph.edge_count, 4);
    ck_assert(has_edge(0, 1) && has_edge(0, 2) && has_edge(1, 3) && has_edge(2, 3));
    ck_assert(!has_edge(0, 3));
}
END_TEST

/* Two rows whose order by the definition would cross all arrows. */
START_TEST(arrows_of_a_ladder_do_not_cross)
{
    step_add("a", 0);
    step_add("b", 0);
    step_add("of_b", 2);
    step_add("of_a", 1);
    mg_graph_lay_out(&workflow, &graph);
    ck_assert_int_eq(graph.spots[0].x < graph.spots[1].x, graph.spots[3].x < graph.spots[2].x);
}
END_TEST

/* Definitions list steps in any order. */
START_TEST(a_step_may_be_listed_before_the_steps_it_waits_for)
{
    step_add("last", 4);
    step_add("first", 0);
    step_add("middle", 2);
    mg_graph_lay_out(&workflow, &graph);
    ck_assert_int_eq(graph.spots[0].layer, 2);
    ck_assert_int_eq(graph.spots[1].layer, 0);
    ck_assert_int_eq(graph.spots[2].layer, 1);
}
END_TEST

static void check_inside(const struct mg_graph_spot *spot, bool is_box)
{
    int half = is_box ? MG_GRAPH_BOX_WIDTH / 2 : 0;
    ck_assert_int_ge(spot->x - half, MG_GRAPH_MARGIN);
    ck_assert_int_le(spot->x + half, graph.width - MG_GRAPH_MARGIN);
    ck_assert_int_ge(spot->y, MG_GRAPH_MARGIN);
    ck_assert_int_ge(spot->height, MG_GRAPH_BOX_HEIGHT);
    ck_assert_int_le(spot->y + spot->height, graph.height - MG_GRAPH_MARGIN);
}

static void check_picture(void)
{
    mg_graph_lay_out(&workflow, &graph);
    ck_assert_int_le(graph.spot_count, MG_GRAPH_SPOTS_MAX);
    ck_assert_int_le(graph.edge_count, MG_GRAPH_EDGES_MAX);
    for (int i = 0; i < graph.spot_count; i++) {
        check_inside(&graph.spots[i], i < graph.step_count);
    }
    for (int i = 0; i < graph.step_count; i++) {
        for (int j = 0; j < i; j++) {
            bool is_level = graph.spots[i].layer == graph.spots[j].layer;
            ck_assert(!is_level ||
                      abs(graph.spots[i].x - graph.spots[j].x) >= MG_GRAPH_BOX_WIDTH + MG_GRAPH_GAP_X);
        }
    }
    for (int i = 0; i < graph.edge_count; i++) {
        const struct mg_graph_edge *edge = &graph.edges[i];
        ck_assert_int_lt(graph.spots[edge->from].layer, graph.spots[edge->to].layer);
        for (int bend = 0; bend < edge->bends; bend++) {
            ck_assert_int_eq(graph.spots[edge->bend + bend].layer, graph.spots[edge->from].layer + 1 + bend);
        }
    }
}

/* The same numbers for the same definition: a constant multiplier (Knuth, MMIX). */
static int draw(uint64_t *random, int limit)
{
    *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int)(*random >> 33) % limit;
}

static void random_definition(uint64_t seed)
{
    uint64_t random = seed;
    int count = 1 + draw(&random, MG_STEPS_MAX), percent = draw(&random, 100);
    memset(&workflow, 0, sizeof(workflow));
    for (int i = 0; i < count; i++) {
        uint64_t after = 0;
        for (int j = 0; j < i; j++) {
            after |= draw(&random, 100) < percent ? UINT64_C(1) << j : 0;
        }
        step_add("step", after);
    }
}

/* Catches: a bound that a permitted definition exceeds. */
START_TEST(random_definitions_have_a_picture)
{
    for (int i = 0; i < 10; i++) { /* a process for ten: each takes a tenth of a second with sanitizers */
        random_definition((uint64_t)_i * 10 + (uint64_t)i);
        check_picture();
    }
}
END_TEST

/* The most arrows: two halves, each step of one before each step of the other. And the longest arrows. */
START_TEST(the_largest_definitions_have_a_picture)
{
    for (int i = 0; i < MG_STEPS_MAX; i++) {
        step_add("step", i < MG_STEPS_MAX / 2 ? 0 : UINT32_MAX);
    }
    check_picture();
    ck_assert_int_eq(graph.edge_count,
                     MG_STEPS_MAX * MG_STEPS_MAX / 4); /* Mantel 1907: none without a triangle has more */

    memset(&workflow, 0, sizeof(workflow));
    for (int i = 0; i < MG_STEPS_MAX; i++) { /* a chain of 32, and 31 steps from its beginning to its end */
        step_add("step", i == 0 ? 0 : i < 32 ? UINT64_C(1) << (i - 1) : i < 63 ? 1 : UINT64_MAX >> 1);
    }
    check_picture();

    memset(&workflow, 0, sizeof(workflow));
    for (int i = 0; i < MG_STEPS_MAX; i++) { /* each step needs all before it: no arrow is left out */
        step_add("step", (UINT64_C(1) << i) - 1);
        workflow.plan.steps[i].needs = workflow.plan.steps[i].after;
    }
    check_picture();
    ck_assert_int_eq(graph.edge_count, MG_GRAPH_EDGES_MAX);
}
END_TEST

START_TEST(each_form_names_every_step_and_the_pivot)
{
    diamond();
    workflow.plan.steps[3].is_pivot = true;
    workflow.plan.steps[2].has_undo = false;
    mg_graph_lay_out(&workflow, &graph);
    mg_graph_write_mermaid(&workflow, &graph, true, &text);
    ck_assert_ptr_nonnull(strstr(text.data, "    s3[[\"join<br/>service-3\"]]\n"));
    ck_assert_ptr_nonnull(strstr(text.data, "    s0 --> s1\n"));
    ck_assert_ptr_nonnull(strstr(text.data, "    s1 -. undo .-> s0\n"));
    ck_assert_ptr_null(strstr(text.data, "s2 -. undo .-> s0"));
    mg_buf_clear(&text);
    mg_graph_write_svg(&workflow, &graph, false, &text);
    ck_assert_ptr_nonnull(strstr(text.data, "<title>join: service service-3, pivot</title>"));
    ck_assert_ptr_nonnull(strstr(text.data, "</svg>\n"));
}
END_TEST

START_TEST(a_long_name_is_cut_in_its_box)
{
    step_add("a_name_of_more_characters_than_a_box_has", 0);
    mg_graph_lay_out(&workflow, &graph);
    mg_graph_write_svg(&workflow, &graph, false, &text);
    ck_assert_ptr_nonnull(strstr(text.data, ">a_name_of_more_charac…</text>"));
}
END_TEST

START_TEST(json_has_the_places_of_boxes_and_arrows)
{
    step_add("a", 0);
    step_add("b", 1);
    mg_graph_lay_out(&workflow, &graph);
    struct mg_json_writer json = mg_json_compact(&text);
    mg_graph_write_json(&workflow, &graph, &json);
    ck_assert_str_eq(
        text.data,
        "{\"width\":224,\"height\":156,\"box_width\":200,\"line\":16,\"guards\":[],\"nodes\":["
        "{\"step\":\"a\",\"service\":\"service-0\",\"is_wait\":false,\"x\":112,\"y\":12,\"height\":46,\"is_pivot\":false,"
        "\"has_undo\":true,\"guards\":[],\"answers\":[]},"
        "{\"step\":\"b\",\"service\":\"service-1\",\"is_wait\":false,\"x\":112,\"y\":98,\"height\":46,\"is_pivot\":false,"
        "\"has_undo\":true,\"guards\":[],\"answers\":[]}],"
        "\"edges\":[{\"from\":\"a\",\"to\":\"b\",\"is_need\":false,\"points\":[[112,58],[112,98]]}]}");
}
END_TEST

/* ---- conditions ---- */

#define CALL "\"service\": \"bank\", \"do\": {\"method\": \"POST\", \"path\": \"/x\"}, \"undo\": \"none\""

static const char GUARDED[] =
    "{\"workflow\": \"guarded\", \"version\": 1,"
    " \"require\": [{\"that\": \"payload.total > 0\", \"text\": \"a total\"}], \"steps\": ["
    "{\"step\": \"first\", " CALL "},"
    "{\"step\": \"gift\", \"when\": \"payload.note != \\\"<&>\\\" && payload.address.country == 'ÅÄÖ'\", " CALL
    "},"
    "{\"step\": \"card\", \"needs\": [\"gift\"], \"require\": ["
    "{\"that\": \"payload.total > 1\", \"text\": \"more\"}, {\"that\": \"payload.total < 9\", \"text\": \"less\"}],"
    " \"done_when\": \"result.state\\n== 'done'\", " CALL "},"
    "{\"step\": \"last\", \"after\": [\"card\"], \"needs\": [\"gift\"], " CALL "}]}";

/* The cut condition has 27 bytes of its text: a character of two would be broken. */
#define GIFT_WHOLE "when payload.note != \"<&>\" && payload.address.country == 'ÅÄÖ'"

static struct mg_workflow *guarded(void)
{
    struct mg_workflow *parsed = NULL;
    struct mg_err err;
    ck_assert_msg(mg_workflow_parse(mg_slice_of(GUARDED), NULL, &parsed, &err) == MG_OK, "%s", err.text);
    mg_graph_lay_out(parsed, &graph);
    return parsed;
}

START_TEST(an_arrow_of_needs_stays_though_it_follows_from_others)
{
    struct mg_workflow *parsed = guarded();
    ck_assert(has_edge(1, 3) && has_edge(2, 3) && !has_edge(0, 2));
    mg_graph_write_mermaid(parsed, &graph, false, &text);
    ck_assert_ptr_nonnull(strstr(text.data, "    s1 ==> s3\n"));
    ck_assert_ptr_nonnull(strstr(text.data, "    s2 --> s3\n"));
    mg_buf_clear(&text);
    mg_graph_write_svg(parsed, &graph, false, &text);
    ck_assert_ptr_nonnull(strstr(text.data, "<path class=\"arrow need\""));
    mg_workflow_destroy(parsed);
}
END_TEST

START_TEST(mermaid_has_conditions_at_arrows_and_whole_in_comments)
{
    struct mg_workflow *parsed = guarded();
    mg_graph_write_mermaid(parsed, &graph, false, &text);
    ck_assert_ptr_nonnull(strstr(text.data, "    order([\"order<br/>require payload.total #gt; 0\"])\n"));
    ck_assert_ptr_nonnull(strstr(text.data, "    order --> s0\n"));
    ck_assert_ptr_nonnull(strstr(text.data, "    %% gift: " GIFT_WHOLE "\n"));
    ck_assert_ptr_nonnull(strstr(
        text.data, "    s0 -->|\"when payload.note != #quot;#lt;#amp;#gt;#quot; #amp;#amp; p…\"| s1\n"));
    ck_assert_ptr_nonnull(strstr(text.data, "    s1 ==>|\"require payload.total #gt; 1 +1\"| s2\n"));
    ck_assert_ptr_nonnull(
        strstr(text.data, "    s2[\"card<br/>bank<br/>done when result.state == 'done'\"]\n"));
    mg_workflow_destroy(parsed);
}
END_TEST

START_TEST(svg_has_conditions_above_boxes_and_whole_in_titles)
{
    struct mg_workflow *parsed = guarded();
    mg_graph_write_svg(parsed, &graph, false, &text);
    ck_assert_ptr_nonnull(strstr(
        text.data,
        "<title>when payload.note != &quot;&lt;&amp;&gt;&quot; &amp;&amp; payload.address.country == 'ÅÄÖ'</title>"));
    ck_assert_ptr_nonnull(
        strstr(text.data, ">when payload.note != &quot;&lt;&amp;&gt;&quot; &amp;&amp; p…</text>"));
    ck_assert_ptr_nonnull(strstr(text.data, ">require payload.total &gt; 0</text>"));
    /* room for the guard above the box, and for the answer within it */
    ck_assert_int_eq(graph.spots[1].y - graph.spots[0].y,
                     MG_GRAPH_BOX_HEIGHT + MG_GRAPH_GAP_Y + MG_GRAPH_LINE);
    ck_assert_int_eq(graph.spots[2].height, MG_GRAPH_BOX_HEIGHT + MG_GRAPH_LINE);
    mg_workflow_destroy(parsed);
}
END_TEST

START_TEST(json_has_conditions_cut_and_whole)
{
    struct mg_workflow *parsed = guarded();
    struct mg_json_writer json = mg_json_compact(&text);
    mg_graph_write_json(parsed, &graph, &json);
    ck_assert_ptr_nonnull(
        strstr(text.data, "\"line\":16,\"guards\":[{\"text\":\"require payload.total > 0\""));
    ck_assert_ptr_nonnull(strstr(
        text.data,
        "\"guards\":[{\"text\":\"require payload.total > 1 +1\",\"word\":\"require\",\"whole\":\"payload.total > 1\"}],\"answers\":[{\"text\":\"done when result.state == 'done'\""));
    ck_assert_ptr_nonnull(strstr(text.data, "{\"from\":\"gift\",\"to\":\"last\",\"is_need\":true,"));
    mg_workflow_destroy(parsed);
}
END_TEST

/* Would catch: a character broken by the cut. Each length of the text before it. */
START_TEST(a_condition_is_cut_at_a_character)
{
    char whole[MG_GRAPH_LABEL_SHOWN * 2 + 16] = "", cut[MG_GRAPH_LABEL_SIZE];
    memset(whole, 'a', (size_t)_i);
    for (int i = 0; i < MG_GRAPH_LABEL_SHOWN; i++) {
        memcpy(whole + _i + 2 * i, "é", 3);
    }
    const struct mg_graph_label label = {.word = "when", .whole = mg_slice_of(whole)};
    mg_graph_label_cut(&label, cut);
    ck_assert_ptr_nonnull(strstr(cut, "…"));
    for (size_t at = 0, len = 0; cut[at] != '\0'; at += len) {
        len = mg_utf8_len(cut + at, strlen(cut + at));
        ck_assert_uint_gt(len, 0);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("graph");
    TCase *cases = tcase_create("picture");
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_test(cases, a_step_is_below_all_steps_before_it);
    tcase_add_test(cases, an_arrow_that_follows_from_others_is_left_out);
    tcase_add_test(cases, arrows_of_a_ladder_do_not_cross);
    tcase_add_test(cases, a_step_may_be_listed_before_the_steps_it_waits_for);
    tcase_add_loop_test(cases, random_definitions_have_a_picture, 0, 20);
    tcase_add_test(cases, the_largest_definitions_have_a_picture);
    tcase_add_test(cases, each_form_names_every_step_and_the_pivot);
    tcase_add_test(cases, a_long_name_is_cut_in_its_box);
    tcase_add_test(cases, json_has_the_places_of_boxes_and_arrows);
    suite_add_tcase(suite, cases);
    cases = tcase_create("conditions");
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_test(cases, an_arrow_of_needs_stays_though_it_follows_from_others);
    tcase_add_test(cases, mermaid_has_conditions_at_arrows_and_whole_in_comments);
    tcase_add_test(cases, svg_has_conditions_above_boxes_and_whole_in_titles);
    tcase_add_test(cases, json_has_conditions_cut_and_whole);
    tcase_add_loop_test(cases, a_condition_is_cut_at_a_character, 0, 8);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
