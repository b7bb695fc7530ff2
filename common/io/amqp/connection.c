/*
 * Connecting to RabbitMQ: blocking, with a bound on every wait. It adds two things that the library lacks.
 * Without the client capabilities RabbitMQ sends no notice of a cancelled consumer or of an alarm. Without
 * time limits on the socket the library's sends may block for ever.
 *
 * The library refuses a received frame above the negotiated maximum, and with it the connection. RabbitMQ
 * adds headers to a message without regard to that maximum. So the library's own limit is raised after the
 * login; frames that are sent keep the negotiated one (frame.h, topology_walk.c).
 *
 * Before 0.14 the library decodes nested message headers recursively and without a depth limit. A received
 * frame of at most 384 KiB nests some 56,000 tables, at 110 bytes of stack each. That needs less than the
 * 8 MiB of the stacks that decode it (the main thread; connecting threads consume nothing). From 0.14 on it
 * refuses more than 100 levels, and with them the connection: such a message ends its consumer's connection
 * until the broker sets it aside by its limit of deliveries, perhaps with others that were delivered
 * alongside it.
 */
#include "io/amqp/connection.h"
#include "io/reach.h"

#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "base/host.h"
#include "io/amqp/amqp_tls.h"
#include "io/amqp/topology.h"

#define SEND_BUFFER_BYTES  (256 * 1024) /* fixed: bounds the bytes that a silent broker can take */
#define USER_TIMEOUT_MS    15000        /* unacknowledged bytes end the connection */
#define KEEPALIVE_IDLE_S   5
#define KEEPALIVE_PERIOD_S 2
#define KEEPALIVE_PROBES   3
#define REPLY_TEXT_MAX     200 /* longest part of the broker's text in an error of ours */
#define ABSENT_MAX         64  /* queues that one process checks: two for each of its services, and a few */

static enum mg_class amqp_login_as(amqp_connection_state_t connection,
                                   const struct amqp_connection_info *info, const char *name,
                                   struct mg_err *err);
static enum mg_class amqp_add_advice(enum mg_class class, int code, const struct amqp_connection_info *info,
                                     struct mg_err *err);
static enum mg_class amqp_take_larger_frames(amqp_connection_state_t connection, struct mg_err *err);
static void amqp_tune_socket(int fd);

static void amqp_free_copy(char *copy, const char *url)
{
    explicit_bzero(copy, strlen(url) + 1);
    free(copy);
}

/* A second line in the file, or a copied blank, would become part of the vhost's name. */
static bool amqp_has_blank(const char *url)
{
    for (; *url != '\0'; url++) {
        if ((unsigned char)*url <= ' ' || *url == 0x7F) {
            return true;
        }
    }
    return false;
}

/* amqp_parse_url cuts up its input text; `ret_copy` holds the parts. "amqp://host/" means the vhost "/", as
 * in most clients. */
static enum mg_class amqp_parse(const char *url, char **ret_copy, struct amqp_connection_info *ret_info,
                                struct mg_err *err)
{
    if (amqp_has_blank(url)) {
        return mg_err_set(
            err, MG_BAD_INPUT,
            "cannot read the AMQP URL: there is a blank or the end of a line in it; it is one line, "
            "in which a blank is written %%20");
    }
    char *copy = strdup(url);
    if (copy == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not read the AMQP URL: no memory");
    }
    if (amqp_parse_url(copy, ret_info) != AMQP_STATUS_OK || ret_info->host == NULL ||
        ret_info->host[0] == '\0') {
        amqp_free_copy(copy, url);
        return mg_err_set(
            err, MG_BAD_INPUT,
            "cannot read the AMQP URL: it should be amqps://user:password@host:port/vhost, or amqp:// without TLS");
    }
    static char root[] = "/";
    if (ret_info->vhost == NULL || ret_info->vhost[0] == '\0') {
        ret_info->vhost = root;
    }
    *ret_copy = copy;
    return MG_OK;
}

