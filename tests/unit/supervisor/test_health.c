/* Services that are down for most of their agents, and the choice of the prober. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "../suite.h"
#include "health.h"
#include "service/service.h"

#define NOW_MS       INT64_C(1000000)
#define REPLICAS_MAX 4

/* A letter for each agent, named a, b, c, d: closed, open, half-open; a capital one is not ready. */
static int replicas_make(const char *letters, struct mg_supervisor_replica ret[REPLICAS_MAX])
{
    int count = 0;
    for (; letters[count] != '\0'; count++) {
        char letter = letters[count];
        bool is_ready = letter >= 'a';
        letter = is_ready ? letter : (char)(letter - 'A' + 'a');
        ret[count] = (struct mg_supervisor_replica){.is_ready = is_ready,
                                                    .breaker = letter == 'c'   ? MG_BREAKER_CLOSED
                                                               : letter == 'o' ? MG_BREAKER_OPEN
                                                                               : MG_BREAKER_HALF_OPEN};
        snprintf(ret[count].instance, sizeof(ret[count].instance), "%c", 'a' + count);
    }
    return count;
}

static struct mg_supervisor_health health_make(const char *prober, bool has_probed, int64_t age_ms)
{
    struct mg_supervisor_health health = {0};
    if (prober == NULL && age_ms < 0) {
        return health;
    }
    health = (struct mg_supervisor_health){.is_down = prober != NULL,
                                           .has_probed = has_probed,
                                           .since_ms = NOW_MS - age_ms,
                                           .able_ms = NOW_MS - age_ms};
    snprintf(health.prober, sizeof(health.prober), "%s", prober != NULL ? prober : "");
    return health;
}

static const struct {
    const char *why;
    const char *prober; /* before; NULL: not down */
    bool has_probed;
    int64_t age_ms; /* -1: never was */
    const char *replicas;
    const char *expected; /* the prober; NULL: not down */
} CASES[] = {
    {"nobody is there", NULL, false, -1, "", NULL},
    {"the only one is well", NULL, false, -1, "c", NULL},
    {"the only one", NULL, false, -1, "o", "a"},
    {"the only one probes already", NULL, false, -1, "h", "a"},
    {"one of two may be its own network", NULL, false, -1, "oc", NULL},
    {"both of two", NULL, false, -1, "oo", "a"},
    {"one of three", NULL, false, -1, "coc", NULL},
    {"two of three", NULL, false, -1, "coo", "b"},
    {"two of four", NULL, false, -1, "occo", NULL},
    {"three of four", NULL, false, -1, "cooo", "b"},
    {"a prober goes on", NULL, false, -1, "oho", "b"},
    {"an agent that is not ready says nothing", NULL, false, -1, "Ooc", NULL},
    {"nor hides what the others say", NULL, false, -1, "oCC", "a"},
    {"nor probes", NULL, false, -1, "OHo", "c"},
    {"nobody is ready", NULL, false, -1, "OO", NULL},

    {"it lasts", "a", false, 1, "ooo", "a"},
    {"its probe is under way", "a", false, 1, "hoo", "a"},
    {"others have not heard yet", "a", false, 1, "occ", "a"},
    {"newcomers have not either", "b", true, 30000, "cocc", "b"},
    {"its success ends it for all", "b", true, 1, "ocoo", NULL},
    {"it is not ready: the next one", "a", false, 1, "Ooo", "b"},
    {"nor is its success any", "a", true, 1, "Coo", "b"},
    {"it is gone: the next one", "bb", false, 1, "ooo", "c"},
    {"behind the last one comes the first", "d", false, 1, "ooo", "a"},
    {"a well agent is not named: it would seem to have probed", "d", false, 1, "coo", "b"},
    {"a closed agent has only not heard yet", "d", true, MG_SUPERVISOR_FORGET_MS - 1, "ccO", "d"},
    {"or never will", "d", true, MG_SUPERVISOR_FORGET_MS, "ccO", NULL},
    {"of nobody nothing is known", "d", true, MG_SUPERVISOR_FORGET_MS - 1, "", "d"},
    {"in the end nor is it known of the service", "d", true, MG_SUPERVISOR_FORGET_MS, "", NULL},
    {"nor of one that is not ready", "a", true, 1, "OOC", "a"},

    {"a turn ends after a probe that failed", "a", true, MG_SUPERVISOR_TURN_MS, "ooo", "b"},
    {"not before", "a", true, MG_SUPERVISOR_TURN_MS - 1, "ooo", "a"},
    {"not without one: its open time may be long", "a", false, MG_SUPERVISOR_TURN_MAX_MS - 1, "ooo", "a"},
    {"in the end also without", "a", false, MG_SUPERVISOR_TURN_MAX_MS, "ooo", "b"},
    {"not while it probes", "a", true, 10 * MG_SUPERVISOR_TURN_MS, "hoo", "a"},
    {"the last one is followed by the first", "c", true, MG_SUPERVISOR_TURN_MS, "ooo", "a"},
    {"the only one goes on", "a", true, MG_SUPERVISOR_TURN_MS, "oc", "a"},

    {"reports on their way speak of before", NULL, false, 0, "ooo", NULL},
    {"nearly all the time", NULL, false, MG_SUPERVISOR_SETTLE_MS - 1, "ooo", NULL},
    {"then they speak of now", NULL, false, MG_SUPERVISOR_SETTLE_MS, "ooo", "a"},
};

