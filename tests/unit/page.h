/* The metrics page that Prometheus reads from a process under test. */
#ifndef MG_TEST_PAGE_H
#define MG_TEST_PAGE_H

#include <check.h>
#include <string.h>

#include "base/metrics.h"

#define PAGE_MAX_BYTES (1 << 20)

/* True if `line` is on the page; with line feeds around it, if it is a whole line. */
static inline bool page_shows(const struct mg_metrics *metrics, const char *line)
{
    struct mg_buf page;
    mg_buf_init(&page, PAGE_MAX_BYTES);
    mg_metrics_render(metrics, &page);
    ck_assert(!page.failed);
    bool is_shown = strstr(page.data, line) != NULL;
    mg_buf_finish(&page);
    return is_shown;
}

#endif
