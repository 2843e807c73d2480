/* E1: each wrong argument of the copies to, from and between arrays, for all their forms: by rows
 * or by bytes, at once or in a stream. */
#include "errors.h"

static char text[4096];
static const cudaMemcpyKind to_device = cudaMemcpyHostToDevice, to_host = cudaMemcpyDeviceToHost,
                            within = cudaMemcpyDeviceToDevice, unknown = (cudaMemcpyKind)9;
static char not_a_handle[4096];

static void rows()
{
    cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>();
    cudaArray_t a, b, null = nullptr; /* 16 rows of 64 floats each */
    cudaStream_t s, no_stream = (cudaStream_t)not_a_handle;

    MUST(cudaMallocArray(&a, &desc, 64, 16));
    MUST(cudaMallocArray(&b, &desc, 64, 16));
    MUST(cudaStreamCreate(&s));
    /* target, source, and the numbers: both forms of a function give the same code */
#define TO_2D(what, code, ...)                                                                     \
    ROW(what, cudaMemcpy2DToArray(__VA_ARGS__), code);                                             \
    ROW(what, cudaMemcpy2DToArrayAsync(__VA_ARGS__, s), code)
    TO_2D("fine", cudaSuccess, a, 0, 0, text, 64, 64, 4, to_device);
    TO_2D("no array", cudaErrorInvalidResourceHandle, null, 0, 0, text, 64, 64, 4, to_device);
    TO_2D("no source", cudaErrorInvalidValue, a, 0, 0, nullptr, 64, 64, 4, to_device);
    TO_2D("past the row", cudaErrorInvalidValue, a, 200, 0, text, 64, 64, 4, to_device);
    TO_2D("between elements", cudaSuccess, a, 2, 0, text, 64, 64, 4, to_device);
    TO_2D("part of an element", cudaSuccess, a, 0, 0, text, 64, 62, 4, to_device);
    TO_2D("past the rows", cudaErrorInvalidValue, a, 0, 13, text, 64, 64, 4, to_device);
    TO_2D("too many rows", cudaErrorInvalidValue, a, 0, 0, text, 64, 64, 17, to_device);
    TO_2D("too wide", cudaErrorInvalidValue, a, 0, 0, text, 512, 512, 4, to_device);
    TO_2D("pitch", cudaErrorInvalidPitchValue, a, 0, 0, text, 32, 64, 4, to_device);
    TO_2D("one row, pitch", cudaErrorInvalidValue, a, 0, 0, text, 32, 64, 1, to_device);
    TO_2D("width 0", cudaSuccess, a, 0, 0, text, 64, 0, 4, to_device);
    TO_2D("height 0", cudaSuccess, a, 0, 0, text, 64, 64, 0, to_device);
    TO_2D("to the host, it says", cudaErrorInvalidMemcpyDirection, a, 0, 0, text, 64, 64, 4,
          to_host);
    TO_2D("unknown direction", cudaErrorInvalidMemcpyDirection, a, 0, 0, text, 64, 64, 4, unknown);
#define FROM_2D(what, code, ...)                                                                   \
    ROW(what, cudaMemcpy2DFromArray(__VA_ARGS__), code);                                           \
    ROW(what, cudaMemcpy2DFromArrayAsync(__VA_ARGS__, s), code)
    FROM_2D("fine", cudaSuccess, text, 64, a, 0, 0, 64, 4, to_host);
    FROM_2D("no target", cudaErrorInvalidValue, nullptr, 64, a, 0, 0, 64, 4, to_host);
    FROM_2D("pitch", cudaErrorInvalidPitchValue, text, 32, a, 0, 0, 64, 4, to_host);
    FROM_2D("no array", cudaErrorInvalidResourceHandle, text, 64, null, 0, 0, 64, 4, to_host);
    FROM_2D("past the row", cudaErrorInvalidValue, text, 64, a, 200, 0, 64, 4, to_host);
    FROM_2D("between elements", cudaSuccess, text, 64, a, 2, 0, 64, 4, to_host);
    FROM_2D("past the rows", cudaErrorInvalidValue, text, 64, a, 0, 13, 64, 4, to_host);
    FROM_2D("too wide", cudaErrorInvalidValue, text, 512, a, 0, 0, 512, 4, to_host);
    FROM_2D("too many rows", cudaErrorInvalidValue, text, 64, a, 0, 0, 64, 17, to_host);
    FROM_2D("to the device, it says", cudaErrorInvalidMemcpyDirection, text, 64, a, 0, 0, 64, 4,
            to_device);
    FROM_2D("unknown direction", cudaErrorInvalidMemcpyDirection, text, 64, a, 0, 0, 64, 4,
            unknown);
#define TO(what, code, ...)                                                                        \
    ROW(what, cudaMemcpyToArray(__VA_ARGS__), code);                                               \
    ROW(what, cudaMemcpyToArrayAsync(__VA_ARGS__, s), code)
    TO("fine", cudaSuccess, a, 0, 0, text, 512, to_device);
    TO("no array", cudaErrorInvalidResourceHandle, null, 0, 0, text, 64, to_device);
    TO("past the row", cudaSuccess, a, 256, 0, text, 64, to_device);
    TO("past the rows", cudaErrorInvalidValue, a, 0, 16, text, 64, to_device);
    TO("past the end", cudaErrorInvalidValue, a, 0, 15, text, 512, to_device);
    TO("no source", cudaErrorInvalidValue, a, 0, 0, nullptr, 64, to_device);
    TO("nothing", cudaSuccess, a, 0, 0, text, 0, to_device);
    TO("to the host, it says", cudaErrorInvalidMemcpyDirection, a, 0, 0, text, 64, to_host);
#define FROM(what, code, ...)                                                                      \
    ROW(what, cudaMemcpyFromArray(__VA_ARGS__), code);                                             \
    ROW(what, cudaMemcpyFromArrayAsync(__VA_ARGS__, s), code)
    FROM("fine", cudaSuccess, text, a, 0, 0, 512, to_host);
    FROM("no target", cudaErrorInvalidValue, nullptr, a, 0, 0, 64, to_host);
    FROM("no array", cudaErrorInvalidResourceHandle, text, null, 0, 0, 64, to_host);
    FROM("past the row", cudaSuccess, text, a, 256, 0, 64, to_host);
    FROM("past the rows", cudaErrorInvalidValue, text, a, 0, 16, 64, to_host);
    FROM("past the end", cudaErrorInvalidValue, text, a, 0, 15, 512, to_host);
    FROM("to the device, it says", cudaErrorInvalidMemcpyDirection, text, a, 0, 0, 64, to_device);
#define BETWEEN(what, code, ...) ROW(what, cudaMemcpy2DArrayToArray(__VA_ARGS__), code)
    BETWEEN("fine", cudaSuccess, a, 0, 0, b, 0, 0, 64, 4, within);
    BETWEEN("no target", cudaErrorInvalidValue, null, 0, 0, b, 0, 0, 64, 4, within);
    BETWEEN("no source", cudaErrorInvalidResourceHandle, a, 0, 0, null, 0, 0, 64, 4, within);
    BETWEEN("past the target's row", cudaErrorInvalidValue, a, 200, 0, b, 0, 0, 64, 4, within);
    BETWEEN("past the target's rows", cudaErrorInvalidValue, a, 0, 13, b, 0, 0, 64, 4, within);
    BETWEEN("past the source's row", cudaErrorInvalidValue, a, 0, 0, b, 200, 0, 64, 4, within);
    BETWEEN("past the source's rows", cudaErrorInvalidValue, a, 0, 0, b, 0, 13, 64, 4, within);
    BETWEEN("too wide", cudaErrorInvalidValue, a, 0, 0, b, 0, 0, 512, 4, within);
    BETWEEN("too many rows", cudaErrorInvalidValue, a, 0, 0, b, 0, 0, 64, 17, within);
    BETWEEN("to the device, it says", cudaErrorInvalidMemcpyDirection, a, 0, 0, b, 0, 0, 64, 4,
            to_device);
    BETWEEN("host to host, it says", cudaErrorInvalidMemcpyDirection, a, 0, 0, b, 0, 0, 64, 4,
            cudaMemcpyHostToHost);
    BETWEEN("unknown direction", cudaErrorInvalidMemcpyDirection, a, 0, 0, b, 0, 0, 64, 4, unknown);
#undef BETWEEN
#define BETWEEN(what, code, ...) ROW(what, cudaMemcpyArrayToArray(__VA_ARGS__), code)
    BETWEEN("fine", cudaSuccess, a, 0, 0, b, 0, 0, 512, within);
    BETWEEN("no target", cudaErrorInvalidResourceHandle, null, 0, 0, b, 0, 0, 64, within);
    BETWEEN("no source", cudaErrorInvalidResourceHandle, a, 0, 0, null, 0, 0, 64, within);
    BETWEEN("past the target's row", cudaSuccess, a, 256, 0, b, 0, 0, 64, within);
    BETWEEN("past the target's rows", cudaErrorInvalidValue, a, 0, 16, b, 0, 0, 64, within);
    BETWEEN("past the source's row", cudaSuccess, a, 0, 0, b, 256, 0, 64, within);
    BETWEEN("past the source's rows", cudaErrorInvalidValue, a, 0, 0, b, 0, 16, 64, within);
    BETWEEN("past the end", cudaErrorInvalidValue, a, 0, 15, b, 0, 0, 512, within);
    BETWEEN("to the device, it says", cudaErrorInvalidMemcpyDirection, a, 0, 0, b, 0, 0, 64,
            to_device);
    ROW_UNDEFINED("no stream",
                  cudaMemcpy2DToArrayAsync(a, 0, 0, text, 64, 64, 4, to_device, no_stream),
                  cudaErrorInvalidResourceHandle);
    ROW_UNDEFINED("no stream",
                  cudaMemcpy2DFromArrayAsync(text, 64, a, 0, 0, 64, 4, to_host, no_stream),
                  cudaErrorInvalidResourceHandle);
    ROW_UNDEFINED("no stream", cudaMemcpyToArrayAsync(a, 0, 0, text, 64, to_device, no_stream),
                  cudaErrorInvalidResourceHandle);
    ROW_UNDEFINED("no stream", cudaMemcpyFromArrayAsync(text, a, 0, 0, 64, to_host, no_stream),
                  cudaErrorInvalidResourceHandle);
}

ERROR_TABLE_MAIN(rows)
