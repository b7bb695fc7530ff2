/*
 * Writes a manual page as roff, with the macros of man(7). Texts are plain: this file escapes characters that
 * are special to roff, and breaks sentences and lines as roff expects.
 */
#ifndef MG_BASE_MAN_H
#define MG_BASE_MAN_H

#include <stdio.h>

/* Writes the head and NAME. The page's date is that of SOURCE_DATE_EPOCH, for reproducible builds, or
 * today. */
void mg_man_begin(FILE *out, const char *name, int section, const char *summary);
void mg_man_heading(FILE *out, const char *title);
void mg_man_text(FILE *out, const char *text); /* paragraphs; an empty line separates them */
void mg_man_command(FILE *out, const char *name, const char *words); /* as typed at a prompt */
void mg_man_term(FILE *out, const char *term, const char *text);     /* a term in bold, its text indented */

#endif
