/* Modules and libraries loaded from PTX, their functions and variables; memory that is mapped by
 * hand; memory and events exported to other processes. */
#include <string.h>

#include "sequences.h"

const char module_text[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                           ".visible .global .align 4 .u32 number = 5;\n"
                           ".visible .entry put(.param .u64 p, .param .u32 v) {\n"
                           ".reg .b64 %p;\n.reg .b32 %v;\n"
                           "ld.param.u64 %p, [p];\nld.param.u32 %v, [v];\n"
                           "st.global.u8 [%p], %v;\nret;\n}\n";

/* A byte of a buffer is stored by a function that is gone when the step is over. */
static void put(struct thread *t, CUfunction f, const void *kernel)
{
    struct action a;

    if (!any_action(t, &a, false))
        return;
    a.kind = SET;
    a.n = 1;
    int s = any_stream(t);
    if (!action_may(t, s, &a))
        return;
    char *p = t->buffer[a.dst].p + a.to;
    void *args[] = {&p, &a.value};
    cudaStream_t h = t->stream[s].h;
    NOTE(a.dst, a.to, s, 0);
    if (kernel != NULL)
        OK_RT(cudaLaunchKernel(kernel, (dim3){1, 1, 1}, (dim3){1, 1, 1}, args, 0, h));
    else
        OK_CU(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, (CUstream)h, args, NULL));
    enqueued(t, s);
    action_done(t, s, &a);
    act(t, &a);
    OK_RT(cudaStreamSynchronize(h));
    stream_done(t, s);
}

static void check_number(struct thread *t, CUdeviceptr p, size_t size)
{
    unsigned number = 0;

    MUST_EQ(size, 4);
    OK_CU(cuMemcpyDtoH(&number, p, sizeof number));
    MUST_EQ(number, 5);
    OK_CU(cuMemsetD32(p, 6, 1)); /* the next one that is loaded has its own */
}

static void use_module(struct thread *t)
{
    CUmodule m = NULL;
    CUfunction f = NULL;
    CUdeviceptr p = 0;
    size_t size = 0;

    OK_CU(cuModuleLoadData(&m, module_text));
    OK_CU(cuModuleGetFunction(&f, m, "put"));
    CU(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&f, m, "get"));
    OK_CU(cuModuleGetFunction(&f, m, "put"));
    OK_CU(cuModuleGetGlobal(&p, &size, m, "number"));
    CU(CUDA_ERROR_NOT_FOUND, cuModuleGetGlobal(&p, &size, m, "none"));
    OK_CU(cuModuleGetGlobal(&p, &size, m, "number"));
    check_number(t, p, size);
    put(t, f, NULL);
    OK_CU(cuModuleUnload(m));
}

static void use_library(struct thread *t)
{
    cudaLibrary_t l = NULL;
    cudaKernel_t k = NULL;
    void *p = NULL;
    size_t size = 0;
    unsigned count = 0;

    OK_RT(cudaLibraryLoadData(&l, module_text, NULL, NULL, 0, NULL, NULL, 0));
    OK_RT(cudaLibraryGetKernelCount(&count, l));
    MUST_EQ(count, 1);
    RT(cudaErrorSymbolNotFound, cudaLibraryGetKernel(&k, l, "get"));
    OK_RT(cudaLibraryGetKernel(&k, l, "put"));
    OK_RT(cudaLibraryGetGlobal(&p, &size, l, "number"));
    check_number(t, (CUdeviceptr)p, size);
    put(t, NULL, (const void *)k);
    OK_RT(cudaLibraryUnload(l));
}

static void wrong_modules(struct thread *t)
{
    CUmodule m = NULL;
    cudaLibrary_t l = NULL;

    switch (below(t, 5)) {
    case 0: CU(CUDA_ERROR_INVALID_VALUE, cuModuleLoadData(&m, NULL)); break;
    case 1: CU(CUDA_ERROR_FILE_NOT_FOUND, cuModuleLoad(&m, "/nowhere/at/all.ptx")); break;
    case 2: CU(CUDA_ERROR_INVALID_HANDLE, cuModuleUnload(NULL)); break;
    case 3: RT(cudaErrorInvalidResourceHandle, cudaLibraryUnload(NULL)); break;
    default: RT(cudaErrorInvalidValue, cudaLibraryLoadData(&l, NULL, NULL, NULL, 0, NULL, NULL, 0));
    }
}

/* ---- memory mapped by hand ---- */

static void make_virtual(struct thread *t)
{
    CUmemAllocationProp prop;
    CUmemAccessDesc access;
    size_t granule = 0;
    CUdeviceptr p = 0;
    unsigned long long rights = 0;
    int i = 0;

    while (i < BUFFERS && t->buffer[i].live)
        i++;
    if (i == BUFFERS)
        return;
    struct buffer *b = &t->buffer[i];
    memset(&prop, 0, sizeof prop);
    memset(&access, 0, sizeof access);
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = access.location.id = t->device;
    OK_CU(cuMemGetAllocationGranularity(&granule, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    MUST(granule > 0);
    CU(CUDA_ERROR_INVALID_VALUE, cuMemAddressReserve(&p, granule + 1, 0, 0, 0));
    OK_CU(cuMemAddressReserve(&p, granule, 0, 0, 0));
    OK_CU(cuMemCreate(&b->handle, granule, &prop, 0));
    OK_CU(cuMemMap(p, granule, 0, b->handle, 0));
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    OK_CU(cuMemSetAccess(p, granule, &access, 1));
    OK_CU(cuMemGetAccess(&rights, &access.location, p));
    MUST_EQ(rights, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    b->kind = VIRTUAL;
    b->mapped = granule;
    b->p = (char *)p;
    b->size = 1 + below(t, STAGE);
    buffer_begins(t, b);
}

/* ---- handles for other processes ---- */

static void export_something(struct thread *t)
{
    cudaIpcMemHandle_t memory;
    cudaIpcEventHandle_t event;
    int k = any_buffer(t), e = any_event(t);
    void *p = NULL;

    if (e > 0 && one_in(t, 2)) {
        bool shared = t->event[e].flags & cudaEventInterprocess;
        NOTE(e, shared, 0, 0);
        RT(shared ? (int)cudaSuccess : (int)cudaErrorInvalidResourceHandle,
           cudaIpcGetEventHandle(&event, t->event[e].h));
        return;
    }
    if (k < 0)
        return;
    struct buffer *b = &t->buffer[k];
    NOTE(k, b->kind, b->size, 0);
    if (b->kind == DEVICE || b->kind == PITCHED) {
        OK_RT(cudaIpcGetMemHandle(&memory, b->p));
        RT(cudaErrorDeviceUninitialized,
           cudaIpcOpenMemHandle(&p, memory, cudaIpcMemLazyEnablePeerAccess));
    } else if (b->kind == PINNED || b->kind == MANAGED || b->kind == ORDERED) {
        RT(cudaErrorInvalidValue, cudaIpcGetMemHandle(&memory, b->p));
    }
    RT(cudaErrorInvalidValue, cudaIpcCloseMemHandle(b->p));
}

const struct op ops_modules[] = {
    {"modules", "module", use_module, 1, true},
    {"modules", "library", use_library, 1, true},
    {"modules", "wrong modules", wrong_modules, 3, false},
    {"virtual", "map memory", make_virtual, 3, true},
    {"ipc", "export", export_something, 3, true},
    {NULL, NULL, NULL, 0, false},
};
