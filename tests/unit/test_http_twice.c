/*
 * A proxy that sends its answer twice on a kept connection. The surplus answer belongs to no request; taken
 * for the answer to the next one, it records an order as done by another order's answer.
 */
#include <semaphore.h>

#include "http_fixture.h"
#include "suite.h"

#define OWN_ANSWER "HTTP/1.1 201 Created\r\nContent-Length: 3\r\n\r\nown"

static const char *const ANSWERS[] = {
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirst",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 204 No Content\r\nServer: x\r\n\r\n",
    "HTTP/1.1 422 No\r\nContent-Length: 2\r\n\r\nno",
};

/* When the surplus comes. */
enum way { TOGETHER, AFTERWARDS, IN_PIECES, WAY_COUNT };

static struct {
    enum way way;
    sem_t is_taken, is_sent; /* the first answer; the whole surplus */
} twice;

/* On the first connection the first request has its answer twice; every other request has its own, once. */
static void serve_twice(struct server *server, int fd, int number)
{
    size_t len = strlen(server->answer), early = twice.way == TOGETHER    ? len
                                                 : twice.way == IN_PIECES ? len / 2
                                                                          : 0;
    char both[512];
    if (number == 0) {
        if (!read_request(server, fd)) {
            return;
        }
        (void)snprintf(both, sizeof(both), "%s%s", server->answer, server->answer);
        (void)http_send(fd, both, len + early);
        sem_wait(&twice.is_taken);
        (void)http_send(fd, both + len + early, len - early);
        sem_post(&twice.is_sent);
    }
    while (read_request(server, fd)) {
        send_text(fd, OWN_ANSWER);
    }
}

/* Catches: the surplus taken for the answer to the next request, or that request sent once more. */
START_TEST(a_surplus_answer_is_never_that_of_the_next_request)
{
    struct server server;
    twice.way = (enum way)(_i % WAY_COUNT);
    ck_assert_int_eq(sem_init(&twice.is_taken, 0, 0), 0);
    ck_assert_int_eq(sem_init(&twice.is_sent, 0, 0), 0);
    server_start(&server, serve_twice, ANSWERS[_i / WAY_COUNT]);
    struct outcome first = post(&server, PATIENT_TIMEOUT_MS);
    ck_assert_int_eq(first.answer.sent, MG_SENT_YES);
    ck_assert_int_ne(first.answer.status, 201);
    sem_post(&twice.is_taken);
    sem_wait(&twice.is_sent);
    struct outcome second = post(&server, PATIENT_TIMEOUT_MS);
    ck_assert_int_eq(second.answer.sent, MG_SENT_YES);
    ck_assert_int_eq(second.answer.status, 201);
    ck_assert_str_eq(second.body, "own");
    ck_assert_int_eq(atomic_load(&server.requests), 2);
    mg_http_client_destroy(client);
    client = NULL;
    server_stop(&server);
    sem_destroy(&twice.is_taken);
    sem_destroy(&twice.is_sent);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("http_twice");
    TCase *cases = tcase_create("twice");
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_set_timeout(cases, 2.0 * GUARD_MS / 1000);
    tcase_add_loop_test(cases, a_surplus_answer_is_never_that_of_the_next_request, 0,
                        COUNT(ANSWERS) * WAY_COUNT);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
