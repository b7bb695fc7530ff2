/*
 * Dead letters and rejected orders: bytes that strangers put into a message pass through the broker to the
 * operator's tool, which walks from one letter to the next. The connection is one half of a socket pair. All
 * bytes of the broker are written in advance, so nothing waits and every byte is read.
 *
 * The input: a byte that picks the queue and whether the broker greets; then pieces (frames.h). The bytes
 * after the first also pick the outcome of each letter.
 */
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "frames.h"
#include "io/amqp/topology.h"

#define LETTERS_MAX 8
#define INPUT_MAX   (FRAMES_STREAM_MAX / 4) /* each piece grows by a frame's head and end */

struct letter {
    enum mg_dead_verb verb;
    struct mg_buf queue, body; /* of the letter on display */
    bool is_published, is_acked;
};

struct run {
    struct mg_slice choices; /* the outcome of each letter, byte by byte */
    struct letter letters[LETTERS_MAX];
    int count;    /* letters shown */
    int gets;     /* gets received */
    bool has_ack; /* among the broker's bytes */
};

/* ---- librabbitmq's socket ---- */

static int fds[2]; /* the client's end, the broker's */

int __wrap_amqp_socket_open_noblock(amqp_socket_t *socket, const char *host, int port,
                                    const struct timeval *timeout);

int __wrap_amqp_socket_open_noblock(amqp_socket_t *socket, const char *host, int port,
                                    const struct timeval *timeout)
{
    (void)host, (void)port, (void)timeout;
    amqp_tcp_socket_set_sockfd(socket, fds[0]);
    return AMQP_STATUS_OK;
}

static void say(struct run *run, struct mg_slice input, bool has_handshake)
{
    struct mg_buf stream;
    mg_buf_init(&stream, FRAMES_STREAM_MAX);
    if (has_handshake) {
        frames_put_handshake(&stream, 0, true);
    }
    frames_put_input(&stream, input);
    FUZZ_REQUIRE(!stream.failed);
    frames_send(fds[1], &stream);
    FUZZ_REQUIRE(shutdown(fds[1], SHUT_WR) == 0);
    run->has_ack = frames_have_ack(&stream);
    mg_buf_finish(&stream);
}

/* ---- the operator ---- */

/* Reads every byte, so that a sanitizer detects freed or short memory. */
static void keep(struct mg_buf *buf, struct mg_slice text)
{
    mg_buf_init(buf, FUZZ_TEXT_MAX);
    if (text.len > 0) {
        mg_buf_append_slice(buf, text);
    }
    FUZZ_REQUIRE(!buf->failed && buf->len == text.len);
}

static void letter_is_whole(const struct mg_dead_letter *letter)
{
    const struct mg_slice slices[] = {letter->message_id, letter->type, letter->reason,
                                      letter->correlation_id};
    for (size_t i = 0; i < sizeof(slices) / sizeof(slices[0]); i++) {
        struct mg_buf copy;
        keep(&copy, slices[i]);
        mg_buf_finish(&copy);
    }
    char died_at[MG_TIME_TEXT_SIZE];
    mg_time_format(letter->died_at_ms, died_at);
    FUZZ_REQUIRE(strlen(died_at) < sizeof(died_at));
}

static enum mg_dead_verb on_letter(void *arg, const struct mg_dead_letter *shown)
{
    static const enum mg_dead_verb VERBS[] = {MG_DEAD_REQUEUE, MG_DEAD_LIST, MG_DEAD_DROP};
    struct run *run = arg;
    FUZZ_REQUIRE(run->count < LETTERS_MAX);
    struct letter *letter = &run->letters[run->count++];
    letter_is_whole(shown);
    keep(&letter->queue, shown->queue);
    keep(&letter->body, shown->body);
    int choice = 0;
    if (run->choices.len > 0) {
        choice = (unsigned char)run->choices.data[0];
        run->choices.data++;
        run->choices.len--;
    }
    letter->verb = VERBS[choice % 3];
    return letter->verb;
}

