// Mipmapped textures: fetches at levels of detail and by gradients, of rows, planes, volumes, layers
// and cube maps, against the reference; views, biases, clamps, questions, surfaces and copies of levels.
#include <cstdio>
#include <cstdlib>

#include "check.h"
#include "reference.h"

#define OK(call) CHECK_EQ_INT((call), cudaSuccess)

struct query {
    float at[3], level, dx[3], dy[3];
    int layer;
};

enum how { LEVEL, GRADIENTS, BASE };
enum shape { ROW, PLANE, VOLUME, ROWS, PLANES, CUBE, CUBES };

template <typename Four>
__global__ void fetch(cudaTextureObject_t t, how way, shape s, const query *in, int n, Four *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    query q = in[i];
    float x = q.at[0], y = q.at[1], z = q.at[2];
    float2 x2 = make_float2(q.dx[0], q.dx[1]), y2 = make_float2(q.dy[0], q.dy[1]);
    float4 x3 = make_float4(q.dx[0], q.dx[1], q.dx[2], 0), y3 = make_float4(q.dy[0], q.dy[1], q.dy[2], 0);
    Four r = {};
    switch (s) {
    case ROW:
        r = way == LEVEL ? tex1DLod<Four>(t, x, q.level)
            : way == BASE ? tex1D<Four>(t, x) : tex1DGrad<Four>(t, x, x2.x, y2.x);
        break;
    case PLANE:
        r = way == LEVEL ? tex2DLod<Four>(t, x, y, q.level)
            : way == BASE ? tex2D<Four>(t, x, y) : tex2DGrad<Four>(t, x, y, x2, y2);
        break;
    case VOLUME:
        r = way == LEVEL ? tex3DLod<Four>(t, x, y, z, q.level)
            : way == BASE ? tex3D<Four>(t, x, y, z) : tex3DGrad<Four>(t, x, y, z, x3, y3);
        break;
    case ROWS:
        r = way == LEVEL ? tex1DLayeredLod<Four>(t, x, q.layer, q.level)
            : way == BASE ? tex1DLayered<Four>(t, x, q.layer)
                          : tex1DLayeredGrad<Four>(t, x, q.layer, x2.x, y2.x);
        break;
    case PLANES:
        r = way == LEVEL ? tex2DLayeredLod<Four>(t, x, y, q.layer, q.level)
            : way == BASE ? tex2DLayered<Four>(t, x, y, q.layer)
                          : tex2DLayeredGrad<Four>(t, x, y, q.layer, x2, y2);
        break;
    case CUBE:
        r = way == LEVEL ? texCubemapLod<Four>(t, x, y, z, q.level)
            : way == BASE ? texCubemap<Four>(t, x, y, z) : texCubemapGrad<Four>(t, x, y, z, x3, y3);
        break;
    case CUBES:
        r = way == LEVEL ? texCubemapLayeredLod<Four>(t, x, y, z, q.layer, q.level)
            : way == BASE ? texCubemapLayered<Four>(t, x, y, z, q.layer)
                          : texCubemapLayeredGrad<Four>(t, x, y, z, q.layer, x3, y3);
    }
    out[i] = r;
}

// ---- a mipmapped array on the host and on the device ----

struct pyramid {
    cudaMipmappedArray_t array = nullptr;
    std::vector<reference> level;
    cudaExtent extent;
    unsigned flags;
};

static cudaChannelFormatDesc format_of(const reference &r)
{
    int b[4];
    for (int c = 0; c < 4; c++)
        b[c] = c < r.channels ? r.bits : 0;
    return cudaCreateChannelDesc(b[0], b[1], b[2], b[3], r.kind);
}

