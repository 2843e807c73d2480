/* error: names and texts of all codes. */
#include "driver/driver.h"

static const struct {
    CUresult code;
    const char *name, *text;
} table[] = {
#define CODE(name, text) {name, #name, text}
    CODE(CUDA_SUCCESS, "no error"),
    CODE(CUDA_ERROR_INVALID_VALUE, "invalid argument"),
    CODE(CUDA_ERROR_OUT_OF_MEMORY, "out of memory"),
    CODE(CUDA_ERROR_NOT_INITIALIZED, "initialization error"),
    CODE(CUDA_ERROR_DEINITIALIZED, "driver shutting down"),
    CODE(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected"),
    CODE(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"),
    CODE(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid"),
    CODE(CUDA_ERROR_INVALID_CONTEXT, "invalid device context"),
    CODE(CUDA_ERROR_NO_BINARY_FOR_GPU, "no kernel image is available for execution on the device"),
    CODE(CUDA_ERROR_UNSUPPORTED_LIMIT, "limit is not supported on this architecture"),
    CODE(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, "peer access is not supported between these two devices"),
    CODE(CUDA_ERROR_INVALID_PTX, "a PTX JIT compilation failed"),
    CODE(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "the provided PTX was compiled with an unsupported toolchain."),
    CODE(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY, "this execution affinity type is not supported"),
    CODE(CUDA_ERROR_INVALID_SOURCE, "device kernel image is invalid"),
    CODE(CUDA_ERROR_FILE_NOT_FOUND, "file not found"),
    CODE(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"),
    CODE(CUDA_ERROR_NOT_FOUND, "named symbol not found"),
    CODE(CUDA_ERROR_NOT_READY, "device not ready"),
    CODE(CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered"),
    CODE(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch"),
    CODE(CUDA_ERROR_LAUNCH_TIMEOUT, "the launch timed out and was terminated"),
    CODE(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "peer access is already enabled"),
    CODE(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "peer access has not been enabled"),
    CODE(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE, "cannot set while device is active in this process"),
    CODE(CUDA_ERROR_CONTEXT_IS_DESTROYED, "context is destroyed"),
    CODE(CUDA_ERROR_ASSERT, "device-side assert triggered"),
    CODE(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "part or all of the requested memory range is already mapped"),
    CODE(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "pointer does not correspond to a registered memory region"),
    CODE(CUDA_ERROR_HARDWARE_STACK_ERROR, "hardware stack error"),
    CODE(CUDA_ERROR_ILLEGAL_INSTRUCTION, "an illegal instruction was encountered"),
    CODE(CUDA_ERROR_MISALIGNED_ADDRESS, "misaligned address"),
    CODE(CUDA_ERROR_INVALID_ADDRESS_SPACE, "operation not supported on global/shared address space"),
    CODE(CUDA_ERROR_INVALID_PC, "invalid program counter"),
    CODE(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure"),
    CODE(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "too many blocks in cooperative launch"),
    CODE(CUDA_ERROR_NOT_PERMITTED, "operation not permitted"),
    CODE(CUDA_ERROR_NOT_SUPPORTED, "operation not supported"),
    CODE(CUDA_ERROR_UNKNOWN, "unknown error"),
#undef CODE
};

static CUresult find_(CUresult code, const char **name, const char **text)
{
    for (size_t n = 0; n < WEIR_COUNT(table); n++)
        if (table[n].code == code) {
            if (name != NULL)
                *name = table[n].name;
            if (text != NULL)
                *text = table[n].text;
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_INVALID_VALUE;
}

WEIR_API CUresult cuGetErrorName(CUresult code, const char **out)
{
    if (out == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *out = NULL;
    return find_(code, out, NULL);
}

WEIR_API CUresult cuGetErrorString(CUresult code, const char **out)
{
    if (out == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *out = NULL;
    return find_(code, NULL, out);
}
