/* fuzz: the parser under libFuzzer. What is accepted must also survive printing and parsing
 * again, to an equal module. */
#include "compare.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct diag d = {0};
    struct ptx_module *m = ptx_parse((const char *)data, size, &d);
    if (m == NULL)
        return 0;
    struct strbuf sb = {0};
    char why[256] = "";
    ptx_print(m, &sb);
    struct ptx_module *b = ptx_parse(sb.items, sb.count, &d);
    if (b == NULL || !modules_equal(m, b, why, sizeof why)) {
        fprintf(stderr, "%s%s\n%s\n", d.text, why, sb.items);
        abort();
    }
    ptx_free(b);
    ptx_free(m);
    sb_free(&sb);
    return 0;
}
