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