static enum mg_class amqp_check_plaintext(const struct mg_broker_address *address,
                                          const struct amqp_connection_info *info, struct mg_err *err)
{
    if (info->ssl || address->is_plaintext_allowed || mg_host_is_loopback(info->host)) {
        return MG_OK;
    }
    return mg_err_set(err, MG_BAD_INPUT,
                      "cannot use the AMQP URL: password and orders would go to %s:%d in plain text; use "
                      "amqps:// (and %s), or %s if the network is private",
                      info->host, info->port, mg_broker_names_of(address)->ca_file,
                      mg_broker_names_of(address)->plaintext);
}

enum mg_class mg_amqp_check_address(const struct mg_broker_address *address,
                                    char ret_host_port[MG_AMQP_ADDRESS_SIZE], struct mg_err *err)
{
    char *copy;
    struct amqp_connection_info info;
    enum mg_class class = amqp_parse(address->url, &copy, &info, err);
    if (class != MG_OK) {
        return class;
    }
    class = amqp_check_plaintext(address, &info, err);
    if (class == MG_OK && info.ssl) {
        class = mg_tls_check_files(address, err);
    }
    if (class == MG_OK) {
        (void)snprintf(ret_host_port, MG_AMQP_ADDRESS_SIZE, "%.255s:%d", info.host, info.port);
    }
    amqp_free_copy(copy, address->url);
    return class;
}

enum mg_class mg_broker_account(const struct mg_broker_address *address, struct mg_buf *ret_login,
                                struct mg_buf *ret_vhost, struct mg_err *err)
{
    char *copy;
    struct amqp_connection_info info;
    enum mg_class class = amqp_parse(address->url, &copy, &info, err);
    if (class == MG_OK) {
        mg_buf_printf(ret_login, "%s:%s", info.user, info.password);
        mg_buf_append_text(ret_vhost, info.vhost);
        amqp_free_copy(copy, address->url);
    }
    return class;
}

enum mg_class mg_broker_check_address(const struct mg_broker_address *address, struct mg_err *err)
{
    char host_port[MG_AMQP_ADDRESS_SIZE];
    return mg_amqp_check_address(address, host_port, err);
}

static enum mg_class amqp_make_socket(amqp_connection_state_t connection,
                                      const struct amqp_connection_info *info,
                                      const struct mg_broker_address *address, amqp_socket_t **ret_socket,
                                      struct mg_err *err)
{
    if (connection != NULL && info->ssl) {
        return mg_tls_socket_create(connection, address, info->host, ret_socket, err);
    }
    *ret_socket = connection == NULL ? NULL : amqp_tcp_socket_new(connection);
    return *ret_socket == NULL ? mg_err_set(err, MG_TRANSIENT, "no memory") : MG_OK;
}

enum mg_class mg_amqp_connect(const struct mg_broker_address *address, const char *name,
                              amqp_connection_state_t *ret_connection, bool *ret_is_absent,
                              struct mg_err *err)
{
    char *copy;
    struct amqp_connection_info info;
    enum mg_class class = amqp_parse(address->url, &copy, &info, err);
    if (class != MG_OK) {
        return class;
    }
    class = amqp_check_plaintext(address, &info, err);
    if (class != MG_OK) {
        amqp_free_copy(copy, address->url);
        return class;
    }

