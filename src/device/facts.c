/* facts: facts of the machine, read from the system: what a device's properties are made of. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/internal.h"

/* First line of a small file, without its end; false when it cannot be read. */
static bool read_line(const char *path, char *line, size_t size)
{
    FILE *f = fopen(path, "r");
    if (f == NULL)
        return false;
    bool fine = fgets(line, (int)size, f) != NULL;
    fclose(f);
    if (fine)
        line[strcspn(line, "\n")] = '\0';
    return fine;
}

/* The value after "key : " in /proc/cpuinfo; the first CPU's. */
static bool cpuinfo(const char *key, char *value, size_t size)
{
    FILE *f = fopen("/proc/cpuinfo", "r");
    char line[512];
    bool found = false;
    while (f != NULL && !found && fgets(line, sizeof line, f) != NULL) {
        char *colon = strchr(line, ':');
        found = colon != NULL && strncmp(line, key, strlen(key)) == 0;
        if (found) {
            line[strcspn(line, "\n")] = '\0';
            snprintf(value, size, "%s", colon[1] == ' ' ? colon + 2 : colon + 1);
        }
    }
    if (f != NULL)
        fclose(f);
    return found;
}

static uint32_t clock_khz(void)
{
    char text[64];
    if (read_line("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", text, sizeof text))
        return (uint32_t)strtoul(text, NULL, 10);
    if (cpuinfo("cpu MHz", text, sizeof text))
        return (uint32_t)(strtod(text, NULL) * 1000);
    return 0;
}

static void read_caches(struct device_facts *f)
{
    for (int i = 0; i < 8; i++) {
        char path[128], level[16], type[32], size[32];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/level", i);
        if (!read_line(path, level, sizeof level))
            return;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/type", i);
        if (!read_line(path, type, sizeof type) || strcmp(type, "Instruction") == 0)
            continue;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
        if (!read_line(path, size, sizeof size))
            continue;
        char *unit;
        uint32_t bytes = (uint32_t)strtoul(size, &unit, 10);
        bytes *= *unit == 'M' ? 1u << 20 : *unit == 'K' ? 1u << 10 : 1;
        if (level[0] == '1')
            f->l1d_bytes = bytes;
        else if (level[0] == '2')
            f->l2_bytes = bytes;
        else if (level[0] == '3')
            f->l3_bytes = bytes;
    }
}

static uint32_t simd_bits(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") ? 512 : __builtin_cpu_supports("avx2") ? 256 : 128;
#else
    return 128;
#endif
}

static uint32_t numa_nodes(void)
{
    uint32_t n = 0;
    char path[64];
    do
        snprintf(path, sizeof path, "/sys/devices/system/node/node%u", n++);
    while (access(path, F_OK) == 0);
    return n > 1 ? n - 1 : 1;
}

/* What all devices have in common, read once. */
static struct device_facts machine;

static void read_machine(void)
{
    uint64_t unused;
    cpu_set_t set;
    if (!cpuinfo("model name", machine.name, sizeof machine.name))
        snprintf(machine.name, sizeof machine.name, "CPU");
    machine.workers = sched.workers;
    machine.cores = sched_getaffinity(0, sizeof set, &set) == 0 ? (uint32_t)CPU_COUNT(&set) : 1;
    machine.clock_khz = clock_khz();
    mem_usage(MEM_HOST, &unused, &machine.host_memory_bytes);
    read_caches(&machine);
    long line = sysconf(_SC_LEVEL1_DCACHE_LINESIZE);
    machine.cache_line = line > 0 ? (uint32_t)line : 64;
    machine.simd_bits = simd_bits();
    machine.numa_nodes = numa_nodes();
}

void device_facts(struct device *dev, struct device_facts *out)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    uint64_t unused;
    pthread_once(&once, read_machine);
    *out = machine;
    mem_usage(dev->ordinal, &unused, &out->memory_bytes);
}
