/* E1.3: every code has a name and a text, in order, and no two share a name; codes that both APIs
 * have share their number. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../../include/cuda.h"
#include "../../include/cuda_runtime_api.h"
#include "check.h"

int main(void)
{
    static const struct {
        cudaError_t code;
        const char *name;
    } table[] = {
#define RT_ERROR(name, text) {name, #name},
#include "base/errors.def"
    };
    static const struct {
        CUresult code;
        const char *text;
    } driver[] = {
#define CU_ERROR(name, text) {name, text},
#include "base/errors.def"
    };
    size_t n = sizeof table / sizeof *table;

    CHECK(n == 134);
    for (size_t i = 0; i < n; i++) {
        CHECK_STR(cudaGetErrorName(table[i].code), table[i].name);
        CHECK(strlen(cudaGetErrorString(table[i].code)) > 3);
        CHECK(i == 0 || table[i - 1].code < table[i].code);
    }
    n = sizeof driver / sizeof *driver;
    CHECK(n == 101);
    for (size_t i = 0; i < n; i++) {
        bool shared = driver[i].code != CUDA_ERROR_CONTEXT_ALREADY_CURRENT &&
                      driver[i].code != CUDA_ERROR_KEY_ROTATION;
        CHECK_STR(cudaGetErrorString((cudaError_t)driver[i].code),
                  shared ? driver[i].text : "unrecognized error code");
    }
    return check_done();
}
