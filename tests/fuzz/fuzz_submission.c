/* A client's order, the one message that strangers write. The input is the body. */
#include <stdlib.h>

#include "core/key.h"
#include "fuzz.h"
#include "wire/submission.h"

/* The digest separates a repeated submission from a conflict, so every byte of the body changes it. */
static void digest_knows_each_byte(struct mg_slice body)
{
    uint8_t digest[MG_SHA256_SIZE], other[MG_SHA256_SIZE];
    const size_t places[] = {0, body.len / 2, body.len - 1};
    char *copy = malloc(body.len);
    FUZZ_REQUIRE(copy != NULL);
    memcpy(copy, body.data, body.len);
    mg_submission_digest(body, digest);
    mg_submission_digest((struct mg_slice){copy, body.len}, other);
    FUZZ_REQUIRE(memcmp(digest, other, sizeof(digest)) == 0);
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        copy[places[i]] = (char)~copy[places[i]];
        mg_submission_digest((struct mg_slice){copy, body.len}, other);
        FUZZ_REQUIRE(memcmp(digest, other, sizeof(digest)) != 0);
        copy[places[i]] = body.data[places[i]];
    }
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mg_slice body = {(const char *)data, size};
    struct mg_submission submission;
    struct mg_err err;
    FUZZ_POISON(submission);
    enum mg_class class = mg_submission_parse(body, &MG_JSON_LIMITS_DATA, &submission, &err);
    if (class != MG_OK) {
        FUZZ_REQUIRE_REFUSAL(class, err, submission);
        return 0;
    }
    size_t id_len = strlen(submission.order_id);
    FUZZ_REQUIRE(id_len == 0 || mg_order_id_is_valid(submission.order_id, id_len));
    FUZZ_REQUIRE(mg_name_is_valid(submission.workflow, strlen(submission.workflow)));
    FUZZ_REQUIRE(submission.workflow_version >= 0 && submission.complete_within_ms >= 0);
    FUZZ_REQUIRE(fuzz_is_within(submission.payload, body) || mg_slice_is(submission.payload, "{}"));
    FUZZ_REQUIRE(mg_json_check(submission.payload, &MG_JSON_LIMITS_DATA, &err) == MG_OK);
    digest_knows_each_byte(body);
    return 0;
}
