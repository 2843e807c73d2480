/* nvFatbin.h: libnvfatbin, which makes fat binaries of device code: PTX, cubins (which are kept,
 * but only those of Weir's run here, docs/cubins.md), LTO-IR (kept as well, and not read here) and
 * what is in object files of the host's compiler. */
#ifndef nvFatbin_INCLUDED
#define nvFatbin_INCLUDED

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    NVFATBIN_SUCCESS = 0,
    NVFATBIN_ERROR_INTERNAL,
    NVFATBIN_ERROR_ELF_ARCH_MISMATCH,
    NVFATBIN_ERROR_ELF_SIZE_MISMATCH,
    NVFATBIN_ERROR_MISSING_PTX_VERSION,
    NVFATBIN_ERROR_NULL_POINTER,
    NVFATBIN_ERROR_COMPRESSION_FAILED,
    NVFATBIN_ERROR_COMPRESSED_SIZE_EXCEEDED,
    NVFATBIN_ERROR_UNRECOGNIZED_OPTION,
    NVFATBIN_ERROR_INVALID_ARCH,
    NVFATBIN_ERROR_INVALID_NVVM,
    NVFATBIN_ERROR_EMPTY_INPUT,
    NVFATBIN_ERROR_MISSING_PTX_ARCH,
    NVFATBIN_ERROR_PTX_ARCH_MISMATCH,
    NVFATBIN_ERROR_MISSING_FATBIN,
    NVFATBIN_ERROR_INVALID_INDEX,
    NVFATBIN_ERROR_IDENTIFIER_REUSE,
    NVFATBIN_ERROR_INTERNAL_PTX_OPTION
} nvFatbinResult;

typedef struct nvFatbin *nvFatbinHandle;

/* What a result means; NULL for success. */
const char *nvFatbinGetErrorString(nvFatbinResult result);
nvFatbinResult nvFatbinVersion(unsigned int *major, unsigned int *minor);

/* Begins a fat binary, with options such as "-64", "-g", "-host=linux", "-compress=false" (code is
 * always stored plain). */
nvFatbinResult nvFatbinCreate(nvFatbinHandle *handle_indirect, const char **options,
                              size_t optionsCount);
/* Ends it; *handle_indirect becomes NULL. */
nvFatbinResult nvFatbinDestroy(nvFatbinHandle *handle_indirect);

/* Adds code for an architecture, "90" or "90a". The identifier is a name for it, or NULL; options
 * are kept with it. */
nvFatbinResult nvFatbinAddPTX(nvFatbinHandle handle, const char *code, size_t size,
                              const char *arch, const char *identifier, const char *optionsCmdLine);
nvFatbinResult nvFatbinAddCubin(nvFatbinHandle handle, const void *code, size_t size,
                                const char *arch, const char *identifier);
nvFatbinResult nvFatbinAddLTOIR(nvFatbinHandle handle, const void *code, size_t size,
                                const char *arch, const char *identifier,
                                const char *optionsCmdLine);
/* Not supported: NVFATBIN_ERROR_INVALID_INDEX. */
nvFatbinResult nvFatbinAddIndex(nvFatbinHandle handle, const void *code, size_t size,
                                const char *identifier);
/* Adds what the fat binaries in an object file hold. */
nvFatbinResult nvFatbinAddReloc(nvFatbinHandle handle, const void *code, size_t size);

/* The bytes of what was added so far, and the fat binary itself. */
nvFatbinResult nvFatbinSize(nvFatbinHandle handle, size_t *size);
nvFatbinResult nvFatbinGet(nvFatbinHandle handle, void *buffer);

#ifdef __cplusplus
}
#endif

#endif
