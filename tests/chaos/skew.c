/*
 * A wrong clock, preloaded into a process. It adds to the wall clock the number in the file $CHAOS_CLOCK, a
 * 64-bit count of milliseconds. The file is mapped, so the number may change at any moment. Clocks that
 * measure durations stay true, as they do when a machine's date is set.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

typedef int clock_gettime_fn(clockid_t, struct timespec *);

static _Atomic int64_t *offset_ms;
static clock_gettime_fn *true_clock_gettime;

__attribute__((constructor)) static void clock_attach(void)
{
    true_clock_gettime = (clock_gettime_fn *)dlsym(RTLD_NEXT, "clock_gettime");
    const char *path = getenv("CHAOS_CLOCK");
    int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *page = fd >= 0 ? mmap(NULL, sizeof(*offset_ms), PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    offset_ms = page != MAP_FAILED ? page : NULL;
    if (fd >= 0) {
        (void)close(fd);
    }
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    if (true_clock_gettime == NULL) { /* called before this library's constructor has run */
        clock_attach();
    }
    int failed = true_clock_gettime(clock, now);
    if (failed == 0 && offset_ms != NULL && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        int64_t ns = now->tv_nsec + atomic_load(offset_ms) % 1000 * 1000000;
        int64_t carry = ns >= 1000000000 ? 1 : ns < 0 ? -1 : 0;
        now->tv_sec += (time_t)(atomic_load(offset_ms) / 1000 + carry);
        now->tv_nsec = (long)(ns - carry * 1000000000);
    }
    return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    (void)zone;
    struct timespec exact;
    int failed = clock_gettime(CLOCK_REALTIME, &exact);
    *now = (struct timeval){exact.tv_sec, exact.tv_nsec / 1000};
    return failed;
}

time_t time(time_t *ret_now)
{
    struct timespec exact;
    (void)clock_gettime(CLOCK_REALTIME, &exact);
    if (ret_now != NULL) {
        *ret_now = exact.tv_sec;
    }
    return exact.tv_sec;
}
