/*
 * Writes a page of the manual as roff, with the macros of man(7). Texts are plain: what roff would take for
 * its own is escaped here, sentences and lines are broken as its readers expect.
 */
#ifndef MG_BASE_MAN_H
#define MG_BASE_MAN_H

#include <stdio.h>

/* The head and NAME. The page's date is that of SOURCE_DATE_EPOCH, so that a build can be repeated, or today.
 */
void mg_man_begin(FILE *out, const char *name, int section, const char *summary);
void mg_man_heading(FILE *out, const char *title);
void mg_man_text(FILE *out, const char *text); /* paragraphs; an empty line parts them */
void mg_man_command(FILE *out, const char *name, const char *words); /* as one types it */
void mg_man_term(FILE *out, const char *term, const char *text);     /* a term in bold, its text indented */

#endif
