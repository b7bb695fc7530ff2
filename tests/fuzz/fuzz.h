/*
 * What the fuzz targets share. A target is one file fuzz_<name>.c with LLVMFuzzerTestOneInput: it gives bytes
 * to a reader as somebody hostile would, and requires what must hold for any bytes. libFuzzer calls it, or
 * replay.c, which needs no library.
 */
#ifndef MG_TESTS_FUZZ_H
#define MG_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"

/* libFuzzer's interface: `data` is exactly `size` bytes long, so that a read past it is noticed. Returns 0.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the process, as a finding, unless the condition holds. */
#define FUZZ_REQUIRE(condition) ((condition) ? (void)0 : fuzz_fail(__FILE__, __LINE__, #condition))
_Noreturn void fuzz_fail(const char *file, int line, const char *condition);

/* Whoever refuses says why, in one line, and leaves what it should have returned as it was. */
#define FUZZ_POISON(object) memset(&(object), 0x5A, sizeof(object))
#define FUZZ_REQUIRE_REFUSAL(class, err, object)                                                             \
    fuzz_require_refusal((class), &(err), &(object), sizeof(object))
void fuzz_require_refusal(enum mg_class class, const struct mg_err *err, const void *untouched, size_t size);

/* An input that holds several texts has a NUL between them. Takes the first off `rest`; "" after the last. */
struct mg_slice fuzz_take(struct mg_slice *rest);
/* The same with a NUL behind it, malloced. */
char *fuzz_take_text(struct mg_slice *rest);

/* What is written is read again and gives the same bytes: takes both texts' memory. */
void fuzz_require_same(struct mg_buf *first, struct mg_buf *second);

bool fuzz_is_within(struct mg_slice part, struct mg_slice whole);
bool fuzz_contains(struct mg_slice text, const char *word);
/* Of so many bytes, the highest first, as AMQP and PostgreSQL write it. */
uint64_t fuzz_number(const char *at, int bytes);

/* A socket that listens under a name of this process alone, among the abstract ones (unix(7)): no file. */
int fuzz_listen(const char *name);

/* Of anything that a target writes: far above what a small input makes. */
#define FUZZ_TEXT_MAX (1024 * 1024)

#endif
