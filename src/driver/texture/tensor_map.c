/* tensor_map: tensor maps, by which kernels copy boxes of a tensor (abi/tensor_map.h): what a
 * program says about its tensor is checked and written down. No context is needed, and nothing has
 * to be freed. */
#include <string.h>

#include "abi/tensor_map.h"
#include "driver/driver.h"

_Static_assert(sizeof(struct tensor_map) == sizeof(CUtensorMap), "what a program has space for");

enum { MAX_BOX = 256, MAX_STEP = 8, MAX_COLUMNS = 1024 };

/* What both modes are told. */
struct tensor {
    CUtensorMap *out;
    CUtensorMapDataType type;
    uint32_t rank;
    uint64_t address;
    const cuuint64_t *sizes, *strides;
    const cuuint32_t *steps;
    CUtensorMapInterleave interleave;
    CUtensorMapSwizzle swizzle;
    CUtensorMapL2promotion promotion;
    CUtensorMapFloatOOBfill fill;
};

static CUresult wrong(const char *what)
{
    return driver_error(CUDA_ERROR_INVALID_VALUE, "a tensor map's %s", what);
}

static bool element_type(CUtensorMapDataType type, uint8_t *out)
{
    static const uint8_t types[] = {
        [CU_TENSOR_MAP_DATA_TYPE_UINT8] = TENSOR_U8,
        [CU_TENSOR_MAP_DATA_TYPE_UINT16] = TENSOR_U16,
        [CU_TENSOR_MAP_DATA_TYPE_UINT32] = TENSOR_U32,
        [CU_TENSOR_MAP_DATA_TYPE_INT32] = TENSOR_S32,
        [CU_TENSOR_MAP_DATA_TYPE_UINT64] = TENSOR_U64,
        [CU_TENSOR_MAP_DATA_TYPE_INT64] = TENSOR_S64,
        [CU_TENSOR_MAP_DATA_TYPE_FLOAT16] = TENSOR_F16,
        [CU_TENSOR_MAP_DATA_TYPE_FLOAT32] = TENSOR_F32,
        [CU_TENSOR_MAP_DATA_TYPE_FLOAT64] = TENSOR_F64,
        [CU_TENSOR_MAP_DATA_TYPE_BFLOAT16] = TENSOR_BF16,
        [CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ] = TENSOR_F32_FTZ,
        [CU_TENSOR_MAP_DATA_TYPE_TFLOAT32] = TENSOR_TF32,
        [CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ] = TENSOR_TF32_FTZ,
    };
    if ((unsigned)type >= WEIR_COUNT(types))
        return false; /* elements of 4 and 6 bits come with compute capability 10 */
    *out = types[type];
    return true;
}

/* The tensor itself: its place, sizes, strides, and what is done with its elements. */
static CUresult describe(const struct tensor *t, struct tensor_map *m)
{
    const uint64_t max_stride = (uint64_t)1 << 40;
    *m = (struct tensor_map){.tag = TENSOR_MAP_TAG, .address = t->address};
    if (t->out == NULL) /* documents ask for a multiple of 64, NVIDIA's driver does not */
        return wrong("own address must not be NULL");
    if (!element_type(t->type, &m->type))
        return wrong("type of elements is not one that this device has");
    if (t->rank < 1 || t->rank > TENSOR_DIMS || t->sizes == NULL || t->steps == NULL ||
        (t->rank > 1 && t->strides == NULL))
        return wrong("dimensions are 1 to 5, each with a size, a stride and a step");
    if (t->address == 0 || t->address % 16 != 0)
        return wrong("tensor must be at a multiple of 16 bytes");
    if ((unsigned)t->interleave > CU_TENSOR_MAP_INTERLEAVE_32B)
        return wrong("interleave is not known");
    if (t->interleave != CU_TENSOR_MAP_INTERLEAVE_NONE && t->rank < 3)
        return wrong("dimensions are 3 to 5 where it is interleaved");
    const unsigned unit = t->interleave == CU_TENSOR_MAP_INTERLEAVE_32B ? 32 : 16;
    if (t->address % unit != 0)
        return wrong("tensor must be at a multiple of 32 bytes where slices have as many");
    if ((unsigned)t->swizzle > CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B ||
        (t->swizzle > CU_TENSOR_MAP_SWIZZLE_128B && device_limits()->sm < 100))
        return wrong("swizzle is not one that this device has");
    if ((unsigned)t->promotion > CU_TENSOR_MAP_L2_PROMOTION_L2_256B)
        return wrong("promotion is not known");
    if ((unsigned)t->fill > CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA ||
        (t->fill != 0 && m->type < TENSOR_F16))
        return wrong("fill is NaN for floating-point numbers only");
    m->rank_1 = (uint8_t)(t->rank - 1);
    bool atoms = t->swizzle > CU_TENSOR_MAP_SWIZZLE_128B;
    m->swizzle = (uint8_t)(atoms ? CU_TENSOR_MAP_SWIZZLE_128B : t->swizzle);
    m->atomicity = (uint8_t)(atoms ? t->swizzle - CU_TENSOR_MAP_SWIZZLE_128B : TENSOR_ATOM_16);
    m->interleave = (uint8_t)t->interleave;
    m->fills_nan = t->fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
    for (uint32_t d = 0; d < t->rank; d++) {
        if (t->sizes[d] == 0 || t->sizes[d] > (uint64_t)1 << 32)
            return wrong("sizes are 1 to 2^32");
        if (t->steps[d] == 0 || t->steps[d] > MAX_STEP)
            return wrong("steps (elementStrides) are 1 to 8");
        m->size_1[d] = (uint32_t)(t->sizes[d] - 1);
        m->step[d] = (uint8_t)t->steps[d];
    }
    for (uint32_t d = 1; d < t->rank; d++) {
        if (t->strides[d - 1] % unit != 0 || t->strides[d - 1] >= max_stride)
            return wrong("strides must be multiples of 16, or of a slice's 32 bytes, below 2^40");
        m->stride[d - 1] = t->strides[d - 1];
    }
    return CUDA_SUCCESS;
}

