/* Definitions and profiles for the tests of simulations and explorations. */
#ifndef MG_TEST_SIMULATE_FIXTURE_H
#define MG_TEST_SIMULATE_FIXTURE_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../suite.h"
#include "rehearse/profile.h"
#include "service/service.h"

#define CALL(path) "{\"method\":\"POST\",\"path\":\"" path "\"}"
/* A step with do, verify and undo; `more` begins and ends as members do: "\"after\":[\"a\"],". */
#define STEP(name, service, more)                                                                            \
    "{\"step\":\"" name "\",\"service\":\"" service "\"," more                                               \
    "\"do\":" CALL("/do") ",\"verify\":{\"method\":\"GET\",\"path\":\"/by-key/${/do_key}\"}"                 \
                          ",\"undo\":{\"method\":\"DELETE\",\"path\":\"/by-key/${/do_key}\"}}"
#define LAST(name, service, more)                                                                            \
    "{\"step\":\"" name "\",\"service\":\"" service "\"," more "\"do\":" CALL("/do") ",\"undo\":\"none\"}"
#define WORKFLOW(more, steps) "{\"workflow\":\"w\",\"version\":1," more "\"steps\":[" steps "]}"
#define CHAIN                 WORKFLOW("", STEP("a", "one", "") "," STEP("b", "two", "") "," STEP("c", "three", ""))

static struct mg_workflow *fixture_workflow;
static struct mg_profile *fixture_profile;
static struct mg_service *fixture_services[MG_STEPS_MAX];

static inline void fixture_close(void)
{
    mg_profile_destroy(fixture_profile);
    mg_workflow_destroy(fixture_workflow);
    for (int i = 0; i < MG_STEPS_MAX; i++) {
        mg_service_destroy(fixture_services[i]);
        fixture_services[i] = NULL;
    }
    fixture_profile = NULL;
    fixture_workflow = NULL;
}

/* `service_members`: of each service file, as in ",\"tries\":1". */
static inline void fixture_open(const char *definition, const char *service_members)
{
    struct mg_err err = {MG_OK, ""};
    char text[512];
    fixture_close();
    ck_assert_msg(mg_workflow_parse(mg_slice_of(definition), NULL, &fixture_workflow, &err) == MG_OK, "%s",
                  err.text);
    fixture_profile = mg_profile_create(fixture_workflow);
    ck_assert_ptr_nonnull(fixture_profile);
    for (int i = 0; i < fixture_workflow->plan.step_count; i++) {
        if (!fixture_workflow->plan.steps[i].is_wait) {
            snprintf(text, sizeof(text), "{\"service\":\"%s\",\"url\":\"http://127.0.0.1\"%s}",
                     fixture_workflow->steps[i].service, service_members);
            ck_assert_msg(mg_service_parse(mg_slice_of(text), NULL, &fixture_services[i], &err) == MG_OK,
                          "%s", err.text);
        }
    }
}

static inline void fixture_set(enum mg_setting setting, const char *pair)
{
    struct mg_err err = {MG_OK, ""};
    ck_assert_msg(mg_profile_set_pair(fixture_profile, setting, pair, &err) == MG_OK, "%s", err.text);
}

#endif
