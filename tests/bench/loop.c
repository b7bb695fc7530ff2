/* Buffers, the loop, the clock and ids; see bench.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>

#include "bench.h"

#define EVENTS_MAX 512
#define BUF_FIRST  65536

void bench_fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)fprintf(stderr, "bench: ");
    (void)vfprintf(stderr, format, args);
    (void)fputc('\n', stderr);
    va_end(args);
    exit(1);
}

void *bench_alloc(size_t size)
{
    void *memory = calloc(1, size);
    if (memory == NULL) {
        bench_fail("no memory for %zu bytes", size);
    }
    return memory;
}

int64_t bench_now_us(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

double bench_cpu_s(void)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

void bench_buf_add(struct bench_buf *buf, const void *data, size_t len)
{
    if (buf->len + len > buf->size) {
        size_t size = buf->size == 0 ? BUF_FIRST : buf->size;
        while (size < buf->len + len) {
            size *= 2;
        }
        buf->data = realloc(buf->data, size);
        if (buf->data == NULL) {
            bench_fail("no memory for %zu bytes", size);
        }
        buf->size = size;
    }
    if (len > 0) {
        memcpy(buf->data + buf->len, data, len);
    }
    buf->len += len;
}

void bench_buf_add_u16(struct bench_buf *buf, unsigned number)
{
    unsigned char bytes[] = {(unsigned char)(number >> 8), (unsigned char)number};
    bench_buf_add(buf, bytes, sizeof(bytes));
}

void bench_buf_add_u32(struct bench_buf *buf, uint32_t number)
{
    bench_buf_add_u16(buf, number >> 16);
    bench_buf_add_u16(buf, number & 0xFFFF);
}

void bench_buf_add_u64(struct bench_buf *buf, uint64_t number)
{
    bench_buf_add_u32(buf, (uint32_t)(number >> 32));
    bench_buf_add_u32(buf, (uint32_t)number);
}

void bench_buf_drop_front(struct bench_buf *buf, size_t len)
{
    if (len == 0) {
        return;
    }
    memmove(buf->data, buf->data + len, buf->len - len);
    buf->len -= len;
}

/* ---- the loop ---- */

static int epoll_fd = -1;

void bench_watch(struct bench_source *source, uint32_t events)
{
    if (source->events == events) {
        return;
    }
    if (epoll_fd < 0) {
        epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    }
    struct epoll_event event = {.events = events, .data = {.ptr = source}};
    int operation = source->events == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    if (epoll_ctl(epoll_fd, operation, source->fd, &event) != 0) {
        bench_fail("cannot wait for descriptor %d: %s", source->fd, strerror(errno));
    }
    source->events = events;
}

void bench_turn(int64_t timeout_us)
{
    struct epoll_event events[EVENTS_MAX];
    struct timespec timeout = {.tv_sec = timeout_us / 1000000, .tv_nsec = timeout_us % 1000000 * 1000};
    int count = epoll_pwait2(epoll_fd, events, EVENTS_MAX, timeout_us < 0 ? NULL : &timeout, NULL);
    if (count < 0 && errno != EINTR) {
        bench_fail("cannot wait: %s", strerror(errno));
    }
    for (int i = 0; i < count; i++) {
        struct bench_source *source = events[i].data.ptr;
        source->on_ready(source->arg, events[i].events);
    }
}

/* ---- orders ---- */

void bench_payload_add(struct bench_buf *buf, size_t size)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz ";
    const char head[] = "{\"customer\":\"ERNSH\",\"total\":1863.40,\"currency\":\"EUR\",\"note\":\"";
    size_t begin = buf->len;
    bench_buf_add(buf, head, sizeof(head) - 1);
    while (buf->len - begin + 2 < size) {
        bench_buf_add(buf, &letters[(buf->len - begin) % (sizeof(letters) - 1)], 1);
    }
    bench_buf_add(buf, "\"}", 2);
}

/* splitmix64 (Steele, Lea, Flood 2014): every number has its own well-mixed image. */
static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

void bench_id(uint64_t number, int64_t wall_ms, char ret_id[BENCH_ID_SIZE])
{
    uint64_t random = mix(number ^ mix((uint64_t)wall_ms)), more = mix(random);
    (void)snprintf(ret_id, BENCH_ID_SIZE,
                   "%08" PRIx64 "-%04" PRIx64 "-7%03" PRIx64 "-%04" PRIx64 "-%012" PRIx64,
                   ((uint64_t)wall_ms >> 16) & 0xFFFFFFFF, (uint64_t)wall_ms & 0xFFFF, random & 0xFFF,
                   0x8000 | (random >> 12 & 0x3FFF), more & UINT64_C(0xFFFFFFFFFFFF));
}
