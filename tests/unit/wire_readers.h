/*
 * All readers of messages and definition files under one signature, for tests that go over many files. They
 * keep nothing: only the verdict counts.
 */
#ifndef MG_TESTS_WIRE_READERS_H
#define MG_TESTS_WIRE_READERS_H

#include "schedule/schedule.h"
#include "service/service.h"
#include "wire/alert.h"
#include "wire/command.h"
#include "wire/reply.h"
#include "wire/request.h"
#include "wire/service_control.h"
#include "wire/status.h"
#include "wire/submission.h"
#include "workflow/case_file.h"
#include "workflow/workflow.h"

static enum mg_class read_submission(struct mg_slice text, struct mg_arena *arena, struct mg_err *err)
{
    struct mg_submission submission;
    (void)arena; /* of the common signature */
    return mg_submission_parse(text, &MG_JSON_LIMITS_DATA, &submission, err);
}

static enum mg_class read_request(struct mg_slice text, struct mg_arena *arena, struct mg_err *err)
{
    struct mg_request request;
    return mg_request_parse(text, arena, &request, err);
}

static enum mg_class read_reply(struct mg_slice text, struct mg_arena *arena, struct mg_err *err)
{
    struct mg_reply reply;
    (void)arena; /* of the common signature */
    return mg_reply_parse(text, &MG_JSON_LIMITS_DATA, &reply, err);
}

static enum mg_class read_service_report(struct mg_slice text, struct mg_arena *arena, struct mg_err *err)
{
    struct mg_service_report report;
    (void)arena; /* of the common signature */
    return mg_service_report_parse(text, &report, err);
}

static enum mg_class read_status(struct mg_slice text, struct mg_arena *arena, struct mg_err *err)
{
    struct mg_status_message status;
    (void)arena; /* of the common signature */
    return mg_status_parse(text, &status, err);
}

static enum mg_class read_command(struct mg_slice text, struct mg_arena *arena, struct mg_err *err)
{
    struct mg_command command;
    return mg_command_parse(text, &MG_JSON_LIMITS_DATA, arena, &command, err);
}

static enum mg_class read_command_result(struct mg_slice text, struct mg_arena *arena, struct mg_err *err)
{
    struct mg_command_result result;
    (void)arena; /* of the common signature */
    return mg_command_result_parse(text, &result, err);
}

static enum mg_class read_alert(struct mg_slice text, struct mg_arena *arena, struct mg_err *err)
{
    struct mg_alert_message alert;
    (void)arena; /* of the common signature */
    return mg_alert_parse(text, &alert, err);
}

static enum mg_class read_service_control(struct mg_slice text, struct mg_arena *arena, struct mg_err *err)
{
    struct mg_service_control control;
    (void)arena; /* of the common signature */
    return mg_service_control_parse(text, &control, err);
}

static enum mg_class read_cases(struct mg_slice text, struct mg_arena *arena, struct mg_err *err)
{
    struct mg_cases *cases = NULL;
    (void)arena; /* of the common signature */
    enum mg_class class = mg_cases_parse(text, NULL, NULL, &cases, err);
    mg_cases_destroy(cases);
    return class;
}

static enum mg_class read_workflow(struct mg_slice text, struct mg_arena *arena, struct mg_err *err)
{
    struct mg_workflow *workflow = NULL;
    enum mg_class class = mg_workflow_parse(text, NULL, &workflow, err);
    (void)arena; /* of the common signature */
    if (class == MG_OK) {
        mg_workflow_destroy(workflow);
    }
    return class;
}

static enum mg_class read_schedule(struct mg_slice text, struct mg_arena *arena, struct mg_err *err)
{
    struct mg_schedule *schedule = NULL;
    enum mg_class class = mg_schedule_parse(text, NULL, &schedule, err);
    (void)arena; /* of the common signature */
    if (class == MG_OK) {
        mg_schedule_destroy(schedule);
    }
    return class;
}

static enum mg_class read_service(struct mg_slice text, struct mg_arena *arena, struct mg_err *err)
{
    struct mg_service *service = NULL;
    enum mg_class class = mg_service_parse(text, NULL, &service, err);
    (void)arena; /* of the common signature */
    if (class == MG_OK) {
        mg_service_destroy(service);
    }
    return class;
}

static const struct {
    const char *message;
    enum mg_class (*read)(struct mg_slice text, struct mg_arena *arena, struct mg_err *err);
} READERS[] = {
    {"submission", read_submission}, {"request", read_request},
    {"reply", read_reply},           {"service_report", read_service_report},
    {"status", read_status},         {"command", read_command},
    {"alert", read_alert},           {"command_result", read_command_result},
    {"workflow", read_workflow},     {"cases", read_cases},
    {"service", read_service},       {"service_control", read_service_control},
    {"schedule", read_schedule},
};
#define READER_COUNT (sizeof(READERS) / sizeof(READERS[0]))

#endif
