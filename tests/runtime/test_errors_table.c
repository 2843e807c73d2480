/* Every code has a name and a text, in order, and no two share a name. */
#include <stdlib.h>
#include <string.h>

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
#undef RT_ERROR
    };
    size_t n = sizeof table / sizeof *table;

    CHECK(n == 134);
    for (size_t i = 0; i < n; i++) {
        CHECK_STR(cudaGetErrorName(table[i].code), table[i].name);
        CHECK(strlen(cudaGetErrorString(table[i].code)) > 3);
        CHECK(i == 0 || table[i - 1].code < table[i].code);
    }
    return check_done();
}