/* A row of a box in shared memory. */
static CUresult check_row(const struct tensor_map *m, uint32_t elements)
{
    uint32_t bytes = elements * tensor_element_bytes(m->type);
    if (bytes % 16 != 0)
        return wrong("boxes must have rows of a multiple of 16 bytes");
    if (m->swizzle != TENSOR_SWIZZLE_NONE && bytes > 16u << m->swizzle)
        return wrong("boxes must have rows of no more bytes than the swizzle spans");
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuTensorMapEncodeTiled(
    CUtensorMap *tensorMap, CUtensorMapDataType tensorDataType, cuuint32_t tensorRank,
    void *globalAddress, const cuuint64_t *globalDim, const cuuint64_t *globalStrides,
    const cuuint32_t *boxDim, const cuuint32_t *elementStrides, CUtensorMapInterleave interleave,
    CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2Promotion, CUtensorMapFloatOOBfill oobFill)
{
    HOLD;
    struct tensor_map m;
    const struct tensor t = {tensorMap, tensorDataType, tensorRank,     (uint64_t)globalAddress,
                             globalDim, globalStrides,  elementStrides, interleave,
                             swizzle,   l2Promotion,    oobFill};
    CUresult r = describe(&t, &m);
    if (r != CUDA_SUCCESS)
        return r;
    if (boxDim == NULL)
        return wrong("box must be given");
    for (uint32_t d = 0; d < tensorRank; d++) {
        if (boxDim[d] == 0 || boxDim[d] > MAX_BOX)
            return wrong("boxes are 1 to 256 elements long");
        m.box[d] = (uint16_t)boxDim[d];
    }
    r = check_row(&m, boxDim[0]);
    if (r == CUDA_SUCCESS)
        memcpy(tensorMap, &m, sizeof m);
    return r;
}

WEIR_API CUresult cuTensorMapEncodeIm2col(
    CUtensorMap *tensorMap, CUtensorMapDataType tensorDataType, cuuint32_t tensorRank,
    void *globalAddress, const cuuint64_t *globalDim, const cuuint64_t *globalStrides,
    const int *pixelBoxLowerCorner, const int *pixelBoxUpperCorner, cuuint32_t channelsPerPixel,
    cuuint32_t pixelsPerColumn, const cuuint32_t *elementStrides, CUtensorMapInterleave interleave,
    CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2Promotion, CUtensorMapFloatOOBfill oobFill)
{
    HOLD;
    struct tensor_map m;
    const struct tensor t = {tensorMap, tensorDataType, tensorRank,     (uint64_t)globalAddress,
                             globalDim, globalStrides,  elementStrides, interleave,
                             swizzle,   l2Promotion,    oobFill};
    CUresult r = describe(&t, &m);
    if (r != CUDA_SUCCESS)
        return r;
    if (interleave != CU_TENSOR_MAP_INTERLEAVE_NONE)
        return driver_error(CUDA_ERROR_NOT_SUPPORTED,
                            "interleaved tensor maps in im2col mode are not supported");
    if (tensorRank < 3 || pixelBoxLowerCorner == NULL || pixelBoxUpperCorner == NULL)
        return wrong("dimensions are 3 to 5 in im2col mode, with corners of a bounding box");
    if (channelsPerPixel == 0 || channelsPerPixel > MAX_BOX || pixelsPerColumn == 0 ||
        pixelsPerColumn > MAX_COLUMNS)
        return wrong("copies are of 1 to 256 channels and 1 to 1024 pixels");
    /* the instruction has as many bits for all axes of a corner, whatever their number */
    const int axes = (int)tensorRank - 2, limit = axes == 1 ? 1 << 15 : axes == 2 ? 1 << 7 : 1 << 4;
    for (int d = 0; d < axes; d++) {
        if (pixelBoxLowerCorner[d] < -limit || pixelBoxLowerCorner[d] >= limit ||
            pixelBoxUpperCorner[d] < -limit || pixelBoxUpperCorner[d] >= limit)
            return wrong("bounding box has a corner out of range");
        m.lower[d] = (int16_t)pixelBoxLowerCorner[d];
        m.upper[d] = (int16_t)pixelBoxUpperCorner[d];
    }
    m.im2col = TENSOR_IM2COL;
    m.channels = (uint16_t)channelsPerPixel;
    m.columns = (uint16_t)pixelsPerColumn;
    r = check_row(&m, channelsPerPixel);
    if (r == CUDA_SUCCESS)
        memcpy(tensorMap, &m, sizeof m);
    return r;
}

/* Two documents of NVIDIA's say which swizzles these modes have. */
static bool wide_swizzle(CUtensorMapSwizzle s)
{
    return s == CU_TENSOR_MAP_SWIZZLE_64B || s == CU_TENSOR_MAP_SWIZZLE_128B ||
           s == CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B;
}

WEIR_API CUresult cuTensorMapEncodeIm2colWide(
    CUtensorMap *tensorMap, CUtensorMapDataType tensorDataType, cuuint32_t tensorRank,
    void *globalAddress, const cuuint64_t *globalDim, const cuuint64_t *globalStrides,
    int pixelBoxLowerCornerWidth, int pixelBoxUpperCornerWidth, cuuint32_t channelsPerPixel,
    cuuint32_t pixelsPerColumn, const cuuint32_t *elementStrides, CUtensorMapInterleave interleave,
    CUtensorMapIm2ColWideMode mode, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2Promotion,
    CUtensorMapFloatOOBfill oobFill)
{
    HOLD;
    struct tensor_map m;
    const struct tensor t = {tensorMap, tensorDataType, tensorRank,     (uint64_t)globalAddress,
                             globalDim, globalStrides,  elementStrides, interleave,
                             swizzle,   l2Promotion,    oobFill};
    const int low = pixelBoxLowerCornerWidth, high = pixelBoxUpperCornerWidth;
    if (device_limits()->sm < 100)
        return driver_error(CUDA_ERROR_NOT_SUPPORTED,
                            "tensor maps of the wide im2col modes need compute capability 10.0");
    CU_TRY(describe(&t, &m));
    if (interleave != CU_TENSOR_MAP_INTERLEAVE_NONE)
        return driver_error(CUDA_ERROR_NOT_SUPPORTED,
                            "interleaved tensor maps in im2col modes are not supported");
    if (tensorRank < 3)
        return wrong("dimensions are 3 to 5 in im2col modes");
    if ((unsigned)mode > CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128)
        return wrong("wide mode is not known");
    if (!wide_swizzle(swizzle))
        return wrong("swizzle is of 64 or 128 bytes, by 16 or 32, in the wide modes");
    bool counts = mode == CU_TENSOR_MAP_IM2COL_WIDE_MODE_W; /* else there are 128 pixels */
    if (channelsPerPixel == 0 || channelsPerPixel > MAX_BOX ||
        (counts && (pixelsPerColumn == 0 || pixelsPerColumn > MAX_COLUMNS)))
        return wrong("copies are of 1 to 256 channels and 1 to 1024 pixels");
    if (low < INT16_MIN || low > INT16_MAX || high < INT16_MIN || high > INT16_MAX)
        return wrong("bounding box has a corner out of range");
    if ((int64_t)m.size_1[1] + high < low)
        return wrong("bounding box is empty");
    m.lower[0] = (int16_t)low;
    m.upper[0] = (int16_t)high;
    m.im2col = counts ? TENSOR_WIDE : TENSOR_WIDE_128;
    m.channels = (uint16_t)channelsPerPixel;
    m.columns = counts ? (uint16_t)pixelsPerColumn : 0;
    CU_TRY(check_row(&m, channelsPerPixel));
    memcpy(tensorMap, &m, sizeof m);
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuTensorMapReplaceAddress(CUtensorMap *tensorMap, void *globalAddress)
{
    HOLD;
    struct tensor_map m;
    if (tensorMap == NULL)
        return wrong("own address must not be NULL");
    memcpy(&m, tensorMap, sizeof m);
    if (m.tag != TENSOR_MAP_TAG)
        return wrong("memory holds no map");
    if (globalAddress == NULL || (uintptr_t)globalAddress % 16 != 0)
        return wrong("tensor must be at a multiple of 16 bytes");
    m.address = (uint64_t)globalAddress;
    memcpy(tensorMap, &m, sizeof m);
    return CUDA_SUCCESS;
}
