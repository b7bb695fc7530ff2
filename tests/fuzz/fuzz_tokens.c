/*
 * Logins to the console. The input is the text of --tokens-file and, after a NUL, the token of a visitor. In
 * the text \1 stands for the digest of that token and \2 for a thousand blanks. A second reader decides
 * whether the file is valid, and the name and role that the token gives. The session cookie must have exactly
 * these rights.
 */
#include <jansson.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/id.h"
#include "base/log.h"
#include "console/console_parts.h"
#include "fuzz.h"

#define DIGEST     '\1'
#define BLANKS     '\2'
#define FILE_MAX   (64 * 1024)
#define PEOPLE_MAX 256
#define TOKEN_MAX  512 /* bytes; a longer one matches no digest */

/* ---- one request, and its answer ---- */

struct mg_http_exchange {
    struct mg_slice body;
    char cookie[128];
    unsigned int status;
    json_t *json;
};

void mg_asker_forget(struct mg_asker *asker)
{
    (void)asker; /* no change is made */
}

struct mg_slice mg_http_exchange_body(const struct mg_http_exchange *request)
{
    return request->body;
}

const char *mg_http_exchange_cookie(const struct mg_http_exchange *request, const char *name)
{
    return strcmp(name, "makegood") == 0 ? request->cookie : NULL;
}

/* This console has no proxy, so its headers are never read. */
const char *mg_http_exchange_header(const struct mg_http_exchange *request, const char *name)
{
    (void)request;
    (void)name;
    return NULL;
}

unsigned int mg_http_exchange_header_count(const struct mg_http_exchange *request, const char *name)
{
    (void)request;
    (void)name;
    return 0;
}

void mg_http_answer(struct mg_http_exchange *request, const struct mg_http_response *answer)
{
    static const char cookie[] = "makegood=";
    request->status = answer->status;
    request->json = json_loadb(answer->body.data, answer->body.len, JSON_REJECT_DUPLICATES, NULL);
    FUZZ_REQUIRE(request->json != NULL);
    for (const struct mg_http_header *header = answer->headers; header->name != NULL; header++) {
        if (strcmp(header->name, "Set-Cookie") != 0) {
            continue;
        }
        FUZZ_REQUIRE(strncmp(header->value, cookie, strlen(cookie)) == 0);
        const char *secret = header->value + strlen(cookie);
        (void)snprintf(request->cookie, sizeof(request->cookie), "%.*s", (int)strcspn(secret, ";"), secret);
    }
}

/* ---- the second reader ---- */

struct person {
    char role[16], name[MG_USER_NAME_SIZE], digest[2 * MG_SHA256_SIZE + 1];
};

static void copy_match(const char *line, const regmatch_t *match, char *ret_text)
{
    size_t len = (size_t)(match->rm_eo - match->rm_so);
    memcpy(ret_text, line + match->rm_so, len);
    ret_text[len] = '\0';
}

/* False: the file is wrong. `ret`: the entry with this digest; without a role: none. */
static bool file_read(char *text, const char *digest, struct person *ret)
{
#define BLANK   "[ \t\r]"
#define NOTHING "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    static regex_t nobody, somebody;
    static bool is_ready;
    regmatch_t matches[4];
    static char digests[PEOPLE_MAX][2 * MG_SHA256_SIZE + 1];
    int count = 0;
    if (!is_ready) {
        FUZZ_REQUIRE(regcomp(&nobody, "^" BLANK "*(#.*)?$", REG_EXTENDED | REG_NOSUB) == 0);
        FUZZ_REQUIRE(regcomp(&somebody,
                             "^" BLANK "*(reader|operator)" BLANK "+([!-~]{1,63})" BLANK
                             "+([0-9a-fA-F]{64})" BLANK "*$",
                             REG_EXTENDED) == 0);
        is_ready = true;
    }
    ret->role[0] = '\0';
    for (char *line = text, *next = NULL; line != NULL; line = next) {
        next = strchr(line, '\n');
        if (next != NULL) {
            *next++ = '\0';
        }
        if (regexec(&nobody, line, 0, NULL, 0) == 0) {
            continue;
        }
        if (regexec(&somebody, line, 4, matches, 0) != 0) {
            return false;
        }
        struct person person;
        copy_match(line, &matches[1], person.role);
        copy_match(line, &matches[2], person.name);
        copy_match(line, &matches[3], person.digest);
        if (strcasecmp(person.digest, NOTHING) == 0) {
            return false;
        }
        if (strcasecmp(person.digest, digest) == 0) {
            *ret = person;
        }
        for (int i = 0; i < count && i < PEOPLE_MAX; i++) {
            if (strcasecmp(digests[i], person.digest) == 0) {
                return false;
            }
        }
        if (count < PEOPLE_MAX) {
            memcpy(digests[count], person.digest, sizeof(digests[count]));
        }
        count++;
    }
    return count > 0 && count <= PEOPLE_MAX;
}

/* ---- both ---- */

