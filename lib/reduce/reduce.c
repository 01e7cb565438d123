/* Ranges for the workers, and the kernel that sums them. */
#include "reduce/reduce.h"
#include "kernel/kernel.h"

/* Borders at whole pages keep workers out of each other's cache lines and
 * prefetched pages. */
enum { UNIT = 1024 };

void ls__range(int64_t n, int parts, int part, int64_t unit, int64_t *first,
               int64_t *last)
{
    int64_t units = n / unit + (n % unit != 0);
    int64_t each = units / parts, more = units % parts;
    int64_t begin = part * each + (part < more ? part : more);
    int64_t end = begin + each + (part < more);

    /* Compared in units, because the end of the last one may overflow. */
    *first = begin < units ? begin * unit : n;
    *last = end < units ? end * unit : n;
}

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
    int64_t first, last;

    ls__track_phase(ls__track_here(), "reduce", -1);
    ls__range(r->n, r->workers, worker, UNIT, &first, &last);
    ls__reduce_range(r->buffers, r->devices, first, last, r->scale,
                     r->buffers[0]);
}

void ls__reduce(ls_pool *pool, float *const *buffers, int devices, int64_t n,
                float scale)
{
    reduction r = {buffers, devices, ls_pool_workers(pool), n, scale};

    ls__pool_run(pool, reduce_part, &r);
}
