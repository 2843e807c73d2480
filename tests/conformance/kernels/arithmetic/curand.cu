/* K2: curand_kernel.h: the generators give the numbers that they give on a GPU, for seeds,
 * sequences and offsets of all sizes; skipping ahead is the same as drawing; distributions have the
 * bits (uniform) or the values (normal: in single precision as exact as the fast sine is) of a GPU.
 * The numbers below were printed by one. */
#include <cmath>
#include <cuda_runtime.h>
#include <curand_kernel.h>

#include "check.h"

namespace
{

struct start {
    unsigned long long seed, sequence, offset;
    unsigned first[3];
};

#define INITS(name, State)                                                                         \
    __global__ void name(const start *s, unsigned *out, int n)                                     \
    {                                                                                              \
        int i = threadIdx.x;                                                                       \
        if (i >= n)                                                                                \
            return;                                                                                \
        State state;                                                                               \
        curand_init(s[i].seed, s[i].sequence, s[i].offset, &state);                                \
        for (int k = 0; k < 3; k++)                                                                \
            out[3 * i + k] = curand(&state);                                                       \
    }
INITS(init_xorwow, curandStateXORWOW_t)
INITS(init_philox, curandStatePhilox4_32_10_t)
INITS(init_mrg, curandStateMRG32k3a_t)

/* Whether n numbers drawn and n numbers skipped lead to the same next ones. */
template <typename State> __global__ void skipped(int *same, int n)
{
    State a, b;
    curand_init(77ull, threadIdx.x, 3ull, &a);
    b = a;
    for (int i = 0; i < n; i++)
        curand(&a);
    skipahead((unsigned long long)n, &b);
    bool equal = true;
    for (int i = 0; i < 5; i++)
        equal = equal && curand(&a) == curand(&b);
    State c, d;
    curand_init(5ull, 6ull, (unsigned long long)n, &c);
    curand_init(5ull, 6ull, 0ull, &d);
    skipahead((unsigned long long)n, &d);
    equal = equal && curand(&c) == curand(&d);
    same[threadIdx.x] = equal;
}

struct distributions {
    unsigned uniform[3];
    unsigned long long uniform_double[2];
    float normal[3], log_normal[2];
    double normal_double[3], log_normal_double[2];
    unsigned poisson5[6], poisson5000[4];
    double poisson500_mean;
};

template <typename State> __global__ void distribute(distributions *out)
{
    State start, s;
    curand_init(1234ull, 5ull, 0ull, &start);
    s = start;
    for (int i = 0; i < 3; i++)
        out->uniform[i] = __float_as_uint(curand_uniform(&s));
    s = start;
    for (int i = 0; i < 2; i++)
        out->uniform_double[i] = __double_as_longlong(curand_uniform_double(&s));
    s = start;
    for (int i = 0; i < 3; i++)
        out->normal[i] = curand_normal(&s);
    s = start;
    for (int i = 0; i < 3; i++)
        out->normal_double[i] = curand_normal_double(&s);
    s = start;
    for (int i = 0; i < 2; i++)
        out->log_normal[i] = curand_log_normal(&s, 0.5f, 1.25f);
    s = start;
    for (int i = 0; i < 2; i++)
        out->log_normal_double[i] = curand_log_normal_double(&s, 0.5, 1.25);
    double sum = 0;
    s = start;
    for (int i = 0; i < 2010; i++) {
        if (i == 6)
            s = start;
        unsigned k = curand_poisson(&s, i < 6 ? 5.0 : i < 10 ? 5000.0 : 500.0);
        if (i < 6)
            out->poisson5[i] = k;
        else if (i < 10)
            out->poisson5000[i - 6] = k;
        else
            sum += k;
    }
    out->poisson500_mean = sum / 2000;
}

bool near(double a, double b, double tolerance)
{
    return fabs(a - b) <= tolerance * fmax(1.0, fabs(b));
}

template <typename State> void check_distributions(const distributions &want)
{
    distributions *got;
    cudaMallocManaged(&got, sizeof(*got));
    distribute<State><<<1, 1>>>(got);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ_INT(got->uniform[i], want.uniform[i]);
        CHECK(near(got->normal[i], want.normal[i], 1e-5));
        CHECK(near(got->normal_double[i], want.normal_double[i], 1e-13));
    }
    for (int i = 0; i < 2; i++) {
        CHECK_EQ_INT(got->uniform_double[i], want.uniform_double[i]);
        CHECK(near(got->log_normal[i], want.log_normal[i], 1e-5));
        CHECK(near(got->log_normal_double[i], want.log_normal_double[i], 1e-13));
    }
    for (int i = 0; i < 6; i++)
        CHECK_EQ_INT(got->poisson5[i], want.poisson5[i]);
    for (int i = 0; i < 4; i++)
        CHECK_EQ_INT(got->poisson5000[i], want.poisson5000[i]);
    CHECK(near(got->poisson500_mean, 500, 0.01)); /* ten standard deviations */
    cudaFree(got);
}