    struct timeval timeout = {.tv_sec = MG_AMQP_RPC_TIMEOUT_MS / 1000};
    amqp_connection_state_t connection = amqp_new_connection();
    amqp_socket_t *socket = NULL;
    class = amqp_make_socket(connection, &info, address, &socket, err);
    if (class != MG_OK) {
        mg_err_prefix(err, "could not connect to %s:%d", info.host, info.port);
        goto out;
    }
    (void)amqp_set_handshake_timeout(connection, &timeout); /* cannot fail: the timeout is valid */
    (void)amqp_set_rpc_timeout(connection, &timeout);
    int status = amqp_socket_open_noblock(socket, info.host, info.port, &timeout);
    if (ret_is_absent != NULL) {
        *ret_is_absent =
            status == AMQP_STATUS_SOCKET_ERROR || status == AMQP_STATUS_HOSTNAME_RESOLUTION_FAILED;
    }
    if (status != AMQP_STATUS_OK) {
        class = info.ssl ? mg_tls_failure(connection, status, true, err) : MG_OK;
        if (class == MG_OK && status == AMQP_STATUS_SOCKET_ERROR) { /* the library reports no more detail */
            class = mg_err_set(err, MG_TRANSIENT,
                               "nothing takes connections there, or the network does not lead there");
        }
        if (class == MG_OK) {
            class = mg_err_set(err, MG_TRANSIENT, "%s", amqp_error_string2(status));
        }
        mg_err_prefix(err, "could not connect to %s:%d%s", info.host, info.port, info.ssl ? " with TLS" : "");
        goto out;
    }
    amqp_tune_socket(amqp_get_sockfd(connection));
    class = amqp_login_as(connection, &info, name, err);
    if (class == MG_OK && amqp_channel_open(connection, MG_AMQP_CHANNEL) == NULL) {
        class = mg_amqp_result(amqp_get_rpc_reply(connection), NULL, err);
    }
    if (class == MG_OK) {
        class = amqp_take_larger_frames(connection, err);
    }
    if (class != MG_OK) {
        mg_err_prefix(err, "could not log in at %s:%d as %s on vhost %s", info.host, info.port, info.user,
                      info.vhost);
        goto out;
    }
    *ret_connection = connection;
    connection = NULL;
out:
    if (class != MG_OK) {
        const struct mg_err why = *err;
        (void)mg_err_set(err, class, "%s; " MG_REACH_AMQP_URL, why.text);
    }
    mg_amqp_destroy(connection);
    amqp_free_copy(copy, address->url);
    return class;
}

static amqp_table_entry_t amqp_entry_true(const char *key)
{
    amqp_table_entry_t entry = {.key = amqp_cstring_bytes(key)};
    entry.value.kind = AMQP_FIELD_KIND_BOOLEAN;
    entry.value.value.boolean = 1;
    return entry;
}

static amqp_table_entry_t amqp_entry_text(const char *key, const char *text)
{
    amqp_table_entry_t entry = {.key = amqp_cstring_bytes(key)};
    entry.value.kind = AMQP_FIELD_KIND_UTF8;
    entry.value.value.bytes = amqp_cstring_bytes(text);
    return entry;
}

static enum mg_class amqp_login_as(amqp_connection_state_t connection,
                                   const struct amqp_connection_info *info, const char *name,
                                   struct mg_err *err)
{
    amqp_table_entry_t capabilities[] = {
        amqp_entry_true("consumer_cancel_notify"),       amqp_entry_true("connection.blocked"),
        amqp_entry_true("publisher_confirms"),           amqp_entry_true("basic.nack"),
        amqp_entry_true("authentication_failure_close"),
    };
    amqp_table_entry_t properties[] = {
        amqp_entry_text("product", "makegood"),
        amqp_entry_text("version", MG_VERSION),
        amqp_entry_text("connection_name", name),
        {.key = amqp_cstring_bytes("capabilities")},
    };
    properties[3].value.kind = AMQP_FIELD_KIND_TABLE;
    properties[3].value.value.table.num_entries = (int)(sizeof(capabilities) / sizeof(capabilities[0]));
    properties[3].value.value.table.entries = capabilities;
    const amqp_table_t table = {.num_entries = (int)(sizeof(properties) / sizeof(properties[0])),
                                .entries = properties};

