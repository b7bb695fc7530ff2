/* The screen of `top`: the same lines for the same rows and size, at any size, and "well" only if all is. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "top.h"

#define SCREEN_ROWS 64

static struct mg_top_view view;
static struct {
    char text[SCREEN_ROWS][MG_TOP_LINE_SIZE];
    int chosen; /* the row that is; -1: none */
    int count;
} screen;

/* "column|column\ncell|cell" gives the columns and cells that a test needs; an empty cell is NULL. */
static struct mg_table table_of(const char *text)
{
    struct mg_table table = {0};
    char *rest = strdup(text), *lines = rest;
    int capacity = 0;
    for (char *line = strsep(&lines, "\n"); line != NULL; line = strsep(&lines, "\n")) {
        bool is_heading = table.columns == NULL;
        table.column_count = 0;
        for (char *cell = strsep(&line, "|"); cell != NULL; cell = strsep(&line, "|")) {
            if (is_heading) {
                table.columns = realloc(table.columns, ((size_t)table.column_count + 1) * sizeof(char *));
                table.columns[table.column_count] = strdup(cell);
            } else {
                table.cells = realloc(table.cells, ((size_t)capacity + 1) * sizeof(char *));
                table.cells[capacity++] = cell[0] != '\0' ? strdup(cell) : NULL;
            }
            table.column_count++;
        }
        table.row_count += is_heading ? 0 : 1;
    }
    free(rest);
    return table;
}

static void set(struct mg_table *table, const char *text)
{
    mg_table_free(table);
    *table = table_of(text);
}

#define SERVICES                                                                                             \
    "service|state|agents|obeying|in_flight|capacity|breakers_open|concurrency|rate_per_s|paused_until|"     \
    "by_whom|reason|since|since_ms|calls_per_s|p95_ms|failed_percent|waiting|error_code|error_text\n"
#define FIGURES "figure|word|workflow|number|oldest_ms\n"

#define CAUSES "count|acked_at|acked_by"

static void view_be_well(void)
{
    set(&view.causes, CAUSES);
    set(&view.leader, "holder|epoch|age_ms\nsupervisor-1|3|120");
    set(&view.services, SERVICES "carrier|serving|2|2|1|128|0||||||||12.3|250|0|0||\n"
                                 "payment|paused|2|1|0|128|0|6|20|2026-01-31T12:34:56.789Z|anna|repair|"
                                 "2026-01-31T10:10:11.789Z|61000||||412|http_503|maintenance");
    set(&view.accepted, "now|accepted\n2026-01-31T10:11:12.131Z|4711");
    set(&view.figures, FIGURES "orders|processing|hello|2|61000\norders|processing|ship|3|5000\n"
                               "orders|pending|hello|1|1000\nowed|||0|0");
    set(&view.oldest, "order_id|workflow|state|reason|age_ms|waits_step|waits_reason\n"
                      "o-1|hello|processing|none|7500000|charge|breaker_open\n"
                      "o-2|ship|processing|operator|61000||\no-3|ship|pending|none|1000||");
    set(&view.failures, "workflow|step|service|error|count|oldest|example\n"
                        "hello|charge|payment|card \xe2\x82\xac declined|40|2026-01-30T09:08:07.000Z|o-9");
    view.queues[0] = (struct mg_top_queue){"dead.letters", 0, 0};
    view.queues[1] = (struct mg_top_queue){"orders.intake", 5, 2};
    view.queue_count = 2;
    view.is_broker_up = true;
    view.store_fault[0] = view.broker_fault[0] = view.read_fault[0] = view.count_fault[0] = '\0';
    view.read_age_ms = view.count_age_ms = 100;
    view.has_rates = true;
    view.accepted_per_s = 12.34;
    view.ended_per_s = 11;
}

static void setup(void)
{
    view_be_well();
}

static void teardown(void)
{
    struct mg_table *const tables[] = {&view.leader, &view.services, &view.accepted, &view.figures,
                                       &view.oldest, &view.failures, &view.causes,   &view.schedules};
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        mg_table_free(tables[i]);
    }
}