// Sizes that the array does not have are 0 in `extent`. With `constant` each level holds its number.
static pyramid make(reference kind, cudaExtent extent, int levels, unsigned flags, bool constant)
{
    pyramid p;
    p.extent = extent;
    p.flags = flags;
    cudaChannelFormatDesc format = format_of(kind);
    OK(cudaMallocMipmappedArray(&p.array, &format, extent, levels, flags));
    for (int l = 0; l < levels; l++) {
        cudaArray_t a;
        cudaExtent e;
        unsigned f;
        cudaChannelFormatDesc d;
        OK(cudaGetMipmappedArrayLevel(&a, p.array, l));
        OK(cudaArrayGetInfo(&d, &e, &f, a));
        CHECK(memcmp(&d, &format, sizeof d) == 0);
        CHECK_EQ_INT(f, flags);
        reference r = kind;
        r.size[0] = e.width;
        r.size[1] = e.height ? e.height : 1;
        r.size[2] = e.depth ? e.depth : 1;
        size_t bytes = kind.bits / 8;
        r.bytes.resize((size_t)r.size[0] * r.size[1] * r.size[2] * r.channels * bytes);
        for (size_t i = 0; i < r.bytes.size() / bytes; i++) {
            float v = constant ? (float)l : (float)(rand() % 4001 - 2000) / 16;
            uint32_t bits = (uint32_t)rand() * 65537u;
            if (r.kind == cudaChannelFormatKindFloat && r.bits == 32)
                memcpy(&bits, &v, 4);
            else if (r.kind == cudaChannelFormatKindFloat)
                bits = (bits & 0x83ff) | (uint32_t)(rand() % 20) << 10;
            memcpy(&r.bytes[i * bytes], &bits, bytes);
        }
        cudaMemcpy3DParms copy = {};
        copy.srcPtr = make_cudaPitchedPtr(r.bytes.data(), r.size[0] * r.channels * bytes, r.size[0], r.size[1]);
        copy.dstArray = a;
        copy.extent = make_cudaExtent(r.size[0], r.size[1], r.size[2]);
        copy.kind = cudaMemcpyHostToDevice;
        OK(cudaMemcpy3D(&copy));
        p.level.push_back(r);
    }
    return p;
}

static cudaTextureDesc sampling(int levels)
{
    cudaTextureDesc t = {};
    for (int k = 0; k < 3; k++)
        t.addressMode[k] = cudaAddressModeClamp;
    t.filterMode = t.mipmapFilterMode = cudaFilterModeLinear;
    t.normalizedCoords = 1;
    t.maxMipmapLevelClamp = (float)(levels - 1);
    return t;
}

static cudaTextureObject_t object(const pyramid &p, const cudaTextureDesc &how,
                                  const cudaResourceViewDesc *view = nullptr)
{
    cudaResourceDesc r = {};
    cudaTextureObject_t t = 0;
    r.resType = cudaResourceTypeMipmappedArray;
    r.res.mipmap.mipmap = p.array;
    OK(cudaCreateTextureObject(&t, &r, &how, view));
    return t;
}

template <typename Four> static std::vector<Four> run(cudaTextureObject_t t, how way, shape s,
                                                      const std::vector<query> &in)
{
    query *d;
    Four *o;
    std::vector<Four> out(in.size());
    OK(cudaMalloc(&d, in.size() * sizeof(query)));
    OK(cudaMalloc(&o, in.size() * sizeof(Four)));
    OK(cudaMemcpy(d, in.data(), in.size() * sizeof(query), cudaMemcpyHostToDevice));
    fetch<Four><<<(in.size() + 63) / 64, 64>>>(t, way, s, d, (int)in.size(), o);
    OK(cudaMemcpy(out.data(), o, in.size() * sizeof(Four), cudaMemcpyDeviceToHost));
    OK(cudaFree(d));
    OK(cudaFree(o));
    return out;
}

// ---- against the reference ----

