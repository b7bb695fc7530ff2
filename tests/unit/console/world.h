/*
 * The world around the console's actions: requests without a wire, a stopped clock, a fake store
 * and a fake broker. These record each question and answer when the test asks them to. Pages are not made;
 * only the address that was reached is recorded.
 */
#ifndef MG_TESTS_CONSOLE_WORLD_H
#define MG_TESTS_CONSOLE_WORLD_H

#include <check.h>

#include "console/console_parts.h"
#include "fake_clock.h"
#include "fake_log.h"
#include "io/store/bulk.h"
#include "io/store/schedules.h"

#define TOKEN_OPERATOR "a token to act with"
#define TOKEN_READER   "a token to read with"
#define HOST           "localhost:9180"
#define ORIGIN         "http://localhost:9180"
#define ORDER_ID       "0192d3c4-0000-7000-8000-000000000001"
#define BULK_ID        "11111111-1111-5111-8111-111111111111"

/* A request as a browser sends it; NULL: it has no such header. */
struct mg_http_exchange {
    const char *method, *path, *host, *type, *origin, *site, *csrf, *cookie_name, *cookie, *body;
    /* its outcome; status 0: not answered yet */
    unsigned int status;
    char text[2048], set_cookie[512], retry_after[8];
    void (*gone)(void *arg);
    void *gone_arg;
};

/* The open question to the store or to the broker. */
enum fake_question {
    FAKE_NOTHING,
    FAKE_NOTE,
    FAKE_SETTING,
    FAKE_ACK,
    FAKE_START,
    FAKE_BULK,
    FAKE_COMMAND,
    FAKE_SCHEDULE,
    FAKE_SCHEDULE_CHANGE,
};

struct fake_world {
    uint64_t session;            /* of the last listener to live events */
    bool is_broker_up, has_room; /* room: for one more command */
    int forgotten;               /* how often answers were */

    struct mg_process_options process;
    struct mg_console_options options;
    struct mg_list hosts;
    struct mg_console console;
    char path[64];       /* of the tokens' file */
    const char *reached; /* the last page reached; NULL: none */
    char reached_id[MG_PATH_PART_SIZE];

    enum fake_question question; /* the one that is open */
    int asked;                   /* all questions so far */
    void *arg;
    mg_store_done_fn *noted;
    mg_store_setting_fn *setting_put;
    mg_store_acked_fn *acked;
    mg_store_bulk_started_fn *started;
    mg_store_bulk_changed_fn *bulk_changed;
    commanded_fn *commanded;
    mg_store_slot_fn *schedule_read;
    mg_store_setting_fn *schedule_changed;

    /* the last of each */
    char by[256], verb[128], subject[128], reason[MG_COMMAND_REASON_MAX + 1], detail[512];
    struct mg_command command;
    struct mg_service_setting setting;
    char concurrency[32], rate[32];
    struct mg_bulk_start start;
    char filter[256]; /* WORKFLOW/STEP/ERROR/SERVICES */
    char bulk_id[MG_UUID_SIZE];
    struct mg_bulk_change bulk_change;
    struct mg_schedule_change schedule_change;
    int64_t alert_id;
    int settled;
    struct mg_dead_settlement dead;
    char queue[64], mark[64];
};
extern struct fake_world fake;

/* A console; an operator, otto, and a reader, rita, may log in. */
void fake_begin(void);
void fake_begin_over_tls(void);
void fake_begin_without_tokens(void);
void fake_finish(void);
/* Rewrites the tokens' file. fake_reload reads it again, and fake_check checks it. */
void fake_write_tokens(const char *lines);
enum mg_class fake_reload(struct mg_err *err);
enum mg_class fake_check(struct mg_err *err);
/* Appends a line of it after `len` bytes of `ret_lines`; returns the length then. */
#define LINES_SIZE 65536
size_t fake_line(char ret_lines[LINES_SIZE], size_t len, const char *role, const char *name,
                 const char *token);

/* A GET, or a change as sent by the console's own page; the test may spoil it before fake_send. */
struct mg_http_exchange fake_get(const char *path);
struct mg_http_exchange fake_post(const char *path, const char *body);
unsigned int fake_send(struct mg_http_exchange *request); /* returns its status; 0: not answered yet */
/* Drops its request, as the end of a server does. */
void fake_go(struct mg_http_exchange *request);

/* A browser that has logged in. */
struct fake_browser {
    char cookie[128], csrf[128];
};
struct fake_browser fake_login(const char *token);
void fake_use(struct mg_http_exchange *request, const struct fake_browser *browser);
/* The role that a request with this cookie has: "none", "reader", "operator". */
const char *fake_role(const struct fake_browser *browser);

#endif
