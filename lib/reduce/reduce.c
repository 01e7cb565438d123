/* Ranges for the workers, and the kernel that sums them. */
#include "reduce/reduce.h"
#include "kernel/kernel.h"

/* Borders at whole pages keep workers out of each other's cache lines and
 * prefetched pages. */
enum { UNIT = 1024 };

void ls__reduce_range(float *const *buffers, int devices, int64_t first,
                      int64_t last, float scale, float *out)
{
    ls__kernels()->tree_sum(buffers, devices, first, last, scale, out);
}

typedef struct reduction {
    float *const *buffers;
    int devices, workers;
    int64_t n;
    float scale;
} reduction;

static void reduce_part(void *user, int worker)
{
    const reduction *r = user;
    ls__range mine = ls__range_part((ls__range){0, r->n}, r->workers, worker,
                                    UNIT);

    ls__track_phase(ls__track_here(), "reduce", -1);
    ls__reduce_range(r->buffers, r->devices, mine.first, mine.last, r->scale,
                     r->buffers[0]);
}

void ls__reduce(ls_pool *pool, float *const *buffers, int devices, int64_t n,
                float scale)
{
    reduction r = {buffers, devices, ls_pool_workers(pool), n, scale};

    ls__pool_run(pool, reduce_part, &r);
}
