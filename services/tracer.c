/* See tracer.h. */
#include "tracer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "io/exporter.h"
#include "io/tls/check.h"
#include "wire/http_url.h"
#include "wire/otlp.h"

/* Two names and the fields around them. */
#define HEAD_MAX_BYTES 4096
#define URL_MAX        2048
/* A healthy collector takes the waiting spans in a fraction of this. The end of a process must not take
 * longer. */
#define FLUSH_MS 2000
/* Where collectors take traces, if the URL names no path. */
#define DEFAULT_PATH "/v1/traces"

struct mg_tracer {
    struct mg_loop *loop;
    struct mg_exporter *exporter;
    bool is_flushed;
    struct mg_buf head, span;
    char url[URL_MAX + sizeof(DEFAULT_PATH)];
    char *ca_file;
};

static const char *url_fault(const char *text, enum mg_class class, const struct mg_http_url *url)
{
    if (class != MG_OK || !url->is_http || !url->has_host) {
        return "not a URL of a collector; write \"http://127.0.0.1:4318\" or \"https://host/v1/traces\"";
    }
    if (strpbrk(text, "?#") != NULL) {
        return "no query and no fragment in the URL";
    }
    if (strlen(text) > URL_MAX) {
        return "longer than 2048 bytes";
    }
    return url->has_user ? "no user or password in the URL: it would show in logs" : NULL;
}

enum mg_class mg_tracer_check(const struct mg_tracer_options *options, struct mg_err *err)
{
    const struct mg_tls_files files = {.ca_file = options->ca_file[0] != '\0' ? options->ca_file : NULL};
    char warning[MG_TLS_WARNING_SIZE];
    struct mg_http_url url = {.is_plaintext = false};
    enum mg_class class = mg_http_url_parse(options->url, &url);
    if (class == MG_TRANSIENT) {
        return mg_err_set(err, class, "--otlp-url: no memory");
    }
    const char *wrong = url_fault(options->url, class, &url);
    if (wrong != NULL) {
        return mg_err_set(err, MG_BAD_INPUT, "--otlp-url: %s", wrong);
    }
    if (url.is_plaintext && !options->is_plaintext_allowed) {
        return mg_err_set(
            err, MG_BAD_INPUT,
            "--otlp-url: %s would send spans in plaintext over a network; write https://, or give "
            "--allow-plaintext on a private network",
            options->url);
    }
    class = mg_tls_check(&files, warning, sizeof(warning), err);
    return class == MG_OK ? MG_OK : mg_err_prefix(err, "--otlp-ca-file");
}

static void url_complete(struct mg_tracer *tracer, const char *text)
{
    struct mg_http_url url = {.has_path = true};
    size_t len = strlen(text);
    bool is_bare = mg_http_url_parse(text, &url) == MG_OK && !url.has_path;
    while (is_bare && len > 0 && text[len - 1] == '/') {
        len--;
    }
    (void)snprintf(tracer->url, sizeof(tracer->url), "%.*s%s", (int)len, text, is_bare ? DEFAULT_PATH : "");
}

enum mg_class mg_tracer_create(struct mg_loop *loop, const struct mg_tracer_options *options,
                               const char *service, const char *instance, struct mg_metrics *metrics,
                               struct mg_tracer **ret_tracer, struct mg_err *err)
{
    struct mg_tracer *tracer = calloc(1, sizeof(*tracer));
    if (tracer == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not make the tracer: no memory");
    }
    tracer->loop = loop;
    tracer->ca_file = strdup(options->ca_file);
    url_complete(tracer, options->url);
    mg_buf_init(&tracer->head, HEAD_MAX_BYTES);
    mg_buf_init(&tracer->span, MG_OTLP_SPAN_MAX_BYTES);
    mg_otlp_write_head(service, instance, &tracer->head);
    enum mg_class class = MG_TRANSIENT;
    if (tracer->ca_file == NULL || tracer->head.failed) {
        (void)mg_err_set(err, class, "could not make the tracer: no memory");
    } else {
        const struct mg_exporter_options exporter = {.url = tracer->url,
                                                     .ca_file = tracer->ca_file,
                                                     .head = mg_buf_slice(&tracer->head),
                                                     .tail = mg_slice_of(MG_OTLP_TAIL),
                                                     .span_max_bytes = MG_OTLP_SPAN_MAX_BYTES,
                                                     .rejected = mg_otlp_read_rejected,
                                                     .metrics = metrics};
        class = mg_exporter_create(loop, &exporter, &tracer->exporter, err);
    }
    if (class != MG_OK) {
        mg_tracer_destroy(tracer);
        return class;
    }
    mg_log(MG_LOG_INFO, "spans are sent to a collector", MG_LOG_TEXT("url", tracer->url));
    *ret_tracer = tracer;
    return MG_OK;
}

void mg_tracer_take(void *arg, const struct mg_span *span)
{
    struct mg_tracer *tracer = arg;
    mg_buf_clear(&tracer->span);
    mg_otlp_write_span(span, &tracer->span);
    if (tracer->span.failed) {
        mg_exporter_drop(tracer->exporter);
    } else {
        mg_exporter_add(tracer->exporter, mg_buf_slice(&tracer->span));
    }
}

void mg_tracer_reload(struct mg_tracer *tracer)
{
    mg_exporter_reload(tracer->exporter);
}

static void on_flushed(void *arg)
{
    struct mg_tracer *tracer = arg;
    tracer->is_flushed = true;
    mg_loop_stop(tracer->loop);
}

void mg_tracer_flush(struct mg_tracer *tracer)
{
    mg_exporter_flush(tracer->exporter, FLUSH_MS, on_flushed, tracer);
    while (!tracer->is_flushed) {
        mg_loop_run(tracer->loop); /* an earlier caller may have stopped the loop twice */
    }
}

void mg_tracer_destroy(struct mg_tracer *tracer)
{
    if (tracer == NULL) {
        return;
    }
    mg_exporter_destroy(tracer->exporter);
    mg_buf_finish(&tracer->head);
    mg_buf_finish(&tracer->span);
    free(tracer->ca_file);
    free(tracer);
}
