/* Reads the CPU's identity and features: see cpu.h. */
#include "loader/cpu.h"

#include "base/env.h"

#include <pthread.h>
#include <string.h>

#if defined(__x86_64__)

#include <cpuid.h>

/* What decides code: the words of CPUID that hold identity and features, and which register states
 * the operating system saves. Words that differ between the cores of one machine (the APIC's
 * number, cache and topology data) are left out. */
struct identity {
    char maker[16];
    char brand[52];
    uint32_t signature; /* family, model, stepping as CPUID gives them */
    uint32_t leaf1[2];  /* ecx, edx */
    uint32_t leaf7[3];  /* ebx, ecx, edx */
    uint32_t leaf7_1[4];
    uint32_t leafd_1;
    uint32_t leaf24; /* AVX10 version */
    uint32_t extended[2];
    uint32_t saved; /* XCR0 */
};

static struct identity identity;
static char description[320];

static void read_brand(char brand[52])
{
    uint32_t words[12] = {0}, a, b, c, d;
    if (__get_cpuid_max(0x80000000u, NULL) < 0x80000004u)
        return;
    for (uint32_t i = 0; i < 3; i++) {
        __cpuid(0x80000002u + i, a, b, c, d);
        memcpy(words + 4 * i, (uint32_t[]){a, b, c, d}, 16);
    }
    memcpy(brand, words, sizeof words);
}

static void read_identity(struct identity *id)
{
    uint32_t a, b, c, d;
    if (__get_cpuid(0, &a, &b, &c, &d))
        memcpy(id->maker, (uint32_t[]){b, d, c}, 12);
    if (__get_cpuid(1, &a, &b, &c, &d)) {
        id->signature = a;
        id->leaf1[0] = c;
        id->leaf1[1] = d;
        if (c & bit_OSXSAVE) {
            uint32_t high;
            __asm__ volatile("xgetbv" : "=a"(id->saved), "=d"(high) : "c"(0));
        }
    }
    uint32_t last = 0;
    if (__get_cpuid_count(7, 0, &last, &b, &c, &d))
        memcpy(id->leaf7, (uint32_t[]){b, c, d & ~((uint32_t)1 << 15)}, 12); /* 15: hybrid part */
    if (last >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d))
        memcpy(id->leaf7_1, (uint32_t[]){a, b, c, d}, 16);
    if (__get_cpuid_count(0xd, 1, &a, &b, &c, &d))
        id->leafd_1 = a;
    if (__get_cpuid_count(0x24, 0, &a, &b, &c, &d))
        id->leaf24 = b;
    if (__get_cpuid(0x80000001u, &a, &b, &c, &d))
        memcpy(id->extended, (uint32_t[]){c, d}, 8);
    read_brand(id->brand);
}

/* Features that people look for, and whether this CPU and operating system have them. */
static void add_features(struct strbuf *sb)
{
#define FEATURE(name)                                                                              \
    if (__builtin_cpu_supports(name))                                                              \
    sb_printf(sb, " %s", name)
    __builtin_cpu_init();
    FEATURE("sse4.2");
    FEATURE("avx");
    FEATURE("avx2");
    FEATURE("fma");
    FEATURE("bmi2");
    FEATURE("avx512f");
    FEATURE("avx512bw");
    FEATURE("avx512dq");
    FEATURE("avx512vl");
    FEATURE("avx512vbmi");
    FEATURE("avx512vnni");
    FEATURE("avx512bf16");
#undef FEATURE
    if (identity.leaf1[0] & bit_F16C)
        sb_printf(sb, " f16c");
    if ((identity.leaf7[2] >> 23 & 1) && __builtin_cpu_supports("avx512f"))
        sb_printf(sb, " avx512fp16");
}

static void describe(void)
{
    read_identity(&identity);
    uint32_t s = identity.signature;
    uint32_t family = (s >> 8 & 15) + ((s >> 8 & 15) == 15 ? s >> 20 & 255 : 0);
    uint32_t model = (s >> 4 & 15) | (s >> 16 & 15) << 4;
    struct strbuf sb = {0};
    const char *brand = identity.brand;
    while (*brand == ' ')
        brand++;
    sb_printf(&sb, "%s (x86-64, family %u model %u;", *brand ? brand : identity.maker, family,
              model);
    add_features(&sb);
    sb_printf(&sb, ")");
    strncpy(description, sb.items, sizeof description - 1);
    sb_free(&sb);
}

void cpu_hash(struct hash128 *h)
{
    cpu_description();
    hash_add(h, "x86-64", 6);
    hash_add(h, &identity, sizeof identity);
    static const char *const words[] = {"256", "gathers", "loads"};
    for (size_t i = 0; i < WEIR_COUNT(words); i++)
        if (env_lists(ENV_VECTORS, words[i]))
            hash_add(h, words[i], strlen(words[i]));
}

#else

static char description[] = "unknown CPU";
static void describe(void) {}
void cpu_hash(struct hash128 *h) { hash_add(h, description, sizeof description); }

#endif

const char *cpu_description(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, describe);
    return description;
}
