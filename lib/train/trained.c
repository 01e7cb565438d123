/* Runs of what has gradients.  Parameters whose blocks touch are one run. */
#include "train/trained.h"
#include "base/least.h"
#include "kernel/kernel.h"
#include "reduce/reduce.h"

#include <string.h>

static ls__range all_of(const ls_trainer *t)
{
    return (ls__range){0, t->model.params.floats};
}

static void add_slot(const ls_trainer *t, const ls__slot *s, ls__trained *to)
{
    int64_t block = LS__REDUCE_BLOCK, first = s->offset / block * block;
    int64_t last = ls__reduce_blocks(s->offset + s->size) * block;

    last = ls__least(last, t->model.params.floats);
    if (to->count > 0 && first <= to->run[to->count - 1].last)
        to->run[to->count - 1].last = last;
    else
        to->run[to->count++] = (ls__range){first, last};
}

/* Other processes are sent whole sections, and a trainer that checks for
 * divergence compares whole gradients. */
int ls__trained_open(ls_trainer *t)
{
    const ls__params *p = &t->model.params;
    ls__trained *to = &t->trained;

    to->run = ls__arena_new(&t->arena, (size_t)p->count + 1, sizeof *to->run);
    if (!to->run)
        return LS_ENOMEM;
    for (int i = 0; i < p->count; i++)
        if (!ls__trainer_leaves_out(t, p->slot[i].declared))
            add_slot(t, &p->slot[i], to);
    if (t->seam || t->watch) {
        to->run[0] = all_of(t);
        to->count = 1;
    }
    return 0;
}

bool ls__trained_next(const ls_trainer *t, ls__range within, ls__range *run)
{
    for (int i = 0; i < t->trained.count; i++) {
        ls__range r = ls__range_common(t->trained.run[i], within);

        if (r.first < r.last && r.first >= run->last) {
            *run = r;
            return true;
        }
    }
    return false;
}

int64_t ls__trained_floats(const ls_trainer *t)
{
    int64_t sum = 0;

    for (int i = 0; i < t->trained.count; i++)
        sum += t->trained.run[i].last - t->trained.run[i].first;
    return sum;
}

float *ls__trained_block(const ls_trainer *t, int64_t floats, const char *what)
{
    size_t bytes = (size_t)floats * sizeof(float);

    return ls__trained_floats(t) < t->model.params.floats
               ? ls__block_sparse(bytes, what) : ls__block_zero(bytes, what);
}

void ls__trained_zero(const ls_trainer *t, float *gradient)
{
    for (ls__range r = {0, 0}; ls__trained_next(t, all_of(t), &r);)
        memset(gradient + r.first, 0,
               (size_t)(r.last - r.first) * sizeof *gradient);
}

void ls__trained_add(const ls_trainer *t, const float *more, float *gradient)
{
    for (ls__range r = {0, 0}; ls__trained_next(t, all_of(t), &r);)
        ls__kernels()->add(r.last - r.first, gradient + r.first,
                           more + r.first, gradient + r.first);
}