const start xorwow_starts[] = {
    {0x0ull, 0x0ull, 0x0ull, {0xbd7f03b6u, 0x703e556du, 0x845af0c5u}},
    {0x1ull, 0x0ull, 0x0ull, {0xacbf08dcu, 0xb9784ebfu, 0x81e9e679u}},
    {0x8000000000000000ull, 0x0ull, 0x0ull, {0x3d7f03b6u, 0xf03e556du, 0x645af0c5u}},
    {0xdeadbeefcafebabeull, 0x0ull, 0x0ull, {0x08d707b5u, 0x27121a1bu, 0x4bebba61u}},
    {0x4d2ull, 0x1ull, 0x0ull, {0xd1f7605au, 0xed29ae49u, 0x83030ed9u}},
    {0x4d2ull, 0x8ull, 0x0ull, {0x02e4b511u, 0x8a2261aau, 0x1ac53587u}},
    {0x4d2ull, 0x200000000ull, 0x0ull, {0x54b35daau, 0xf4c05f9eu, 0x7c2fc086u}},
    {0x4d2ull, 0x0ull, 0x1ull, {0x6f558604u, 0xdee6daf2u, 0x7485b394u}},
    {0x4d2ull, 0x0ull, 0x8ull, {0x4cff66d5u, 0x5de5c108u, 0x93ad0e4au}},
    {0x4d2ull, 0x0ull, 0x8000000000000000ull, {0x28c9f0b5u, 0x4a026e9du, 0x8178611eu}},
    {0x2aull, 0x1ull, 0x8ull, {0x2b6c63d6u, 0x4d4b12b6u, 0x0464c0bdu}},
    {0x2aull, 0x3ull, 0xaull, {0x23fd1992u, 0x7b585770u, 0x0f9426aau}},
    {0x123456789abcdef0ull, 0x64ull, 0x12cull, {0x335fb146u, 0x38ee7438u, 0x6f2d7426u}},
    {0x2aull, 0xffffull, 0x10006ull, {0x8f5fd8b5u, 0x777c62b8u, 0x021f11e7u}},
    {0x2aull, 0xffffffffull, 0x100000006ull, {0xe49638e6u, 0xc34c7cfbu, 0x5ce756f0u}},
    {0x123456789abcdef0ull, 0xffffffffull, 0x2fffffffdull, {0x654c2215u, 0xdd8d3457u, 0x1fa3b533u}},
    {0x123456789abcdef0ull,
     0x123456789abcdefull,
     0x369d0369d0369cdull,
     {0xd12d8ef6u, 0xb94e7c6bu, 0x4a7b2427u}},
    {0x2aull, 0xffffffffffffffffull, 0x6ull, {0x0c472825u, 0x170263ccu, 0xa0f4ea1au}},
};
const start philox_starts[] = {
    {0x0ull, 0x0ull, 0x0ull, {0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu}},
    {0x1ull, 0x0ull, 0x0ull, {0xe3e80670u, 0xe50a0ebcu, 0x95f222c0u}},
    {0x8000000000000000ull, 0x0ull, 0x0ull, {0xa41c1be6u, 0x817b6f73u, 0x0263cf78u}},
    {0xdeadbeefcafebabeull, 0x0ull, 0x0ull, {0xc386abb7u, 0xcb679089u, 0x638b75afu}},
    {0x4d2ull, 0x1ull, 0x0ull, {0xd115a128u, 0x52fc7c75u, 0xc7f33f17u}},
    {0x4d2ull, 0x8ull, 0x0ull, {0x8b8d1d15u, 0x9cdc39a0u, 0xc0592167u}},
    {0x4d2ull, 0x200000000ull, 0x0ull, {0x4a9b4716u, 0xaf22d161u, 0x57921fa4u}},
    {0x4d2ull, 0x0ull, 0x1ull, {0xda7cf0abu, 0x4401906fu, 0xcbca470eu}},
    {0x4d2ull, 0x0ull, 0x8ull, {0x3fc9c8d8u, 0xfc06fa38u, 0xcc170b27u}},
    {0x4d2ull, 0x0ull, 0x8000000000000000ull, {0xf6d043fcu, 0x352cd7c8u, 0xd8576b3au}},
    {0x2aull, 0x1ull, 0x8ull, {0x36794079u, 0x1f70ab07u, 0x709af7c6u}},
    {0x2aull, 0x3ull, 0xaull, {0x821f0d02u, 0x9e988ed9u, 0x3d0acc33u}},
    {0x123456789abcdef0ull, 0x64ull, 0x12cull, {0x11053c6au, 0x6f599801u, 0x28801b9bu}},
    {0x2aull, 0xffffull, 0x10006ull, {0x83a796ceu, 0xe8d3dd4du, 0xaaf1c864u}},
    {0x2aull, 0xffffffffull, 0x100000006ull, {0xb2ca379eu, 0x73fe294du, 0xdc5fa095u}},
    {0x123456789abcdef0ull, 0xffffffffull, 0x2fffffffdull, {0x569611abu, 0x72a4cf58u, 0x9d5c8e31u}},
    {0x123456789abcdef0ull,
     0x123456789abcdefull,
     0x369d0369d0369cdull,
     {0xd884979fu, 0x058bf362u, 0x09338397u}},
    {0x2aull, 0xffffffffffffffffull, 0x6ull, {0x82f1c9afu, 0x1b44d06bu, 0x8faf14cfu}},
};
const start mrg_starts[] = {
    {0x0ull, 0x0ull, 0x0ull, {0x2083cd07u, 0x518b05c4u, 0x4f26d091u}},
    {0x1ull, 0x0ull, 0x0ull, {0x6edeeb53u, 0x1808740du, 0x3a2a5a9fu}},
    {0x8000000000000000ull, 0x0ull, 0x0ull, {0xdf7b4cd2u, 0x39a97c91u, 0xc9603811u}},
    {0xdeadbeefcafebabeull, 0x0ull, 0x0ull, {0x26c76792u, 0x3d4f9bd1u, 0xe85b10d5u}},
    {0x4d2ull, 0x1ull, 0x0ull, {0x26f0d612u, 0xac5068d7u, 0xa3dbc910u}},
    {0x4d2ull, 0x8ull, 0x0ull, {0x58d40f60u, 0xaab66661u, 0x859f8394u}},
    {0x4d2ull, 0x200000000ull, 0x0ull, {0xe4826f9eu, 0xa5c5d4edu, 0x8588f55fu}},
    {0x4d2ull, 0x0ull, 0x1ull, {0x9650c684u, 0x0cbc7881u, 0x5fa111cdu}},
    {0x4d2ull, 0x0ull, 0x8ull, {0x52d6b4c6u, 0x85e4dd5bu, 0x733c8bf4u}},
    {0x4d2ull, 0x0ull, 0x8000000000000000ull, {0xd7c95f42u, 0x2f36ff5bu, 0x163c93d9u}},
    {0x2aull, 0x1ull, 0x8ull, {0xf48f879du, 0xbfbbefadu, 0xc899a850u}},
    {0x2aull, 0x3ull, 0xaull, {0x4bbf5803u, 0x28656005u, 0x43578dacu}},
    {0x123456789abcdef0ull, 0x64ull, 0x12cull, {0xa47956f3u, 0x1ef2898bu, 0xeecd3c1bu}},
    {0x2aull, 0xffffull, 0x10006ull, {0xfc4f6c4fu, 0xa52a714cu, 0x7915c6c2u}},
    {0x2aull, 0xffffffffull, 0x100000006ull, {0xb1d8318du, 0xd4da98f6u, 0x4ca87e3cu}},
    {0x123456789abcdef0ull, 0xffffffffull, 0x2fffffffdull, {0x3816b784u, 0x3b8d9964u, 0x8d1e7dcau}},
};
const distributions xorwow_values = {
    {0x3f5e7566u, 0x3f0051a4u, 0x3e5b3846u},
    {0x3fe00a345c956640ull, 0x3fd856a0471c22d9ull},
    {-0.004148207604885101f, -0.5299583077430725f, 1.199608325958252f},
    {1.640194296836853f, 0.8500603437423706f},
    {0.8029971118717657, -0.858203653867493, -0.9450352087030385},
    {4.498510715280833, 0.5639698043327804},
    {6, 4, 4, 4, 4, 5},
    {5057, 4939, 4933, 5013},
    500};
