/* See program.h. */
#include "program.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FAULT_NAME_MAX 64

void sim_usage_fail(const char *usage, const char *word, const char *why)
{
    (void)fprintf(stderr, "%s: %s\n%s", word, why, usage);
    exit(2);
}

uint64_t sim_number_parse(const char *usage, const char *word, uint64_t least)
{
    char *end;
    errno = 0;
    unsigned long long number = strtoull(word, &end, 10);
    if (word[0] < '0' || word[0] > '9' || *end != '\0' || errno != 0) {
        sim_usage_fail(usage, word, "this is no number");
    }
    if (number < least) {
        sim_usage_fail(usage, word, "this number is too small");
    }
    return number;
}

enum sim_fault sim_fault_parse(const char *usage, const char *name, size_t len)
{
    char word[FAULT_NAME_MAX];
    for (int i = 0; i < SIM_FAULT_COUNT; i++) {
        const char *known = sim_fault_name((enum sim_fault)i);
        if (strlen(known) == len && memcmp(known, name, len) == 0) {
            return (enum sim_fault)i;
        }
    }
    (void)snprintf(word, sizeof(word), "%.*s", (int)len, name);
    sim_usage_fail(usage, word, "no fault is called so; faults.def names them");
}

int sim_jobs_parse(const char *usage, const char *word)
{
    uint64_t jobs = sim_number_parse(usage, word, 1);
    return jobs < SIM_JOBS_MAX ? (int)jobs : SIM_JOBS_MAX;
}

int sim_jobs_default(void)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (processors < 1) {
        return 1;
    }
    return processors < SIM_JOBS_MAX ? (int)processors : SIM_JOBS_MAX;
}

void *sim_shared_map(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert(memory != MAP_FAILED);
    return memory;
}

static bool has_ended_well(int status)
{
    if (WIFSIGNALED(status)) {
        (void)fprintf(stderr, "a job was killed by signal %d\n", WTERMSIG(status));
    } else if (WEXITSTATUS(status) != 0) {
        (void)fprintf(stderr, "a job ended with exit code %d\n", WEXITSTATUS(status));
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool sim_jobs_run(int jobs, void (*run)(int job, void *arg), void *arg)
{
    bool is_whole = true;
    for (int job = 0; job < jobs; job++) {
        (void)fflush(stdout);
        pid_t child = fork();
        assert(child >= 0);
        if (child == 0) {
            run(job, arg);
            (void)fflush(stdout);
            _exit(0);
        }
    }
    for (int status = 0, running = jobs; running > 0;) {
        if (wait(&status) < 0) {
            assert(errno == EINTR);
            continue;
        }
        running--;
        is_whole = has_ended_well(status) && is_whole;
    }
    return is_whole;
}

double sim_seconds_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}
