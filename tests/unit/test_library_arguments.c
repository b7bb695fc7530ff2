/*
 * Arguments of the C library, by the table library_arguments.json, which the tests of the libraries for
 * Python and Node read as well. There is no broker. Would catch: a wrong argument that crashes the caller or
 * waits for a time-out; one library that takes an argument that another one refuses.
 */
#include <check.h>
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "makegood.h"
#include "suite.h"

#define URL       "amqp://127.0.0.1:1" /* nothing listens there */
#define TEXT_SIZE 400000
#define CASES_MIN 75 /* fewer: the table was not read, or its words are not those of this file */

/* An argument as C has it. */
struct argument {
    bool is_given, is_foreign; /* foreign: the types of C exclude it */
    char *text;                /* NULL: it is null */
    int64_t number;
};

static const json_t *the_case;
static int case_count;

static const char *word_of(const json_t *object, const char *name)
{
    const char *word = json_string_value(json_object_get(object, name));
    return word != NULL ? word : "";
}

static const char *member(const char *name)
{
    return word_of(the_case, name);
}

static void put(char *text, const char *more)
{
    size_t len = strlen(text);
    ck_assert_uint_lt(len + strlen(more), TEXT_SIZE);
    memcpy(text + len, more, strlen(more) + 1);
}

/* False: C cannot hold it. In JSON, texts are quoted. */
static bool put_made(char *text, const json_t *value, bool is_json)
{
    const char *make = word_of(value, "make"), *quote = is_json ? "\"" : "";
    size_t at = strlen(text);
    if (strcmp(make, "repeat") == 0) {
        size_t times = (size_t)json_integer_value(json_object_get(value, "times"));
        put(text, quote);
        at += strlen(quote);
        ck_assert_uint_lt(at + times + 2, TEXT_SIZE);
        memset(text + at, word_of(value, "of")[0], times);
        text[at + times] = '\0';
        put(text + at, quote);
    } else if (strcmp(make, "half") == 0) {
        put(text, quote);
        put(text, "\xff");
        put(text, quote);
    } else if (strcmp(make, "nul") == 0) {
        put(text, is_json ? "\"\\u0000\"" : "");
        return is_json;
    } else if (strcmp(make, "nan") == 0) {
        put(text, "NaN");
        return is_json;
    } else if (strcmp(make, "nested") == 0) {
        json_int_t levels = json_integer_value(json_object_get(value, "levels"));
        ck_assert_int_lt(levels, TEXT_SIZE / 2);
        memset(text + at, '[', (size_t)levels);
        memset(text + at + levels, ']', (size_t)levels);
        text[at + 2 * (size_t)levels] = '\0';
    } else if (strcmp(make, "elements") == 0) {
        put(text, "[0");
        for (json_int_t i = json_integer_value(json_object_get(value, "count")); i > 1; i--) {
            memcpy(text + at + 2, ",0", 3);
            at += 2;
        }
        put(text + at, "]");
    } else {
        return false;
    }
    return true;
}

static bool put_json(char *text, const json_t *value)
{
    const json_t *inner = json_object_get(value, "a");
    char *plain;
    if (inner != NULL && json_is_object(inner)) {
        put(text, "{\"a\":");
        bool is_held = put_made(text, inner, true);
        put(text, "}");
        return is_held;
    }
    plain = json_dumps(value, JSON_ENCODE_ANY);
    ck_assert_ptr_nonnull(plain);
    put(text, plain);
    free(plain);
    return true;
}

static struct argument argument_of(const char *name, const char *usual, char type)
{
    const json_t *value = json_object_get(json_object_get(the_case, "with"), name);
    struct argument argument = {.is_given = value != NULL, .text = usual != NULL ? strdup(usual) : NULL};
    if (value == NULL) {
        return argument;
    }
    free(argument.text);
    argument.text = NULL;
    if (type == 'n') {
        argument.is_foreign = !json_is_integer(value) || json_integer_value(value) > INT32_MAX + INT64_C(1);
        argument.number = json_integer_value(value);
        return argument;
    }
    argument.text = calloc(1, TEXT_SIZE);
    ck_assert_ptr_nonnull(argument.text);
    if (type == 'j') {
        argument.is_foreign = !put_json(argument.text, value);
    } else if (json_is_string(value)) {
        put(argument.text, json_string_value(value));
    } else if (json_is_null(value)) {
        free(argument.text);
        argument.text = NULL;
    } else {
        argument.is_foreign = !put_made(argument.text, value, false);
    }
    return argument;
}

