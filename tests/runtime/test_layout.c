/* Module runtime: sizes, alignments and offsets of the runtime API's types. */
#include <stdalign.h>
#include <stddef.h>

#include "../../include/cuda_runtime_api.h"
#include "check.h"

int main(void)
{
#define LAYOUT_SIZE(type, size, align)                                                             \
    CHECK_EQ_INT(sizeof(type), size);                                                              \
    CHECK_EQ_INT(alignof(type), align);
#define LAYOUT_FIELD(type, field, offset) CHECK_EQ_INT(offsetof(type, field), offset);
#include "layout.def"
    return check_done();
}
