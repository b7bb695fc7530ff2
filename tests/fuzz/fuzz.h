/*
 * Shared parts of the fuzz targets. A target is one file fuzz_<name>.c with LLVMFuzzerTestOneInput. It gives
 * hostile bytes to a reader and requires the properties that must hold for any bytes. Its caller is
 * libFuzzer, or replay.c, which needs no library.
 */
#ifndef MG_TESTS_FUZZ_H
#define MG_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "json/json.h"

/* libFuzzer's interface: `data` is exactly `size` bytes long, so a sanitizer detects a read past its end.
 * Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the process, as a finding, unless the condition holds. */
#define FUZZ_REQUIRE(condition) ((condition) ? (void)0 : fuzz_fail(__FILE__, __LINE__, #condition))
_Noreturn void fuzz_fail(const char *file, int line, const char *condition);

/* A refusal gives its reason in one line and leaves the output parameters unchanged. The fill pattern shows a
 * write. */
#define FUZZ_POISON(object) memset(&(object), 0x5A, sizeof(object))
#define FUZZ_REQUIRE_REFUSAL(class, err, object)                                                             \
    fuzz_require_refusal((class), &(err), &(object), sizeof(object))
void fuzz_require_refusal(enum mg_class class, const struct mg_err *err, const void *untouched, size_t size);

/* An input of several texts separates them by NUL. Takes the first off `rest`; "" after the last. */
struct mg_slice fuzz_take(struct mg_slice *rest);
/* As fuzz_take, with a NUL after the text; the caller frees it. */
char *fuzz_take_text(struct mg_slice *rest);

/* Text that is written, read and written again has the same bytes. Finishes both bufs. */
void fuzz_require_same(struct mg_buf *first, struct mg_buf *second);

/* A line and a column of the text, or its end. */
bool fuzz_has_place(struct mg_slice text, struct mg_json_place place);
/* True if a character of the text controls a terminal or changes how a line reads. A line end does neither.
 */
bool fuzz_steers(const char *text, size_t len);
/* UTF-8 on one line, without such a character. A second reader of UTF-8, by code points. */
bool fuzz_is_plain(const char *text, size_t len);

bool fuzz_is_within(struct mg_slice part, struct mg_slice whole);
bool fuzz_contains(struct mg_slice text, const char *word);
/* The unsigned number in so many bytes, highest first, as AMQP and PostgreSQL encode it. */
uint64_t fuzz_number(const char *at, int bytes);

/* A listening socket under an abstract name (unix(7)) of this process alone; there is no file. */
int fuzz_listen(const char *name);

/* The limit of any text that a target writes: far above the output of a small input. */
#define FUZZ_TEXT_MAX (1024 * 1024)

#endif