const distributions philox_values = {
    {0x3f794274u, 0x3f37a11bu, 0x3f0b27a1u},
    {0x3fef284e83a00000ull, 0x3fe6f4236f600000ull},
    {-0.22615087032318115f, -0.04712701961398125f, -1.102225661277771f},
    {1.242730975151062f, 1.554402470588684f},
    {-0.8137466654945469, -0.04829773499246194, 0.5323855156824026},
    {0.5961974756170278, 1.552129456940404},
    {6, 3, 7, 4, 6, 5},
    {4942, 4997, 5038, 4888},
    500};
const distributions mrg_values = {{0x3e9be67fu, 0x3f29d059u, 0x3e0593b0u},
                                  {0x3fd37ccfd1a8e5abull, 0x3fe53a0b13d4630cull},
                                  {-1.3191065788269043f, -0.7988567352294922f, 1.0715011358261108f},
                                  {0.31699058413505554f, 0.6073980331420898f},
                                  {-1.319106936325835, -0.7988565958558898, 1.0715013628385315},
                                  {0.3169904377433523, 0.6073981665966175},
                                  {4, 4, 5, 5, 10, 1},
                                  {4907, 4944, 5076, 4879},
                                  500};

template <typename Kernel> void check_starts(Kernel kernel, const start *starts, int n)
{
    start *s;
    unsigned *out;
    cudaMallocManaged(&s, n * sizeof(*s));
    cudaMallocManaged(&out, 3 * n * sizeof(*out));
    memcpy(s, starts, n * sizeof(*s));
    kernel<<<1, 32>>>(s, out, n);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 3; k++)
            CHECK_EQ_INT(out[3 * i + k], starts[i].first[k]);
    cudaFree(s);
    cudaFree(out);
}