// What a fetch of a level of detail, in 256ths, gives.
static double expected(const pyramid &p, const cudaTextureDesc &how, int axes, const query &q, int c)
{
    long detail = (long)floor(q.level * 256), last = (long)p.level.size() - 1;
    detail = detail < 0 ? 0 : detail > last * 256 ? last * 256 : detail;
    bool blend = how.mipmapFilterMode == cudaFilterModeLinear && reads_float(p.level[0]);
    long n = blend ? detail / 256 : (detail + 128) / 256, far = blend ? detail % 256 : 0;
    const int none[3] = {0, 0, 0}, layer[3] = {0, axes == 1 ? q.layer : 0, axes == 2 ? q.layer : 0};
    bool layers = (p.flags & cudaArrayLayered) != 0;
    reference a = p.level[n], b = p.level[far ? n + 1 : n];
    if (layers && axes == 1) // rows of layers: as a plane of which one row is read
        a.size[1] = a.size[2], a.size[2] = 1, b.size[1] = b.size[2], b.size[2] = 1;
    a.how = b.how = how;
    return far ? sample_between(a, b, far, axes, q.at, layers ? layer : none, c)
               : sample(a, axes, q.at, layers ? layer : none, c);
}

template <typename Four> static int differences(const pyramid &p, const cudaTextureDesc &how, shape s,
                                                int axes, const std::vector<query> &in)
{
    cudaTextureObject_t t = object(p, how);
    std::vector<Four> got = run<Four>(t, LEVEL, s, in);
    int bad = 0;
    for (size_t i = 0; i < in.size(); i++) {
        double have[4] = {(double)got[i].x, (double)got[i].y, (double)got[i].z, (double)got[i].w};
        for (int c = 0; c < 4; c++) {
            double want = expected(p, how, axes, in[i], c);
            if (have[c] != want && bad++ == 0)
                printf("at %g %g %g level %g channel %d: %.9g, not %.9g\n", in[i].at[0], in[i].at[1],
                       in[i].at[2], in[i].level, c, have[c], want);
        }
    }
    OK(cudaDestroyTextureObject(t));
    return bad;
}

static void check_fetches(const pyramid &p, shape s, int axes, int layers)
{
    const reference &r = p.level[0];
    std::vector<query> in(300);
    for (query &q : in) {
        for (int k = 0; k < 3; k++)
            q.at[k] = (float)(rand() % 512 - 128) / 256;
        q.level = (float)(rand() % 2560 - 256) / 512;
        q.layer = layers ? rand() % layers : 0;
    }
    for (int mode = 0; mode < 16; mode++) {
        cudaTextureDesc how = sampling(p.level.size());
        how.filterMode = mode & 1 ? cudaFilterModeLinear : cudaFilterModePoint;
        how.mipmapFilterMode = mode & 2 ? cudaFilterModeLinear : cudaFilterModePoint;
        how.readMode = mode & 4 ? cudaReadModeNormalizedFloat : cudaReadModeElementType;
        for (int k = 0; k < 3; k++)
            how.addressMode[k] = mode & 8 ? cudaAddressModeBorder : k ? cudaAddressModeMirror : cudaAddressModeWrap;
        how.borderColor[0] = 0.5f;
        how.borderColor[1] = how.borderColor[2] = how.borderColor[3] = 0.25f;
        if ((mode & 4 && (r.kind == cudaChannelFormatKindFloat || r.bits == 32)))
            continue;
        pyramid q = p;
        for (reference &l : q.level)
            l.how = how;
        if (mode & 1 && !reads_float(q.level[0]))
            continue;
        int bad = reads_float(q.level[0])                    ? differences<float4>(q, how, s, axes, in)
                  : r.kind == cudaChannelFormatKindSigned    ? differences<int4>(q, how, s, axes, in)
                                                             : differences<uint4>(q, how, s, axes, in);
        if (bad)
            printf("%d x %d bits of kind %d, shape %d, mode %d: %d values differ\n", r.channels, r.bits,
                   r.kind, s, mode, bad);
        CHECK_EQ_INT(bad, 0);
    }
}

