/* Mapped files with pages that cannot be read: the file was cut, or the disk gives an input/output error. A read of such
   a page raises SIGBUS, which ends a process. The handler here maps a page of zeros in its place, notes the page, and
   lets the read continue. */
#ifndef THAWLINE_FAULTS_H
#define THAWLINE_FAULTS_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_REGIONS = 1024, MOST_FAULTS = 64, SHRUNK = 1, FAILED = 2 };

typedef struct {
    long long start, end;
    int reason;
} fault;

typedef struct {
    uintptr_t start, end; /* start is 0 if the slot is free */
    int fd;
    int count;
    char lock;
    fault faults[MOST_FAULTS];
} region;

static region regions[MOST_REGIONS];
static struct sigaction before_us;
static int is_installed = 0;

/* Neighbours are joined. If there is no room for another fault, the last one is extended: the faults may cover bytes
   that are readable, and never leave out one that is not. */
static void note_fault(region *found, long long start, long long end, int reason) {
    while (__atomic_test_and_set(&found->lock, __ATOMIC_ACQUIRE)) {}
    fault *last = found->count ? &found->faults[found->count - 1] : NULL;
    int is_next = last && last->reason == reason && start <= last->end && end >= last->start;
    if (is_next || found->count == MOST_FAULTS) {
        if (start < last->start) last->start = start;
        if (end > last->end) last->end = end;
    } else {
        fault made = {start, end, reason};
        found->faults[found->count++] = made;
    }
    __atomic_clear(&found->lock, __ATOMIC_RELEASE);
}

static int map_zeros(region *found, uintptr_t address) {
    uintptr_t page_size = (uintptr_t)sysconf(_SC_PAGESIZE), page = address & ~(page_size - 1);
    struct stat status;
    int is_shrunk = fstat(found->fd, &status) == 0 && (uintptr_t)status.st_size <= page - found->start;
    uintptr_t rounded = (found->end + page_size - 1) & ~(page_size - 1);
    size_t size = is_shrunk ? rounded - page : page_size; /* after the end of a file, no page is left */
    void *zeros = mmap((void *)page, size, PROT_READ, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (zeros == MAP_FAILED) return 0;
    uintptr_t end = page + size < found->end ? page + size : found->end;
    note_fault(found, (long long)(page - found->start), (long long)(end - found->start), is_shrunk ? SHRUNK : FAILED);
    return 1;
}

static void on_bus_error(int number, siginfo_t *info, void *context) {
    (void)number;
    (void)context;
    uintptr_t address = (uintptr_t)info->si_addr;
    for (int slot = 0; slot < MOST_REGIONS; slot++) {
        region *found = &regions[slot];
        if (found->start && address >= found->start && address < found->end && map_zeros(found, address)) return;
    }
    sigaction(SIGBUS, &before_us, NULL); /* not ours: the same read fails again, and the handler before us gets it */
}

static void install_guard(void) {
    struct sigaction ours;
    memset(&ours, 0, sizeof ours);
    ours.sa_sigaction = on_bus_error;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&ours.sa_mask);
    if (!is_installed && sigaction(SIGBUS, &ours, &before_us) == 0) is_installed = 1;
}

/* Guard a mapped file; returns its slot, or -1 if none is free. Only one thread at a time calls this. */
static int guard_region(const void *start, size_t size, int fd) {
    uintptr_t first = (uintptr_t)start, end = first + size;
    install_guard();
    for (int slot = 0; slot < MOST_REGIONS; slot++) /* what was mapped there before is gone */
        if (regions[slot].start && regions[slot].start < end && first < regions[slot].end) regions[slot].start = 0;
    for (int slot = 0; is_installed && slot < MOST_REGIONS; slot++) {
        region *found = &regions[slot];
        if (found->start) continue;
        found->fd = fd;
        found->count = 0;
        found->end = end;
        __atomic_store_n(&found->start, first, __ATOMIC_RELEASE);
        return slot;
    }
    return -1;
}

static void unguard_region(int slot) { __atomic_store_n(&regions[slot].start, 0, __ATOMIC_RELEASE); }

#endif