template <typename State> void check_skips()
{
    int *same;
    cudaMallocManaged(&same, 32 * sizeof(int));
    for (int n : {0, 1, 2, 3, 4, 5, 17, 1000}) {
        skipped<State><<<1, 32>>>(same, n);
        CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
        int count = 0;
        for (int i = 0; i < 32; i++)
            count += same[i];
        CHECK_EQ_INT(count, 32);
    }
    cudaFree(same);
}

/* Sobol: a made-up set of direction numbers, as a probe of the real library had it. */
struct sobol_numbers {
    unsigned plain[6], scrambled[6], skipped[2];
    unsigned long long wide[4], wide_scrambled[4];
    unsigned uniform, wide_uniform;
    unsigned long long uniform_double, wide_uniform_double;
    float normal;
    double normal_double, wide_normal_double;
    unsigned poisson[4];
};
__global__ void sobol(sobol_numbers *out)
{
    curandDirectionVectors32_t d;
    curandDirectionVectors64_t e;
    for (int i = 0; i < 32; i++)
        d[i] = (0x80000000u >> i) | (0x12345u * i & (0x7fffffffu >> i));
    for (int i = 0; i < 64; i++)
        e[i] = (1ull << 63 >> i) | (0x123456789abull * i & ((1ull << 63 >> i) - 1));
    curandStateSobol32_t s;
    curandStateScrambledSobol32_t c;
    curandStateSobol64_t t;
    curandStateScrambledSobol64_t u;
    curand_init(d, 3, &s);
    curand_init(d, 0x9e3779b9u, 3, &c);
    curand_init(e, 3ull, &t);
    curand_init(e, 0x9e3779b97f4a7c15ull, 3ull, &u);
    curandStateSobol32_t s0 = s;
    curandStateSobol64_t t0 = t;
    for (int i = 0; i < 6; i++) {
        out->plain[i] = curand(&s);
        out->scrambled[i] = curand(&c);
    }
    for (int i = 0; i < 4; i++) {
        out->wide[i] = curand(&t);
        out->wide_scrambled[i] = curand(&u);
    }
    s = s0;
    skipahead(5u, &s);
    out->skipped[0] = curand(&s);
    curand_init(d, 1000, &s);
    out->skipped[1] = curand(&s);
    out->uniform = __float_as_uint(curand_uniform(&(s = s0)));
    out->uniform_double = __double_as_longlong(curand_uniform_double(&(s = s0)));
    out->normal = curand_normal(&(s = s0));
    out->normal_double = curand_normal_double(&(s = s0));
    out->wide_uniform = __float_as_uint(curand_uniform(&(t = t0)));
    out->wide_uniform_double = __double_as_longlong(curand_uniform_double(&(t = t0)));
    out->wide_normal_double = curand_normal_double(&(t = t0));
    s = s0;
    for (int i = 0; i < 4; i++)
        out->poisson[i] = curand_poisson(&s, 100.0);
}

