/* error: names and texts of all codes. */
#include "driver/driver.h"

static const struct {
    CUresult code;
    const char *name, *text;
} table[] = {
#define CU_ERROR(name, text) {name, #name, text},
#include "base/errors.def"
};

static CUresult error_find(CUresult code, const char **name, const char **text)
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
    return error_find(code, out, NULL);
}

WEIR_API CUresult cuGetErrorString(CUresult code, const char **out)
{
    if (out == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *out = NULL;
    return error_find(code, NULL, out);
}
