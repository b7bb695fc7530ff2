/* The verdicts of a test (audit/finding.h), as lines for people and as members of JSON. */
#ifndef MG_CLI_FINDINGS_H
#define MG_CLI_FINDINGS_H

#include "audit/finding.h"
#include "base/json_write.h"
#include "cli.h"

struct mg_findings {
    struct mg_finding *items;
    int count;
    const char *(*name)(int index);
    const char *list, *member; /* in JSON: "rules", "rule" */
};

/* One line for each finding. Values of the tested program in them are made plain. */
void mg_findings_print(const struct mg_findings *findings);
/* "3 kept, 0 broken, 1 not shown" */
void mg_findings_print_counts(const struct mg_findings *findings);
void mg_findings_write_counts(const struct mg_findings *findings, struct mg_json_writer *json);
void mg_findings_write(const struct mg_findings *findings, struct mg_json_writer *json);
/* MG_EXIT_ERROR if a finding is broken, else `code`; an earlier failure stays. */
enum mg_exit_code mg_findings_code(const struct mg_findings *findings, enum mg_exit_code code);

#endif
