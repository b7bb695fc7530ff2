/* The verdict on one promise, of a service (audit.h) or of an agent (conformance/conformance.h). */
#ifndef MG_AUDIT_FINDING_H
#define MG_AUDIT_FINDING_H

#define MG_AUDIT_WHY_SIZE 512

enum mg_keeping { MG_KEEPING_KEPT, MG_KEEPING_BROKEN, MG_KEEPING_NOT_SHOWN };
const char *mg_keeping_name(enum mg_keeping keeping); /* "kept", "broken", "not_shown" */

struct mg_finding {
    enum mg_keeping keeping;
    char text[MG_AUDIT_WHY_SIZE];
};

#endif
