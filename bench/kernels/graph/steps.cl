// Graphs in compressed rows: rank by pulling from neighbours, shortest paths by relaxing.
kernel void rank_pull(global const int *start, global const int *neighbour,
                      global const float *share, global float *out, int n)
{
    int v = get_global_id(0);
    if (v >= n)
        return;
    float sum = 0;
    for (int e = start[v]; e < start[v + 1]; e++)
        sum += share[neighbour[e]];
    out[v] = (0.15f + 0.85f * sum) / (start[v + 1] - start[v]);
}

kernel void relax(global const int *start, global const int *neighbour, global const int *weight,
                  global int *distance, int n)
{
    int v = get_global_id(0);
    if (v >= n)
        return;
    int mine = distance[v];
    if (mine == 0x7fffffff)
        return;
    for (int e = start[v]; e < start[v + 1]; e++) {
        int far = mine + weight[e];
        if (far < distance[neighbour[e]])
            atomic_min(&distance[neighbour[e]], far);
    }
}