/* ---- the tool's bytes ---- */

/* The routing key of a publish: after a reserved short and the exchange, which is the default one. */
static struct mg_slice routing_key(struct mg_slice arguments)
{
    FUZZ_REQUIRE(arguments.len >= 4 && arguments.data[2] == 0);
    size_t len = (unsigned char)arguments.data[3];
    FUZZ_REQUIRE(arguments.len == 4 + len + 1);
    return (struct mg_slice){arguments.data + 4, len};
}

/* A letter leaves its queue only to be dropped, or after its copy is safe in the queue that it came from. */
static void hear_one(struct run *run, const struct frames_said *said)
{
    struct letter *last = run->gets > 0 && run->gets <= run->count ? &run->letters[run->gets - 1] : NULL;
    switch (said->method) {
    case AMQP_BASIC_GET_METHOD:
        FUZZ_REQUIRE(last == NULL || last->verb == MG_DEAD_LIST || last->is_acked);
        FUZZ_REQUIRE(++run->gets <= LETTERS_MAX);
        break;
    case AMQP_BASIC_PUBLISH_METHOD:
        FUZZ_REQUIRE(last != NULL && last->verb == MG_DEAD_REQUEUE && !last->is_published);
        FUZZ_REQUIRE(mg_slice_equal(routing_key(said->arguments), mg_buf_slice(&last->queue)));
        FUZZ_REQUIRE(mg_slice_equal(said->body, mg_buf_slice(&last->body)));
        last->is_published = true;
        break;
    case AMQP_BASIC_ACK_METHOD:
        FUZZ_REQUIRE(last != NULL && last->verb != MG_DEAD_LIST && !last->is_acked);
        FUZZ_REQUIRE(last->verb == MG_DEAD_DROP || (last->is_published && run->has_ack));
        FUZZ_REQUIRE(said->arguments.len == 9 && said->arguments.data[8] == 0); /* this letter alone */
        last->is_acked = true;
        break;
    case AMQP_BASIC_NACK_METHOD:
        FUZZ_REQUIRE(said->arguments.len == 9 && said->arguments.data[8] == 3); /* several, requeued */
        break;
    default: /* methods of the handshake and of the close */
        break;
    }
}

static void hear(struct run *run, bool is_done)
{
    struct frames_reader reader;
    struct frames_said said;
    frames_reader_init(&reader);
    (void)frames_receive(&reader, fds[1]); /* all bytes: the tool has ended */
    while (frames_next(&reader, &said)) {
        hear_one(run, &said);
    }
    FUZZ_REQUIRE(!is_done || reader.at == reader.bytes.len);
    frames_reader_finish(&reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct mg_broker_address address = {.url = "amqp://guest:guest@127.0.0.1:5672/"};
    uint8_t choice = size > 0 ? data[0] : 0;
    struct mg_slice input = {(const char *)data + (size > 0), size - (size > 0)};
    if (input.len > INPUT_MAX) {
        return 0;
    }
    struct run run = {.choices = input};
    struct mg_err err;
    int count = 0;
    FUZZ_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
    say(&run, input, (choice & 1) == 0);
    const char *queue = (choice & 2) == 0 ? MG_QUEUE_DEAD : MG_QUEUE_REJECTED;
    enum mg_class class = mg_topology_walk(&address, queue, LETTERS_MAX, on_letter, &run, &count, &err);
    hear(&run, class == MG_OK);
    if (class == MG_OK) {
        FUZZ_REQUIRE(count == run.count);
        for (int i = 0; i < count; i++) {
            FUZZ_REQUIRE(run.letters[i].is_acked == (run.letters[i].verb != MG_DEAD_LIST));
        }
    } else {
        FUZZ_REQUIRE(err.class == class && err.text[0] != '\0');
    }
    for (int i = 0; i < run.count; i++) {
        mg_buf_finish(&run.letters[i].queue);
        mg_buf_finish(&run.letters[i].body);
    }
    close(fds[1]);
    return 0;
}
