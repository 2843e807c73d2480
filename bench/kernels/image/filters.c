/* Filters of images: bytes of colour to grey, a separable blur, Sobel, the median of nine, rotation
 * with linear filtering, a convolution of many channels. */
#include "row.h"

#include <math.h>
#include <stdlib.h>

enum { WIDTH = 1024, RADIUS = 8, CHANNELS = 16, OUTS = 16 };

static void make_grey(struct bench_problem *p)
{
    bench_add_bytes(p, (size_t)p->n * 4, 0, 256);
    bench_add(p, BENCH_BYTE, (size_t)p->n, BENCH_OUTPUT);
}
static void device_grey(struct bench_queue *q, const struct bench_problem *p)
{
    BENCH_LAUNCH(q, "grey", q->spelling == 2 ? 512 : bench_blocks(p->n, 256), 1, 256, 1, ARRAY(0),
                 ARRAY(1), INT(p->n));
}
static void native_grey(const struct bench_problem *p)
{
    enum { CHUNK = 4096 };
#pragma omp parallel for schedule(static)
    for (int at = 0; at < p->n; at += CHUNK) {
        const uint32_t *restrict in = (const uint32_t *)DATA(p, 0) + at;
        unsigned char *restrict out = (unsigned char *)DATA(p, 1) + at;
        int count = p->n - at < CHUNK ? p->n - at : CHUNK;
        for (int i = 0; i < count; i++)
            out[i] = (unsigned char)((77 * (in[i] & 255) + 150 * (in[i] >> 8 & 255) +
                                      29 * (in[i] >> 16 & 255)) >>
                                     8);
    }
}

static void make_blur(struct bench_problem *p)
{
    bench_add_floats(p, (size_t)p->n * WIDTH, 0, 1);
    bench_add(p, BENCH_FLOAT, (size_t)p->n * WIDTH, BENCH_INPUT);
    bench_add(p, BENCH_FLOAT, (size_t)p->n * WIDTH, BENCH_OUTPUT);
    float *taps = bench_add(p, BENCH_FLOAT, 2 * RADIUS + 1, BENCH_INPUT), sum = 0;
    for (int k = 0; k <= 2 * RADIUS; k++)
        sum += taps[k] = expf(-(float)((k - RADIUS) * (k - RADIUS)) / 18);
    for (int k = 0; k <= 2 * RADIUS; k++)
        taps[k] /= sum;
}
static void device_blur(struct bench_queue *q, const struct bench_problem *p)
{
    unsigned x = q->spelling == 2 ? 16 : 32, y = q->spelling == 2 ? 16 : 8;
    for (int down = 0; down < 2; down++)
        BENCH_LAUNCH(q, "blur", WIDTH / x, bench_blocks(p->n, (int)y), x, y, ARRAY(down),
                     ARRAY(down + 1), INT(WIDTH), INT(p->n), INT(down), ARRAY(3));
}
static void native_blur(const struct bench_problem *p)
{
    const float *in = DATA(p, 0), *taps = DATA(p, 3);
    float *between = DATA(p, 1), *out = DATA(p, 2);
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (int y = 0; y < p->n; y++) {
            float padded[WIDTH + 2 * RADIUS];
            for (int x = 0; x < WIDTH + 2 * RADIUS; x++) {
                int from = x - RADIUS;
                padded[x] = in[y * WIDTH + (from < 0 ? 0 : from >= WIDTH ? WIDTH - 1 : from)];
            }
            for (int x = 0; x < WIDTH; x++) {
                float sum = 0;
                for (int k = 0; k <= 2 * RADIUS; k++)
                    sum += taps[k] * padded[x + k];
                between[y * WIDTH + x] = sum;
            }
        }
#pragma omp for schedule(static)
        for (int y = 0; y < p->n; y++) {
            float sum[WIDTH] = {0};
            for (int k = 0; k <= 2 * RADIUS; k++) {
                int from = y + k - RADIUS;
                const float *row = between + (from < 0       ? 0
                                              : from >= p->n ? p->n - 1
                                                             : from) *
                                                 WIDTH;
                for (int x = 0; x < WIDTH; x++)
                    sum[x] += taps[k] * row[x];
            }
            for (int x = 0; x < WIDTH; x++)
                out[y * WIDTH + x] = sum[x];
        }
    }
}