static void put(void *arg, int row, enum mg_top_tone tone, bool is_chosen, const char *text)
{
    const struct mg_top_place *place = arg;
    int cells = 0;
    (void)tone;
    ck_assert(row >= 0 && row < SCREEN_ROWS);
    ck_assert_msg(screen.text[row][0] == '\0', "row %d is drawn twice", row);
    for (const char *at = text; *at != '\0'; at++) {
        cells += ((unsigned char)*at & 0xc0) != 0x80;
    }
    ck_assert_int_le(cells, place->width);
    ck_assert(place->height == 0 || row < place->height);
    (void)snprintf(screen.text[row], sizeof(screen.text[row]), "%s", text[0] != '\0' ? text : " ");
    screen.count++;
    if (is_chosen) {
        ck_assert_int_eq(screen.chosen, -1);
        screen.chosen = row;
    }
}

static void draw(struct mg_top_place *place)
{
    for (int row = 0; row < SCREEN_ROWS; row++) {
        screen.text[row][0] = '\0';
    }
    screen.count = 0;
    screen.chosen = -1;
    mg_top_lay_out(&view, place, put, place);
}

static void assert_screen(const char *const *lines, int count)
{
    for (int row = 0; row < count; row++) {
        ck_assert_str_eq(screen.text[row], lines[row]);
    }
    ck_assert_str_eq(screen.text[count], "");
}

/* Catches: a list, a figure or the verb that leads on that is no longer visible on a plain terminal. */
START_TEST(all_of_it_is_on_80_by_24)
{
    static const char *const lines[] = {
        "well                                                                12:11:12 UTC",
        "orders  6 open, 12.3/s accepted, 11.0/s ended",
        "states  pending 1 (1s)  processing 5 (1m01s)  compensating 0",
        "alerts  none open",
        "leader  supervisor-1, epoch 3, seen 120 ms ago",
        "servers database answers, broker answers",
        "SERVICE  STATE    SINCE  CALLS/S  P95     FAILED  WAIT  AGENTS        CALLS  WHY",
        "carrier  serving  -      12.3     250 ms  0 %     0     2             1/128  ",
        "payment  paused   1m01s  -        -       -       412   1 of 2 apply  0/128  lim",
        "FAILED  SINCE         WORKFLOW  STEP    SERVICE  ERROR",
        "40      01-30 09:08Z  hello     charge  payment  card \xe2\x82\xac declined",
        "OPEN FOR  STATE       WORKFLOW  ORDER  REASON",
        "2h05m     processing  hello     o-1    charge waits: breaker_open",
        "1m01s     processing  ship      o-2    operator",
        "1s        pending     ship      o-3    -",
        "ALERTS  none",
        "QUEUE          MESSAGES  READERS",
        "dead.letters   0         0",
        "orders.intake  5         2",
    };
    struct mg_top_place place = {80, 24, MG_TOP_SERVICES, 1};
    set(&view.accepted, "now|accepted\n2026-01-31T12:11:12.131Z|4711");
    draw(&place);
    ck_assert_int_eq(screen.chosen, 8);
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        ck_assert_str_eq(screen.text[i], lines[i]);
    }
    ck_assert_str_eq(screen.text[23],
                     "> makegood service resume payment --reason TEXT   tab: list  arrows: row  q: end");
}
END_TEST

START_TEST(the_chosen_list_is_on_40_by_10)
{
    static const char *const lines[] = {
        "well                        10:11:12 UTC", "orders  6 open, 12.3/s accepted, 11.0/s ",
        "states  pending 1 (1s)  processing 5 (1m", "alerts  none open",
        "leader  supervisor-1, epoch 3, seen 120 ", "OPEN FOR  STATE       WORKFLOW  ORDER  R",
        "2h05m     processing  hello     o-1    c", "1m01s     processing  ship      o-2    o",
        "1s        pending     ship      o-3    -", "> makegood order explain o-3      q: end",
    };
    struct mg_top_place place = {40, 10, MG_TOP_OLDEST, 7}; /* a row that is gone: the last one */
    draw(&place);
    assert_screen(lines, 10);
    ck_assert_int_eq(screen.chosen, 8);
}
END_TEST

/* Without a terminal nothing is left out. */
START_TEST(all_rows_are_printed_where_height_does_not_matter)
{
    struct mg_top_place place = {.width = MG_TOP_WIDTH_MAX};
    char rows[4096] = "order_id|workflow|state|reason|age_ms";
    for (int i = 0; i < 30; i++) {
        (void)snprintf(rows + strlen(rows), sizeof(rows) - strlen(rows), "\no-%d|hello|pending|none|1", i);
    }
    set(&view.oldest, rows);
    draw(&place);
    ck_assert_int_eq(screen.chosen, -1);
    ck_assert_int_eq(screen.count, 6 + 5 + 2 + 1 + 30 + 2);
}
END_TEST