static bool is_for_c(const json_t *with, const char *const known[])
{
    const json_t *languages = json_object_get(the_case, "in"), *language;
    const char *name;
    json_t *value;
    size_t i;
    bool is_ours = languages == NULL;
    json_array_foreach(languages, i, language)
    {
        is_ours = is_ours || strcmp(json_string_value(language), "c") == 0;
    }
    json_object_foreach((json_t *)(uintptr_t)with, name, value)
    {
        bool is_known = false;
        for (i = 0; known[i] != NULL; i++) {
            is_known = is_known || strcmp(known[i], name) == 0;
        }
        is_ours = is_ours && is_known;
    }
    return is_ours;
}

/* A refusal names the argument and is one line. A call that is taken waits for the broker, if it waits. */
static void judge(enum mg_error_code code, enum mg_error_code taken, const struct mg_error *error)
{
    const char *refused = member("refused");
    case_count++;
    if (refused[0] == '\0') {
        ck_assert_msg(code == taken, "%s: %d, %s", member("name"), code, error->text);
        return;
    }
    ck_assert_msg(code == MG_ERROR_INPUT && code == error->code, "%s: %d, %s", member("name"), code,
                  error->text);
    ck_assert_msg(strcasestr(error->text, refused) != NULL, "%s: %s", member("name"), error->text);
    for (const char *at = error->text; *at != '\0'; at++) {
        ck_assert_msg((unsigned char)*at >= ' ' && *at != 0x7f && (unsigned char)*at != 0xff, "%s: %s",
                      member("name"), error->text);
    }
}

static struct mg_client *client_open(void)
{
    struct mg_client *client = NULL;
    struct mg_error error = {0};
    ck_assert_msg(mg_client_open(&(struct mg_client_options){.url = URL}, &client, &error) == MG_ERROR_NONE,
                  "%s", error.text);
    return client;
}

static void case_of_submit(void)
{
    struct mg_client *client = client_open();
    struct mg_error error = {0};
    char id[MG_CLIENT_ORDER_ID_SIZE];
    struct argument order_id = argument_of("order_id", "o-1", 't'),
                    workflow = argument_of("workflow", "hello", 't'),
                    payload = argument_of("payload", "{\"n\": 1}", 'j'),
                    traceparent = argument_of("traceparent", NULL, 't'),
                    priority = argument_of("priority", NULL, 't'), notify = argument_of("notify", NULL, 't'),
                    within = argument_of("complete_within", NULL, 't'),
                    version = argument_of("workflow_version", NULL, 'n');
    struct argument all[] = {order_id, workflow, payload, traceparent, priority, notify, within, version};
    bool is_foreign = false;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        is_foreign = is_foreign || all[i].is_foreign;
    }
    if (!is_foreign) {
        struct mg_client_order order = {workflow.text, payload.text, order_id.text,  priority.text,
                                        within.text,   notify.text,  version.number, traceparent.text};
        judge(mg_client_submit(client, &order, 0, id, &error), MG_ERROR_TIMEOUT, &error);
        struct mg_client_order good = {.workflow = "hello", .order_id = "good"};
        ck_assert_int_eq(mg_client_submit(client, &good, 0, id, &error), MG_ERROR_TIMEOUT);
    }
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        free(all[i].text);
    }
    mg_client_close(client);
}

static void case_of_wait(void)
{
    struct argument order_id = argument_of("order_id", "o-1", 't');
    struct mg_client *client = client_open();
    struct mg_client_status *status = NULL;
    struct mg_error error = {0};
    if (!order_id.is_foreign) {
        judge(mg_client_wait(client, order_id.text, 0, &status, &error), MG_ERROR_TIMEOUT, &error);
        judge(mg_client_next(client, order_id.text, 0, &status, &error), MG_ERROR_TIMEOUT, &error);
        mg_client_forget(client, order_id.text);
    }
    free(order_id.text);
    mg_client_close(client);
}

