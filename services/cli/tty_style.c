/* See tty_style.h. */
#include "tty_style.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/print.h"
#include "operator/relative_time.h"
#include "operator/table.h"

static bool is_given(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0';
}

void mg_style_read(struct mg_style *ret, bool is_utc, bool shows_authors)
{
    const char *term = getenv("TERM");
    struct winsize size = {0};
    *ret = (struct mg_style){.is_terminal = isatty(STDOUT_FILENO) != 0,
                             .now_ms = is_utc ? 0 : mg_clock_wall_ms(),
                             .shows_authors = shows_authors};
    if (!ret->is_terminal) {
        return;
    }
    ret->has_color = term != NULL && term[0] != '\0' && strcmp(term, "dumb") != 0 &&
                     !is_given("NO_COLOR"); /* no-color.org */
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) {
        ret->columns = size.ws_col;
        ret->rows = size.ws_row;
    }
}

enum mg_hue mg_hue_of(const char *word)
{
    static const char *const good[] = {"processed", "done", "serving", "ok", "kept", NULL};
    static const char *const busy[] = {"pending", "processing",   "compensating", "running",
                                       "waiting", "undo_pending", "undo_running", "undo_waiting",
                                       "canary",  "asked",        "paused",       NULL};
    static const char *const bad[] = {"error",     "failed",   "unknown",  "undo_failed",   "rejected",
                                      "stopped",   "no queue", "no agent", "not consuming", "breaker open",
                                      "not ready", "WRONG",    "FAILED",   "BROKEN",        NULL};
    static const char *const faint[] = {"compensated", "cancelled",   "skipped",  "undone",
                                        "not yet",     "not reached", "not used", NULL};
    static const struct {
        const char *const *words;
        enum mg_hue hue;
    } hues[] = {{good, MG_HUE_GOOD}, {busy, MG_HUE_BUSY}, {bad, MG_HUE_BAD}, {faint, MG_HUE_FAINT}};
    for (size_t i = 0; i < sizeof(hues) / sizeof(hues[0]); i++) {
        if (mg_text_is_listed(hues[i].words, word)) {
            return hues[i].hue;
        }
    }
    return MG_HUE_PLAIN;
}

void mg_hue_begin(FILE *out, const struct mg_style *style, enum mg_hue hue)
{
    /* Colours that stand out on a light and on a dark ground. */
    static const char *const codes[] = {[MG_HUE_PLAIN] = "",
                                        [MG_HUE_GOOD] = "32",
                                        [MG_HUE_BUSY] = "36",
                                        [MG_HUE_BAD] = "1;31",
                                        [MG_HUE_FAINT] = "2"};
    if (style->has_color && hue != MG_HUE_PLAIN) {
        mg_print(out, "\x1b[%sm", codes[hue]);
    }
}

void mg_hue_end(FILE *out, const struct mg_style *style, enum mg_hue hue)
{
    if (style->has_color && hue != MG_HUE_PLAIN) {
        (void)fputs("\x1b[0m", out);
    }
}

void mg_hue_print(FILE *out, const struct mg_style *style, const char *word, int width)
{
    enum mg_hue hue = mg_hue_of(word);
    int missing = width - mg_text_columns(mg_slice_of(word));
    mg_hue_begin(out, style, hue);
    mg_print(out, "%s", word);
    mg_hue_end(out, style, hue);
    mg_print(out, "%*s", missing > 0 ? missing : 0, "");
}

const char *mg_style_time(const struct mg_style *style, const char *text, char ret_text[MG_STYLED_SIZE])
{
    int64_t at_ms;
    _Static_assert(MG_STYLED_SIZE >= MG_RELATIVE_TIME_SIZE, "it has room for a time");
    if (style->now_ms == 0 || !mg_report_time_parse(text, &at_ms)) {
        return text;
    }
    mg_relative_time_write(at_ms, style->now_ms, ret_text);
    return ret_text;
}

#define MINUTES_FROM_MS (2 * 60 * 1000)
#define HOURS_FROM_MS   (2 * 3600 * 1000)

const char *mg_style_event_time(const struct mg_style *style, const char *text, char ret_text[MG_STYLED_SIZE])
{
    int64_t at_ms;
    if (style->now_ms == 0 || style->began_ms == 0 || !mg_report_time_parse(text, &at_ms)) {
        return text;
    }
    long long ms = at_ms > style->began_ms ? at_ms - style->began_ms : 0; /* a clock may have been set back */
    if (ms < MINUTES_FROM_MS) {
        (void)snprintf(ret_text, MG_STYLED_SIZE, "+%lld.%03lld s", ms / 1000, ms % 1000);
    } else if (ms < HOURS_FROM_MS) {
        (void)snprintf(ret_text, MG_STYLED_SIZE, "+%lld m %lld s", ms / 60000, ms / 1000 % 60);
    } else {
        (void)snprintf(ret_text, MG_STYLED_SIZE, "+%lld h %lld m", ms / 3600000, ms / 60000 % 60);
    }
    return ret_text;
}
