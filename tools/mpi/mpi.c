/* mpi: stands between a program and its MPI library, so that device pointers may be given to MPI.
 * `weir run` loads it before all others into the ranks that mpirun, mpiexec or srun start.
 *
 * Host and device share memory, so MPI can read and write device memory as it is; what must be
 * known is that it may. Each call below tells the driver that it begins and ends
 * (driver/host_calls.h), and, in checked mode or where someone observes, which bytes it accesses.
 * Then it calls the function of the same name in the next library, which is MPI's or another
 * tool's.
 *
 * Open MPI and MPICH have different types: a communicator is a pointer in one and a number in the
 * other. So no header of MPI is used here. Arguments are words, handed on as they came; numbers are
 * in their lower half, as all ABIs of 64 bits have it that Weir runs on. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef intptr_t word;
typedef word (*mpi_function)(word, ...);

enum { ARGUMENTS = 12, PARTS = 2 };

enum shape { NONE, ONE, EACH, BY_RANK, SUM, MINE, BYTES };
enum who { ALL, ROOT, OTHERS };

/* A buffer of a call: the numbers of the arguments that tell of it. */
struct part {
    enum shape shape;
    bool write;
    enum who who;
    int buffer, count, displacements, type, root, communicator;
};

struct call {
    const char *name;
    bool goes_on;
    struct part parts[PARTS];
};

/* ---- MPI's functions ---- */

/* Libraries that a program may have opened for itself alone (Python's mpi4py does). */
static const char *const libraries[] = {"libmpi.so.40", "libmpi.so.12", "libmpich.so.12",
                                        "libmpi.so"};

static mpi_function find(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    for (size_t i = 0; found == NULL && i < sizeof libraries / sizeof *libraries; i++) {
        void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);
        if (library != NULL)
            found = dlsym(library, name);
    }
    mpi_function function;
    memcpy(&function, &found, sizeof function);
    return function;
}

static mpi_function need(mpi_function *cache, const char *name)
{
    mpi_function function = __atomic_load_n(cache, __ATOMIC_RELAXED);
    if (function == NULL) {
        function = find(name);
        if (function == NULL) {
            fprintf(stderr, "weir: the program calls %s, which no MPI library of the process has\n",
                    name);
            abort();
        }
        __atomic_store_n(cache, function, __ATOMIC_RELAXED);
    }
    return function;
}

/* A question to MPI that has an int for an answer. */
static int ask(mpi_function *cache, const char *name, word communicator)
{
    int answer = 0;
    need(cache, name)(communicator, (word)(intptr_t)&answer);
    return answer;
}

static int ranks(word communicator)
{
    static mpi_function size;
    return ask(&size, "PMPI_Comm_size", communicator);
}

static int rank(word communicator)
{
    static mpi_function function;
    return ask(&function, "PMPI_Comm_rank", communicator);
}

/* ---- the driver ---- */

static struct {
    int (*begins)(int goes_on);
    void (*ends)(void);
    void (*access)(const void *memory, uint64_t bytes, int write, const char *call,
                   const void *site);
} driver;

/* Whether the process has our driver. It may come at any time, so this is asked until then. */
static bool have_driver(void)
{
    static int state;
    if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) == 1)
        return true;
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    void *begins = library != NULL ? dlsym(library, "weir_host_call_begins") : NULL;
    if (begins == NULL)
        return false;
    void *ends = dlsym(library, "weir_host_call_ends"),
         *access = dlsym(library, "weir_host_access");
    memcpy(&driver.begins, &begins, sizeof begins);
    memcpy(&driver.ends, &ends, sizeof ends);
    memcpy(&driver.access, &access, sizeof access);
    __atomic_store_n(&state, 1, __ATOMIC_RELEASE);
    return true;
}

/* ---- buffers ---- */

/* Where elements lie, from the first one's address on. */
struct layout {
    intptr_t low, bytes; /* of one */
    intptr_t step;       /* from one to the next */
};