static void make_bytes(struct bench_problem *p)
{
    bench_add_bytes(p, (size_t)p->n * WIDTH, 0, 256);
    bench_add(p, BENCH_BYTE, (size_t)p->n * WIDTH, BENCH_OUTPUT);
}
static void device_bytes(struct bench_queue *q, const struct bench_problem *p, const char *kernel,
                         unsigned x, unsigned y)
{
    BENCH_LAUNCH(q, kernel, WIDTH / x, bench_blocks(p->n, (int)y), x, y, ARRAY(0), ARRAY(1),
                 INT(WIDTH), INT(p->n));
}
static void device_sobel(struct bench_queue *q, const struct bench_problem *p)
{
    device_bytes(q, p, "sobel", q->spelling == 1 ? 16 : 32, q->spelling == 1 ? 16 : 8);
}
static void device_median(struct bench_queue *q, const struct bench_problem *p)
{
    device_bytes(q, p, "median", q->spelling == 2 ? 16 : 32, q->spelling == 2 ? 16 : 8);
}
static void native_sobel(const struct bench_problem *p)
{
#pragma omp parallel for schedule(static)
    for (int y = 1; y < p->n - 1; y++) {
        const unsigned char *restrict in = (const unsigned char *)DATA(p, 0) + y * WIDTH;
        unsigned char *restrict out = (unsigned char *)DATA(p, 1) + y * WIDTH;
#pragma omp simd
        for (int x = 1; x < WIDTH - 1; x++) {
            int across = in[x + 1 - WIDTH] + 2 * in[x + 1] + in[x + 1 + WIDTH] - in[x - 1 - WIDTH] -
                         2 * in[x - 1] - in[x + WIDTH - 1];
            int down = in[x + WIDTH - 1] + 2 * in[x + WIDTH] + in[x + WIDTH + 1] -
                       in[x - WIDTH - 1] - 2 * in[x - WIDTH] - in[x + 1 - WIDTH];
            int sum = abs(across) + abs(down);
            out[x] = (unsigned char)(sum > 255 ? 255 : sum);
        }
    }
}
static inline void order(unsigned char *a, unsigned char *b)
{
    unsigned char low = *a < *b ? *a : *b;
    *b = *a < *b ? *b : *a;
    *a = low;
}
static void native_median(const struct bench_problem *p)
{
#pragma omp parallel for schedule(static)
    for (int y = 1; y < p->n - 1; y++) {
        const unsigned char *restrict in = (const unsigned char *)DATA(p, 0) + y * WIDTH;
        unsigned char *restrict out = (unsigned char *)DATA(p, 1) + y * WIDTH;
#pragma omp simd
        for (int x = 1; x < WIDTH - 1; x++) {
            unsigned char v[9] = {in[x - WIDTH - 1], in[x - WIDTH], in[x - WIDTH + 1],
                                  in[x - 1],         in[x],         in[x + 1],
                                  in[x + WIDTH - 1], in[x + WIDTH], in[x + WIDTH + 1]};
            order(v + 1, v + 2), order(v + 4, v + 5), order(v + 7, v + 8), order(v + 0, v + 1),
                order(v + 3, v + 4), order(v + 6, v + 7);
            order(v + 1, v + 2), order(v + 4, v + 5), order(v + 7, v + 8), order(v + 0, v + 3),
                order(v + 5, v + 8), order(v + 4, v + 7);
            order(v + 3, v + 6), order(v + 1, v + 4), order(v + 2, v + 5), order(v + 4, v + 7),
                order(v + 4, v + 2), order(v + 6, v + 4);
            order(v + 4, v + 2);
            out[x] = v[4];
        }
    }
}