static void case_of_client(void)
{
    struct argument url = argument_of("url", URL, 't'), name = argument_of("client", NULL, 't');
    struct mg_client *client = NULL;
    struct mg_error error = {0};
    if (!url.is_foreign && !name.is_foreign) {
        judge(mg_client_open(&(struct mg_client_options){.url = url.text, .client = name.text}, &client,
                             &error),
              MG_ERROR_NONE, &error);
        mg_client_close(client);
    }
    free(url.text);
    free(name.text);
}

static void nothing(struct mg_work *work, void *arg)
{
    (void)work;
    (void)arg;
}

static void case_of_agent(void)
{
    struct argument url = argument_of("url", URL, 't'), service = argument_of("service", "bank", 't'),
                    concurrency = argument_of("concurrency", NULL, 'n');
    struct mg_agent *agent = NULL;
    struct mg_error error = {0};
    if (!url.is_foreign && !service.is_foreign && !concurrency.is_foreign) {
        struct mg_agent_options options = {.url = url.text, .concurrency = (int)concurrency.number};
        enum mg_error_code code = mg_agent_open(&options, &agent, &error);
        code = code == MG_ERROR_NONE ? mg_agent_serve(agent, service.text, nothing, NULL, NULL, NULL, &error)
                                     : code;
        judge(code, MG_ERROR_NONE, &error);
        mg_agent_close(agent);
    }
    free(url.text);
    free(service.text);
}

START_TEST(each_wrong_argument_is_refused_at_once)
{
    static const char *const SUBMIT[] = {"order_id",        "workflow",         "payload",
                                         "traceparent",     "priority",         "notify",
                                         "complete_within", "workflow_version", NULL};
    static const char *const WAIT[] = {"order_id", NULL}, *const CLIENT[] = {"url", "client", NULL},
                             *const AGENT[] = {"url", "service", "concurrency", NULL};
    static const struct {
        const char *name;
        void (*run)(void);
        const char *const *known;
    } CALLS[] = {{"submit", case_of_submit, SUBMIT},
                 {"wait", case_of_wait, WAIT},
                 {"client", case_of_client, CLIENT},
                 {"agent", case_of_agent, AGENT}};
    json_error_t fault;
    json_t *table = json_load_file(MG_SOURCE_DIR "/tests/unit/library_arguments.json", 0, &fault);
    ck_assert_msg(table != NULL, "line %d: %s", fault.line, fault.text);
    for (size_t call = 0; call < sizeof(CALLS) / sizeof(CALLS[0]); call++) {
        size_t i;
        json_array_foreach(json_object_get(table, CALLS[call].name), i, the_case)
        {
            if (is_for_c(json_object_get(the_case, "with"), CALLS[call].known)) {
                CALLS[call].run();
            }
        }
    }
    json_decref(table);
    ck_assert_int_ge(case_count, CASES_MIN);
}
END_TEST

/* Would catch: a crash of the caller by a structure or a text that is not there. */
START_TEST(an_absent_argument_is_refused)
{
    struct mg_client *client = NULL;
    struct mg_agent *agent = NULL;
    struct mg_client_status *status = NULL;
    struct mg_error error = {0};
    char id[MG_CLIENT_ORDER_ID_SIZE];
    ck_assert_int_eq(mg_client_open(NULL, &client, &error), MG_ERROR_INPUT);
    ck_assert_int_eq(mg_agent_open(NULL, &agent, &error), MG_ERROR_INPUT);
    ck_assert_int_eq(mg_client_submit(NULL, NULL, 0, id, &error), MG_ERROR_INPUT);
    ck_assert_int_eq(mg_client_wait(NULL, "o-1", 0, &status, &error), MG_ERROR_INPUT);
    ck_assert_int_eq(mg_agent_serve(NULL, "bank", nothing, NULL, NULL, NULL, &error), MG_ERROR_INPUT);
    ck_assert_int_eq(mg_agent_run(NULL, &error), MG_ERROR_INPUT);
    mg_client_forget(NULL, "o-1");
    mg_agent_stop(NULL);
    client = client_open();
    ck_assert_int_eq(mg_client_submit(client, NULL, 0, id, &error), MG_ERROR_INPUT);
    ck_assert_int_eq(mg_client_wait(client, NULL, 0, &status, NULL), MG_ERROR_INPUT);
    mg_client_forget(client, NULL);
    mg_client_close(client);
}
END_TEST

