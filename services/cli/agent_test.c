/* `agent test`: a running agent, in any language, against the agent protocol (conformance/conformance.h). */
#include <stdlib.h>
#include <string.h>

#include "conformance/conformance.h"
#include "findings.h"
#include "json/json.h"
#include "verb_table.h"

static const char *name_of(int rule)
{
    return mg_rule_name((enum mg_rule)rule);
}

static enum mg_exit_code json_print(struct mg_cli *cli, const struct mg_conformance *conformance,
                                    const struct mg_findings *findings)
{
    struct mg_answer answer;
    struct mg_json_writer *json = mg_answer_begin(cli, &answer);
    mg_json_member_string(json, "service", cli->options.service);
    mg_json_member_string(json, "orders", conformance->orders);
    mg_json_member_int(json, "agents", conformance->agents);
    mg_findings_write_counts(findings, json);
    mg_findings_write(findings, json);
    return mg_answer_print(&answer);
}

static enum mg_exit_code test(struct mg_cli *cli, struct mg_slice payload)
{
    static struct mg_conformance conformance; /* too large for a stack */
    const struct mg_findings findings = {conformance.findings, MG_RULE_COUNT, name_of, "rules", "rule"};
    const struct mg_conformance_options options = {.loop = cli->loop,
                                                   .address = cli->options.broker,
                                                   .service = cli->options.service,
                                                   .path = cli->options.path,
                                                   .payload = payload,
                                                   .timeout_ms = cli->options.timeout_ms};
    struct mg_err err;
    mg_cli_note(
        "testing the agents of %s for half a minute; their calls have real effects, undone at the end "
        "as far as the undo works",
        options.service);
    if (mg_conformance_run(&options, &conformance, &err) != MG_OK) {
        return mg_cli_fail_err(&err);
    }
    enum mg_exit_code code = MG_EXIT_DONE;
    if (cli->is_json) {
        code = json_print(cli, &conformance, &findings);
    } else {
        mg_findings_print(&findings);
        mg_findings_print_counts(&findings);
    }
    return mg_findings_code(&findings, code);
}

static enum mg_exit_code verb_agent_test(struct mg_cli *cli)
{
    const char *service = cli->options.service;
    char *text = NULL;
    struct mg_slice payload;
    if (service == NULL || !mg_name_is_valid(service, strlen(service))) {
        return mg_cli_fail(MG_EXIT_USAGE, "name the service with --service NAME");
    }
    if (cli->options.path[0] != '/') {
        return mg_cli_fail(MG_EXIT_USAGE, "--path %s: expected a path that begins with /", cli->options.path);
    }
    enum mg_exit_code code = mg_cli_read_json("--payload", cli->options.payload, &text, &payload);
    code = code == MG_EXIT_DONE ? test(cli, payload) : code;
    free(text);
    return code;
}

const struct mg_verb MG_AGENT_VERBS[] = {
    {"agent", "test", "", 0, 0, MG_EXTRA_CONFORM, MG_PRINTS_ONE, verb_agent_test,
     "sends a running agent the schedulers' messages, and prints which rules of the protocol it keeps", 0},
    {0}};
