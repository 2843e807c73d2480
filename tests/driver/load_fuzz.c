/* K3.2: damaged inputs of every kind, at random, through the driver's calls: modules and libraries
 * from memory and from files, links. Each gives a code and, where it is an error, a message; then a
 * whole module still loads and runs. `driver_load_fuzz SECONDS SEED` goes on for longer. */
#include <time.h>
#include <unistd.h>

#include "common.h"
#include "container/damage.h"

enum { REGION = 1 << 20 };

static char region[REGION]
    __attribute__((aligned(16))); /* an image in memory, and zeros after it */
static char path[64];
static unsigned long accepted;

static bool expected(CUresult r)
{
    switch (r) {
    case CUDA_SUCCESS:
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_OUT_OF_MEMORY: /* for variables of any size */
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_INVALID_SOURCE:
    case CUDA_ERROR_NOT_FOUND: return true;
    default: return false;
    }
}

static bool fine(CUresult r, const char *call)
{
    if (!check_count(expected(r)))
        printf("%s is %s (%s)\n", call, result_name(r), weir_last_message());
    CHECK(r == CUDA_SUCCESS || weir_last_message()[0] != '\0');
    accepted += r == CUDA_SUCCESS;
    return r == CUDA_SUCCESS;
}
#define FINE(call) fine(call, #call)

static void write_file(const struct strbuf *input)
{
    FILE *f = fopen(path, "wb");
    CHECK(f != NULL && fwrite(input->items, 1, input->count, f) == input->count);
    if (f != NULL)
        fclose(f);
}

/* Whether an image in memory, whose size the driver is not told, says truly where it ends. */
static bool honest(const struct strbuf *input)
{
    static const unsigned char fatbin[4] = {0x50, 0xed, 0x55, 0xba},
                               wrapper[4] = {0xb1, 0x43, 0x62, 0x46};
    uint64_t body = 0;
    uint16_t header = 0;
    if (input->count < 16 || input->count + 16 > REGION)
        return false;
    memcpy(&header, input->items + 6, sizeof header);
    memcpy(&body, input->items + 8, sizeof body);
    if (memcmp(input->items, fatbin, 4) == 0)
        return body <= REGION - (1 << 16);
    return memcmp(input->items, "\177ELF", 4) != 0 && memcmp(input->items, wrapper, 4) != 0;
}

static void use(CUmodule m)
{
    CUdeviceptr at;
    size_t bytes;
    CUfunction f;
    cuModuleGetFunction(&f, m, "k");
    cuModuleGetGlobal(&at, &bytes, m, "words");
    OK(cuModuleUnload(m));
}

static void from_memory(const struct strbuf *input, uint64_t way)
{
    CUmodule m;
    CUlibrary l;
    memset(region, 0, sizeof region);
    memcpy(region, input->items, input->count);
    if (way == 0 && FINE(cuModuleLoadData(&m, region)))
        use(m);
    if (way == 1 && FINE(cuModuleLoadFatBinary(&m, region)))
        use(m);
    if (way == 2 && FINE(cuLibraryLoadData(&l, region, NULL, NULL, 0, NULL, NULL, 0)))
        OK(cuLibraryUnload(l));
}

static void from_file(const struct strbuf *input, uint64_t way)
{
    CUmodule m;
    CUlibrary l;
    write_file(input);
    if (way == 0 && FINE(cuModuleLoad(&m, path)))
        use(m);
    if (way == 1 && FINE(cuLibraryLoadFromFile(&l, path, NULL, NULL, 0, NULL, NULL, 0)))
        OK(cuLibraryUnload(l));
}

static void linked(const struct strbuf *input, const struct strbuf *other, uint64_t way)
{
    static const CUjitInputType types[] = {CU_JIT_INPUT_PTX, CU_JIT_INPUT_CUBIN,
                                           CU_JIT_INPUT_FATBINARY, CU_JIT_INPUT_OBJECT,
                                           CU_JIT_INPUT_LIBRARY};
    CUlinkState s;
    CUjitInputType type = types[way % WEIR_COUNT(types)];
    void *image;
    size_t size;
    CUmodule m;
    NEED(cuLinkCreate(0, NULL, NULL, &s));
    char *exact = malloc(input->count > 0 ? input->count : 1);
    if (input->count > 0)
        memcpy(exact, input->items, input->count);
    bool added = FINE(cuLinkAddData(s, type, exact, input->count, "input", 0, NULL, NULL));
    free(exact);
    if (way % 3 == 0)
        FINE(cuLinkAddData(s, CU_JIT_INPUT_LIBRARY, other->items, other->count, NULL, 0, NULL,
                           NULL));
    if (added && FINE(cuLinkComplete(s, &image, &size)) && FINE(cuModuleLoadData(&m, image)))
        use(m);
    OK(cuLinkDestroy(s));
}

static void works_still(CUcontext c)
{
    CUmodule m = load();
    unsigned *word;
    NEED(cuCtxSetCurrent(c));
    NEED(cuMemHostAlloc((void **)&word, 4, 0));
    *word = 0;
    OK(launch(kernel(m, "count"), 2, 32, NULL, (void *[]){&word}));
    OK(cuCtxSynchronize());
    CHECK_EQ_INT(*word, 64);
    OK(cuMemFreeHost(word));
    OK(cuModuleUnload(m));
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? strtod(argv[1], NULL) : 3;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 88172645463325252ull;
    unsigned long tried = 0;
    CUcontext c = begin();
    struct strbuf whole[WHOLE_INPUTS] = {0}, now = {0};
    snprintf(path, sizeof path, "/tmp/weir-load-fuzz-%d", (int)getpid());
    for (unsigned n = 0; n < WHOLE_INPUTS; n++)
        damage_whole(n, &whole[n]);
    struct timespec begun, t;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    do {
        const struct strbuf *other = &whole[damage_below(&seed, WHOLE_INPUTS)];
        const struct strbuf *from = &whole[damage_below(&seed, WHOLE_INPUTS)];
        now.count = 0;
        sb_append(&now, from->items, from->count);
        for (uint64_t k = damage_below(&seed, 4); k > 0; k--)
            damage_once(&now, other, &seed);
        uint64_t way = damage_below(&seed, 15);
        if (way < 3 && honest(&now))
            from_memory(&now, way);
        else if (way < 5)
            from_file(&now, way % 2);
        else
            linked(&now, other, way);
        tried++;
        clock_gettime(CLOCK_MONOTONIC, &t);
    } while ((double)(t.tv_sec - begun.tv_sec) + (double)(t.tv_nsec - begun.tv_nsec) / 1e9 <
             seconds);
    unlink(path);
    works_still(c);
    for (unsigned n = 0; n < WHOLE_INPUTS; n++)
        sb_free(&whole[n]);
    sb_free(&now);
    printf("%lu inputs, %lu calls accepted theirs\n", tried, accepted);
    return check_done();
}
