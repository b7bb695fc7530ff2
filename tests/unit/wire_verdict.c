/*
 * What the C readers say about files: for each pair MESSAGE FILE on the command line one line, "ok" or
 * "refused: why". proto_examples.py compares it with an independent validator of the JSON Schemas.
 */
#include <stdio.h>
#include <string.h>

#include "wire/alert.h"
#include "wire/command.h"
#include "wire/reply.h"
#include "wire/request.h"
#include "wire/service.h"
#include "wire/status.h"
#include "wire/submission.h"
#include "wire/workflow.h"

#define FILE_MAX_BYTES (8 * 1024 * 1024)

static enum mg_class read_submission(struct mg_slice text, struct mg_arena *arena, struct mg_err *err)
{
    struct mg_submission submission;
    (void)arena; /* of the common signature */
    return mg_submission_parse(text, &MG_JSON_LIMITS_DEFAULT, &submission, err);
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
    return mg_reply_parse(text, &MG_JSON_LIMITS_DEFAULT, &reply, err);
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
    return mg_command_parse(text, &MG_JSON_LIMITS_DEFAULT, arena, &command, err);
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

static enum mg_class read_workflow(struct mg_slice text, struct mg_arena *arena, struct mg_err *err)
{
    struct mg_workflow *workflow = NULL;
    enum mg_class class = mg_workflow_parse(text, NULL, &workflow, err);
    (void)arena; /* of the common signature */
    if (class == MG_OK) mg_workflow_destroy(workflow);
    return class;
}

static enum mg_class read_service(struct mg_slice text, struct mg_arena *arena, struct mg_err *err)
{
    struct mg_service *service = NULL;
    enum mg_class class = mg_service_parse(text, NULL, &service, err);
    (void)arena; /* of the common signature */
    if (class == MG_OK) mg_service_destroy(service);
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
    {"workflow", read_workflow},     {"service", read_service},
};

static int judge(const char *message, const char *path)
{
    struct mg_buf text;
    char block[4096];
    size_t n, reader = 0;
    FILE *file = fopen(path, "re");

    while (reader < sizeof READERS / sizeof READERS[0] && strcmp(READERS[reader].message, message) != 0)
        reader++;
    if (file == NULL || reader == sizeof READERS / sizeof READERS[0]) {
        (void)fprintf(stderr, "wire_verdict: cannot read \"%s\" as \"%s\"\n", path, message);
        if (file != NULL) (void)fclose(file); /* only read */
        return 1;
    }
    mg_buf_init(&text, FILE_MAX_BYTES);
    while ((n = fread(block, 1, sizeof block, file)) > 0)
        mg_buf_append(&text, block, n);
    (void)fclose(file); /* only read */
    struct mg_arena *arena = mg_arena_create(FILE_MAX_BYTES);
    struct mg_err err = {MG_OK, ""};
    enum mg_class class = READERS[reader].read(mg_buf_slice(&text), arena, &err);
    if (class == MG_OK) {
        (void)printf("ok\n");
    } else {
        (void)printf("refused: %s: %s\n", mg_class_name(class), err.text);
    }
    mg_arena_destroy(arena);
    mg_buf_finish(&text);
    return 0;
}

int main(int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        if (judge(argv[i], argv[i + 1]) != 0) return 2;
    }
    return argc % 2 == 1 ? 0 : 2;
}
