/*
 * The pages. Each view has a path of its own and gets the same index.html; its script shows the view, or at
 * an unknown path, with 404, that there is none. Assets hold no data, so they need no login.
 */
#include "console/assets.h"

#include <string.h>

#include "base/id.h"
#include "console/console_parts.h"

#define INDEX     "index.html"
#define ETAG_SIZE (2 * MG_SHA256_SIZE + 3) /* with its quotes */

static const char *const VIEWS[] = {"orders",    "failures", "alerts",    "dead", "services",
                                    "bulk",      "login",    "workflows", "find", "waiting",
                                    "schedules", "audit",    "post",      NULL};

/* "/", "/orders", "/orders/ID", … */
static bool is_view(const char *path)
{
    if (path[0] != '/') {
        return false;
    }
    for (int i = 0; VIEWS[i] != NULL; i++) {
        size_t len = strlen(VIEWS[i]);
        if (strncmp(path + 1, VIEWS[i], len) == 0 && (path[len + 1] == '\0' || path[len + 1] == '/')) {
            return true;
        }
    }
    return path[1] == '\0';
}

/* NULL: there is none of this name. */
static const struct mg_asset *asset_find(const char *name)
{
    for (const struct mg_asset *asset = MG_ASSETS; asset->name != NULL; asset++) {
        if (strcmp(asset->name, name) == 0) {
            return asset;
        }
    }
    return NULL;
}

void mg_asset_answer(struct mg_http_exchange *request)
{
    const char *path = mg_http_exchange_path(request);
    const struct mg_asset *asset = is_view(path) ? NULL : asset_find(path + (path[0] == '/'));
    bool is_there = asset != NULL || is_view(path);
    asset = asset != NULL ? asset : asset_find(INDEX);
    const char *known = mg_http_exchange_header(request, "If-None-Match");
    struct mg_http_header headers[MG_ANSWER_HEADERS_MAX];
    uint8_t digest[MG_SHA256_SIZE];
    char etag[ETAG_SIZE] = "\"";
    mg_sha256(asset->bytes, digest);
    memcpy(mg_hex_write(digest, sizeof(digest), etag + 1), "\"", sizeof("\""));
    const struct mg_http_header more[] = {{"ETag", etag}, {"Cache-Control", "no-cache"}, {NULL, NULL}};
    mg_answer_headers(headers, more);
    bool is_known = is_there && known != NULL && strcmp(known, etag) == 0;
    const struct mg_http_response answer = {.status = is_known   ? 304
                                                      : is_there ? 200
                                                                 : 404,
                                            .type = is_known ? NULL : asset->type,
                                            .body = is_known ? (struct mg_slice){NULL, 0} : asset->bytes,
                                            .headers = headers};
    mg_http_answer(request, &answer);
}