/* Catches: a line beyond the screen, two on one row, a choice that cannot be seen; put() checks. */
START_TEST(any_size_will_do)
{
    static const int widths[] = {1, 2, 3, 9, 10, 11, 20, 39, 40, 41, 79, 80, 200};
    for (int height = 1; height < SCREEN_ROWS; height++) {
        for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
            int width = widths[i];
            for (int list = 0; list < MG_TOP_LIST_COUNT; list++) {
                struct mg_top_place place = {width, height, (enum mg_top_list)list, 1};
                draw(&place);
                ck_assert(height < 10 || screen.chosen >= 0);
            }
        }
    }
}
END_TEST

START_TEST(the_chosen_row_is_always_seen)
{
    struct mg_top_place place = {80, 12, MG_TOP_OLDEST, 0};
    char rows[8192] = "order_id|workflow|state|reason|age_ms", wanted[16];
    for (int i = 0; i < 50; i++) {
        (void)snprintf(rows + strlen(rows), sizeof(rows) - strlen(rows), "\no-%02d|hello|pending|none|1", i);
    }
    set(&view.oldest, rows);
    for (int i = 0; i < 60; i++) {
        draw(&place);
        (void)snprintf(wanted, sizeof(wanted), "o-%02d", i < 50 ? i : 49);
        ck_assert_ptr_nonnull(strstr(screen.text[screen.chosen], wanted));
        mg_top_move(&view, &place, MG_TOP_KEY_DOWN);
    }
    mg_top_move(&view, &place, MG_TOP_KEY_FIRST);
    ck_assert_int_eq(place.row, 0);
    mg_top_move(&view, &place, MG_TOP_KEY_UP);
    ck_assert_int_eq(place.row, 0);
    mg_top_move(&view, &place, MG_TOP_KEY_PAGE_DOWN);
    ck_assert_int_eq(place.row, 6);
    mg_top_move(&view, &place, MG_TOP_KEY_LAST);
    ck_assert_int_eq(place.row, 49);
    mg_top_move(&view, &place, MG_TOP_KEY_NEXT_LIST);
    ck_assert_int_eq(place.list, MG_TOP_ALERTS);
    ck_assert_int_eq(place.row, 0);
    mg_top_move(&view, &place, MG_TOP_KEY_DOWN); /* in a list that is empty */
    ck_assert_int_eq(place.row, 0);
    mg_top_move(&view, &place, MG_TOP_KEY_LIST_FIRST);
    ck_assert_int_eq(place.list, MG_TOP_SERVICES);
    mg_top_move(&view, &place, MG_TOP_KEY_PREVIOUS_LIST);
    ck_assert_int_eq(place.list, MG_TOP_QUEUES);
}
END_TEST

static void assert_reason(const char *wanted)
{
    char text[512];
    int count = mg_top_judge(&view, text, sizeof(text));
    ck_assert_str_eq(text, wanted);
    ck_assert_int_eq(count, wanted[0] != '\0' ? 1 : 0);
    view_be_well();
}

#define USED                                                                                                 \
    "service|state|agents|obeying|in_flight|capacity|breakers_open|concurrency|rate_per_s|paused_until|"     \
    "by_whom|reason|is_used\n"

static void queues_are(const char *service, int64_t consumers, int64_t consumers_high)
{
    view.queues[2] = (struct mg_top_queue){.consumers = consumers};
    view.queues[3] = (struct mg_top_queue){.consumers = consumers_high};
    (void)snprintf(view.queues[2].name, sizeof(view.queues[2].name), "agent.%s.requests", service);
    (void)snprintf(view.queues[3].name, sizeof(view.queues[3].name), "agent.%s.requests.high", service);
    view.queue_count = 4;
}

