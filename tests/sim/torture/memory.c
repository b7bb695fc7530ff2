/* See memory.h. The linker's --wrap replaces the library's functions by these (CMakeLists.txt). */
#include "memory.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nodes.h"

#define HEADS 65536

void *real_malloc(size_t size) __asm__("__real_malloc");
void *real_calloc(size_t count, size_t size) __asm__("__real_calloc");
void *real_realloc(void *old, size_t size) __asm__("__real_realloc");
char *real_strdup(const char *text) __asm__("__real_strdup");
void real_free(void *memory) __asm__("__real_free");

void *node_malloc(size_t size) __asm__("__wrap_malloc");
void *node_calloc(size_t count, size_t size) __asm__("__wrap_calloc");
void *node_realloc(void *old, size_t size) __asm__("__wrap_realloc");
char *node_strdup(const char *text) __asm__("__wrap_strdup");
int node_asprintf(char **ret_text, const char *format, ...) __asm__("__wrap_asprintf") MG_PRINTF(2, 3);
/* The name of the call where the library checks printed text (_FORTIFY_SOURCE). */
int node_asprintf_chk(char **ret_text, int flag, const char *format, ...) __asm__("__wrap___asprintf_chk")
    MG_PRINTF(3, 4);
void node_free(void *memory) __asm__("__wrap_free");
void node_abort(void) __asm__("__wrap_abort") __attribute__((noreturn));

struct piece {
    struct piece *next; /* of the same hash */
    const void *memory;
    size_t size;
    const struct sim_node *node;
    uint32_t life, number;
};

static struct piece *heads[HEADS];

static struct piece **head_of(const void *memory)
{
    return &heads[((uintptr_t)memory >> 4) % HEADS];
}

static bool is_refused(void)
{
    return sim_node() != NULL && !sim_has_memory();
}

static void *noted(void *memory, size_t size)
{
    if (memory == NULL || sim_node() == NULL) {
        return memory;
    }
    struct piece *piece = real_malloc(sizeof(*piece)), **head = head_of(memory);
    assert(piece != NULL);
    *piece =
        (struct piece){*head, memory, size, sim_node(), sim_node()->life, sim_occasions(SIM_NODE_MEMORY)};
    *head = piece;
    return memory;
}

static void forget(const void *memory)
{
    for (struct piece **at = head_of(memory); *at != NULL; at = &(*at)->next) {
        if ((*at)->memory == memory) {
            struct piece *gone = *at;
            *at = gone->next;
            real_free(gone);
            return;
        }
    }
}

void *node_malloc(size_t size)
{
    return is_refused() ? NULL : noted(real_malloc(size), size);
}

void *node_calloc(size_t count, size_t size)
{
    return is_refused() ? NULL : noted(real_calloc(count, size), count * size);
}

void *node_realloc(void *old, size_t size)
{
    if (is_refused()) {
        return NULL;
    }
    forget(old);
    return noted(real_realloc(old, size), size);
}

char *node_strdup(const char *text)
{
    return is_refused() ? NULL : noted(real_strdup(text), strlen(text) + 1);
}

__attribute__((format(printf, 2, 0))) static int print(char **ret_text, const char *format, va_list args)
{
    int len = is_refused() ? -1 : vasprintf(ret_text, format, args);
    if (len >= 0) {
        (void)noted(*ret_text, (size_t)len + 1);
    }
    return len;
}

int node_asprintf(char **ret_text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int len = print(ret_text, format, args);
    va_end(args);
    return len;
}

int node_asprintf_chk(char **ret_text, int flag, const char *format, ...)
{
    (void)flag;
    va_list args;
    va_start(args, format);
    int len = print(ret_text, format, args);
    va_end(args);
    return len;
}

void node_free(void *memory)
{
    forget(memory);
    real_free(memory);
}

void node_abort(void)
{
    if (sim_node() != NULL) {
        sim_node_abort();
    }
    sim_violated("crashes", "the simulator calls abort()");
}

void sim_memory_check(void)
{
    for (int i = 0; i < HEADS; i++) {
        for (const struct piece *piece = heads[i]; piece != NULL; piece = piece->next) {
            const struct sim_process *process = piece->node->service;
            if (process->has_finished && piece->life == piece->node->life) {
                sim_violated("leaks", "%s has ended and left %zu bytes, its allocation NODE_MEMORY@%u",
                             process->instance, piece->size, piece->number);
            }
        }
    }
}
