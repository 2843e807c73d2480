/* K1.1, K3.2: module images: PTX text, fat binaries of all packings built here byte by byte,
 * wrappers, and what is refused: broken PTX, newer architectures, machine code, damage. */
#include "common.h"

#include <elf.h>
#include <lz4.h>
#include <sys/mman.h>
#include <zstd.h>

static const char tiny[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                           ".visible .entry k()\n{\nret;\n}\n";

/* ---- fat binaries ---- */

struct blob {
    unsigned char bytes[1 << 16];
    size_t size;
};

static void put(unsigned char *at, unsigned long long value, int bytes)
{
    memcpy(at, &value, bytes);
}

static void start(struct blob *b)
{
    memset(b, 0, sizeof *b);
    put(b->bytes, 0xBA55ED50u, 4);
    put(b->bytes + 4, 1, 2);
    put(b->bytes + 6, 16, 2);
    b->size = 16;
}

enum packing { RAW, LZ4, ZSTD };

/* Appends an entry: kind 1 PTX, 2 machine code. */
static void entry(struct blob *b, unsigned kind, unsigned arch, enum packing packing,
                  const char *text)
{
    size_t length = strlen(text) + 1, packed = length;
    unsigned char *h = b->bytes + b->size, *payload = h + 64;
    if (packing == RAW)
        memcpy(payload, text, length);
    else if (packing == LZ4)
        packed = (size_t)LZ4_compress_default(text, (char *)payload, (int)length, 1 << 15);
    else
        packed = ZSTD_compress(payload, 1 << 15, text, length, 3);
    size_t padded = (packed + 7) / 8 * 8;
    put(h, kind, 2);
    put(h + 2, 0x101, 2);
    put(h + 4, 64, 4);
    put(h + 8, padded, 8);
    put(h + 16, packing == RAW ? 0 : packed, 4);
    put(h + 28, arch, 4);
    put(h + 40, 0x11 | (packing == LZ4 ? 0x2000 : packing == ZSTD ? 0x8000 : 0), 8);
    put(h + 56, packing == RAW ? 0 : length, 8);
    b->size += 64 + padded;
    put(b->bytes + 8, b->size - 16, 8);
}

static void check_loads(const void *image, CUresult code, const char *words)
{
    CUmodule m = NULL;
    CUfunction f;
    CUresult r = cuModuleLoadData(&m, image);
    CHECK_CU(r, code);
    if (r == CUDA_SUCCESS) {
        OK(cuModuleGetFunction(&f, m, "k"));
        OK(launch(f, 1, 1, NULL, NULL));
        OK(cuCtxSynchronize());
        OK(cuModuleUnload(m));
    } else if (!check_count(words == NULL || strstr(weir_last_message(), words) != NULL)) {
        printf("the message \"%s\" lacks \"%s\"\n", weir_last_message(), words);
    }
}

static void packings(void)
{
    static struct blob b;
    for (enum packing p = RAW; p <= ZSTD; p++) {
        start(&b);
        entry(&b, 1, 70, p, tiny);
        check_loads(b.bytes, CUDA_SUCCESS, NULL);
        struct {
            unsigned magic, version;
            const void *data, *more;
        } wrapper = {0x466243b1, 1, b.bytes, NULL};
        check_loads(&wrapper, CUDA_SUCCESS, NULL);
        wrapper.version = 3;
        check_loads(&wrapper, CUDA_ERROR_INVALID_IMAGE, "version");
    }
}

/* The newest PTX that fits is taken; machine code is passed over. */
static void choice(void)
{
    static struct blob b;
    static const char older[] = ".version 7.0\n.target sm_52\n.address_size 64\n"
                                ".visible .entry other()\n{\nret;\n}\n";
    start(&b);
    entry(&b, 2, 80, RAW, "\177ELF machine code");
    entry(&b, 1, 52, ZSTD, older);
    entry(&b, 1, 80, LZ4, tiny);
    entry(&b, 1, 100, RAW, older);
    check_loads(b.bytes, CUDA_SUCCESS, NULL);

    start(&b);
    entry(&b, 2, 80, RAW, "\177ELF machine code");
    entry(&b, 2, 90, RAW, "\177ELF machine code");
    check_loads(b.bytes, CUDA_ERROR_NO_BINARY_FOR_GPU, "sm_80 and sm_90");
    start(&b);
    entry(&b, 1, 100, RAW, tiny);
    check_loads(b.bytes, CUDA_ERROR_NO_BINARY_FOR_GPU, "compute_100");
    start(&b);
    check_loads(b.bytes, CUDA_ERROR_NO_BINARY_FOR_GPU, "no code");
}

/* Relocatable device code: a list of fat binaries that call each other. */
static void relocatable(void)
{
    static struct blob one, two;
    static const char a[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                            ".extern .func (.param .b32 r) f(.param .b32 x);\n"
                            ".visible .entry k()\n{\n.param .b32 x; .param .b32 r;\n"
                            "st.param.b32 [x], 1; call.uni (r), f, (x); ret;\n}\n";
    static const char b[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                            ".visible .func (.param .b32 r) f(.param .b32 x)\n{\n.reg .b32 %v;\n"
                            "ld.param.b32 %v, [x]; st.param.b32 [r], %v; ret;\n}\n";
    start(&one);
    entry(&one, 1, 70, ZSTD, a);
    start(&two);
    entry(&two, 1, 70, RAW, b);
    const void *list[] = {one.bytes, two.bytes, NULL};
    struct {
        unsigned magic, version;
        const void *data;
        const void *const *list;
    } wrapper = {0x466243b1, 2, one.bytes, list};
    check_loads(&wrapper, CUDA_SUCCESS, NULL);

    /* parts without PTX are left out, as long as there are others, and named when missed */
    static struct blob machine;
    CUmodule m;
    CUfunction f;
    start(&machine);
    entry(&machine, 2, 80, RAW, "\177ELF machine code");
    const void *some[] = {machine.bytes, one.bytes, two.bytes, NULL},
               *none[] = {machine.bytes, NULL};
    wrapper.list = some;
    check_loads(&wrapper, CUDA_SUCCESS, NULL);
    OK(cuModuleLoadData(&m, &wrapper));
    CHECK_CU(cuModuleGetFunction(&f, m, "gone"), CUDA_ERROR_NOT_FOUND);
    CHECK(strstr(weir_last_message(), "1 of its 3 parts") != NULL);
    OK(cuModuleUnload(m));
    wrapper.list = none;
    check_loads(&wrapper, CUDA_ERROR_NO_BINARY_FOR_GPU, "sm_80");

    CUlinkState s;
    void *image;
    size_t size;
    OK(cuLinkCreate(0, NULL, NULL, &s));
    OK(cuLinkAddData(s, CU_JIT_INPUT_FATBINARY, one.bytes, one.size, "one", 0, NULL, NULL));
    OK(cuLinkAddData(s, CU_JIT_INPUT_PTX, (void *)b, sizeof b, "two", 0, NULL, NULL));
    OK(cuLinkComplete(s, &image, &size));
    CHECK_EQ_INT(size, strlen(image) + 1);
    check_loads(image, CUDA_SUCCESS, NULL);
    CHECK_CU(cuLinkAddData(s, CU_JIT_INPUT_CUBIN, one.bytes, one.size, "x", 0, NULL, NULL),
             CUDA_ERROR_INVALID_IMAGE);
    CHECK_CU(cuLinkAddData(s, CU_JIT_INPUT_PTX, "nonsense", 9, "the name", 0, NULL, NULL),
             CUDA_ERROR_INVALID_PTX);
    CHECK(strstr(weir_last_message(), "the name") != NULL);
    OK(cuLinkDestroy(s));
    OK(cuLinkCreate(0, NULL, NULL, &s));
    CHECK_CU(cuLinkComplete(s, &image, &size), CUDA_ERROR_INVALID_VALUE);
    OK(cuLinkAddData(s, CU_JIT_INPUT_PTX, (void *)b, sizeof b, "two", 0, NULL, NULL));
    OK(cuLinkAddData(s, CU_JIT_INPUT_PTX, (void *)b, sizeof b, "twice", 0, NULL, NULL));
    CHECK_CU(cuLinkComplete(s, &image, &size), CUDA_ERROR_INVALID_PTX);
    OK(cuLinkDestroy(s));
}

/* ---- PTX ---- */

#define HEAD ".version 7.0\n.target sm_70\n.address_size 64\n"

static void ptx(void)
{
    static const struct {
        const char *text, *words;
        CUresult code;
    } cases[] = {
        {"", NULL, CUDA_ERROR_INVALID_PTX},
        {"x", NULL, CUDA_ERROR_INVALID_PTX},
        {"hello, world", NULL, CUDA_ERROR_INVALID_PTX},
        {"\177ELF\2\1\1", "machine code", CUDA_ERROR_NO_BINARY_FOR_GPU},
        {HEAD, NULL, CUDA_SUCCESS},
        {".version 99.0\n.target sm_70\n.address_size 64\n", "99.0",
         CUDA_ERROR_UNSUPPORTED_PTX_VERSION},
        {".version 8.7\n.target sm_120\n.address_size 64\n", "sm_120", CUDA_ERROR_INVALID_PTX},
        {HEAD ".visible .entry k()\n{\nfrobnicate.u32 %r1, 2;\nret;\n}\n", "line 6",
         CUDA_ERROR_INVALID_PTX},
        {HEAD ".visible .entry k()\n{\nmov.u32 %r1, 2;\nret;\n}\n", "%r1", CUDA_ERROR_INVALID_PTX},
        {HEAD ".visible .entry k()\n{\nret;\n", NULL, CUDA_ERROR_INVALID_PTX},
        {HEAD ".extern .global .u32 gone;\n", "gone", CUDA_ERROR_INVALID_PTX},
        {HEAD ".const .b8 big[65537];\n", "65536", CUDA_ERROR_INVALID_PTX},
        {HEAD ".global .b8 big[1099511627776];\n", NULL, CUDA_ERROR_OUT_OF_MEMORY},
    };
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        CUmodule m = NULL;
        CUlibrary lib = NULL;
        CUresult r = cuModuleLoadData(&m, cases[n].text);
        if (!check_count(
                r == cases[n].code &&
                (cases[n].words == NULL || strstr(weir_last_message(), cases[n].words) != NULL)))
            printf("case %zu: %s, \"%s\"\n", n, result_name(r), weir_last_message());
        if (r == CUDA_SUCCESS)
            OK(cuModuleUnload(m));
        r = cuLibraryLoadData(&lib, cases[n].text, NULL, NULL, 0, NULL, NULL, 0);
        if (r == CUDA_SUCCESS)
            OK(cuLibraryUnload(lib));
    }
}

static void logs(void)
{
    char errors[64], info[16] = "untouched";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                              CU_JIT_INFO_LOG_BUFFER,  CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
                              CU_JIT_WALL_TIME,        CU_JIT_MAX_REGISTERS};
    void *values[] = {errors, (void *)sizeof errors, info, (void *)sizeof info, NULL, (void *)32};
    CUmodule m;
    CHECK_CU(cuModuleLoadDataEx(&m, HEAD "\n\nnonsense\n", 6, options, values),
             CUDA_ERROR_INVALID_PTX);
    CHECK(strstr(errors, "line 6") != NULL);
    CHECK_EQ_INT((size_t)values[1], strlen(errors));
    CHECK_STR(info, "");
    CHECK_EQ_INT((size_t)values[3], 0);
    values[1] = (void *)sizeof errors;
    OK(cuModuleLoadDataEx(&m, tiny, 6, options, values));
    CHECK_STR(errors, "");
    OK(cuModuleUnload(m));
    options[5] = CU_JIT_NUM_OPTIONS;
    CHECK_CU(cuModuleLoadDataEx(&m, tiny, 6, options, values), CUDA_ERROR_INVALID_VALUE);
}

/* ---- variables and libraries ---- */

static void variables(void)
{
    CUmodule m = load();
    CUdeviceptr at, out;
    size_t bytes;
    int value = 0;
    float result;
    OK(cuModuleGetGlobal(&at, &bytes, m, "counter"));
    CHECK_EQ_INT(bytes, 4);
    OK(cuMemcpyDtoH(&value, at, 4));
    CHECK_EQ_INT(value, 5);
    NEED(cuMemAlloc(&out, 4));
    OK(launch(kernel(m, "variables"), 1, 1, NULL, (void *[]){&out}));
    OK(cuMemcpyDtoH(&result, out, 4));
    CHECK(result == 10.0f);
    CHECK_CU(cuModuleGetGlobal(&at, &bytes, m, "nothing"), CUDA_ERROR_NOT_FOUND);
    CUfunction f;
    CHECK_CU(cuModuleGetFunction(&f, m, "absent"), CUDA_ERROR_NOT_FOUND);
    CHECK_CU(cuModuleGetFunction(&f, m, "vprintf"), CUDA_ERROR_NOT_FOUND);
    OK(cuMemFree(out));
    OK(cuModuleUnload(m));
}

/* A variable that the program keeps itself: the first module gives it its value. */
static void bindings(void)
{
    static int own;
    char *names[] = {"counter"};
    void *addresses[] = {&own};
    CUjit_option options[] = {CU_JIT_GLOBAL_SYMBOL_NAMES, CU_JIT_GLOBAL_SYMBOL_ADDRESSES,
                              CU_JIT_GLOBAL_SYMBOL_COUNT};
    void *values[] = {names, addresses, (void *)1};
    CUmodule a, b;
    CUdeviceptr at;
    OK(cuModuleLoadDataEx(&a, kernels, 3, options, values));
    CHECK_EQ_INT(own, 5);
    OK(cuModuleGetGlobal(&at, NULL, a, "counter"));
    CHECK(at == (CUdeviceptr)(uintptr_t)&own);
    own = 7;
    OK(cuModuleLoadDataEx(&b, kernels, 3, options, values));
    CHECK_EQ_INT(own, 7);
    OK(cuModuleUnload(a));
    OK(cuModuleUnload(b));
    CHECK_EQ_INT(own, 7);
}

static void libraries(void)
{
    CUlibrary lib;
    CUkernel k, again, all[32];
    CUfunction f;
    CUmodule m;
    CUdeviceptr p;
    size_t bytes;
    unsigned count;
    const char *name;
    OK(cuLibraryLoadData(&lib, kernels, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetKernelCount(&count, lib));
    CHECK(count > 10 && count < 32);
    OK(cuLibraryEnumerateKernels(all, count, lib));
    OK(cuLibraryGetKernel(&k, lib, "count"));
    OK(cuLibraryGetKernel(&again, lib, "count"));
    CHECK(k == again);
    OK(cuKernelGetName(&name, k));
    CHECK_STR(name, "count");
    CHECK_CU(cuLibraryGetKernel(&k, lib, "absent"), CUDA_ERROR_NOT_FOUND);
    OK(cuKernelGetFunction(&f, k));
    OK(cuLibraryGetModule(&m, lib));
    OK(cuLibraryGetGlobal(&p, &bytes, lib, "counter"));
    CHECK_CU(cuLibraryGetManaged(&p, &bytes, lib, "counter"), CUDA_ERROR_NOT_FOUND);
    unsigned *word, n = 0;
    NEED(cuMemHostAlloc((void **)&word, 4, 0));
    *word = 0;
    void *params[] = {&word};
    for (int round = 0; round < 2; round++) { /* a kernel can be launched as a function */
        OK(launch((CUfunction)k, 2, 32, NULL, params));
        OK(cuCtxSynchronize());
        n += 64;
        CHECK_EQ_INT(*word, n);
    }
    OK(cuMemFreeHost(word));
    /* after a reset it loads itself anew */
    OK(cuDevicePrimaryCtxReset(0));
    NEED(cuMemHostAlloc((void **)&word, 4, 0));
    *word = 0;
    OK(launch((CUfunction)k, 2, 32, NULL, params));
    OK(cuCtxSynchronize());
    CHECK_EQ_INT(*word, 64);
    OK(cuLibraryUnload(lib));
}

/* ---- many at once ---- */

static long resident_kib(void)
{
    long pages = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    CHECK(f != NULL && fscanf(f, "%ld %ld", &pages, &resident) == 2);
    if (f != NULL)
        fclose(f);
    return resident * 4;
}

/* A small module takes little. */
static void many(void)
{
    enum { MODULES = 1000, MOST_KIB = 24 };
    static CUmodule m[MODULES];
    long before = resident_kib();
    for (int n = 0; n < MODULES; n++)
        NEED(cuModuleLoadData(&m[n], tiny));
    long taken = resident_kib() - before;
    for (int n = 0; n < MODULES; n++)
        OK(cuModuleUnload(m[n]));
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    taken = 0; /* whose own share is larger */
#endif
#endif
    CHECK(taken / MODULES < MOST_KIB);
}

/* A container or fat binary of unknown size whose offsets lead where nothing can be read. */
static void wild_offsets(void)
{
    unsigned char *page =
        mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    NEED(page != MAP_FAILED ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
    NEED(mprotect(page + 4096, 4096, PROT_NONE) == 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
    Elf64_Ehdr head = {
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT, 'W'},
        .e_shoff = sizeof head,
        .e_shentsize = sizeof(Elf64_Shdr),
        .e_shnum = 2,
        .e_shstrndx = 1};
    unsigned char *image = page + 4096 - sizeof head - 2 * sizeof(Elf64_Shdr);
    static const uint64_t offsets[] = {4096, 1 << 20, 1ull << 40, UINT64_MAX - 100};
    for (size_t n = 0; n < sizeof offsets / sizeof *offsets; n++) {
        Elf64_Shdr sections[2] = {
            {0}, {.sh_type = SHT_PROGBITS, .sh_offset = offsets[n], .sh_size = 64}};
        memcpy(image, &head, sizeof head);
        memcpy(image + sizeof head, sections, sizeof sections);
        check_loads(image, CUDA_ERROR_NO_BINARY_FOR_GPU, NULL);
        Elf64_Ehdr far = head;
        far.e_shoff = offsets[n];
        memcpy(image, &far, sizeof far);
        check_loads(image, CUDA_ERROR_INVALID_IMAGE, "cut off");
    }
    static struct blob b;
    start(&b);
    entry(&b, 1, 70, RAW, tiny);
    unsigned char *cut = page + 4096 - b.size / 2;
    memcpy(cut, b.bytes, b.size / 2);
    check_loads(cut, CUDA_ERROR_INVALID_IMAGE, NULL);
    munmap(page, 8192);
}

int main(void)
{
    begin();
    packings();
    wild_offsets();
    choice();
    relocatable();
    ptx();
    logs();
    variables();
    bindings();
    libraries();
    many();
    return check_done();
}
