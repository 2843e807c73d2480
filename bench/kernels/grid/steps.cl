// A stencil in three dimensions, a lattice Boltzmann step.
constant float weight[5] = {0.4f, 0.06f, 0.03f, 0.015f, 0.005f};
kernel void stencil3d(global const float *in, global float *out, int width, int depth)
{
    int x = get_global_id(0) + 4, y = get_global_id(1) + 4;
    if (x >= width - 4 || y >= width - 4)
        return;
    int plane = width * width;
    global const float *p = in + y * width + x;
    float column[9];
    for (int k = 0; k < 8; k++)
        column[k + 1] = p[k * plane];
    for (int z = 4; z < depth - 4; z++) {
        for (int k = 0; k < 8; k++)
            column[k] = column[k + 1];
        column[8] = p[(z + 4) * plane];
        global const float *here = p + z * plane;
        float sum = weight[0] * column[4];
        for (int k = 1; k <= 4; k++)
            sum += weight[k] * (column[4 - k] + column[4 + k] + here[-k] + here[k] +
                                here[-k * width] + here[k * width]);
        out[z * plane + y * width + x] = sum;
    }
}

constant int cx[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, cy[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
constant float w[9] = {4 / 9.f,  1 / 9.f,  1 / 9.f,  1 / 9.f, 1 / 9.f,
                       1 / 36.f, 1 / 36.f, 1 / 36.f, 1 / 36.f};
kernel void lattice(global const float *from, global float *to, int width, int height)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    float f[9], rho = 0, u = 0, v = 0;
    for (int k = 0; k < 9; k++) {
        int sx = (x - cx[k]) & (width - 1), sy = (y - cy[k]) & (height - 1);
        f[k] = from[(k * height + sy) * width + sx];
        rho += f[k];
        u += cx[k] * f[k];
        v += cy[k] * f[k];
    }
    u /= rho;
    v /= rho;
    float square = 1.5f * (u * u + v * v);
    for (int k = 0; k < 9; k++) {
        float along = 3 * (cx[k] * u + cy[k] * v);
        float rest = w[k] * rho * (1 + along + 0.5f * along * along - square);
        to[(k * height + y) * width + x] = f[k] + 0.6f * (rest - f[k]);
    }
}