    amqp_rpc_reply_t reply = amqp_login_with_properties(
        connection, info->vhost, 2 /* channels: ours and one spare */, MG_AMQP_FRAME_MAX, MG_AMQP_HEARTBEAT_S,
        &table, AMQP_SASL_METHOD_PLAIN, info->user, info->password);
    int code;
    enum mg_class class = mg_amqp_result(reply, &code, err);
    if (class == MG_OK) {
        return MG_OK;
    }
    if (reply.reply_type == AMQP_RESPONSE_LIBRARY_EXCEPTION && info->ssl) {
        enum mg_class known = mg_tls_failure(connection, reply.library_error, true, err);
        if (known != MG_OK) {
            class = known;
        }
    }
    return amqp_add_advice(class, code, info, err);
}

/* For a failed login the broker does not reveal whether the user or the password was wrong. */
static enum mg_class amqp_add_advice(enum mg_class class, int code, const struct amqp_connection_info *info,
                                     struct mg_err *err)
{
    const struct mg_err why = *err;
    if (code == AMQP_ACCESS_REFUSED) {
        return mg_err_set(err, class, "%s; user or password is wrong, or this user may not log in from here",
                          why.text);
    }
    if (code == AMQP_NOT_ALLOWED) {
        return mg_err_set(
            err, class,
            "%s; create it, or give the user rights there: rabbitmqctl set_permissions -p %s %s …", why.text,
            info->vhost, info->user);
    }
    if (code == 0 && !info->ssl) {
        return mg_err_set(err, class, "%s; if this is its port for TLS, use amqps://", why.text);
    }
    return class;
}

/* After the channel is open: the library's memory for it then comes in pages of the negotiated size. */
static enum mg_class amqp_take_larger_frames(amqp_connection_state_t connection, struct mg_err *err)
{
    int status = amqp_tune_connection(connection, amqp_get_channel_max(connection), MG_AMQP_FRAME_TAKEN_MAX,
                                      amqp_get_heartbeat(connection));
    return status == AMQP_STATUS_OK ? MG_OK : mg_err_set(err, MG_TRANSIENT, "%s", amqp_error_string2(status));
}

/* If the kernel refuses an option, its default stays; a dead peer is then only detected later. */
static void amqp_tune_socket(int fd)
{
    const struct {
        int level, option, value;
    } options[] = {
        {SOL_SOCKET, SO_SNDBUF, SEND_BUFFER_BYTES},       {SOL_SOCKET, SO_KEEPALIVE, 1},
        {IPPROTO_TCP, TCP_USER_TIMEOUT, USER_TIMEOUT_MS}, {IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE_S},
        {IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_PERIOD_S}, {IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_PROBES},
    };
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        (void)setsockopt(fd, options[i].level, options[i].option, &options[i].value,
                         sizeof(options[i].value));
    }
}

void mg_amqp_destroy(amqp_connection_state_t connection)
{
    if (connection != NULL) {
        (void)amqp_destroy_connection(connection); /* closes the socket; a failure needs no action */
    }
}

enum mg_class mg_amqp_reopen_channel(amqp_connection_state_t connection, struct mg_err *err)
{
    amqp_channel_close_ok_t ok = {0};
    int status = amqp_send_method(connection, MG_AMQP_CHANNEL, AMQP_CHANNEL_CLOSE_OK_METHOD, &ok);
    if (status != AMQP_STATUS_OK) {
        return mg_err_set(err, MG_TRANSIENT, "could not close the channel: %s", amqp_error_string2(status));
    }
    if (amqp_channel_open(connection, MG_AMQP_CHANNEL) == NULL) {
        return mg_amqp_result(amqp_get_rpc_reply(connection), NULL, err);
    }
    return MG_OK;
}