static void formats()
{
    static const struct {
        int bits;
        cudaChannelFormatKind kind;
        int channels;
    } all[] = {{8, cudaChannelFormatKindUnsigned, 4}, {16, cudaChannelFormatKindSigned, 2},
               {32, cudaChannelFormatKindSigned, 1}, {32, cudaChannelFormatKindFloat, 1},
               {32, cudaChannelFormatKindFloat, 4}, {16, cudaChannelFormatKindFloat, 2}};
    for (const auto &f : all) {
        reference r = {f.bits, f.kind, f.channels, {}, {}, {}};
        static const struct {
            shape s;
            int axes;
            cudaExtent extent;
            int levels;
            unsigned flags;
        } shapes[] = {{ROW, 1, {32, 0, 0}, 6, 0}, {PLANE, 2, {16, 32, 0}, 6, 0}, {VOLUME, 3, {16, 8, 4}, 5, 0},
                      {ROWS, 1, {16, 0, 3}, 5, cudaArrayLayered}, {PLANES, 2, {16, 4, 3}, 4, cudaArrayLayered}};
        for (const auto &s : shapes) {
            if (s.s == VOLUME && f.bits == 16 && f.kind == cudaChannelFormatKindFloat)
                continue; // several planes of halves: a double of the reference rounds otherwise
            pyramid p = make(r, s.extent, s.levels, s.flags, false);
            check_fetches(p, s.s, s.axes, s.flags ? (int)s.extent.depth : 0);
            OK(cudaFreeMipmappedArray(p.array));
        }
    }
}

// ---- which level ----

static const reference plain = {32, cudaChannelFormatKindFloat, 1, {}, {}, {}};

// Levels hold their numbers: what is read is the level of detail.
static float level_read(cudaTextureObject_t t, how way, shape s, query q)
{
    return run<float4>(t, way, s, {q})[0].x;
}

static query at_level(float level)
{
    query q = {{1, 0.25f, 0.5f}, level, {}, {}, 1};
    return q;
}

static query with_gradients(float x0, float x1, float x2, float y0, float y1, float y2)
{
    query q = {{1, 0.25f, 0.5f}, 0, {x0, x1, x2}, {y0, y1, y2}, 1};
    return q;
}

#define READS(value, ...) CHECK_EQ_INT((long)(level_read(__VA_ARGS__) * 256), (long)((value) * 256))
// Volumes and cube maps: a GPU measures their gradients to some 256ths.
#define NEARLY(value, ...) CHECK(fabs(level_read(__VA_ARGS__) - (value)) <= 2.0 / 256)

