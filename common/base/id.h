/*
 * Identities. A message handler derives them and never draws them, so a redelivery gives the same identity.
 * Only the operator's tool draws order ids, once, before its first publish.
 */
#ifndef MG_BASE_ID_H
#define MG_BASE_ID_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

#define MG_UUID_SIZE   37 /* 36 characters and NUL */
#define MG_SHA256_SIZE 32
/* The orders of schedules have ids that anybody can work out. No submission may have one of this kind. */
#define MG_SLOT_ID_PREFIX "slot:"

/* True if the text has the form of a UUID in small letters: its length and characters, not its version. */
bool mg_uuid_is_valid(const char *text);
void mg_uuid_random(char ret_text[MG_UUID_SIZE]); /* version 4 */
/* Version 5 (RFC 9562 §5.5) of `sender` and `message_id` in Makegood's own namespace. */
void mg_uuid_derived(struct mg_slice sender, struct mg_slice message_id, char ret_text[MG_UUID_SIZE]);
void mg_sha256(struct mg_slice bytes, uint8_t ret_digest[MG_SHA256_SIZE]);
/* Writes 2 × size small hexadecimal digits, and no NUL; returns their end. */
char *mg_hex_write(const uint8_t *bytes, size_t size, char *ret_text);
/* Reads 2 × size hexadecimal digits. */
bool mg_hex_read(const char *text, size_t size, uint8_t *ret_bytes);
int mg_hex_digit(char c); /* -1: no such digit */
/* Writes "host:pid:start" in at most `size` bytes: the name of a process in logs, locked_by and reports. */
void mg_instance_name(char *ret_text, size_t size);
uint64_t mg_random_u64(void); /* from the kernel's generator; for jitter and ids of the tool */
/* From now on the numbers of this thread follow from `seed`: for a rehearsal, which must repeat exactly. */
void mg_random_fix(uint64_t seed);

#endif
