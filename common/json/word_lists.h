/*
 * Lists of the words that messages may hold, index = enum value, NULL-ended. They are made from
 * core/words.def, so reading a word and suggesting a valid one cannot differ from it. Private to common/json.
 */
#ifndef MG_JSON_WORD_LISTS_H
#define MG_JSON_WORD_LISTS_H

#include "core/words.h"

extern const char *const MG_WORDS_ORDER_STATE[];
extern const char *const MG_WORDS_CAUSE[];
extern const char *const MG_WORDS_KIND[];
extern const char *const MG_WORDS_OUTCOME[];
extern const char *const MG_WORDS_EXECUTED[];
extern const char *const MG_WORDS_STATUS[];
extern const char *const MG_WORDS_ALERT[];
extern const char *const MG_WORDS_SIGNAL_OUTCOME[]; /* without the one that has no word */
extern const char *const MG_WORDS_METHOD[];         /* HTTP methods of definitions */

#endif