static void details()
{
    pyramid p = make(plain, make_cudaExtent(64, 32, 0), 7, 0, true);
    cudaTextureDesc how = sampling(7);
    cudaTextureObject_t t = object(p, how);
    READS(0, t, BASE, PLANE, at_level(3));
    READS(2.5, t, LEVEL, PLANE, at_level(2.5f));
    READS(0, t, LEVEL, PLANE, at_level(-1));
    READS(6, t, LEVEL, PLANE, at_level(100));
    READS(0, t, LEVEL, PLANE, at_level(NAN));
    READS(6, t, LEVEL, PLANE, at_level(INFINITY));
    READS(0, t, GRADIENTS, PLANE, with_gradients(1 / 64.0f, 0, 0, 0, 0, 0));
    READS(0, t, GRADIENTS, PLANE, with_gradients(0, 0, 0, 0, 0, 0));
    READS(2, t, GRADIENTS, PLANE, with_gradients(4 / 64.0f, 0, 0, 0, 0, 0));
    READS(2, t, GRADIENTS, PLANE, with_gradients(0, 4 / 32.0f, 0, 0, 0, 0));
    READS(3, t, GRADIENTS, PLANE, with_gradients(0, 4 / 32.0f, 0, -8 / 64.0f, 0, 0));
    // lengths are nearly what they are: of the smaller component 11/32 count
    READS(597 / 256.0, t, GRADIENTS, PLANE, with_gradients(3 / 64.0f, 4 / 32.0f, 0, 0, 0, 0));
    READS(622 / 256.0, t, GRADIENTS, PLANE, with_gradients(4 / 64.0f, 4 / 32.0f, 0, 1 / 64.0f, 0, 0));
    READS(406 / 256.0, t, GRADIENTS, PLANE, with_gradients(3 / 64.0f, 0, 0, 0, 0, 0));
    READS(35 / 256.0, t, GRADIENTS, PLANE, with_gradients(1.1f / 64, 0, 0, 0, 1.1f / 32, 0));
    // and what points the same way adds up
    READS(630 / 256.0, t, GRADIENTS, PLANE, with_gradients(4 / 64.0f, 0, 0, 4 / 64.0f, 0, 0));
    READS(632 / 256.0, t, GRADIENTS, PLANE, with_gradients(5 / 64.0f, 1 / 32.0f, 0, 1 / 64.0f, 5 / 32.0f, 0));
    READS(770 / 256.0, t, GRADIENTS, PLANE, with_gradients(7 / 64.0f, 3 / 32.0f, 0, -2 / 64.0f, 6 / 32.0f, 0));
    READS(6, t, GRADIENTS, PLANE, with_gradients(1000, 0, 0, 0, 0, 0));
    how.mipmapFilterMode = cudaFilterModePoint;
    t = object(p, how);
    READS(2, t, LEVEL, PLANE, at_level(2.49f));
    READS(3, t, LEVEL, PLANE, at_level(2.5f));
    how = sampling(7);
    how.mipmapLevelBias = -0.5f;
    t = object(p, how);
    READS(1.5, t, LEVEL, PLANE, at_level(2));
    READS(2.5, t, GRADIENTS, PLANE, with_gradients(8 / 64.0f, 0, 0, 0, 0, 0));
    READS(0, t, BASE, PLANE, at_level(0));
    how.mipmapLevelBias = 0.3f; // 76 and a bit of 256: cut off
    t = object(p, how);
    READS(2 + 76 / 256.0, t, LEVEL, PLANE, at_level(2));
    READS(0, t, BASE, PLANE, at_level(0)); // not for what names no level
    how = sampling(7);
    how.minMipmapLevelClamp = 1.25f;
    how.maxMipmapLevelClamp = 3.75f;
    t = object(p, how);
    READS(1.25, t, LEVEL, PLANE, at_level(0));
    READS(2, t, LEVEL, PLANE, at_level(2));
    READS(3.75, t, LEVEL, PLANE, at_level(5));
    READS(1.25, t, BASE, PLANE, at_level(0));
    how.minMipmapLevelClamp = 4; // above the other one: counts
    t = object(p, how);
    READS(4, t, LEVEL, PLANE, at_level(5));
    how = sampling(7);
    how.maxAnisotropy = 4; // four fetches of 2 by 2 elements each instead of one of 8 by 8
    t = object(p, how);
    READS(1, t, GRADIENTS, PLANE, with_gradients(8 / 64.0f, 0, 0, 0, 2 / 32.0f, 0));
    READS(2, t, GRADIENTS, PLANE, with_gradients(16 / 64.0f, 0, 0, 0, 2 / 32.0f, 0));
    OK(cudaFreeMipmappedArray(p.array));
}

// Every lane has a level of its own, and half of the lanes do not take part.
__global__ void each_lane(cudaTextureObject_t t, float *out)
{
    float v = -1;
    if (threadIdx.x % 2)
        v = tex2DLod<float>(t, 0.5f, 0.5f, threadIdx.x / 8.0f);
    out[threadIdx.x] = v;
}

static void lanes()
{
    pyramid p = make(plain, make_cudaExtent(16, 16, 0), 5, 0, true);
    cudaTextureObject_t t = object(p, sampling(5));
    float *out;
    OK(cudaMallocManaged(&out, 32 * sizeof *out));
    each_lane<<<1, 32>>>(t, out);
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < 32; i++)
        CHECK(out[i] == (i % 2 ? i / 8.0f : -1));
    OK(cudaFree(out));
    OK(cudaFreeMipmappedArray(p.array));
}

