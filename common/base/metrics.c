/*
 * Counters, gauges and histograms of one process. All series are in one allocation of fixed size: their
 * addresses never change, so a caller keeps its pointer. A label that grows without bound ends in one
 * overflow counter, not in memory. For the loop's thread only.
 */
#include "base/metrics.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Room for all names, labels and helps of MG_METRICS_MAX series at 512 bytes each. */
#define TEXT_MAX (MG_METRICS_MAX * 512)

struct bucket {
    double bound;
    const char *text;
};
/* From a hop on the same machine to the longest interactive call; three steps a decade. */
static const struct bucket SECONDS[] = {
    {0.001, "0.001"}, {0.0025, "0.0025"}, {0.005, "0.005"}, {0.01, "0.01"}, {0.025, "0.025"},
    {0.05, "0.05"},   {0.1, "0.1"},       {0.25, "0.25"},   {0.5, "0.5"},   {1, "1"},
    {2.5, "2.5"},     {5, "5"},           {10, "10"},       {30, "30"},     {60, "60"}};
#define SECONDS_COUNT (sizeof(SECONDS) / sizeof(SECONDS[0]))
_Static_assert(SECONDS_COUNT == MG_METRIC_BUCKETS, "the same");
/* Up to the largest batch. */
static const struct bucket SIZES[] = {{1, "1"},     {2, "2"},     {4, "4"},      {8, "8"},
                                      {16, "16"},   {32, "32"},   {64, "64"},    {128, "128"},
                                      {256, "256"}, {512, "512"}, {1024, "1024"}};
#define SIZES_COUNT (sizeof(SIZES) / sizeof(SIZES[0]))
_Static_assert(SIZES_COUNT <= SECONDS_COUNT, "a series has room for its buckets");

struct mg_metric {
    enum mg_metric_type type;
    bool is_overflow;
    const char *name, *labels, *help; /* texts of the arena; labels "" if none */
    struct mg_metric *next_of_name;   /* the text format requires all series of one name side by side */
    bool is_first_of_name;
    bool is_silent;                  /* gauge: not shown */
    double value;                    /* counter and gauge */
    uint64_t buckets[SECONDS_COUNT]; /* histogram: observations in this bucket alone */
    uint64_t count;
    double sum;
};

struct mg_metrics {
    struct mg_arena *texts;
    int count;
    void (*on_render)(void *arg);
    void *on_render_arg;
    struct mg_metric overflow;
    struct mg_metric series[MG_METRICS_MAX];
};

struct mg_metrics *mg_metrics_create(void)
{
    struct mg_metrics *metrics = calloc(1, sizeof(*metrics));
    if (!metrics) {
        return NULL;
    }
    metrics->texts = mg_arena_create(TEXT_MAX);
    if (!metrics->texts) {
        free(metrics);
        return NULL;
    }
    metrics->overflow = (struct mg_metric){
        .type = MG_COUNTER,
        .is_overflow = true,
        .is_first_of_name = true,
        .name = "makegood_metrics_overflow_total",
        .labels = "",
        .help = "updates that found no room for a series of their own",
    };
    return metrics;
}

void mg_metrics_destroy(struct mg_metrics *metrics)
{
    if (!metrics) {
        return;
    }
    mg_arena_destroy(metrics->texts);
    free(metrics);
}

/* Adds a series after the last one of its name; returns the overflow series if there is no room. */
static struct mg_metric *add_series(struct mg_metrics *metrics, enum mg_metric_type type, const char *name,
                                    const char *labels, const char *help, struct mg_metric *last_of_name)
{
    if (metrics->count == MG_METRICS_MAX) {
        return &metrics->overflow;
    }
    const char *own_name = mg_arena_text(metrics->texts, mg_slice_of(name));
    const char *own_labels = mg_arena_text(metrics->texts, mg_slice_of(labels));
    const char *own_help = mg_arena_text(metrics->texts, mg_slice_of(help));
    if (!own_name || !own_labels || !own_help) {
        return &metrics->overflow;
    }

    struct mg_metric *metric = &metrics->series[metrics->count++];
    metric->type = type;
    metric->name = own_name;
    metric->labels = own_labels;
    metric->help = own_help;
    metric->is_first_of_name = last_of_name == NULL;
    if (last_of_name) {
        last_of_name->next_of_name = metric;
    }
    return metric;
}

struct mg_metric *mg_metrics_series(struct mg_metrics *metrics, enum mg_metric_type type, const char *name,
                                    const char *labels, const char *help)
{
    struct mg_metric *last_of_name = NULL;

    if (!labels) {
        labels = "";
    }
    for (int i = 0; i < metrics->count; i++) {
        struct mg_metric *metric = &metrics->series[i];
        if (strcmp(metric->name, name) != 0) {
            continue;
        }
        assert(metric->type == type); /* one name has one type */
        if (strcmp(metric->labels, labels) == 0) {
            return metric;
        }
        last_of_name = metric;
    }
    return add_series(metrics, type, name, labels, help ? help : "", last_of_name);
}

void mg_metric_add(struct mg_metric *metric, double amount)
{
    if (metric->is_overflow) {
        metric->value += 1;
        return;
    }
    assert(metric->type == MG_GAUGE || (metric->type == MG_COUNTER && amount >= 0));
    metric->is_silent = false;
    metric->value += amount;
}

void mg_metric_set(struct mg_metric *metric, double value)
{
    if (metric->is_overflow) {
        metric->value += 1;
        return;
    }
    assert(metric->type == MG_GAUGE);
    metric->is_silent = false;
    metric->value = value;
}

void mg_metric_silence(struct mg_metric *metric)
{
    assert(metric->is_overflow || metric->type == MG_GAUGE);
    metric->is_silent = !metric->is_overflow;
}