void check_sobol()
{
    sobol_numbers *g;
    cudaMallocManaged(&g, sizeof(*g));
    sobol<<<1, 1>>>(g);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    const unsigned plain[] = {0x40012345, 0x600365cf, 0xe00365cf,
                              0xa002468a, 0x2002468a, 0x30012f45};
    const unsigned scrambled[] = {0xde365afc, 0xfe341c76, 0x7e341c76,
                                  0x3e353f33, 0xbe353f33, 0xae3656fc};
    const unsigned long long wide[] = {0x40000123456789ab, 0x60000365cfa89afd, 0xe0000365cfa89afd,
                                       0xa00002468acf1356};
    const unsigned long long wide_scrambled[] = {0xde37789a3a2df5be, 0xfe377adcb0e2e6e8,
                                                 0x7e377adcb0e2e6e8, 0x3e377bfff5856f43};
    for (int i = 0; i < 6; i++) {
        CHECK_EQ_INT(g->plain[i], plain[i]);
        CHECK_EQ_INT(g->scrambled[i], scrambled[i]);
    }
    for (int i = 0; i < 4; i++) {
        CHECK_EQ_INT(g->wide[i], wide[i]);
        CHECK_EQ_INT(g->wide_scrambled[i], wide_scrambled[i]);
    }
    CHECK_EQ_INT(g->skipped[0], 0x30012f45);
    CHECK_EQ_INT(g->skipped[1], 0x384f9f3c);
    CHECK_EQ_INT(g->uniform, 0x3e800247);
    CHECK_EQ_INT(g->uniform_double, 0x3fd00048d1800000);
    CHECK(near(g->normal, -0.67443514f, 1e-6));
    CHECK(near(g->normal_double, -0.6744351180583041, 1e-13));
    CHECK_EQ_INT(g->wide_uniform, 0x3e800002);
    CHECK_EQ_INT(g->wide_uniform_double, 0x3fd0000048d159e3);
    CHECK(near(g->wide_normal_double, -0.6744896, 1e-6));
    const unsigned poisson[] = {93, 97, 112, 103};
    for (int i = 0; i < 4; i++)
        CHECK_EQ_INT(g->poisson[i], poisson[i]);
    cudaFree(g);
}

} // namespace

int main()
{
    check_starts(init_xorwow, xorwow_starts, sizeof(xorwow_starts) / sizeof(start));
    check_starts(init_philox, philox_starts, sizeof(philox_starts) / sizeof(start));
    check_starts(init_mrg, mrg_starts, sizeof(mrg_starts) / sizeof(start));
    check_skips<curandStateXORWOW_t>();
    check_skips<curandStatePhilox4_32_10_t>();
    check_skips<curandStateMRG32k3a_t>();
    check_distributions<curandStateXORWOW_t>(xorwow_values);
    check_distributions<curandStatePhilox4_32_10_t>(philox_values);
    check_distributions<curandStateMRG32k3a_t>(mrg_values);
    check_sobol();
    return check_done();
}