enum mg_class mg_amqp_check_queues(amqp_connection_state_t connection, const char *const *queues, int count,
                                   struct mg_err *err)
{
    struct mg_err problem;
    char missing[MG_ERR_TEXT_MAX / 2] = "";
    size_t used = 0;
    const char *absent[ABSENT_MAX];
    int absent_count = 0;
    for (int i = 0; i < count; i++) {
        if (amqp_queue_declare(connection, MG_AMQP_CHANNEL, amqp_cstring_bytes(queues[i]), 1, 0, 0, 0,
                               amqp_empty_table) != NULL) {
            amqp_maybe_release_buffers_on_channel(connection, MG_AMQP_CHANNEL);
            continue;
        }
        int code;
        enum mg_class class = mg_amqp_result(amqp_get_rpc_reply(connection), &code, &problem);
        if (class != MG_PERMANENT || code == 0) {
            *err = problem;
            return mg_err_prefix(err, "could not look at queue %s", queues[i]);
        }
        if (code != AMQP_ACCESS_REFUSED) {
            int n = snprintf(missing + used, sizeof(missing) - used, "%s%s%s", used > 0 ? ", " : "",
                             queues[i], code == AMQP_NOT_FOUND ? "" : " (not permitted)");
            used = n < 0 || used + (size_t)n >= sizeof(missing) ? sizeof(missing) - 1 : used + (size_t)n;
        }
        if (code == AMQP_NOT_FOUND && absent_count < ABSENT_MAX) {
            absent[absent_count++] = queues[i];
        }
        class = mg_amqp_reopen_channel(connection, err);
        if (class != MG_OK) {
            return class;
        }
    }
    if (used == 0) {
        return MG_OK;
    }
    char command[MG_APPLY_COMMAND_SIZE];
    mg_topology_apply_command(absent, absent_count, command);
    return mg_err_set(err, MG_PERMANENT, "missing in the broker: %s; run: %s", missing, command);
}

static const char *amqp_right(amqp_method_number_t refused)
{
    switch (refused) {
    case 0:
        return "";
    case AMQP_BASIC_PUBLISH_METHOD:
        return "; give the user the right to write there (rabbitmqctl set_permissions)";
    case AMQP_BASIC_CONSUME_METHOD:
    case AMQP_BASIC_GET_METHOD:
    case AMQP_QUEUE_PURGE_METHOD:
        return "; give the user the right to read there (rabbitmqctl set_permissions)";
    default: /* methods that declare, bind and delete */
        return "; give the user the right to configure it (rabbitmqctl set_permissions)";
    }
}

void mg_amqp_advice(int code, amqp_method_number_t refused, amqp_bytes_t text,
                    char ret_advice[MG_ADVICE_SIZE])
{
    char command[MG_APPLY_COMMAND_SIZE];
    (void)snprintf(ret_advice, MG_ADVICE_SIZE, "%s", code == AMQP_ACCESS_REFUSED ? amqp_right(refused) : "");
    if (code == AMQP_NOT_FOUND) {
        mg_topology_apply_command_for(mg_amqp_slice(text), command);
        (void)snprintf(ret_advice, MG_ADVICE_SIZE, "; run: %s", command);
    }
}

enum mg_class mg_amqp_result(amqp_rpc_reply_t reply, int *ret_code, struct mg_err *err)
{
    if (ret_code != NULL) {
        *ret_code = 0;
    }
    if (reply.reply_type == AMQP_RESPONSE_NORMAL) {
        return MG_OK;
    }
    if (reply.reply_type == AMQP_RESPONSE_SERVER_EXCEPTION) {
        int code = 0;
        amqp_method_number_t refused = 0;
        amqp_bytes_t text = amqp_empty_bytes;
        if (reply.reply.id == AMQP_CHANNEL_CLOSE_METHOD) {
            const amqp_channel_close_t *method = reply.reply.decoded;
            refused = (amqp_method_number_t)method->class_id << 16 | method->method_id;
            code = method->reply_code;
            text = method->reply_text;
        } else if (reply.reply.id == AMQP_CONNECTION_CLOSE_METHOD) {
            const amqp_connection_close_t *method = reply.reply.decoded;
            code = method->reply_code;
            text = method->reply_text;
        }
        if (ret_code != NULL) {
            *ret_code = code;
        }
        /* 320: closed by an operator or a shutdown; 541: internal error. Both are temporary. */
        bool is_passing = code == AMQP_CONNECTION_FORCED || code == AMQP_INTERNAL_ERROR;
        char advice[MG_ADVICE_SIZE];
        mg_amqp_advice(code, refused, text, advice);
        return mg_err_set(err, is_passing ? MG_TRANSIENT : MG_PERMANENT, "the broker reports: %.*s%s",
                          (int)(text.len < REPLY_TEXT_MAX ? text.len : REPLY_TEXT_MAX),
                          (const char *)text.bytes, advice);
    }
    if (reply.reply_type == AMQP_RESPONSE_NONE) {
        return mg_err_set(err, MG_TRANSIENT, "the broker did not answer");
    }
    return mg_err_set(err, MG_TRANSIENT, "%s", amqp_error_string2(reply.library_error));
}