static struct layout layout_of(word type)
{
    static mpi_function extent, true_extent;
    struct layout l = {0};
    intptr_t lower;
    need(&extent, "PMPI_Type_get_extent")(type, (word)(intptr_t)&lower, (word)(intptr_t)&l.step);
    need(&true_extent, "PMPI_Type_get_true_extent")(type, (word)(intptr_t)&l.low,
                                                    (word)(intptr_t)&l.bytes);
    return l;
}

/* Tells of `count` elements from element `first` on. */
static void tell(const struct call *c, const struct part *p, word buffer, struct layout l,
                 intptr_t first, intptr_t count, const void *site)
{
    if (count <= 0 || l.bytes <= 0)
        return;
    intptr_t low = buffer + first * l.step + l.low, last = low + (count - 1) * l.step;
    intptr_t begin = last < low ? last : low;
    driver.access((const void *)begin, (uint64_t)((last < low ? low : last) - begin + l.bytes),
                  p->write, c->name, site);
}

/* MPI_IN_PLACE and MPI_BOTTOM are no addresses. */
static bool is_buffer(word buffer) { return buffer > 4096 || buffer < -4096; }

static bool has_buffer(const struct part *p, const word *a)
{
    if (p->shape == NONE || !is_buffer(a[p->buffer]))
        return false;
    return p->who == ALL || (rank(a[p->communicator]) == (int)a[p->root]) == (p->who == ROOT);
}

static void tell_part(const struct call *c, const struct part *p, const word *a, const void *site)
{
    word buffer = a[p->buffer];
    if (p->shape == BYTES) { /* an int, or of windows an MPI_Aint */
        intptr_t bytes = strcmp(c->name, "MPI_Win_create") == 0 ? a[p->count] : (int)a[p->count];
        tell(c, p, buffer, (struct layout){0, 1, 1}, 0, bytes, site);
        return;
    }
    struct layout l = layout_of(a[p->type]);
    if (p->shape == ONE || p->shape == EACH) {
        intptr_t each = p->shape == EACH ? ranks(a[p->communicator]) : 1;
        tell(c, p, buffer, l, 0, (int)a[p->count] * each, site);
        return;
    }
    const int *counts = (const int *)a[p->count];
    intptr_t sum = 0;
    for (int i = 0, n = ranks(a[p->communicator]); i < n; i++) {
        if (p->shape == BY_RANK)
            tell(c, p, buffer, l, ((const int *)a[p->displacements])[i], counts[i], site);
        sum += counts[i];
    }
    if (p->shape != BY_RANK)
        tell(c, p, buffer, l, 0, p->shape == SUM ? sum : counts[rank(a[p->communicator])], site);
}

/* ---- calls ---- */

/* A library may call MPI's functions from inside of one. */
static _Thread_local int depth;

static bool begin(const struct call *c, const word *a, const void *site)
{
    if (!have_driver() || depth++ > 0)
        return false;
    if (driver.begins(c->goes_on))
        for (int i = 0; i < PARTS; i++)
            if (has_buffer(&c->parts[i], a))
                tell_part(c, &c->parts[i], a, site);
    return true;
}

static void end(bool begun)
{
    if (depth > 0)
        depth--;
    if (begun)
        driver.ends();
}

#define PARAMETERS_1  word a0
#define PARAMETERS_2  PARAMETERS_1, word a1
#define PARAMETERS_3  PARAMETERS_2, word a2
#define PARAMETERS_4  PARAMETERS_3, word a3
#define PARAMETERS_5  PARAMETERS_4, word a4
#define PARAMETERS_6  PARAMETERS_5, word a5
#define PARAMETERS_7  PARAMETERS_6, word a6
#define PARAMETERS_8  PARAMETERS_7, word a7
#define PARAMETERS_9  PARAMETERS_8, word a8
#define PARAMETERS_10 PARAMETERS_9, word a9
#define PARAMETERS_11 PARAMETERS_10, word a10
#define PARAMETERS_12 PARAMETERS_11, word a11
#define WORDS_1       a0
#define WORDS_2       WORDS_1, a1
#define WORDS_3       WORDS_2, a2
#define WORDS_4       WORDS_3, a3
#define WORDS_5       WORDS_4, a4
#define WORDS_6       WORDS_5, a5
#define WORDS_7       WORDS_6, a6
#define WORDS_8       WORDS_7, a7
#define WORDS_9       WORDS_8, a8
#define WORDS_10      WORDS_9, a9
#define WORDS_11      WORDS_10, a10
#define WORDS_12      WORDS_11, a11