/* Would catch: a change of state too early or too late, one that never ends, a prober that cannot probe. */
START_TEST(each_combination_has_its_health)
{
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct mg_supervisor_replica replicas[REPLICAS_MAX];
        struct mg_supervisor_health health =
            health_make(CASES[i].prober, CASES[i].has_probed, CASES[i].age_ms);
        bool was_down = health.is_down;
        bool is_changed =
            mg_supervisor_health_judge(&health, replicas, replicas_make(CASES[i].replicas, replicas), NOW_MS);
        const char *expected = CASES[i].expected != NULL ? CASES[i].expected : "";
        ck_assert_msg(health.is_down == (CASES[i].expected != NULL) && strcmp(health.prober, expected) == 0,
                      "%s: %s of \"%s\" instead of \"%s\"", CASES[i].why, health.prober, CASES[i].replicas,
                      expected);
        bool is_other =
            was_down != health.is_down || (was_down && strcmp(CASES[i].prober, health.prober) != 0);
        ck_assert_msg(is_changed == is_other, "%s: whether it changed", CASES[i].why);
    }
}
END_TEST

/* ---- takeovers ---- */

static const struct {
    const char *why;
    const char *replicas;
    const char *prober;   /* named by one of the reports; "": none does */
    const char *expected; /* the prober; NULL: not down */
    bool is_known;
} TAKEOVERS[] = {
    {"of nobody nothing is known", "", "", NULL, false},
    {"nor of one that is not ready", "OCH", "b", NULL, false},
    {"that all are well is no news to them, and not all may have been heard", "cc", "", NULL, false},
    {"an open one may follow, and half of them tell nothing of the others", "oc", "", NULL, false},
    {"most cannot call it", "ooc", "", "a", true},
    {"the prober goes on", "ooo", "b", "b", true},
    {"its probe is under way", "oho", "c", "c", true},
    {"newcomers have not heard yet", "cocc", "b", "b", true},
    {"its success ends it, though most have not heard", "oco", "b", NULL, true},
    {"it is not ready: the next one", "Ooo", "a", "b", true},
};

/* Would catch: a leader that closes all breakers, or changes the prober, only because it is new. */
START_TEST(a_takeover_changes_no_health)
{
    for (size_t i = 0; i < sizeof(TAKEOVERS) / sizeof(TAKEOVERS[0]); i++) {
        struct mg_supervisor_replica replicas[REPLICAS_MAX];
        struct mg_supervisor_health health = {0};
        int count = replicas_make(TAKEOVERS[i].replicas, replicas);
        for (int k = 0; k < count; k++) {
            replicas[k].is_prober = strcmp(replicas[k].instance, TAKEOVERS[i].prober) == 0;
        }
        bool is_changed = mg_supervisor_health_judge(&health, replicas, count, NOW_MS);
        const char *expected = TAKEOVERS[i].expected != NULL ? TAKEOVERS[i].expected : "";
        ck_assert_msg(health.is_down == (TAKEOVERS[i].expected != NULL) &&
                          strcmp(health.prober, expected) == 0,
                      "%s: \"%s\"", TAKEOVERS[i].why, health.prober);
        ck_assert_msg(mg_supervisor_health_is_known(&health) == TAKEOVERS[i].is_known, "%s",
                      TAKEOVERS[i].why);
        ck_assert_msg(is_changed == TAKEOVERS[i].is_known, "%s: whether it changed", TAKEOVERS[i].why);
    }
}
END_TEST

