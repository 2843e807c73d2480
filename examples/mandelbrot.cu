// The Mandelbrot set, one thread a point: to the terminal, and with a file name to a PPM picture.
//
//   mandelbrot [picture.ppm [width height]]
#include <cstring>
#include <vector>

#include "check.h"

struct View {
    double centre_x, centre_y, width; // in the complex plane
};

enum { ROUNDS = 400 };

// How long each point takes to leave, smoothed; 0 for those that stay.
__global__ void mandelbrot(float *times, int width, int height, View view)
{
    int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= width || py >= height)
        return;
    double step = view.width / width;
    double cx = view.centre_x + (px - 0.5 * width) * step;
    double cy = view.centre_y - (py - 0.5 * height) * step;
    double x = 0, y = 0, xx = 0, yy = 0;
    int round = 0;
    while (xx + yy <= 64.0 && round < ROUNDS) {
        y = 2 * x * y + cy;
        x = xx - yy + cx;
        xx = x * x;
        yy = y * y;
        round++;
    }
    times[py * width + px] =
        round == ROUNDS ? 0.0f : fmaxf(0.1f, round + 1 - log2f(log2f((float)(xx + yy)) / 2));
}

__device__ unsigned char shade(float t, float phase)
{
    return (unsigned char)(255.0f * (0.5f + 0.5f * cosf(6.2831853f * (t * 0.035f + phase))));
}

__global__ void colour(const float *times, uchar3 *picture, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float t = sqrtf(times[i]) * 4.0f;
    picture[i] = times[i] == 0.0f ? make_uchar3(0, 0, 0)
                                  : make_uchar3(shade(t, 0.55f), shade(t, 0.63f), shade(t, 0.72f));
}

static std::vector<uchar3> draw(int width, int height, const View &view)
{
    int n = width * height;
    float *times;
    uchar3 *picture;
    CHECK(cudaMalloc(&times, n * sizeof *times));
    CHECK(cudaMalloc(&picture, n * sizeof *picture));
    dim3 threads(16, 8), blocks((width + 15) / 16, (height + 7) / 8);
    mandelbrot<<<blocks, threads>>>(times, width, height, view);
    CHECK_LAUNCH();
    colour<<<(n + 255) / 256, 256>>>(times, picture, n);
    CHECK_LAUNCH();
    std::vector<uchar3> result(n);
    CHECK(cudaMemcpy(result.data(), picture, n * sizeof *picture, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(times));
    CHECK(cudaFree(picture));
    return result;
}

// Two points in one character: the upper half block in one colour on the other.
static void print_coloured(const std::vector<uchar3> &p, int width, int height)
{
    for (int y = 0; y + 1 < height; y += 2) {
        for (int x = 0; x < width; x++) {
            uchar3 a = p[y * width + x], b = p[(y + 1) * width + x];
            printf("\033[38;2;%d;%d;%dm\033[48;2;%d;%d;%dm\u2580", a.x, a.y, a.z, b.x, b.y, b.z);
        }
        printf("\033[0m\n");
    }
}

static void print_plain(const std::vector<uchar3> &p, int width, int height)
{
    static const char ramp[] = " .:-=+*#%@";
    for (int y = 0; y + 1 < height; y += 2) {
        for (int x = 0; x < width; x++) {
            uchar3 c = p[y * width + x];
            putchar(ramp[(c.x + c.y + c.z) * 9 / 765]); // one point of two: characters are tall
        }
        putchar('\n');
    }
}

static bool write_ppm(const char *name, const std::vector<uchar3> &p, int width, int height)
{
    FILE *f = fopen(name, "wb");
    if (f == NULL)
        return false;
    fprintf(f, "P6\n%d %d\n255\n", width, height);
    bool ok = fwrite(p.data(), sizeof(uchar3), p.size(), f) == p.size();
    return fclose(f) == 0 && ok;
}

int main(int argc, char **argv)
{
    View whole = {-0.7, 0.0, 3.4}, valley = {-0.7436, 0.1318, 0.012};
    const char *colours = getenv("COLORTERM");
    int columns = 96, rows = 56;
    std::vector<uchar3> small = draw(columns, rows, whole);
    if (colours != NULL && (strstr(colours, "truecolor") || strstr(colours, "24bit")))
        print_coloured(small, columns, rows);
    else
        print_plain(small, columns, rows);
    if (argc > 1) {
        int width = argc > 3 ? atoi(argv[2]) : 1280, height = argc > 3 ? atoi(argv[3]) : 720;
        if (width <= 0 || height <= 0 || !write_ppm(argv[1], draw(width, height, valley), width,
                                                    height)) {
            fprintf(stderr, "cannot write %s\n", argv[1]);
            return EXIT_FAILURE;
        }
        printf("%d x %d points written to %s\n", width, height, argv[1]);
    }
    return EXIT_SUCCESS;
}