/* {shape, write, who, buffer, count, displacements, type, root, communicator} */
#define PART0                               {NONE, false, ALL, 0, 0, 0, 0, 0, 0}
#define READS(b, c, t)                      {ONE, false, ALL, b, c, 0, t, 0, 0}
#define WRITES(b, c, t)                     {ONE, true, ALL, b, c, 0, t, 0, 0}
#define READS_AT(b, c, t, root, comm)       {ONE, false, ROOT, b, c, 0, t, root, comm}
#define WRITES_AT(b, c, t, root, comm)      {ONE, true, ROOT, b, c, 0, t, root, comm}
#define WRITES_OTHERS(b, c, t, root, comm)  {ONE, true, OTHERS, b, c, 0, t, root, comm}
#define READS_EACH(b, c, t, comm)           {EACH, false, ALL, b, c, 0, t, 0, comm}
#define WRITES_EACH(b, c, t, comm)          {EACH, true, ALL, b, c, 0, t, 0, comm}
#define READS_EACH_AT(b, c, t, root, comm)  {EACH, false, ROOT, b, c, 0, t, root, comm}
#define WRITES_EACH_AT(b, c, t, root, comm) {EACH, true, ROOT, b, c, 0, t, root, comm}
#define READS_V(b, c, d, t, comm)           {BY_RANK, false, ALL, b, c, d, t, 0, comm}
#define WRITES_V(b, c, d, t, comm)          {BY_RANK, true, ALL, b, c, d, t, 0, comm}
#define READS_V_AT(b, c, d, t, root, comm)  {BY_RANK, false, ROOT, b, c, d, t, root, comm}
#define WRITES_V_AT(b, c, d, t, root, comm) {BY_RANK, true, ROOT, b, c, d, t, root, comm}
#define READS_SUM(b, c, t, comm)            {SUM, false, ALL, b, c, 0, t, 0, comm}
#define WRITES_MINE(b, c, t, comm)          {MINE, true, ALL, b, c, 0, t, 0, comm}
#define READS_BYTES(b, c)                   {BYTES, false, ALL, b, c, 0, 0, 0, 0}
#define WRITES_BYTES(b, c)                  {BYTES, true, ALL, b, c, 0, 0, 0, 0}

#define MPI_CALL(what, count, after, ...)                                                          \
    word MPI_##what(PARAMETERS_##count);                                                           \
    __attribute__((visibility("default"))) word MPI_##what(PARAMETERS_##count)                     \
    {                                                                                              \
        static mpi_function next;                                                                  \
        static const struct call self = {"MPI_" #what, after, {__VA_ARGS__}};                      \
        const word arguments[ARGUMENTS] = {WORDS_##count};                                         \
        mpi_function function = need(&next, self.name);                                            \
        bool begun = begin(&self, arguments, __builtin_return_address(0));                         \
        word result = ((word(*)(PARAMETERS_##count))function)(WORDS_##count);                      \
        end(begun);                                                                                \
        return result;                                                                             \
    }
#include "calls.def"

/* Open MPI's question, which MPICH has as well: whether device pointers may be given to MPI. */
int MPIX_Query_cuda_support(void);
__attribute__((visibility("default"))) int MPIX_Query_cuda_support(void) { return 1; }

/* MPICH's own question; 0: CUDA. */
int MPIX_GPU_query_support(int type, int *supported);
__attribute__((visibility("default"))) int MPIX_GPU_query_support(int type, int *supported)
{
    static mpi_function next;
    if (type == 0)
        return *supported = 1, 0;
    return (int)need(&next, "MPIX_GPU_query_support")(type, (word)(intptr_t)supported);
}