/* Would catch: a signal that another library refuses, or one that waits for its time-out to be refused. */
START_TEST(a_wrong_signal_is_refused_at_once)
{
    static char key[MG_CLIENT_ORDER_ID_SIZE * 4], long_payload[70000];
    memset(key, 'k', sizeof(key) - 1);
    memset(long_payload, '1', sizeof(long_payload) - 1);
    const struct mg_client_signal wrong[] = {
        {0},
        {.name = "paid"},
        {.name = "Paid", .order_id = "o-1"},
        {.name = "paid", .order_id = "o-1", .key = "k"},
        {.name = "paid", .order_id = ""},
        {.name = "paid", .key = ""},
        {.name = "paid", .key = "a\tb"},
        {.name = "paid", .key = "\xff"},
        {.name = "paid", .key = key},
        {.name = "paid", .order_id = "o-1", .signal_id = "a b"},
        {.name = "paid", .order_id = "o-1", .payload = "{"},
        {.name = "paid", .order_id = "o-1", .payload = "1,\"x\":2"},
        {.name = "paid", .order_id = "o-1", .payload = long_payload},
    };
    struct mg_client *client = NULL, *nameless = client_open();
    struct mg_error error = {0};
    char outcome[MG_CLIENT_OUTCOME_SIZE] = "";
    struct mg_client_options options = {.url = URL, .client = "shop"};
    ck_assert_int_eq(mg_client_open(&options, &client, &error), MG_ERROR_NONE);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        ck_assert_msg(mg_client_send_signal(client, &wrong[i], 60000, outcome, &error) == MG_ERROR_INPUT,
                      "%zu: %s", i, error.text);
        ck_assert_ptr_null(strchr(error.text, '\t'));
    }
    ck_assert_int_eq(mg_client_send_signal(client, NULL, 60000, outcome, &error), MG_ERROR_INPUT);
    const struct mg_client_signal good = {.name = "paid", .order_id = "o-1"};
    ck_assert_int_eq(mg_client_send_signal(NULL, &good, 60000, outcome, &error), MG_ERROR_INPUT);
    ck_assert_int_eq(mg_client_send_signal(nameless, &good, 60000, outcome, &error), MG_ERROR_INPUT);
    ck_assert_int_eq(mg_client_send_signal(client, &good, 10, outcome, &error), MG_ERROR_TIMEOUT);
    ck_assert_ptr_nonnull(strstr(error.text, "no scheduler has answered to signal paid"));
    ck_assert_str_eq(outcome, "");
    mg_client_close(client);
    mg_client_close(nameless);
}
END_TEST

static int in_child(struct mg_client *client, struct mg_agent *agent)
{
    struct mg_error error = {0};
    struct mg_client_status *status = NULL;
    char id[MG_CLIENT_ORDER_ID_SIZE];
    (void)alarm(10); /* a call that hangs ends the child */
    int wrong = mg_client_submit(client, &(struct mg_client_order){.workflow = "hello"}, 1000, id, &error) !=
                    MG_ERROR_CLOSED ||
                strstr(error.text, "fork") == NULL;
    wrong |= (mg_client_wait(client, "o-1", 1000, &status, &error) != MG_ERROR_CLOSED ||
              strstr(error.text, "fork") == NULL)
             << 1;
    wrong |= (mg_agent_run(agent, &error) != MG_ERROR_CLOSED || strstr(error.text, "fork") == NULL) << 2;
    mg_client_forget(client, "o-1");
    mg_agent_stop(agent);
    mg_agent_close(agent);
    mg_client_close(client);
    return wrong;
}

