/* The parts of loop.c that the other file on libuv, loop_folder.c, shares. */
#ifndef MG_BASE_LOOP_UV_H
#define MG_BASE_LOOP_UV_H

#include <uv.h>

#include "base/loop.h"

uv_loop_t *mg_loop_uv(struct mg_loop *loop);
/* Closes the handle and then frees its `data`, the object that contains it. May be called again. */
void mg_loop_close(uv_handle_t *handle);

#endif
