/* E1, by the driver API: a caller of cuGetExportTable carries NVIDIA's runtime: it is refused with
 * a message that names it. foreign.sh checks what the process tells at its end. */
#include <cuda.h>
#include <string.h>

#include "check.h"
#include "weir/weir.h"

int main(void)
{
    static const CUuuid id = {{1, 2, 3}};
    const void *table = &id;
    CHECK(cuGetExportTable(NULL, &id) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuGetExportTable(&table, NULL) == CUDA_ERROR_INVALID_VALUE);
    for (int i = 0; i < 2; i++) {
        CHECK(cuGetExportTable(&table, &id) == CUDA_ERROR_NOT_SUPPORTED);
        CHECK(table == NULL);
        CHECK(strstr(weir_last_message(), "carries NVIDIA's CUDA runtime") != NULL);
    }
    return check_done();
}