/* Would catch: agents that call a service without any successful probe, because the prober is gone. */
START_TEST(only_a_success_is_sent_as_one)
{
    struct mg_supervisor_replica replicas[REPLICAS_MAX];
    struct mg_supervisor_health health = health_make("a", true, MG_SUPERVISOR_FORGET_MS);
    ck_assert(mg_supervisor_health_judge(&health, replicas, replicas_make("Ccc", replicas), NOW_MS));
    ck_assert(!health.is_down && !mg_supervisor_health_is_known(&health));
    health = health_make("a", true, 1);
    ck_assert(mg_supervisor_health_judge(&health, replicas, replicas_make("coo", replicas), NOW_MS));
    ck_assert(!health.is_down && mg_supervisor_health_is_known(&health));
}
END_TEST

/* Would catch: an outage that is forgotten because all agents are restarted together. */
START_TEST(an_outage_outlives_a_restart_of_all_agents)
{
    static const char *const LOOKS[] = {"oo", "OO", "", "cc", "co", "cO", "", "oc"};
    static const char *const PROBERS[] = {"b", "b", "b", "b", "b", "b", "b", "a"};
    struct mg_supervisor_replica replicas[REPLICAS_MAX];
    struct mg_supervisor_health health = health_make("b", false, MG_SUPERVISOR_FORGET_MS);
    for (int i = 0; i < (int)(sizeof(LOOKS) / sizeof(LOOKS[0])); i++) {
        int count = replicas_make(LOOKS[i], replicas);
        for (int k = 0; k < count; k++) {
            replicas[k].process = i < 3 ? 0 : i < 6 ? 1 : 2;
        }
        mg_supervisor_health_judge(&health, replicas, count, NOW_MS + i * (MG_SUPERVISOR_FORGET_MS / 4));
        ck_assert(health.is_down);
        ck_assert_str_eq(health.prober, PROBERS[i]);
    }
}
END_TEST

/* Would catch: a prober that is restarted under its name with a closed breaker, as every new process is, and
 * so ends an outage or outvotes all others. */
START_TEST(another_process_of_its_name_has_proved_nothing)
{
    struct mg_supervisor_replica replicas[REPLICAS_MAX];
    struct mg_supervisor_health health = {0};
    int count = replicas_make("ooo", replicas);
    replicas[0].process = 1;
    ck_assert(mg_supervisor_health_judge(&health, replicas, count, NOW_MS));
    ck_assert_str_eq(health.prober, "a");
    count = replicas_make("coo", replicas);
    replicas[0].process = 2;
    ck_assert(mg_supervisor_health_judge(&health, replicas, count, NOW_MS));
    ck_assert_str_eq(health.prober, "b");

    replicas[1].breaker = MG_BREAKER_CLOSED;
    replicas[1].process = 0;
    ck_assert(mg_supervisor_health_judge(&health, replicas, count, NOW_MS));
    ck_assert(!health.is_down);
    replicas[0].breaker = MG_BREAKER_OPEN;
    ck_assert(!mg_supervisor_health_judge(&health, replicas, count, NOW_MS + MG_SUPERVISOR_SETTLE_MS));
    replicas[1].process = 3;
    ck_assert(mg_supervisor_health_judge(&health, replicas, count, NOW_MS + MG_SUPERVISOR_SETTLE_MS));
    ck_assert(health.is_down);
}
END_TEST

/* Would catch: a service with calls longer than a turn, never found well because each probe is cut off; an
 * agent that hangs and probes for ever. */
START_TEST(a_probe_under_way_is_waited_for)
{
    struct mg_supervisor_replica replicas[REPLICAS_MAX];
    struct mg_supervisor_health health = health_make("a", true, MG_SUPERVISOR_TURN_MAX_MS - 1);
    int count = replicas_make("oo", replicas);
    replicas[0].is_calling = true;
    ck_assert(!mg_supervisor_health_judge(&health, replicas, count, NOW_MS));
    ck_assert_str_eq(health.prober, "a");
    ck_assert(mg_supervisor_health_judge(&health, replicas, count, NOW_MS + 1));
    ck_assert_str_eq(health.prober, "b");
}
END_TEST

