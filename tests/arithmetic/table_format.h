/* table_format: the file of the case table that the runner reads (table.c writes it, run_table.c
 * reads it): a header, then for each case a struct table_case, its sources and the results wanted,
 * each as LANES numbers of 64 bits, source after source, result after result. */
#ifndef WEIR_TEST_ALU_TABLE_FORMAT_H
#define WEIR_TEST_ALU_TABLE_FORMAT_H

#include <stdint.h>

#ifndef TABLE_LANES
#define TABLE_LANES 256 /* at most 1024, the threads of a block */
#endif
enum { TABLE_MAGIC = 0x61747477, TABLE_GROUP = 32, TABLE_SLOTS = 8 };

/* How results are compared. */
enum table_kind {
    KIND_BITS,
    KIND_F16,
    KIND_BF16,
    KIND_F32,
    KIND_F64,
    KIND_F16X2,
    KIND_BF16X2,
};
enum table_measure { TABLE_EXACT, TABLE_ULP, TABLE_ABS, TABLE_REL, TABLE_LOG };

struct table_header {
    uint32_t magic, cases;
};

struct table_case {
    char text[120];
    uint32_t kernel; /* case_<kernel> runs it, */
    uint32_t number; /* of the case in it, from 0 */
    uint32_t sources, results;
    uint32_t kind[3];
    uint32_t measure; /* approximations: results wanted are doubles */
    uint32_t says;    /* a GPU is known to do otherwise (cases.def) */
    double bound;
};

#endif
