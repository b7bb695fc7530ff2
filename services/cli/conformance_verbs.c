/*
 * `agent test` and `client test`: a running agent (conformance/conformance.h), and a client program among the
 * failures of schedulers and broker (conformance/client/client_conformance.h), each in any language.
 */
#include <stdlib.h>
#include <string.h>

#include "conformance/client/client_conformance.h"
#include "conformance/conformance.h"
#include "findings.h"
#include "json/json.h"
#include "verb_table.h"

/* Prints the verdicts; in JSON behind `members`, which the answer has already. */
static enum mg_exit_code findings_print(struct mg_answer *answer, const struct mg_findings *findings)
{
    enum mg_exit_code code = MG_EXIT_DONE;
    if (answer != NULL) {
        mg_findings_write_counts(findings, &answer->json);
        mg_findings_write(findings, &answer->json);
        code = mg_answer_print(answer);
    } else {
        mg_findings_print(findings);
        mg_findings_print_counts(findings);
    }
    return mg_findings_code(findings, code);
}

/* ---- agent ---- */

static const char *agent_rule_name(int rule)
{
    return mg_rule_name((enum mg_rule)rule);
}

static enum mg_exit_code agent_test(struct mg_cli *cli, struct mg_slice payload)
{
    static struct mg_conformance conformance; /* too large for a stack */
    const struct mg_findings findings = {conformance.findings, MG_RULE_COUNT, agent_rule_name, "rules",
                                         "rule"};
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
    struct mg_answer answer;
    if (cli->is_json) {
        struct mg_json_writer *json = mg_answer_begin(cli, &answer);
        mg_json_member_string(json, "service", options.service);
        mg_json_member_string(json, "orders", conformance.orders);
        mg_json_member_int(json, "agents", conformance.agents);
    }
    return findings_print(cli->is_json ? &answer : NULL, &findings);
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
    code = code == MG_EXIT_DONE ? agent_test(cli, payload) : code;
    free(text);
    return code;
}

/* ---- client ---- */

static const char *client_rule_name(int rule)
{
    return mg_client_rule_name((enum mg_client_rule)rule);
}

static enum mg_exit_code verb_client_test(struct mg_cli *cli)
{
    static struct mg_client_conformance conformance; /* too large for a stack */
    const struct mg_findings findings = {conformance.findings, MG_CLIENT_RULE_COUNT, client_rule_name,
                                         "rules", "rule"};
    const struct mg_client_options options = {.loop = cli->loop,
                                              .address = cli->options.broker,
                                              .words = cli->words.items,
                                              .word_count = cli->words.count,
                                              .timeout_ms = cli->options.timeout_ms};
    struct mg_err err;
    mg_cli_note("running %s for each case; it takes a quarter of a minute, and longer where a rule is broken",
                options.words[0]);
    if (mg_client_conformance_run(&options, &conformance, &err) != MG_OK) {
        return mg_cli_fail_err(&err);
    }
    struct mg_answer answer;
    if (cli->is_json) {
        struct mg_json_writer *json = mg_answer_begin(cli, &answer);
        mg_json_member_string(json, "command", options.words[0]);
        mg_json_member_int(json, "runs", conformance.runs);
    }
    return findings_print(cli->is_json ? &answer : NULL, &findings);
}

const struct mg_verb MG_AGENT_VERBS[] = {
    {"agent", "test", "", 0, 0, MG_EXTRA_CONFORM, MG_PRINTS_ONE, verb_agent_test,
     "sends a running agent the schedulers' messages, and prints which rules of the protocol it keeps", 0},
    {0}};

const struct mg_verb MG_CLIENT_VERBS[] = {
    {"client", "test", "COMMAND...", 1, MG_LIST_MAX, MG_EXTRA_COMMAND, MG_PRINTS_ONE, verb_client_test,
     "runs a client program against late, repeated, foreign and unreadable statuses, refusals and cuts, and "
     "prints which rules it keeps",
     0},
    {0}};