/* Would catch: agents that take turns faster than any of them is allowed to probe. */
START_TEST(a_turn_is_longer_than_any_open_time)
{
    struct mg_service *service = NULL;
    struct mg_err err;
    char text[256];
    snprintf(text, sizeof(text),
             "{\"service\":\"payment\",\"url\":\"http://127.0.0.1:1\",\"breaker\":{\"open_for\":\"%dms\"}}",
             MG_SUPERVISOR_TURN_MAX_MS);
    ck_assert_int_eq(mg_service_parse(mg_slice_of(text), NULL, &service, &err), MG_BAD_INPUT);
    ck_assert_msg(strstr(err.text, "/breaker/open_for") != NULL, "%s", err.text);
}
END_TEST

/* All reports that four agents can make, with each of them or none as prober: the rules a second time, in
 * short form. Would catch: any error that no row of the table above shows. */
static void combination_judge(const char *letters, const char *prober, int64_t age_ms)
{
    struct mg_supervisor_replica replicas[REPLICAS_MAX];
    struct mg_supervisor_health health = health_make(prober, false, age_ms);
    int count = replicas_make(letters, replicas), ready = 0, down = 0;
    const struct mg_supervisor_replica *before = NULL, *after = NULL;
    mg_supervisor_health_judge(&health, replicas, count, NOW_MS);
    for (int i = 0; i < count; i++) {
        ready += replicas[i].is_ready;
        down += replicas[i].is_ready && replicas[i].breaker != MG_BREAKER_CLOSED;
        before = prober != NULL && strcmp(replicas[i].instance, prober) == 0 ? &replicas[i] : before;
        after = strcmp(replicas[i].instance, health.prober) == 0 ? &replicas[i] : after;
    }
    bool is_back = before != NULL && before->is_ready && before->breaker == MG_BREAKER_CLOSED;
    bool is_down = prober == NULL ? 2 * down > ready : !is_back;
    ck_assert_msg(health.is_down == is_down, "\"%s\", prober %s", letters, prober != NULL ? prober : "-");
    if (is_down && down > 0) {
        ck_assert_msg(after != NULL && after->is_ready && after->breaker != MG_BREAKER_CLOSED, "\"%s\": %s",
                      letters, health.prober);
    }
    if (is_down && before != NULL && before->is_ready) {
        ck_assert_str_eq(health.prober, prober);
    }
}

START_TEST(the_prober_can_probe_by_any_reports)
{
    static const char LETTERS[] = "cohCOH";
    static const char *const PROBERS[] = {NULL, "a", "b", "c", "d", "e"};
    const int base = (int)sizeof(LETTERS) - 1;
    for (int count = 0; count <= REPLICAS_MAX; count++) {
        int combinations = 1;
        for (int i = 0; i < count; i++) {
            combinations *= base;
        }
        for (int number = 0; number < combinations; number++) {
            char letters[REPLICAS_MAX + 1] = {0};
            for (int i = 0, rest = number; i < count; i++, rest /= base) {
                letters[i] = LETTERS[rest % base];
            }
            for (size_t i = 0; i < sizeof(PROBERS) / sizeof(PROBERS[0]); i++) {
                combination_judge(letters, PROBERS[i], PROBERS[i] != NULL ? 1 : -1);
            }
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("supervisor health");
    TCase *tests = tcase_create("health");
    tcase_add_test(tests, each_combination_has_its_health);
    tcase_add_test(tests, a_takeover_changes_no_health);
    tcase_add_test(tests, only_a_success_is_sent_as_one);
    tcase_add_test(tests, an_outage_outlives_a_restart_of_all_agents);
    tcase_add_test(tests, another_process_of_its_name_has_proved_nothing);
    tcase_add_test(tests, a_probe_under_way_is_waited_for);
    tcase_add_test(tests, a_turn_is_longer_than_any_open_time);
    tcase_add_test(tests, the_prober_can_probe_by_any_reports);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
