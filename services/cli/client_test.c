/* `client test`: a client program, in any language, among the failures of schedulers and broker
 * (conformance/client/client_conformance.h). */
#include "conformance/client/client_conformance.h"

#include "findings.h"
#include "verb_table.h"

static const char *name_of(int rule)
{
    return mg_client_rule_name((enum mg_client_rule)rule);
}

static enum mg_exit_code json_print(struct mg_cli *cli, const struct mg_client_conformance *conformance,
                                    const struct mg_findings *findings)
{
    struct mg_answer answer;
    struct mg_json_writer *json = mg_answer_begin(cli, &answer);
    mg_json_member_string(json, "command", cli->words.items[0]);
    mg_json_member_int(json, "runs", conformance->runs);
    mg_findings_write_counts(findings, json);
    mg_findings_write(findings, json);
    return mg_answer_print(&answer);
}

static enum mg_exit_code verb_client_test(struct mg_cli *cli)
{
    static struct mg_client_conformance conformance; /* too large for a stack */
    const struct mg_findings findings = {conformance.findings, MG_CLIENT_RULE_COUNT, name_of, "rules",
                                         "rule"};
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
    enum mg_exit_code code = MG_EXIT_DONE;
    if (cli->is_json) {
        code = json_print(cli, &conformance, &findings);
    } else {
        mg_findings_print(&findings);
        mg_findings_print_counts(&findings);
    }
    return mg_findings_code(&findings, code);
}

const struct mg_verb MG_CLIENT_VERBS[] = {
    {"client", "test", "COMMAND...", 1, MG_LIST_MAX, MG_EXTRA_COMMAND, MG_PRINTS_ONE, verb_client_test,
     "runs a client program against late, repeated, foreign and unreadable statuses, refusals and cuts, and "
     "prints which rules it keeps",
     0},
    {0}};
