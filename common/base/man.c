/* Roff for manual pages; see man.h. */
#include "base/man.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The line length that checkers of manual pages require. */
#define LINE_MAX_CHARS 78

static void print_escaped(FILE *out, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '\\') {
            (void)fputs("\\e", out);
        } else if (text[i] == '-') {
            (void)fputs("\\-", out); /* a minus, which copies as typed, not a hyphen */
        } else if (text[i] == '\'') {
            (void)fputs("\\(aq", out);
        } else if (text[i] == '`') {
            (void)fputs("\\(ga", out);
        } else if (text[i] == '"') {
            (void)fputs("\\(dq", out);
        } else {
            (void)fputc((unsigned char)text[i], out);
        }
    }
}

/* A word at the start of a line must not look like a request. */
static void print_word(FILE *out, const char *word, size_t len, size_t *column)
{
    if (*column > 0 && *column + 1 + len > LINE_MAX_CHARS) {
        (void)fputc('\n', out);
        *column = 0;
    }
    if (*column > 0) {
        (void)fputc(' ', out);
    }
    if (*column == 0 && word[0] == '.') {
        (void)fputs("\\&", out);
    }
    print_escaped(out, word, len);
    *column += len + 1;
    if (word[len - 1] == '.') { /* roff separates sentences by line ends */
        (void)fputc('\n', out);
        *column = 0;
    }
}

void mg_man_text(FILE *out, const char *text)
{
    size_t column = 0;

    while (*text) {
        size_t blank = strspn(text, " \n");
        if (memchr(text, '\n', blank)) {
            (void)fprintf(out, "%s.PP\n", column > 0 ? "\n" : "");
            column = 0;
        }
        text += blank;
        size_t len = strcspn(text, " \n");
        if (len > 0) {
            print_word(out, text, len, &column);
        }
        text += len;
    }
    if (column > 0) {
        (void)fputc('\n', out);
    }
}

static void print_date(FILE *out)
{
    const char *epoch = getenv("SOURCE_DATE_EPOCH");
    time_t seconds = epoch && epoch[0] ? (time_t)strtoll(epoch, NULL, 10) : time(NULL);
    char date[sizeof("2000-01-01")] = "";
    struct tm utc;

    if (gmtime_r(&seconds, &utc)) {
        (void)strftime(date, sizeof(date), "%Y-%m-%d", &utc);
    }
    (void)fputs(date, out);
}

void mg_man_begin(FILE *out, const char *name, int section, const char *summary)
{
    (void)fputs(".TH ", out);
    for (const char *at = name; *at; at++) {
        char upper = (char)toupper((unsigned char)*at);
        print_escaped(out, &upper, 1);
    }
    (void)fprintf(out, " %d \"", section);
    print_date(out);
    (void)fputs("\" \"Makegood " MG_VERSION "\" \"Makegood\"\n.SH NAME\n", out);
    print_escaped(out, name, strlen(name));
    (void)fputs(" \\- ", out);
    print_escaped(out, summary, strcspn(summary, "\n"));
    (void)fputc('\n', out);
}

void mg_man_heading(FILE *out, const char *title)
{
    (void)fprintf(out, ".SH %s\n", title);
}

void mg_man_command(FILE *out, const char *name, const char *words)
{
    (void)fputs(".B ", out);
    print_escaped(out, name, strlen(name));
    (void)fputc('\n', out);
    mg_man_text(out, words);
}

void mg_man_term(FILE *out, const char *term, const char *text)
{
    (void)fputs(".TP\n.B ", out);
    print_escaped(out, term, strlen(term));
    (void)fputc('\n', out);
    mg_man_text(out, text);
}