static void shapes()
{
    struct {
        shape s;
        cudaExtent extent;
        unsigned flags;
        query two, three; // gradients that lead to these levels
    } all[] = {
        {ROW, {64, 0, 0}, 0, with_gradients(4 / 64.0f, 0, 0, 0, 0, 0), with_gradients(0, 0, 0, 8 / 64.0f, 0, 0)},
        {VOLUME, {64, 32, 16}, 0, with_gradients(0, 0, 4 / 16.0f, 0, 0, 0), with_gradients(0, 0, 0, 0, 8 / 32.0f, 0)},
        {ROWS, {64, 0, 2}, cudaArrayLayered, with_gradients(4 / 64.0f, 0, 0, 0, 0, 0), with_gradients(0, 0, 0, 8 / 64.0f, 0, 0)},
        {PLANES, {64, 16, 2}, cudaArrayLayered, with_gradients(0, 4 / 16.0f, 0, 0, 0, 0), with_gradients(0, 0, 0, 8 / 64.0f, 0, 0)},
        // the face 1, y, z is 2 wide
        {CUBE, {64, 64, 6}, cudaArrayCubemap, with_gradients(0, 8 / 64.0f, 0, 0, 0, 0), with_gradients(0, 0, 0, 0, 0, 16 / 64.0f)},
        {CUBES, {64, 64, 12}, cudaArrayCubemap | cudaArrayLayered, with_gradients(0, 8 / 64.0f, 0, 0, 0, 0), with_gradients(0, 0, 0, 0, 0, 16 / 64.0f)},
    };
    for (auto &a : all) {
        pyramid p = make(plain, a.extent, 6, a.flags, true);
        cudaTextureObject_t t = object(p, sampling(6));
        READS(0, t, BASE, a.s, at_level(0));
        READS(1.25, t, LEVEL, a.s, at_level(1.25f));
        READS(5, t, LEVEL, a.s, at_level(9));
        NEARLY(2, t, GRADIENTS, a.s, a.two);
        NEARLY(3, t, GRADIENTS, a.s, a.three);
        OK(cudaFreeMipmappedArray(p.array));
    }
}

// ---- views, questions, surfaces, copies ----

__global__ void ask(cudaTextureObject_t t, int level, int *out)
{
    asm("txq.width.b32 %0, [%1];" : "=r"(out[0]) : "l"(t));
    asm("txq.num_mipmap_levels.b32 %0, [%1];" : "=r"(out[1]) : "l"(t));
    asm("txq.level.width.b32 %0, [%1], %2;" : "=r"(out[2]) : "l"(t), "r"(level));
    asm("txq.level.height.b32 %0, [%1], %2;" : "=r"(out[3]) : "l"(t), "r"(level));
}

static void check_sizes(cudaTextureObject_t t, int level, int width, int levels, int w, int h)
{
    int *out;
    OK(cudaMallocManaged(&out, 4 * sizeof *out));
    ask<<<1, 1>>>(t, level, out);
    OK(cudaDeviceSynchronize());
    CHECK_EQ_INT(out[0], width);
    CHECK_EQ_INT(out[1], levels);
    CHECK_EQ_INT(out[2], w);
    CHECK_EQ_INT(out[3], h);
    OK(cudaFree(out));
}

static void views()
{
    pyramid p = make(plain, make_cudaExtent(64, 16, 3), 6, cudaArrayLayered, false);
    cudaResourceViewDesc v = {};
    cudaResourceDesc r = {};
    cudaTextureDesc how = sampling(6);
    cudaTextureObject_t t;
    v.format = cudaResViewFormatUnsignedInt1;
    v.width = 64;
    v.height = 16;
    v.depth = 3;
    v.firstMipmapLevel = 1;
    v.lastMipmapLevel = 3;
    v.firstLayer = 1;
    v.lastLayer = 2;
    how.filterMode = how.mipmapFilterMode = cudaFilterModePoint;
    t = object(p, how, &v);
    check_sizes(t, 2, 32, 3, 8, 2);
    check_sizes(t, 3, 32, 3, 0, 0);
    const reference &second = p.level[2];
    query q = {{2.5f / 16, 1.5f / 4, 0}, 1, {}, {}, 1}; // level 1 of the view: 16 x 4, layer 2
    uint32_t want;
    memcpy(&want, &second.bytes[((2 * 4 + 1) * 16 + 2) * 4], 4);
    CHECK_EQ_INT(run<uint4>(t, LEVEL, PLANES, {q})[0].x, want);
    check_sizes(object(p, how), 5, 64, 6, 2, 1);
    r.resType = cudaResourceTypeMipmappedArray;
    r.res.mipmap.mipmap = p.array;
    v.firstMipmapLevel = 3;
    v.lastMipmapLevel = 2;
    CHECK_EQ_INT(cudaCreateTextureObject(&t, &r, &how, &v), cudaErrorInvalidValue);
    OK(cudaFreeMipmappedArray(p.array));
}