const char *mg_amqp_failure_text(amqp_connection_state_t connection, int status, struct mg_err *scratch)
{
    if (status == AMQP_STATUS_SSL_ERROR && mg_tls_failure(connection, status, false, scratch) != MG_OK) {
        return scratch->text;
    }
    return amqp_error_string2(status);
}

amqp_bytes_t mg_amqp_bytes(struct mg_slice slice)
{
    union { /* the library's bytes are not const, though it only reads bytes to send */
        const char *in;
        void *out;
    } data = {.in = slice.data};
    return (amqp_bytes_t){.len = slice.len, .bytes = data.out};
}

struct mg_slice mg_amqp_slice(amqp_bytes_t bytes)
{
    return (struct mg_slice){.data = bytes.bytes == NULL ? "" : bytes.bytes, .len = bytes.len};
}

const amqp_field_value_t *mg_amqp_table_find(const amqp_table_t *table, const char *name)
{
    for (int i = 0; i < table->num_entries; i++) {
        if (mg_slice_is(mg_amqp_slice(table->entries[i].key), name)) {
            return &table->entries[i].value;
        }
    }
    return NULL;
}

int64_t mg_amqp_value_number(const amqp_field_value_t *value)
{
    switch (value->kind) {
    case AMQP_FIELD_KIND_BOOLEAN:
        return value->value.boolean != 0;
    case AMQP_FIELD_KIND_I8:
        return value->value.i8;
    case AMQP_FIELD_KIND_U8:
        return value->value.u8;
    case AMQP_FIELD_KIND_I16:
        return value->value.i16;
    case AMQP_FIELD_KIND_U16:
        return value->value.u16;
    case AMQP_FIELD_KIND_I32:
        return value->value.i32;
    case AMQP_FIELD_KIND_U32:
        return value->value.u32;
    case AMQP_FIELD_KIND_I64:
        return value->value.i64;
    case AMQP_FIELD_KIND_U64:
    case AMQP_FIELD_KIND_TIMESTAMP:
        return value->value.u64 > INT64_MAX ? INT64_MAX : (int64_t)value->value.u64;
    default: /* kinds are bytes from the wire, not values of an enum */
        return 0;
    }
}

struct mg_slice mg_amqp_value_text(const amqp_field_value_t *value)
{
    if (value->kind != AMQP_FIELD_KIND_UTF8 && value->kind != AMQP_FIELD_KIND_BYTES) {
        return (struct mg_slice){0};
    }
    return mg_amqp_slice(value->value.bytes);
}

int64_t mg_amqp_header_number(const amqp_basic_properties_t *properties, const char *name)
{
    if ((properties->_flags & AMQP_BASIC_HEADERS_FLAG) == 0) {
        return 0;
    }
    const amqp_field_value_t *value = mg_amqp_table_find(&properties->headers, name);
    return value == NULL ? 0 : mg_amqp_value_number(value);
}

struct mg_slice mg_amqp_header_text(const amqp_basic_properties_t *properties, const char *name)
{
    if ((properties->_flags & AMQP_BASIC_HEADERS_FLAG) == 0) {
        return (struct mg_slice){0};
    }
    const amqp_field_value_t *value = mg_amqp_table_find(&properties->headers, name);
    return value == NULL ? (struct mg_slice){0} : mg_amqp_value_text(value);
}
