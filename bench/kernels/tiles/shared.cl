// Data in tiles: particles in a layout interleaved by hand, spectral elements in doubles, sums of
// exponentials of distances, a matrix of covariances of which half is computed.
#define ORDER 8

kernel void interleaved(global const float *in, global float *out, float dt, int lanes, int n)
{
    int i = get_global_id(0);
    if (i >= n)
        return;
    global const float *from = in + i / 8 * 48 + i % 8;
    global float *to = out + i / 8 * 24 + i % 8;
    float x = from[0], y = from[8], z = from[16], vx = from[24], vy = from[32], vz = from[40];
    float square = x * x + y * y + z * z + 0.01f;
    float pull = dt / (square * sqrt(square));
    vx -= pull * x, vy -= pull * y, vz -= pull * z;
    to[0] = x + dt * vx, to[8] = y + dt * vy, to[16] = z + dt * vz;
}

kernel void spectral(global const float *in, global const float *derive, global float *out, int n)
{
    local double u[ORDER][ORDER][ORDER], d[ORDER][ORDER];
    int t = get_local_id(0), i = t % ORDER, j = t / ORDER;
    global const float *from = in + get_group_id(0) * ORDER * ORDER * ORDER + t;
    global float *to = out + get_group_id(0) * ORDER * ORDER * ORDER + t;
    d[j][i] = derive[t];
    for (int k = 0; k < ORDER; k++)
        u[k][j][i] = from[k * ORDER * ORDER];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < ORDER; k++) {
        double sum = 0;
        for (int q = 0; q < ORDER; q++)
            sum += d[i][q] * u[k][j][q] + d[j][q] * u[k][q][i] + d[k][q] * u[q][j][i];
        to[k * ORDER * ORDER] = (float)sum;
    }
}

kernel void distances(global const float4 *queries, global const float4 *points, global float *out,
                      int count, float sharp)
{
    local float4 tile[128];
    int i = get_global_id(0), t = get_local_id(0);
    float4 q = queries[i];
    float sum = 0;
    for (int from = 0; from < count; from += 128) {
        tile[t] = points[from + t];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < 128; k++) {
            float4 p = tile[k];
            float x = p.x - q.x, y = p.y - q.y, z = p.z - q.z;
            sum += p.w * exp(-sharp * (x * x + y * y + z * z));
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[i] = sum;
}

kernel void covariance(global const float *in, global float *out, int samples, int n)
{
    int j = get_global_id(0), i = get_global_id(1);
    if (j >= n || i > j)
        return;
    float sum = 0;
    for (int s = 0; s < samples; s++)
        sum += in[s * n + i] * in[s * n + j];
    sum /= samples - 1;
    out[i * n + j] = sum;
    out[j * n + i] = sum;
}
