/* Agent → scheduler: the outcome of one attempt (proto/reply.schema.json), and on the same way the agent's
 * report about its service (proto/service_report.schema.json). */
#ifndef MG_WIRE_REPLY_H
#define MG_WIRE_REPLY_H

#include "base/json_write.h"
#include "base/metrics.h"
#include "core/backoff.h"
#include "core/key.h"
#include "core/maybe.h"
#include "json/json.h"

#define MG_RESULT_MAX_DEFAULT                                                                                \
    (64 * 1024) /* a larger result becomes null: every later row and message carries the result */
#define MG_ERROR_CODE_MAX  63
#define MG_HTTP_STATUS_MIN 100
#define MG_HTTP_STATUS_MAX 999
#define MG_ERROR_TEXT_MAX  255
/* Bytes kept of a refusing body. The row of a step, each read of its order and each reply carry them. */
#define MG_ERROR_KEEP_DEFAULT 2048
#define MG_ERROR_KEEP_MAX     (16 * 1024)
#define MG_ERROR_MESSAGE_MAX  255 /* a sentence; the kept body has the rest */
/* A bound against nonsense only: the core clamps to minutes. */
#define MG_REPLY_RETRY_AFTER_MAX_MS MG_RETRY_AFTER_MAX_MS

struct mg_reply {
    char order_id[MG_ORDER_ID_MAX + 1];
    char step[MG_NAME_MAX + 1];
    uint32_t attempt;
    enum mg_kind kind;
    enum mg_outcome outcome;
    enum mg_executed executed;
    bool may_still_act; /* a call or another copy of the attempt may still be at work at the service (law 11,
                           quiesce) */
    struct mg_slice result; /* JSON text; absent if none */
    bool is_truncated;
    int http_status; /* of the service's last answer, also of a good one; 0: none, or none that counts */
    enum mg_error_reason error_reason;
    /* The same as text: "http_422/SOLD_OUT" (the class, and the service's own code), "timeout", …; "" if none
     */
    char error_code[MG_ERROR_CODE_MAX + 1];
    char error_text[MG_ERROR_TEXT_MAX + 1]; /* the agent's; it may stand in logs */
    /* The service's own sentence, and the kept part of its body, each as a JSON string; absent if none. They
     * stand in no log. */
    struct mg_slice error_message, error_body;
    int64_t retry_after_ms; /* -1: none */
    /* The attempt was a probe of a service that was down, and it is down still: it uses up no attempt. */
    bool is_probe;
    /* Never in a message: the step's definition takes this good answer for a refusal
     * (workflow/answer_conditions.h). An agent's own reason `refused` is not that. */
    bool is_refused_by_body;
};

/* The numbers in the text of an error's code. */
struct mg_error_facts {
    enum mg_error_reason reason; /* NONE: the text is empty */
    int http_status;             /* of ANSWERED; else 0 */
    struct mg_slice own;         /* the service's own code, as in "http_422/SOLD_OUT"; absent: none */
};
/* The only reader of such a text. A text that words.def lacks is OTHER. */
struct mg_error_facts mg_error_facts_read(struct mg_slice code);
/* Whether a stored code, absent if none, is of this reason. */
static inline bool mg_error_is(struct mg_slice code, enum mg_error_reason reason)
{
    return mg_error_facts_read(code).reason == reason;
}
/* The code of an answer with this status, to which the service's own code is appended. */
void mg_error_code_of_status(int http_status, char ret_code[MG_ERROR_CODE_MAX + 1]);

#define MG_ERROR_POINTERS_MAX 8 /* places at which a code or a text is looked for */

/* The places in a refusing body, unless the service file has others; NULL-ended. */
extern const char *const MG_ERROR_CODE_PLACES[], *const MG_ERROR_TEXT_PLACES[];

/* Appends the usable part of a service's own code, as far as there is room: letters, digits, ".", "_", "-".
 * False: nothing is left of it. */
bool mg_error_code_append(struct mg_slice text, char code[MG_ERROR_CODE_MAX + 1]);

/* Why a good answer has a result that cannot be read; "": it can, or the answer has none. */
const char *mg_reply_result_fault(const struct mg_reply *reply);

void mg_reply_write(const struct mg_reply *reply, struct mg_buf *ret_body);
enum mg_class mg_reply_parse(struct mg_slice body, const struct mg_json_limits *limits,
                             struct mg_reply *ret_reply, struct mg_err *err) MG_MUSTCHECK;

enum mg_breaker_state { MG_BREAKER_CLOSED, MG_BREAKER_OPEN, MG_BREAKER_HALF_OPEN };
const char *mg_breaker_state_name(enum mg_breaker_state state);
bool mg_breaker_state_parse(const char *word, size_t len, enum mg_breaker_state *ret);

/* Type "service_report". Sent at each change and every 5 s; a silent agent's report expires after 15 s. */
#define MG_SERVICE_REPORT_PERIOD_MS 5000
#define MG_SERVICE_REPORT_VALID_MS  15000
/* The calls of an agent's process to a service, since the process began. */
#define MG_CALL_BUCKETS MG_METRIC_BUCKETS
/* Up to 1, 2, … 8 ms, then eight steps for each doubling, up to 65,536 ms: within an eighth of any duration
 * that a call may have. A longer one counts in the last. */
#define MG_CALL_DURATIONS 112
struct mg_call_figures {
    int64_t count;                        /* calls that ended, also those without an answer */
    int64_t failed;                       /* no answer, one that cannot be read, a 5xx */
    int64_t within[MG_CALL_BUCKETS];      /* for schedulers of 0.3.0: calls by duration (base/metrics.h) */
    bool has_durations;                   /* false: an agent of 0.3.0, without the next two */
    int64_t refused;                      /* the service's own no: a 4xx */
    int64_t durations[MG_CALL_DURATIONS]; /* calls by duration (mg_call_bucket) */
    int64_t failing_since_ms; /* by the database's clock; 0: the last call was answered, or none was made */
    int64_t probe_at_ms;      /* while the breaker is open: when a call is tried again; 0: not known */
    int64_t error_at_ms;      /* of the last failure; 0: there was none */
    char error_code[MG_ERROR_CODE_MAX + 1];
    char error_text[MG_ERROR_TEXT_MAX +
                    1]; /* the service's own sentence, or the agent's; it stands in no log */
};
int mg_call_bucket(int64_t duration_us); /* 0 to MG_CALL_DURATIONS - 1; makegood_call_ms reads them */
void mg_call_figures_write(const struct mg_call_figures *calls, struct mg_json_writer *json);

struct mg_service_report {
    char service[MG_NAME_MAX + 1];
    char instance[128];
    enum mg_breaker_state breaker;
    bool is_ready;
    int64_t in_flight, concurrency;
    char reason[MG_ERROR_TEXT_MAX + 1];
    uint64_t control_version; /* of the settings in force (service_control.h); 0: none received */
    /* Distinguishes processes with the same instance name. 0: not given, and each report replaces the one
     * before. Otherwise the highest sequence counts, because two schedulers may store reports in the other
     * order. */
    uint64_t process, sequence;
    bool is_prober; /* by the last service_control it is the prober for all agents */
    bool has_calls; /* false: its calls are unknown, as those of an older agent */
    struct mg_call_figures calls;
};
void mg_service_report_write(const struct mg_service_report *report, struct mg_buf *ret_body);
enum mg_class mg_service_report_parse(struct mg_slice body, struct mg_service_report *ret_report,
                                      struct mg_err *err) MG_MUSTCHECK;

#endif
