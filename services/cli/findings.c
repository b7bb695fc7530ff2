/* See findings.h. */
#include "findings.h"
#include "base/print.h"

static const char *const WORDS[] = {
    [MG_KEEPING_KEPT] = "kept", [MG_KEEPING_BROKEN] = "BROKEN", [MG_KEEPING_NOT_SHOWN] = "not shown"};

static int count_of(const struct mg_findings *findings, enum mg_keeping keeping)
{
    int count = 0;
    for (int i = 0; i < findings->count; i++) {
        count += findings->items[i].keeping == keeping ? 1 : 0;
    }
    return count;
}

void mg_findings_print(const struct mg_findings *findings)
{
    for (int i = 0; i < findings->count; i++) {
        const struct mg_finding *finding = &findings->items[i];
        mg_print(stdout, "%-9s %-12s %s\n", WORDS[finding->keeping], findings->name(i), finding->text);
    }
}

void mg_findings_print_counts(const struct mg_findings *findings)
{
    mg_print(stdout, "\n%d kept, %d broken, %d not shown\n", count_of(findings, MG_KEEPING_KEPT),
             count_of(findings, MG_KEEPING_BROKEN), count_of(findings, MG_KEEPING_NOT_SHOWN));
}

void mg_findings_write_counts(const struct mg_findings *findings, struct mg_json_writer *json)
{
    for (enum mg_keeping keeping = 0; keeping <= MG_KEEPING_NOT_SHOWN; keeping++) {
        mg_json_member_int(json, mg_keeping_name(keeping), count_of(findings, keeping));
    }
}

void mg_findings_write(const struct mg_findings *findings, struct mg_json_writer *json)
{
    mg_json_member_array(json, findings->list);
    for (int i = 0; i < findings->count; i++) {
        mg_json_element_object(json);
        mg_json_member_word(json, findings->member, findings->name(i));
        mg_json_member_word(json, "verdict", mg_keeping_name(findings->items[i].keeping));
        mg_json_member_string(json, "why", findings->items[i].text);
        mg_json_object_end(json);
    }
    mg_json_array_end(json);
}

enum mg_exit_code mg_findings_code(const struct mg_findings *findings, enum mg_exit_code code)
{
    return code == MG_EXIT_DONE && count_of(findings, MG_KEEPING_BROKEN) > 0 ? MG_EXIT_ERROR : code;
}
