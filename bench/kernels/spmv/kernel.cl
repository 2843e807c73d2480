// Sparse matrix (compressed rows) times vector: one row per work item.
kernel void spmv(global const int *start, global const int *column, global const float *value,
                 global const float *x, global float *y, int rows)
{
    int row = get_global_id(0);
    if (row >= rows)
        return;
    float sum = 0;
    for (int i = start[row]; i < start[row + 1]; i++)
        sum += value[i] * x[column[i]];
    y[row] = sum;
}

#ifdef cl_khr_subgroup_shuffle
#pragma OPENCL EXTENSION cl_khr_subgroup_shuffle : enable
// One row per sub-group of 32.
kernel void spmv_warp(global const int *start, global const int *column, global const float *value,
                      global const float *x, global float *y, int rows)
{
    int row = get_global_id(0) / 32, lane = get_local_id(0) % 32;
    if (row >= rows)
        return;
    float sum = 0;
    for (int i = start[row] + lane; i < start[row + 1]; i += 32)
        sum += value[i] * x[column[i]];
    for (int distance = 16; distance > 0; distance /= 2)
        sum += sub_group_shuffle_xor(sum, distance);
    if (lane == 0)
        y[row] = sum;
}
#endif
