/* symbol: variables of device code, by the addresses of their host shadows: where they are, and
 * copies to and from them. */
#include "runtime/internal.h"

static cudaError_t address_of(void **ptr, const void *symbol)
{
    CUdeviceptr address;
    size_t size;

    RT_CHECK(ptr, cudaErrorInvalidValue);
    RT_TRY(rt_symbol(symbol, &address, &size));
    *ptr = (void *)address;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaGetSymbolAddress(void **devPtr, const void *symbol)
{
    return done(address_of(devPtr, symbol));
}

static cudaError_t size_of(size_t *size, const void *symbol)
{
    CUdeviceptr address;

    RT_CHECK(size, cudaErrorInvalidValue);
    return rt_symbol(symbol, &address, size);
}

PUBLIC cudaError_t cudaGetSymbolSize(size_t *size, const void *symbol)
{
    return done(size_of(size, symbol));
}

/* The part [offset, offset + count) of a symbol. */
cudaError_t rt_symbol_part(const void *symbol, size_t offset, size_t count, char **out)
{
    CUdeviceptr address;
    size_t size;

    RT_TRY(rt_symbol(symbol, &address, &size));
    RT_CHECK(offset <= size && count <= size - offset, cudaErrorInvalidValue);
    *out = (char *)address + offset;
    return cudaSuccess;
}

static cudaError_t to_symbol(const void *symbol, const void *src, size_t count, size_t offset,
                             enum cudaMemcpyKind kind, cudaStream_t stream, enum rt_wait wait)
{
    char *part;

    RT_CHECK(kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice ||
                 kind == cudaMemcpyDefault,
             cudaErrorInvalidMemcpyDirection);
    if (count == 0)
        return cudaSuccess;
    RT_TRY(rt_symbol_part(symbol, offset, count, &part));
    return rt_copy_1d(part, src, count, kind, stream, wait);
}

static cudaError_t from_symbol(void *dst, const void *symbol, size_t count, size_t offset,
                               enum cudaMemcpyKind kind, cudaStream_t stream, enum rt_wait wait)
{
    char *part;

    RT_CHECK(kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice ||
                 kind == cudaMemcpyDefault,
             cudaErrorInvalidMemcpyDirection);
    if (count == 0)
        return cudaSuccess;
    RT_TRY(rt_symbol_part(symbol, offset, count, &part));
    return rt_copy_1d(dst, part, count, kind, stream, wait);
}

DEFAULT_STREAM_API(cudaMemcpyToSymbol,
                   (const void *symbol, const void *src, size_t count, size_t offset,
                    enum cudaMemcpyKind kind),
                   to_symbol(symbol, src, count, offset, kind, stream, RT_SYNC))
STREAM_API(cudaMemcpyToSymbolAsync,
           (const void *symbol, const void *src, size_t count, size_t offset,
            enum cudaMemcpyKind kind, cudaStream_t stream),
           to_symbol(symbol, src, count, offset, kind, stream, RT_ASYNC))
DEFAULT_STREAM_API(cudaMemcpyFromSymbol,
                   (void *dst, const void *symbol, size_t count, size_t offset,
                    enum cudaMemcpyKind kind),
                   from_symbol(dst, symbol, count, offset, kind, stream, RT_SYNC))
STREAM_API(cudaMemcpyFromSymbolAsync,
           (void *dst, const void *symbol, size_t count, size_t offset, enum cudaMemcpyKind kind,
            cudaStream_t stream),
           from_symbol(dst, symbol, count, offset, kind, stream, RT_ASYNC))