/* Catches: a screen that shows "well" while an order stalls. */
START_TEST(each_trouble_is_named)
{
    assert_reason("");
    (void)snprintf(view.store_fault, sizeof(view.store_fault), "connection refused");
    assert_reason("no database: connection refused");
    (void)snprintf(view.broker_fault, sizeof(view.broker_fault), "connection refused");
    assert_reason("no broker: connection refused");
    (void)snprintf(view.read_fault, sizeof(view.read_fault), "could not read the report: too slow");
    assert_reason("could not read the report: too slow");
    (void)snprintf(view.count_fault, sizeof(view.count_fault), "could not read the report: too slow");
    assert_reason("could not read the report: too slow");
    view.read_age_ms = 61000;
    assert_reason("the database has not answered for 1m01s");
    set(&view.leader, "holder|epoch|age_ms\n|0|");
    assert_reason("no supervisor leads");
    set(&view.leader, "holder|epoch|age_ms\ns-1|3|61000");
    assert_reason("no supervisor leads: s-1 was last seen 1m01s ago");
    view.queues[1].consumers = 0;
    assert_reason("no scheduler takes orders");
    view.queues[1].consumers = -1;
    assert_reason("there is no queue orders.intake");
    view.queues[0].messages = 3;
    assert_reason("3 dead letters");
    view.queues[1] = (struct mg_top_queue){"agent.payment.requests", 5, 0};
    assert_reason("no consumer reads agent.payment.requests");
    set(&view.services, SERVICES "payment|breaker open|2|2|0|8|2|||||||||||||");
    assert_reason("payment: breaker open");
    set(&view.services, SERVICES "payment|breaker open|2|2|0|8|2|||||"
                                 "|2026-01-31T10:10:11.789Z|61000|1|9|100|3|http_503|maintenance");
    assert_reason("payment: breaker open for 1m01s, http_503");
    set(&view.services, USED "travle|no agent|0|0|0|0|0||||||t");
    assert_reason("travle: no agent");
    set(&view.services, USED "travle|no agent|0|0|0|0|0||||||t");
    queues_are("travle", 0, -1);
    assert_reason("travle: no queue");
    set(&view.services, USED "greeting|no agent|0|0|0|0|0||||||t");
    queues_are("greeting", 1, 1);
    assert_reason("");
    set(&view.services, USED "greeting|not used|0|0|0|0|0||||||f");
    queues_are("greeting", -1, -1);
    assert_reason("");
    set(&view.causes, CAUSES "\n1||\n2||\n5|2026-01-31T10:11:12.131Z|otto: I look");
    assert_reason("3 alerts open");
    set(&view.causes, CAUSES "\n5|2026-01-31T10:11:12.131Z|otto: I look");
    assert_reason("");
    set(&view.figures, FIGURES "owed|||2|301000");
    assert_reason("2 statuses have not reached their clients");
}
END_TEST

/* Catches: a known cause that still counts; one that the screen no longer names. */
START_TEST(known_causes_are_well_and_named)
{
    struct mg_top_place place = {120, 24, MG_TOP_SERVICES, 0};
    view_be_well();
    set(&view.causes,
        CAUSES "\n5|2026-01-31T10:11:12.131Z|otto: I look\n1|2026-01-31T10:11:12.131Z|otto: and here\n"
               "1|2026-01-31T10:11:12.131Z|rita via gate: mine");
    draw(&place);
    ck_assert(strncmp(screen.text[0], "well, 3 causes known (otto, rita via gate)", 42) == 0);
    set(&view.causes, CAUSES "\n1||\n5|2026-01-31T10:11:12.131Z|otto: I look");
    draw(&place);
    ck_assert(strncmp(screen.text[0], "NOT WELL: 1 alert open; 1 cause known (otto)", 44) == 0);
}
END_TEST

/* Catches: a "looking" or an old figure that is taken for "well". */
START_TEST(an_unknown_state_is_not_well)
{
    struct mg_top_place place = {80, 24, MG_TOP_SERVICES, 0};
    view.read_age_ms = view.count_age_ms = -1;
    set(&view.leader, "holder|epoch|age_ms");
    draw(&place);
    ck_assert(strncmp(screen.text[0], "looking", 7) == 0);
    ck_assert_str_eq(screen.text[1], "orders  not yet counted, 12.3/s accepted, 11.0/s ended");
    view_be_well();
    view.count_age_ms = 61000;
    draw(&place);
    ck_assert_ptr_nonnull(strstr(screen.text[0], "10:11:12 UTC, 1m01s ago"));
    set(&view.figures, FIGURES "orders|pending|hello|100000|61000");
    draw(&place);
    ck_assert(strncmp(screen.text[1], "orders  100000 or more open", 27) == 0);
}
END_TEST