static struct mg_visitor whose(struct mg_sessions *sessions, const char *cookie)
{
    struct mg_http_exchange request = {.status = 0};
    struct mg_visitor visitor;
    (void)snprintf(request.cookie, sizeof(request.cookie), "%s", cookie);
    mg_session_find(sessions, &request, &visitor);
    FUZZ_REQUIRE((visitor.role == MG_ROLE_NONE) == (visitor.csrf[0] == '\0'));
    return visitor;
}

static bool is_known_as(struct mg_sessions *sessions, const char *cookie, const struct person *person)
{
    const struct mg_visitor visitor = whose(sessions, cookie);
    return visitor.role == (strcmp(person->role, "operator") == 0 ? MG_ROLE_OPERATOR : MG_ROLE_READER) &&
           strcmp(visitor.name, person->name) == 0;
}

static bool is_nobody(struct mg_sessions *sessions, const char *cookie)
{
    return whose(sessions, cookie).role == MG_ROLE_NONE;
}

static void file_write(int fd, struct mg_slice text)
{
    FUZZ_REQUIRE(ftruncate(fd, 0) == 0 && pwrite(fd, text.data, text.len, 0) == (ssize_t)text.len);
}

/* A session ends once a valid new file no longer lists its token; an invalid file ends none. */
static void session_ends(struct mg_sessions *sessions, int fd, const char *cookie,
                         const struct person *person)
{
    static const char other[] =
        "reader other 0000000000000000000000000000000000000000000000000000000000000000\n";
    struct mg_err err;
    file_write(fd, mg_slice_of("reader other\n"));
    FUZZ_REQUIRE(mg_sessions_reload(sessions, &err) == MG_BAD_INPUT);
    FUZZ_REQUIRE(is_known_as(sessions, cookie, person));
    file_write(fd, mg_slice_of(other));
    FUZZ_REQUIRE(mg_sessions_reload(sessions, &err) == MG_OK);
    FUZZ_REQUIRE(is_nobody(sessions, cookie));
}

static void login(struct mg_sessions *sessions, int fd, struct mg_slice token, const struct person *person)
{
    json_t *json = json_stringn(token.data, token.len);
    if (json == NULL) {
        return; /* not UTF-8 */
    }
    json_t *body = json_pack("{s:o}", "token", json);
    char *text = json_dumps(body, JSON_COMPACT);
    struct mg_http_exchange request = {.body = mg_slice_of(text)};
    char wrong[128];
    bool is_right = person->role[0] != '\0' && token.len <= TOKEN_MAX;
    mg_session_login(sessions, &request);
    FUZZ_REQUIRE(request.status == (is_right ? 200 : 403));
    FUZZ_REQUIRE((request.cookie[0] != '\0') == is_right);
    if (is_right) {
        FUZZ_REQUIRE(is_known_as(sessions, request.cookie, person));
        memcpy(wrong, request.cookie, sizeof(wrong));
        wrong[63] = wrong[63] == '0' ? '1' : '0';
        FUZZ_REQUIRE(is_nobody(sessions, wrong));
        wrong[63] = '\0';
        FUZZ_REQUIRE(is_nobody(sessions, wrong));
        session_ends(sessions, fd, request.cookie, person);
    }
    json_decref(request.json);
    json_decref(body);
    free(text);
}

static struct mg_buf expand(struct mg_slice text, const char *digest)
{
    struct mg_buf all;
    mg_buf_init(&all, (size_t)8 * FUZZ_TEXT_MAX);
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == BLANKS) {
            mg_buf_printf(&all, "%1000s", "");
        } else if (text.data[i] == DIGEST) {
            mg_buf_append_text(&all, digest);
        } else {
            mg_buf_append(&all, text.data + i, 1);
        }
    }
    return all;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    struct mg_slice rest = {(const char *)data, size}, before = fuzz_take(&rest), token = fuzz_take(&rest);
    uint8_t bytes[MG_SHA256_SIZE];
    char digest[2 * MG_SHA256_SIZE + 1], path[32];
    struct person person;
    struct mg_err err;
    if (fd < 0) {
        fd = memfd_create("tokens", MFD_CLOEXEC);
        mg_log_open("fuzz", "fuzz", MG_LOG_ERROR); /* each login and each refusal is a log line */
    }
    mg_sha256(token, bytes);
    *mg_hex_write(bytes, sizeof(bytes), digest) = '\0';
    struct mg_buf text = expand(before, digest);
    file_write(fd, mg_buf_slice(&text));
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    const struct mg_process_options process = {.http_cert_file = ""};
    const struct mg_console_options options = {
        .process = &process, .tokens_file = path, .proxy = {.user_header = "", .groups_header = ""}};
    struct mg_sessions *sessions = mg_sessions_create(&options, &err);
    bool is_right = text.len > 0 && text.len <= FILE_MAX && file_read(text.data, digest, &person);
    FUZZ_REQUIRE((sessions != NULL) == is_right);
    if (sessions != NULL) {
        login(sessions, fd, token, &person);
    } else {
        fuzz_require_refusal(err.class, &err, NULL, 0);
    }
    mg_sessions_destroy(sessions);
    mg_buf_finish(&text);
    return 0;
}
