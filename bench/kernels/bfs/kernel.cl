// Breadth-first search, level by level: every vertex of the last level looks at its neighbours.
kernel void bfs_start(global int *level) { level[0] = 1; }

kernel void bfs(global const int *start, global const int *neighbour, global int *level, int now,
                int vertices)
{
    int v = get_global_id(0);
    if (v >= vertices || level[v] != now)
        return;
    for (int i = start[v]; i < start[v + 1]; i++)
        if (level[neighbour[i]] == 0)
            level[neighbour[i]] = now + 1;
}
