/* The word lists of messages, spelled once, in core/words.def. */
#include "json/word_lists.h"

#include <stddef.h>

const char *const MG_WORDS_ORDER_STATE[] = {
#define MG_ORDER_STATE(NAME, word, is_terminal) word,
#include "core/words.def"
    NULL};
const char *const MG_WORDS_CAUSE[] = {
#define MG_CAUSE(NAME, word) word,
#include "core/words.def"
    NULL};
const char *const MG_WORDS_KIND[] = {
#define MG_KIND(NAME, word) word,
#include "core/words.def"
    NULL};
const char *const MG_WORDS_OUTCOME[] = {
#define MG_OUTCOME(NAME, word) word,
#include "core/words.def"
    NULL};
const char *const MG_WORDS_EXECUTED[] = {
#define MG_EXECUTED(NAME, word) word,
#include "core/words.def"
    NULL};
const char *const MG_WORDS_STATUS[] = {
#define MG_STATUS(NAME, word) word,
#include "core/words.def"
    NULL};
const char *const MG_WORDS_ALERT[] = {
#define MG_ALERT(NAME, word, text) word,
#include "core/words.def"
    NULL};
const char *const MG_WORDS_SIGNAL_OUTCOME[] = {
#define MG_SIGNAL_OUTCOME(NAME, word) word,
#include "core/words.def"
    NULL};

const char *const MG_WORDS_METHOD[] = {"GET", "POST", "PUT", "PATCH", "DELETE", NULL};