__global__ void by_index(cudaTextureObject_t t, float *out)
{
    for (int n = 0; n < 4; n++) {
        float4 r;
        asm("tex.level.2d.v4.f32.s32 {%0, %1, %2, %3}, [%4, {%5, %6}], %7;"
            : "=f"(r.x), "=f"(r.y), "=f"(r.z), "=f"(r.w) : "l"(t), "r"(0), "r"(0), "r"(n));
        out[n] = r.x;
    }
    out[4] = tex2Dgather<float4>(t, 0.5f, 0.5f, 0).x;
}

// Levels that are numbered: neither bias nor clamps count, and where there is no level nothing is read.
static void numbered()
{
    pyramid p = make(plain, make_cudaExtent(4, 4, 0), 3, 0, true);
    cudaTextureDesc how = sampling(3);
    how.minMipmapLevelClamp = 1.5f;
    how.mipmapLevelBias = 1;
    float *out;
    OK(cudaMallocManaged(&out, 5 * sizeof *out));
    by_index<<<1, 1>>>(object(p, how), out);
    OK(cudaDeviceSynchronize());
    CHECK(out[0] == 0 && out[1] == 1 && out[2] == 2 && out[3] == 0 && out[4] == 0);
    OK(cudaFree(out));
    OK(cudaFreeMipmappedArray(p.array));
}

// Fetches along a gradient: of 4 elements by 1 there are four, each an element from the next.
static void along()
{
    pyramid p = make(plain, make_cudaExtent(64, 64, 0), 7, 0, true);
    cudaTextureDesc how = sampling(7);
    cudaArray_t first;
    std::vector<float> column(64 * 64, 0.0f);
    for (int y = 0; y < 64; y++)
        column[y * 64 + 32] = 1024;
    OK(cudaGetMipmappedArrayLevel(&first, p.array, 0));
    OK(cudaMemcpy2DToArray(first, 0, 0, column.data(), 256, 256, 64, cudaMemcpyHostToDevice));
    how.maxAnisotropy = 16;
    cudaTextureObject_t t = object(p, how);
    // of 1 1/2 by 1 two, a third of an element from the middle
    static const float half_more[] = {680, 680, 512, 300, 172, 44, 0, 0, 0, 0, 0};
    static const float four[] = {256, 256, 256, 256, 256, 256, 256, 192, 128, 64, 0},
                       three[] = {342, 342, 342, 298, 256, 214, 170, 128, 84, 42, 0},
                       two[] = {512, 512, 512, 384, 256, 128, 0, 0, 0, 0, 0};
    for (int i = 0; i < 11; i++)
        for (int n = 2; n <= 4; n++) {
            query q = with_gradients(n / 64.0f, 0, 0, 0, 1 / 64.0f, 0);
            q.at[0] = (32.5f + i / 4.0f) / 64;
            q.at[1] = 0.5f;
            CHECK(fabs(level_read(t, GRADIENTS, PLANE, q) - (n == 4 ? four : n == 3 ? three : two)[i]) <= 1.5f);
        }
    for (int i = 0; i < 11; i++) {
        query q = with_gradients(1.5f / 64, 0, 0, 0, 1 / 64.0f, 0);
        q.at[0] = (32.5f + i / 4.0f) / 64;
        q.at[1] = 0.5f;
        CHECK(fabs(level_read(t, GRADIENTS, PLANE, q) - half_more[i]) <= 5);
    }
    // gradients that point the same way have no width
    READS(0, t, GRADIENTS, PLANE, with_gradients(4 / 64.0f, 0, 0, 4 / 64.0f, 0, 0));
    how.normalizedCoords = 0; // is taken for normalized
    query q = at_level(0);
    q.at[0] = 32.5f / 64;
    CHECK(level_read(object(p, how), LEVEL, PLANE, q) == 1024);
    OK(cudaFreeMipmappedArray(p.array));
}

