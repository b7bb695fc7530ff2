/* The options: those of every verb, then one row for each option of some verbs. */
#include <stddef.h>
#include <string.h>

#include "broker_options.h"
#include "operator/batch_words.h"
#include "verbs.h"

#define PAUSE_MAX_MS                                                                                         \
    (INT64_C(365) * 24 * 3600 * 1000) /* a service that rests for longer is taken out of the workflows */

/* The value is stored in `member` of struct cli_options. */
/* clang-format off */
#define OPTION(extra, member, ...) {extra, offsetof(struct cli_options, member), {__VA_ARGS__}}
/* clang-format on */
#define TEXT(extra, member, name, initial, value, help)                                                      \
    OPTION(extra, member, name, MG_OPTION_TEXT, NULL, initial, 0, 0, false, value, help)
#define FLAG(extra, member, name, help)                                                                      \
    OPTION(extra, member, name, MG_OPTION_FLAG, NULL, NULL, 0, 0, false, NULL, help)
#define LIST(extra, member, name, value, help)                                                               \
    OPTION(extra, member, name, MG_OPTION_LIST, NULL, NULL, 0, 0, false, value, help)
#define DURATION(extra, member, name, min, max, value, help)                                                 \
    OPTION(extra, member, name, MG_OPTION_DURATION, NULL, NULL, min, max, false, value, help)
#define INTEGER(extra, member, name, initial, min, max, value, help)                                         \
    OPTION(extra, member, name, MG_OPTION_INTEGER, NULL, initial, min, max, false, value, help)

static const struct {
    int extra; /* verbs with any of these extras have the option */
    size_t offset;
    struct mg_option option;
} OPTIONS[] = {
    TEXT(EXTRA_REASON | EXTRA_POLICY, reason, "reason", NULL, "TEXT", "why; it is kept"),
    TEXT(EXTRA_REASON | EXTRA_POLICY, by, "by", NULL, "NAME", "who; default: the user's name"),
    INTEGER(EXTRA_VERSION, version, "if-version", "0", 0, INT64_MAX, "N",
            "act only if it is still at this version; 0: at the one it has now, and for cancel and "
            "compensate at any"),
    TEXT(EXTRA_STEP, step, "step", NULL, "STEP", "which step; of a list: only failures of this step"),
    TEXT(EXTRA_OUTCOME, outcome, "outcome", NULL, "done|absent", "what became of it"),
    LIST(EXTRA_SET, sets, "set", "POINTER=JSON", "replaces one value of the payload"),
    FLAG(EXTRA_WAIT, waits, "wait", "wait until every order has ended"),
    TEXT(EXTRA_FILTER, state, "state", NULL, "STATE", "only orders in this state"),
    TEXT(EXTRA_FILTER | EXTRA_BATCH, workflow, "workflow", NULL, "NAME", "only orders of this workflow"),
    TEXT(EXTRA_FAILURE | EXTRA_BATCH, error, "error", NULL, "TEXT",
         "only failures whose error has this in it"),
    TEXT(EXTRA_FAILURE, group_by, "group-by", NULL, "error",
         "count failures that stand open by workflow, step, service and error"),
    TEXT(EXTRA_TIME, since, "since", NULL, "TIME",
         "not before: 2h (ago), 7d, 2026-01-31T12:00:00Z, 2026-01-31"),
    TEXT(EXTRA_TIME, until, "until", NULL, "TIME", "before, written likewise"),
    TEXT(EXTRA_AFTER, after, "after", NULL, "CURSOR",
         "the next page: what comes after this one, which the end of the page before names"),
    INTEGER(EXTRA_LIMIT, limit, "limit", "50", 1, 10000, "N", "at most so many"),
    FLAG(EXTRA_ALL, is_all, "all", "all of them"),
    TEXT(EXTRA_QUEUE, queue, "queue", "dead.letters", "dead.letters|orders.rejected", "which messages"),
    LIST(EXTRA_SERVICE | EXTRA_BATCH | EXTRA_FAILURE, services, "service", "NAME",
         "a service that is meant, too: its request queues, or failures of its steps"),
    DURATION(EXTRA_PAUSE, pause_ms, "for", 1000, PAUSE_MAX_MS, "DURATION",
             "when it ends by itself; if not given, when somebody resumes it"),
    TEXT(EXTRA_LIMITS, concurrency, "concurrency", NULL, "N|none",
         "calls at once; none: no limit but that of each agent; as it is, if not given"),
    TEXT(
        EXTRA_LIMITS | EXTRA_BATCH, rate, "rate", NULL, "N|none",
        "so many a second. Calls of a service (none: no limit but that of each agent; as it is, if not given), "
        "or orders of a batch (" BATCH_RATE " if not given)"),
    INTEGER(EXTRA_BATCH, canary, "canary", BATCH_CANARY, 0, BATCH_CANARY_MAX, "N",
            "orders that are tried first; the rest follows when all of these have ended well"),
    INTEGER(EXTRA_BATCH, stop_percent, "stop-above", BATCH_STOP_ABOVE, 0, 100, "PERCENT",
            "it stops by itself when more of the canary, or later of the last 50, fail again"),
    FLAG(EXTRA_BATCH, is_dry_run, "dry-run", "only say how many orders it would be"),
    TEXT(EXTRA_RESULT, result, "result", NULL, "waiting|asked|done|failed|skipped",
         "only orders of which this became"),
    LIST(EXTRA_CLIENT, clients, "client", "NAME", "a client whose queue client.NAME.statuses is meant, too"),
    TEXT(EXTRA_POLICY, hot, "hot", NULL, "DURATION|none",
         "an ended order leaves for the archive so long after its last change, 1d at least; none: it stays"),
    TEXT(EXTRA_POLICY, keep, "keep", NULL, "DURATION|none",
         "a day of the archive is dropped so long after it, 1d at least; none: it stays"),
    TEXT(
        EXTRA_EXPORT, export_command, "export", NULL, "COMMAND",
        "what gets each day before it is dropped, on standard input, an order's dossier a line; a shell runs it "
        "with MAKEGOOD_DAY set, and if it fails the day is kept"),
    TEXT(EXTRA_MIGRATIONS, migrations, "migrations", NULL, "DIR",
         "where the numbered SQL files lie; those installed with this program if not given, or "
         "deploy/postgres, from here, for a program that is not installed"),
    TEXT(EXTRA_HTTP, http, "http", "", "ADDRESS:PORT",
         "where the service answers, as it was told itself; 0.0.0.0 is asked at 127.0.0.1"),
    TEXT(EXTRA_HTTP, http_cert_file, "http-cert-file", "", "FILE",
         "as the service was told; if it is given, https is spoken"),
    TEXT(EXTRA_HTTP, http_ca_file, "http-ca-file", "", "FILE",
         "CA certificates (PEM) that the service's must come from; empty: those of the system"),
    TEXT(EXTRA_CONSOLE, listen, "listen", "127.0.0.1:9180", "ADDRESS:PORT",
         "where browsers find it; port 0 takes a free one and logs it"),
    TEXT(EXTRA_CONSOLE, listen_cert_file, "listen-cert-file", "", "FILE",
         "certificate (PEM) with which https is spoken; needed where others than this machine can connect"),
    TEXT(EXTRA_CONSOLE, listen_key_file, "listen-key-file", "", "FILE", "its key (PEM)"),
    TEXT(
        EXTRA_CONSOLE, tokens_file, "tokens-file", "", "FILE",
        "who may read or act, a line each: reader or operator, name, SHA-256 of a token; proxy in place of a role: "
        "who may say who asks; without it all who reach it may read and nobody may act"),
    TEXT(
        EXTRA_CONSOLE, proxy_user_header, "proxy-user-header", "", "HEADER",
        "in which a proxy tells who asks, as Remote-User; in X-Makegood-Proxy-Token it sends its token, which has a line "
        "in tokens-file"),
    TEXT(EXTRA_CONSOLE, proxy_groups_header, "proxy-groups-header", "", "HEADER",
         "in which the proxy tells their groups, as Remote-Groups"),
    LIST(EXTRA_CONSOLE, proxy_operator_groups, "proxy-operator-group", "GROUP",
         "who is in this group may act; others whom the proxy names may read"),
    LIST(EXTRA_CONSOLE, hosts, "host", "NAME", "a host name by which browsers may call it, beside localhost"),
    FLAG(EXTRA_STRICT, is_strict, "strict", "refuse a service that has no queue, instead of warning"),
    FLAG(EXTRA_STATES, is_mermaid, "mermaid", "as Mermaid state diagrams"),
    FLAG(EXTRA_STATES, is_csv, "csv", "as CSV, a line for each cell"),
};
#define OPTION_COUNT (sizeof(OPTIONS) / sizeof(OPTIONS[0]))

