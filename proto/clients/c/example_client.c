/* Posts an order of the workflow "hello" and prints its statuses. Usage: example_client AMQP-URL */
#include <makegood.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    struct mg_client_options options = {.url = argc > 1 ? argv[1] : NULL};
    struct mg_client_order order = {.workflow = "hello", .payload = "{\"name\": \"Ada\", \"amount\": 14.5}"};
    char id[MG_CLIENT_ORDER_ID_SIZE];
    struct mg_client_status *status;
    struct mg_client *client = NULL;
    struct mg_error error = {0};
    if (!mg_client_open(&options, &client, &error) && !mg_client_submit(client, &order, 30000, id, &error)) {
        for (bool is_end = false; !is_end && !mg_client_next(client, id, 60000, &status, &error);) {
            printf("%s %d %s\n", id, (int)status->seq, status->status);
            is_end = status->is_end;
            mg_client_status_free(status);
        }
    }
    mg_client_close(client);
    return error.code ? (fprintf(stderr, "%s\n", error.text), 1) : 0;
}
