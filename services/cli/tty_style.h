/*
 * How standard output shows text to people: its colours, its width, and its times. Without a terminal nothing
 * is coloured and nothing is cut.
 */
#ifndef MG_CLI_TTY_STYLE_H
#define MG_CLI_TTY_STYLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct mg_style {
    bool is_terminal, has_color;
    int columns, rows;  /* of the terminal; 0: unknown, nothing is cut */
    int64_t now_ms;     /* times are written as seen from this moment; 0: in UTC, as they are */
    int64_t began_ms;   /* events of an order are written as seen from this moment; 0: unknown */
    bool shows_authors; /* also processes that caused an event */
};

/* Looks at the terminal of standard output, at NO_COLOR and TERM, and at the clock. */
void mg_style_read(struct mg_style *ret, bool is_utc, bool shows_authors);

enum mg_hue { MG_HUE_PLAIN, MG_HUE_GOOD, MG_HUE_BUSY, MG_HUE_BAD, MG_HUE_FAINT };
/* The colour of a state of an order, a step, a service, a bulk action or a slot; plain for other words. */
enum mg_hue mg_hue_of(const char *word);
/* Begins and ends a colour. Nothing is printed without colours, or for a plain text. */
void mg_hue_begin(FILE *out, const struct mg_style *style, enum mg_hue hue);
void mg_hue_end(FILE *out, const struct mg_style *style, enum mg_hue hue);
/* Prints a word in its colour, with blanks up to `width` columns. */
void mg_hue_print(FILE *out, const struct mg_style *style, const char *word, int width);

#define MG_STYLED_SIZE 32
/* The time as the style has it: `text`, or the new text in `ret_text`. A text that is no time is returned
 * as it is. */
const char *mg_style_time(const struct mg_style *style, const char *text, char ret_text[MG_STYLED_SIZE]);
/* The same of an event: "+12.3 s" since the beginning. */
const char *mg_style_event_time(const struct mg_style *style, const char *text,
                                char ret_text[MG_STYLED_SIZE]);

#endif