static bool is_histogram(const struct mg_metric *metric)
{
    return metric->type == MG_HISTOGRAM || metric->type == MG_HISTOGRAM_SIZES;
}

static const struct bucket *buckets_of(const struct mg_metric *metric, size_t *ret_count)
{
    *ret_count = metric->type == MG_HISTOGRAM ? SECONDS_COUNT : SIZES_COUNT;
    return metric->type == MG_HISTOGRAM ? SECONDS : SIZES;
}

void mg_metric_observe(struct mg_metric *metric, double value)
{
    if (metric->is_overflow) {
        metric->value += 1;
        return;
    }
    assert(is_histogram(metric));
    if (isnan(value)) {
        return; /* one NaN would make the sum useless */
    }
    size_t count;
    const struct bucket *buckets = buckets_of(metric, &count);
    for (size_t i = 0; i < count; i++) {
        if (value <= buckets[i].bound) {
            metric->buckets[i]++;
            break;
        }
    }
    metric->count++;
    metric->sum += value;
}

double mg_metric_value(const struct mg_metric *metric)
{
    return is_histogram(metric) ? (double)metric->count : metric->value;
}

bool mg_metric_buckets(const struct mg_metric *histogram, uint64_t ret_counts[MG_METRIC_BUCKETS])
{
    assert(histogram->is_overflow || histogram->type == MG_HISTOGRAM);
    memcpy(ret_counts, histogram->buckets, sizeof(histogram->buckets));
    return !histogram->is_overflow;
}

double mg_metrics_sum(const struct mg_metrics *metrics, const char *name, const char *label)
{
    double sum = 0;
    for (int i = 0; i < metrics->count; i++) {
        const struct mg_metric *metric = &metrics->series[i];
        if (strcmp(metric->name, name) == 0 && strstr(metric->labels, label) != NULL) {
            sum += metric->value;
        }
    }
    return sum;
}

static void append_number(struct mg_buf *buf, double value)
{
    if (isnan(value)) {
        mg_buf_append_text(buf, "NaN");
    } else if (isinf(value)) {
        mg_buf_append_text(buf, value > 0 ? "+Inf" : "-Inf");
    } else if (fabs(value) < 1e15 && value == trunc(value)) {
        mg_buf_printf(buf, "%.0f", value); /* counts stay readable */
    } else {
        mg_buf_printf(buf, "%.15g", value);
    }
}

/* HELP texts escape the backslash and the line feed, and nothing else. */
static void append_help(struct mg_buf *buf, const char *help)
{
    for (; *help; help++) {
        if (*help == '\\') {
            mg_buf_append_text(buf, "\\\\");
        } else if (*help == '\n') {
            mg_buf_append_text(buf, "\\n");
        } else {
            mg_buf_append(buf, help, 1);
        }
    }
}

static const char *type_name(enum mg_metric_type type)
{
    switch (type) {
    case MG_COUNTER:
        return "counter";
    case MG_GAUGE:
        return "gauge";
    case MG_HISTOGRAM:
    case MG_HISTOGRAM_SIZES:
        return "histogram";
    }
    return "untyped";
}

static void render_histogram(const struct mg_metric *metric, struct mg_buf *buf)
{
    const char *comma = metric->labels[0] ? "," : "";
    const char *open = metric->labels[0] ? "{" : "", *close = metric->labels[0] ? "}" : "";
    uint64_t cumulative = 0;
    size_t count;
    const struct bucket *buckets = buckets_of(metric, &count);

    for (size_t i = 0; i < count; i++) {
        cumulative += metric->buckets[i];
        mg_buf_printf(buf, "%s_bucket{%s%sle=\"%s\"} %" PRIu64 "\n", metric->name, metric->labels, comma,
                      buckets[i].text, cumulative);
    }
    mg_buf_printf(buf, "%s_bucket{%s%sle=\"+Inf\"} %" PRIu64 "\n", metric->name, metric->labels, comma,
                  metric->count);
    mg_buf_printf(buf, "%s_sum%s%s%s ", metric->name, open, metric->labels, close);
    append_number(buf, metric->sum);
    mg_buf_printf(buf, "\n%s_count%s%s%s %" PRIu64 "\n", metric->name, open, metric->labels, close,
                  metric->count);
}

/* All series of the name that `first` begins. */
static void render_name(const struct mg_metric *first, struct mg_buf *buf)
{
    mg_buf_printf(buf, "# HELP %s ", first->name);
    append_help(buf, first->help);
    mg_buf_printf(buf, "\n# TYPE %s %s\n", first->name, type_name(first->type));
    for (const struct mg_metric *metric = first; metric; metric = metric->next_of_name) {
        if (metric->is_silent) {
            continue;
        }
        if (is_histogram(metric)) {
            render_histogram(metric, buf);
            continue;
        }
        mg_buf_append_text(buf, metric->name);
        if (metric->labels[0]) {
            mg_buf_printf(buf, "{%s}", metric->labels);
        }
        mg_buf_append(buf, " ", 1);
        append_number(buf, metric->value);
        mg_buf_append(buf, "\n", 1);
    }
}

void mg_metrics_on_render(struct mg_metrics *metrics, void (*fn)(void *arg), void *arg)
{
    metrics->on_render = fn;
    metrics->on_render_arg = arg;
}

void mg_metrics_render(const struct mg_metrics *metrics, struct mg_buf *buf)
{
    if (metrics->on_render != NULL) {
        metrics->on_render(metrics->on_render_arg);
    }
    for (int i = 0; i < metrics->count; i++) {
        if (metrics->series[i].is_first_of_name) {
            render_name(&metrics->series[i], buf);
        }
    }
    render_name(&metrics->overflow, buf);
}
