/* error: names and texts of all codes. */
#include "driver/error/error.h"

#include <driver_types.h>

#include "driver/driver.h"

static const struct {
    CUresult code;
    const char *name, *text;
} table[] = {
#define CU_ERROR(name, text) {name, #name, text},
#include "base/errors.def"
};

static const struct {
    cudaError_t code;
    const char *name, *text;
} runtime_table[] = {
#define RT_ERROR(name, text) {name, #name, text},
#include "base/errors.def"
};

void error_words(int code, bool runtime, const char **name, const char **text)
{
    for (size_t n = 0; runtime && n < WEIR_COUNT(runtime_table); n++)
        if ((int)runtime_table[n].code == code) {
            *name = runtime_table[n].name;
            *text = runtime_table[n].text;
            return;
        }
    for (size_t n = 0; n < WEIR_COUNT(table); n++)
        if ((int)table[n].code == code) {
            *name = table[n].name;
            *text = table[n].text;
            return;
        }
}

static CUresult error_find(CUresult code, const char **name, const char **text)
{
    if (observed() && code != CUDA_SUCCESS)
        observe_error_seen((int)code);
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
    return error_find(code, out, NULL);
}

WEIR_API CUresult cuGetErrorString(CUresult code, const char **out)
{
    if (out == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *out = NULL;
    return error_find(code, NULL, out);
}
