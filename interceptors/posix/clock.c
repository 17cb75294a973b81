// Nanoseconds since 1970 from the time-stamp counter, synchronized regularly with the system's clock.
#include "process.h"

enum { FIRST_BASELINE = 10000000, LONGEST_LIFE = 1000000000, NANOSECONDS = 1000000000 };

static EARLY _Atomic bool by_system_call, stopped; // no counter, only system calls; no clock at all
static EARLY _Atomic uint64_t stopped_at;

static uint64_t nanoseconds_of(struct timespec time) {
    return (uint64_t)time.tv_sec * NANOSECONDS + (uint64_t)time.tv_nsec;
}

// The kernel's own function (vdso), which makes no system call; NULL: the kernel has none. A library next to the shim
// may replace the function of the C library (libfaketime): the times of files are not those of its clock.
typedef int clock_reader(clockid_t clock, struct timespec *time);
static EARLY clock_reader *_Atomic kernel_clock;
#if defined(__aarch64__)
static const char KERNEL_CLOCK[] = "__kernel_clock_gettime";
#else
static const char KERNEL_CLOCK[] = "__vdso_clock_gettime";
#endif

void clock_begin(void) {
    atomic_store(&kernel_clock, (clock_reader *)kernel_function(KERNEL_CLOCK));
}

static bool clock_read(clockid_t clock, struct timespec *time) {
    clock_reader *read = relaxed(kernel_clock);
    return (read != NULL ? read(clock, time) : RAW(clock_gettime, clock, (long)time)) == 0;
}

static uint64_t system_clock(void) {
    struct timespec time = {0};
    clock_read(CLOCK_REALTIME, &time);
    return nanoseconds_of(time);
}

uint64_t wall_clock(void) {
    return relaxed(stopped) ? relaxed(stopped_at) : system_clock();
}

// The time now in the unit and clock of the start time in /proc/<pid>/stat; 0: unknown.
uint64_t boot_tick(void) {
    enum { A_TICK = NANOSECONDS / 100 };
    struct timespec time = {0};
    if (relaxed(by_system_call) || relaxed(stopped) || relaxed(under_seccomp) || !clock_read(CLOCK_BOOTTIME, &time))
        return 0;
    return nanoseconds_of(time) / A_TICK;
}

void clock_stop(struct thread *thread) {
    if (!relaxed(stopped)) atomic_store(&stopped_at, now(thread));
    atomic_store(&stopped, true);
    thread->anchor = NULL;
}

void clock_without_counter(struct thread *thread) {
    atomic_store(&by_system_call, true);
    atomic_store(&kernel_clock, NULL);
    thread->anchor = NULL;
}

void clock_resume(void) {
    atomic_store(&stopped, false);
}

static uint64_t not_before(struct thread *thread, uint64_t time) {
    if (time < thread->latest) time = thread->latest;
    return thread->latest = time;
}

#if defined(__x86_64__) || defined(__aarch64__)
// The counter's frequency as this process measured it, so that later threads need not measure again.
static EARLY _Atomic uint64_t base_ticks, base_time, shared_multiplier;

static uint64_t counter(void) {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    uint64_t ticks;
    asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#endif
}

// With more ticks than that between two readings, the thread was interrupted and the reading is too inaccurate.
static uint64_t longest_reading(void) {
#if defined(__x86_64__)
    return 4000;
#else
    uint64_t frequency;
    asm("mrs %0, cntfrq_el0" : "=r"(frequency));
    return frequency / 500000 + 8;
#endif
}

static void anchor_at(struct thread *thread, uint64_t ticks, uint64_t time, uint64_t multiplier, uint64_t nanoseconds) {
    // The anchors are used in turn: a signal handler that sets a new one leaves the interrupted one intact.
    struct anchor *anchor = &thread->anchors[thread->anchor_turn++ % 4];
    *anchor = (struct anchor){ticks, time, multiplier, (nanoseconds << 32) / multiplier};
    atomic_signal_fence(memory_order_release);
    thread->anchor = anchor;
}

static uint64_t multiplier_since(uint64_t ticks, uint64_t time) {
    uint64_t from = atomic_load(&base_ticks), clamped_start = atomic_load(&base_time),
             known = atomic_load(&shared_multiplier);
    if (clamped_start == 0 || from == 0 || ticks <= from || time < clamped_start + FIRST_BASELINE) return 0;
    uint64_t measured = (uint64_t)((double)(time - clamped_start) / (double)(ticks - from) * 4294967296.0);
    if (known == 0 || (measured < known + known / 1000 && measured > known - known / 1000)) return measured;
    atomic_store(&base_ticks, ticks); // the system's clock was set, which the counter does not follow
    atomic_store(&base_time, time);
    return known;
}

uint64_t clock_slow(struct thread *thread) {
    if (!settings.time_stamp_counter || relaxed(by_system_call) || relaxed(stopped))
        return not_before(thread, wall_clock());
    uint64_t before = counter(), time = system_clock(), after = counter();
    if (after - before > longest_reading()) return not_before(thread, time);
    uint64_t ticks = before + (after - before) / 2, none = 0, multiplier;
    if (thread->anchor == NULL && (multiplier = atomic_load(&shared_multiplier)) != 0) {
        anchor_at(thread, ticks, time, multiplier, FIRST_BASELINE);
    } else if ((multiplier = multiplier_since(ticks, time)) != 0) {
        uint64_t longer = thread->anchor == NULL ? FIRST_BASELINE : 2 * (time - thread->anchor->nanoseconds);
        anchor_at(thread, ticks, time, multiplier, longer < LONGEST_LIFE ? longer : LONGEST_LIFE);
        atomic_store(&shared_multiplier, multiplier);
    } else if (atomic_compare_exchange_strong(&base_time, &none, time)) {
        atomic_store(&base_ticks, ticks);
    }
    return not_before(thread, time);
}
#else
uint64_t clock_slow(struct thread *thread) {
    return not_before(thread, wall_clock());
}
#endif