__global__ void halve(cudaSurfaceObject_t to, cudaTextureObject_t from, int n)
{
    int x = threadIdx.x, y = threadIdx.y;
    surf2Dwrite(tex2D<float>(from, (x + 0.5f) / n, (y + 0.5f) / n), to, x * 4, y);
}

// As programs make levels: each from the one before, which is a texture of one level then.
static void made_by_kernels()
{
    pyramid p = make(plain, make_cudaExtent(8, 8, 0), 4, cudaArraySurfaceLoadStore, false);
    for (int l = 0; l < 3; l++) {
        cudaArray_t from, to;
        cudaResourceDesc r = {};
        cudaTextureDesc how = sampling(1);
        cudaTextureObject_t t;
        cudaSurfaceObject_t s;
        int n = 4 >> l;
        OK(cudaGetMipmappedArrayLevel(&from, p.array, l));
        OK(cudaGetMipmappedArrayLevel(&to, p.array, l + 1));
        r.resType = cudaResourceTypeArray;
        r.res.array.array = from;
        OK(cudaCreateTextureObject(&t, &r, &how, nullptr));
        r.res.array.array = to;
        OK(cudaCreateSurfaceObject(&s, &r));
        halve<<<1, dim3(n, n)>>>(s, t, n);
        OK(cudaDeviceSynchronize());
        OK(cudaDestroyTextureObject(t));
        OK(cudaDestroySurfaceObject(s));
    }
    const float *v = (const float *)p.level[0].bytes.data();
    float sum = 0, got = 0;
    for (int i = 0; i < 64; i++)
        sum += v[i];
    cudaArray_t last;
    OK(cudaGetMipmappedArrayLevel(&last, p.array, 3));
    OK(cudaMemcpy2DFromArray(&got, 4, last, 0, 0, 4, 1, cudaMemcpyDeviceToHost));
    CHECK(got == sum / 64);
    OK(cudaFreeMipmappedArray(p.array));
}

// A captured copy to a level, replayed; the other levels stay.
static void captured()
{
    pyramid p = make(plain, make_cudaExtent(4, 4, 0), 3, 0, true);
    cudaArray_t one, two;
    cudaStream_t s;
    cudaGraph_t g;
    cudaGraphExec_t e;
    float in[4] = {1, 2, 3, 4}, out[4] = {}, top = 0;
    OK(cudaGetMipmappedArrayLevel(&one, p.array, 1));
    OK(cudaGetMipmappedArrayLevel(&two, p.array, 2));
    OK(cudaStreamCreate(&s));
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    OK(cudaMemcpy2DToArrayAsync(one, 0, 0, in, 8, 8, 2, cudaMemcpyHostToDevice, s));
    OK(cudaMemcpy2DFromArrayAsync(out, 8, one, 0, 0, 8, 2, cudaMemcpyDeviceToHost, s));
    OK(cudaStreamEndCapture(s, &g));
    OK(cudaGraphInstantiate(&e, g, 0));
    in[3] = 5;
    OK(cudaGraphLaunch(e, s));
    OK(cudaStreamSynchronize(s));
    CHECK(memcmp(in, out, sizeof in) == 0);
    OK(cudaMemcpy2DFromArray(&top, 4, two, 0, 0, 4, 1, cudaMemcpyDeviceToHost));
    CHECK(top == 2);
    OK(cudaGraphExecDestroy(e));
    OK(cudaGraphDestroy(g));
    OK(cudaStreamDestroy(s));
    OK(cudaFreeMipmappedArray(p.array));
}

int main(void)
{
    srand(1);
    formats();
    details();
    lanes();
    numbered();
    along();
    shapes();
    views();
    made_by_kernels();
    captured();
    return check_done();
}
