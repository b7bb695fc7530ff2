/* Open alerts by cause (MG_REPORT_ALERT_CAUSES), known and unknown. One acknowledgement makes a cause known;
 * a known cause needs no attention. */
#ifndef MG_OPERATOR_ALERT_CAUSES_H
#define MG_OPERATOR_ALERT_CAUSES_H

#include <stdint.h>

#include "operator/table.h"

#define MG_ALERT_CAUSES_LIMIT "1000" /* enough for a verdict: unknown causes come first */
#define MG_ALERT_KNOWN_SIZE   256

struct mg_alert_causes {
    int64_t alerts;         /* open ones */
    int64_t unknown_alerts; /* of causes without an acknowledgement */
    int unknown, known;     /* causes */
    /* "1 cause known (otto)", with the first names; "": none is known */
    char known_text[MG_ALERT_KNOWN_SIZE];
};
void mg_alert_causes_count(const struct mg_table *causes, struct mg_alert_causes *ret);

#endif