/* Would catch: a child whose calls wait for a thread that only its parent has, or that takes the parent's
 * connection apart. */
START_TEST(a_child_after_fork_is_refused)
{
    struct mg_client *client = client_open();
    struct mg_agent *agent = NULL;
    struct mg_error error = {0};
    char id[MG_CLIENT_ORDER_ID_SIZE];
    int ended = -1;
    ck_assert_int_eq(mg_agent_open(&(struct mg_agent_options){.url = URL}, &agent, &error), MG_ERROR_NONE);
    ck_assert_int_eq(mg_agent_serve(agent, "bank", nothing, NULL, NULL, NULL, &error), MG_ERROR_NONE);
    pid_t child = fork();
    if (child == 0) {
        _exit(in_child(client, agent));
    }
    ck_assert_int_eq(waitpid(child, &ended, 0), child);
    ck_assert_msg(WIFEXITED(ended) && WEXITSTATUS(ended) == 0, "the child ended with %x", (unsigned)ended);
    ck_assert_int_eq(mg_client_submit(client, &(struct mg_client_order){.workflow = "hello"}, 0, id, &error),
                     MG_ERROR_TIMEOUT);
    mg_agent_close(agent);
    mg_client_close(client);
}
END_TEST

struct cancelled {
    struct mg_client *client;
    struct mg_agent *agent;
    int returned;     /* calls */
    int state_before; /* the thread's own at its end */
};

/* The cancellation is there before each call, and waits for the first cancellation point. In the end the
 * thread itself forbids it: the sanitizers cannot bear one. */
static void *cancelled_calls(void *arg)
{
    struct cancelled *of = arg;
    struct mg_client *other = NULL;
    struct mg_client_status *status = NULL;
    const struct mg_client_order order = {.workflow = "hello", .order_id = "cancelled"};
    char id[MG_CLIENT_ORDER_ID_SIZE];
    (void)pthread_cancel(pthread_self());
    of->returned += mg_client_open(&(struct mg_client_options){.url = URL}, &other, NULL) == MG_ERROR_NONE;
    of->returned += mg_client_submit(of->client, &order, 10, id, NULL) == MG_ERROR_TIMEOUT;
    of->returned += mg_client_next(of->client, id, 10, &status, NULL) == MG_ERROR_TIMEOUT;
    of->returned += mg_client_wait(of->client, id, 10, &status, NULL) == MG_ERROR_TIMEOUT;
    mg_client_forget(of->client, id);
    mg_client_close(other);
    of->returned += mg_agent_run(of->agent, NULL) == MG_ERROR_NONE;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &of->state_before);
    return NULL;
}

/* Would catch: a cancelled thread that keeps the client's lock, or its place among those that wait. */
START_TEST(a_cancellation_takes_effect_after_the_call)
{
    struct cancelled of = {.client = client_open()};
    struct mg_error error = {0};
    pthread_t thread;
    char id[MG_CLIENT_ORDER_ID_SIZE];
    ck_assert_int_eq(mg_agent_open(&(struct mg_agent_options){.url = URL}, &of.agent, &error), MG_ERROR_NONE);
    ck_assert_int_eq(mg_agent_serve(of.agent, "bank", nothing, NULL, NULL, NULL, &error), MG_ERROR_NONE);
    mg_agent_stop(of.agent);
    ck_assert_int_eq(pthread_create(&thread, NULL, cancelled_calls, &of), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_int_eq(of.returned, 5);
    ck_assert_int_eq(of.state_before, PTHREAD_CANCEL_ENABLE);
    ck_assert_int_eq(
        mg_client_submit(of.client, &(struct mg_client_order){.workflow = "hello"}, 10, id, &error),
        MG_ERROR_TIMEOUT);
    mg_agent_close(of.agent);
    mg_client_close(of.client);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("library_arguments");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, each_wrong_argument_is_refused_at_once);
    tcase_add_test(tests, an_absent_argument_is_refused);
    tcase_add_test(tests, a_wrong_signal_is_refused_at_once);
    tcase_add_test(tests, a_child_after_fork_is_refused);
    tcase_add_test(tests, a_cancellation_takes_effect_after_the_call);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