static void make_rotate(struct bench_problem *p)
{
    float *in = bench_add(p, BENCH_FLOAT, (size_t)p->n * (size_t)p->n, BENCH_INPUT);
    for (int i = 0; i < p->n * p->n; i++)
        in[i] = sinf((float)(i % p->n) * 0.05f) * cosf((float)(i / p->n) * 0.03f);
    bench_add(p, BENCH_FLOAT, (size_t)p->n * (size_t)p->n, BENCH_OUTPUT);
}
static void device_rotate(struct bench_queue *q, const struct bench_problem *p)
{
    BENCH_LAUNCH(q, "rotate", p->n / 32, p->n / 8, 32, 8, ARRAY(0), ARRAY(1), INT(p->n),
                 FLOAT(0.9f), FLOAT(0.43588989f));
}
static inline int within(int i, int most) { return i < 0 ? 0 : i > most ? most : i; }
static void native_rotate(const struct bench_problem *p)
{
    const float *restrict in = DATA(p, 0);
    float *restrict out = DATA(p, 1);
    const float c = 0.9f, s = 0.43588989f;
    int width = p->n, most = p->n - 1;
#pragma omp parallel for schedule(static)
    for (int y = 0; y < width; y++)
#pragma omp simd
        for (int x = 0; x < width; x++) {
            float u = (float)x - (float)width * 0.5f, v = (float)y - (float)width * 0.5f;
            float fx = c * u - s * v + (float)width * 0.5f,
                  fy = s * u + c * v + (float)width * 0.5f;
            int ix = (int)floorf(fx), iy = (int)floorf(fy);
            float ax = fx - (float)ix, ay = fy - (float)iy;
            int x0 = within(ix, most), x1 = within(ix + 1, most);
            int y0 = within(iy, most) * width, y1 = within(iy + 1, most) * width;
            float top = in[y0 + x0] * (1 - ax) + in[y0 + x1] * ax;
            float low = in[y1 + x0] * (1 - ax) + in[y1 + x1] * ax;
            out[y * width + x] = top * (1 - ay) + low * ay;
        }
}

static void make_conv(struct bench_problem *p)
{
    bench_add_floats(p, (size_t)CHANNELS * (size_t)p->n * (size_t)p->n, 0, 1);
    bench_add_floats(p, (size_t)OUTS * CHANNELS * 9, -1, 1);
    bench_add(p, BENCH_FLOAT, (size_t)OUTS * (size_t)p->n * (size_t)p->n, BENCH_OUTPUT);
}
static void device_conv(struct bench_queue *q, const struct bench_problem *p)
{
    unsigned x = q->spelling == 2 ? 16 : 32, y = q->spelling == 2 ? 16 : 8;
    BENCH_LAUNCH(q, "conv", bench_blocks(p->n, (int)x), p->n * OUTS / (int)y, x, y, ARRAY(0),
                 ARRAY(1), ARRAY(2), INT(p->n), INT(CHANNELS));
}
static void native_conv(const struct bench_problem *p)
{
    const float *in = DATA(p, 0), *weights = DATA(p, 1);
    int width = p->n;
#pragma omp parallel for schedule(static) collapse(2)
    for (int o = 0; o < OUTS; o++)
        for (int y = 0; y < width; y++) {
            float *restrict out = (float *)DATA(p, 2) + (o * width + y) * width;
            for (int x = 0; x < width; x++)
                out[x] = 0;
            for (int c = 0; c < CHANNELS; c++)
                for (int dy = -1; dy <= 1; dy++) {
                    if (y + dy < 0 || y + dy >= width)
                        continue;
                    const float *restrict row = in + (c * width + y + dy) * width;
                    const float *w = weights + ((o * CHANNELS + c) * 3 + dy + 1) * 3;
                    out[0] += row[0] * w[1] + row[1] * w[2];
                    for (int x = 1; x < width - 1; x++)
                        out[x] += row[x - 1] * w[0] + row[x] * w[1] + row[x + 1] * w[2];
                    out[width - 1] += row[width - 2] * w[0] + row[width - 1] * w[1];
                }
        }
}

#define ROW(row, text, size, quick, how_near, file, other, ...)                                    \
    BENCH_ROW(row, text, size, quick, how_near, file, other, row, __VA_ARGS__)
ROW(grey, "colour to grey, 2^22 pixels of 4 bytes", 1 << 22, 5001, 0, "image/filters", grey,
    "vectors of 4 bytes", "single bytes", "grid-stride loop");
ROW(blur, "separable blur of 17 taps, 1024²", 1024, 33, 1e-5, NULL, blur, "32×8 blocks",
    "width constant", "16×16 blocks");
ROW(sobel, "Sobel of bytes, 1024 × 4096", 4096, 35, 0, "image/filters", bytes, "32×8 blocks",
    "16×16 blocks", "shared tiles");
ROW(median, "median of 3×3 bytes, 1024 × 4096", 4096, 35, 0, "image/filters", bytes, "int index",
    "64-bit index", "16×16 blocks");
/* A texture has coordinates of 8 bits between two texels. */
ROW(rotate, "rotation by a linear texture, 1024²", 1024, 64, 6e-3, NULL, rotate, "texels",
    "normalised coordinates", "by hand");
ROW(conv, "convolution 3×3, 16 to 16 channels, 256²", 256, 32, 1e-5, "image/filters", conv,
    "channels as parameter", "channels constant", "16×16 blocks");