START_TEST(alerts_keep_their_places)
{
    char word[64];
    set(&view.figures, FIGURES "alerts|unpublishable||1|61000\nowed|||0|0\nalerts|dead_letter||2|7\n"
                               "alerts|order_error||3|7");
    ck_assert_int_eq(mg_top_row_count(&view, MG_TOP_ALERTS), 3);
    static const char *const wanted[] = {"dead_letter", "order_error", "unpublishable"};
    for (int row = 0; row < 3; row++) {
        mg_top_cell(&view, MG_TOP_ALERTS, row, 2, word, sizeof(word));
        ck_assert_str_eq(word, wanted[row]);
    }
    mg_top_cell(&view, MG_TOP_ALERTS, 2, 1, word, sizeof(word));
    ck_assert_str_eq(word, "1m01s");
    mg_top_cell(&view, MG_TOP_ALERTS, 3, 2, word, sizeof(word));
    ck_assert_str_eq(word, "");
}
END_TEST

START_TEST(each_row_leads_on)
{
    char text[256];
    static const struct {
        enum mg_top_list list;
        int row;
        const char *verb;
    } cases[] = {{MG_TOP_SERVICES, 0, "makegood service show carrier"},
                 {MG_TOP_SERVICES, 5, "makegood service list"},
                 {MG_TOP_FAILURES, 0, "makegood order explain o-9"},
                 {MG_TOP_FAILURES, 5, "makegood order list --group-by error"},
                 {MG_TOP_ALERTS, 0, "makegood alert list"},
                 {MG_TOP_QUEUES, 0, "makegood dead list"},
                 {MG_TOP_QUEUES, 1, "makegood doctor"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        mg_top_hint(&view, cases[i].list, cases[i].row, text, sizeof(text));
        ck_assert_str_eq(text, cases[i].verb);
    }
}
END_TEST

START_TEST(ages_are_short)
{
    static const struct {
        int64_t ms;
        const char *text;
    } cases[] = {{-1, "0s"},          {59999, "59s"},
                 {60000, "1m00s"},    {3599999, "59m59s"},
                 {3600000, "1h00m"},  {86399999, "23h59m"},
                 {86400000, "1d00h"}, {INT64_C(86400000) * 365 + 3600000, "365d01h"}};
    char text[24];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        mg_top_write_age(cases[i].ms, text, sizeof(text));
        ck_assert_str_eq(text, cases[i].text);
    }
}
END_TEST

#define SCHEDULES "schedules|paused|paused_name|unloaded|unloaded_name|late|late_name|missed|missed_name\n"

static const char *line_of(const char *begin)
{
    struct mg_top_place whole = {.width = 120};
    draw(&whole);
    for (int row = 0; row < SCREEN_ROWS; row++) {
        if (strncmp(screen.text[row], begin, strlen(begin)) == 0) {
            return screen.text[row];
        }
    }
    return "";
}

/* Catches: a schedule that is late, while the screen says "well". */
START_TEST(schedules_have_a_line_if_there_are_any)
{
    ck_assert_str_eq(line_of("schedules"), "");
    set(&view.schedules, SCHEDULES "3|1|weekly|0||0||0|");
    ck_assert_str_eq(line_of("schedules"), "schedules  3, 1 paused (weekly)");
    ck_assert_str_ne(line_of("well"), "");
    set(&view.schedules, SCHEDULES "3|0||1|yearly|1|nightly|2|hourly");
    ck_assert_str_eq(line_of("schedules"),
                     "schedules  3, 1 late (nightly), 2 without an order for a slot (hourly), "
                     "1 without a workflow (yearly)");
    ck_assert_ptr_nonnull(
        strstr(line_of("NOT WELL"), "schedule nightly is late; schedule yearly has no workflow"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("top");
    TCase *tcase = tcase_create("view and layout");
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, all_of_it_is_on_80_by_24);
    tcase_add_test(tcase, the_chosen_list_is_on_40_by_10);
    tcase_add_test(tcase, all_rows_are_printed_where_height_does_not_matter);
    tcase_add_test(tcase, any_size_will_do);
    tcase_add_test(tcase, the_chosen_row_is_always_seen);
    tcase_add_test(tcase, each_trouble_is_named);
    tcase_add_test(tcase, an_unknown_state_is_not_well);
    tcase_add_test(tcase, known_causes_are_well_and_named);
    tcase_add_test(tcase, alerts_keep_their_places);
    tcase_add_test(tcase, each_row_leads_on);
    tcase_add_test(tcase, ages_are_short);
    tcase_add_test(tcase, schedules_have_a_line_if_there_are_any);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