bool extras_are_apart(int extras)
{
    return (extras & EXTRA_APART) != 0;
}

static const char *timeout_default(int extras)
{
    if (extras_are_apart(extras)) {
        return "3s";
    }
    return (extras & EXTRA_WAIT) ? "1h" : "10s";
}

/* The options of every verb; returns their number. */
static size_t common_make(struct cli_options *to, int extras, struct mg_option list[OPTIONS_MAX])
{
    const struct mg_option servers[] = {
        MG_BROKER_OPTIONS(to->broker),
        {"pg-dsn", MG_OPTION_TEXT, &to->pg_dsn, "", 0, 0, true, "DSN",
         "the database; empty: libpq's PG* environment"},
    };
    const struct mg_option others[] = {
        {"output|o", MG_OPTION_TEXT, &to->output, "table", 0, 0, false, "table|json", "how to print"},
        {"timeout", MG_OPTION_DURATION, &to->timeout_ms, timeout_default(extras), 1, INT64_C(86400000), false,
         "DURATION", "how long to wait for an answer"},
    };
    size_t n = 0;
    if (extras & EXTRA_ALONE) {
        to->output = "table";
        return 0;
    }
    _Static_assert(sizeof(servers) + sizeof(others) + (OPTION_COUNT + 1) * sizeof(struct mg_option) <=
                       OPTIONS_MAX * sizeof(struct mg_option),
                   "OPTIONS_MAX has room for all options");
    if (!extras_are_apart(extras)) {
        memcpy(list, servers, sizeof(servers));
        n = sizeof(servers) / sizeof(servers[0]);
    }
    memcpy(list + n, others, sizeof(others));
    return n + sizeof(others) / sizeof(others[0]);
}

size_t options_make(struct cli_options *to, int extras, struct mg_option list[OPTIONS_MAX])
{
    const size_t common_count = common_make(to, extras, list);
    size_t n = common_count;
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        if (extras & OPTIONS[i].extra) {
            list[n] = OPTIONS[i].option;
            list[n++].target = (char *)to + OPTIONS[i].offset;
        }
    }
    list[n] = (struct mg_option){0};
    return common_count;
}
