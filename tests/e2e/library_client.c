/*
 * A client by libmakegood that does as its standard input commands, one line at a time, for test_library.py:
 *
 *     submit MS ORDER WORKFLOW PRIORITY PAYLOAD   ORDER "-": a new id
 *     next MS ORDER
 *     wait MS ORDER
 *     forget ORDER
 *     signal MS ORDER NAME ID PAYLOAD             ORDER "=KEY": by a key
 *
 * Each line is answered by one: the error's code, its text, or the order's id or the status message.
 * Usage: library_client URL [CLIENT [CA-FILE [CERT-FILE KEY-FILE]]]
 */
#include <makegood.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_SIZE 4096
#define WORDS_MAX 6

/* The last word is the rest of the line. */
static int line_split(char *line, char *words[WORDS_MAX])
{
    int count = 0;
    line[strcspn(line, "\n")] = '\0';
    for (char *at = line; at != NULL && count < WORDS_MAX; count++) {
        words[count] = at;
        at = count < WORDS_MAX - 1 ? strchr(at, ' ') : NULL;
        if (at != NULL) {
            *at++ = '\0';
        }
    }
    return count;
}

static void status_answer(enum mg_error_code code, struct mg_client_status *status,
                          const struct mg_error *error)
{
    if (code != MG_ERROR_NONE) {
        printf("%d %s\n", (int)code, error->text);
        return;
    }
    printf("0 %s %s\n", status->cause_code != NULL ? status->cause_code : "-", status->message);
    mg_client_status_free(status);
}

static void line_do(struct mg_client *client, char *words[WORDS_MAX], int count)
{
    struct mg_client_status *status = NULL;
    struct mg_error error = {0};
    char id[MG_CLIENT_ORDER_ID_SIZE] = "-";
    if (count == WORDS_MAX && strcmp(words[0], "submit") == 0) {
        const struct mg_client_order order = {.workflow = words[3],
                                              .payload = words[5],
                                              .order_id = strcmp(words[2], "-") == 0 ? NULL : words[2],
                                              .priority = words[4]};
        enum mg_error_code code = mg_client_submit(client, &order, strtol(words[1], NULL, 10), id, &error);
        printf("%d %s %s\n", (int)code, id, error.text);
    } else if (count == 3 && strcmp(words[0], "next") == 0) {
        enum mg_error_code code =
            mg_client_next(client, words[2], strtol(words[1], NULL, 10), &status, &error);
        status_answer(code, status, &error);
    } else if (count == 3 && strcmp(words[0], "wait") == 0) {
        enum mg_error_code code =
            mg_client_wait(client, words[2], strtol(words[1], NULL, 10), &status, &error);
        status_answer(code, status, &error);
    } else if (count == WORDS_MAX && strcmp(words[0], "signal") == 0) {
        char outcome[MG_CLIENT_OUTCOME_SIZE] = "-";
        bool has_key = words[2][0] == '=';
        const struct mg_client_signal signal = {.name = words[3],
                                                .order_id = has_key ? NULL : words[2],
                                                .key = has_key ? words[2] + 1 : NULL,
                                                .payload = words[5],
                                                .signal_id = words[4]};
        enum mg_error_code code =
            mg_client_send_signal(client, &signal, strtol(words[1], NULL, 10), outcome, &error);
        printf("%d %s %s\n", (int)code, outcome, error.text);
    } else if (count == 2 && strcmp(words[0], "forget") == 0) {
        mg_client_forget(client, words[1]);
        printf("0\n");
    } else {
        printf("-1 no such command: %s\n", words[0]);
    }
}

/* The process's own signals are as they were before the library. */
static bool are_signals_untouched(void)
{
    struct sigaction action;
    sigset_t mask;
    (void)sigaction(SIGPIPE, NULL, &action);
    (void)sigprocmask(SIG_BLOCK, NULL, &mask);
    return action.sa_handler == SIG_DFL && sigismember(&mask, SIGTERM) == 0 &&
           sigismember(&mask, SIGPIPE) == 0;
}

int main(int argc, char **argv)
{
    struct mg_client_options options = {.url = argc > 1 ? argv[1] : NULL,
                                        .client = argc > 2 && argv[2][0] != '\0' ? argv[2] : NULL,
                                        .ca_file = argc > 3 ? argv[3] : NULL,
                                        .cert_file = argc > 5 ? argv[4] : NULL,
                                        .key_file = argc > 5 ? argv[5] : NULL};
    struct mg_client *client;
    struct mg_error error;
    char line[LINE_SIZE];
    char *words[WORDS_MAX];
    (void)signal(SIGPIPE, SIG_DFL);
    if (mg_client_open(&options, &client, &error) != MG_ERROR_NONE) {
        printf("%d %s\n", (int)error.code, error.text);
        return 1;
    }
    while (fgets(line, sizeof(line), stdin) != NULL) {
        line_do(client, words, line_split(line, words));
        (void)fflush(stdout);
    }
    bool is_good = are_signals_untouched();
    mg_client_close(client);
    return is_good ? 0 : 2;
}
