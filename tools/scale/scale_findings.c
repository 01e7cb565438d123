/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes findings of a measurement: all that its forms show is computed here. */
#include "scale/scale_findings.h"
#include "opt/opt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Operators of the same kind together. */
void findings_count(findings *r, const ls_trainer *t)
{
    ls_cost c;

    r->ops = 0;
    for (int i = 0; ls_trainer_cost(t, i, &c); i++) {
        int k = 0;

        while (k < r->ops && strcmp(r->op[k].name, c.op) != 0)
            k++;
        if (k == FINDINGS_OPS)
            continue;
        if (k == r->ops)
            r->op[r->ops++] = (finding_op){.name = c.op};
        r->op[k].forward += c.forward;
        r->op[k].backward += c.backward;
        r->op[k].row_bytes += c.forward_bytes + c.backward_bytes;
        r->op[k].chunk_bytes += c.chunk_forward_bytes + c.chunk_backward_bytes;
    }
}

/* An operator's times by the rooflines, if no cache keeps anything. */
static void weigh(finding_op *o, const scaling_point *one, double chunks)
{
    bool known = one->flops_roof > 0 && one->copy_roof > 0;

    o->bytes = o->row_bytes + chunks * o->chunk_bytes;
    o->cores = o->memory = (double)NAN;
    if (!known)
        return;
    o->cores = (o->forward + o->backward) / one->flops_roof;
    o->memory = o->bytes / one->copy_roof;
}

static void weigh_all(findings *r)
{
    const scaling_point *one = &r->point[0];
    double chunks = scaling_chunks(&r->info.work, one->rows) /
                    (double)one->rows;

    r->row_bytes = r->bound = 0;
    r->ridge = one->flops_roof > 0 && one->copy_roof > 0
                   ? one->flops_roof / one->copy_roof : (double)NAN;
    for (int i = 0; i < r->ops; i++) {
        weigh(&r->op[i], one, chunks);
        r->row_bytes += r->op[i].bytes;
        r->bound += (double)one->rows *
                    (finding_of_memory(&r->op[i]) ? r->op[i].memory
                                                  : r->op[i].cores);
    }
}

static finding_rate rate_of(const scaling_point *p, int64_t tokens)
{
    double rows = (double)p->rows / p->seconds;

    return (finding_rate){
        .steps = 1 / p->seconds,
        .rows = rows,
        .tokens = tokens ? rows * (double)tokens : (double)NAN,
        .spread = 100 * (p->most - p->least) / p->seconds,
    };
}

static int make_points(findings *r)
{
    r->points = r->scaling->points;
    r->point = r->scaling->point;
    r->rate = calloc((size_t)r->points, sizeof *r->rate);
    if (!r->rate)
        return opt_fail(OPT_FAILED, "out of memory");
    for (int i = 0; i < r->points; i++) {
        r->rate[i] = rate_of(&r->point[i], r->tokens);
        r->ranks |= r->point[i].ranks > 1;
        if (scaling_hands(&r->point[i]) > r->most)
            r->most = scaling_hands(&r->point[i]);
    }
    return OPT_GO;
}

int findings_make(findings *r, const scaling *s)
{
    r->scaling = s;
    r->info = s->info;
    if (make_points(r) != OPT_GO)
        return OPT_FAILED;
    r->unit.name = r->point[0].seconds < 1e-3 ? "us" : "ms";
    r->unit.scale = r->point[0].seconds < 1e-3 ? 1e6 : 1e3;
    if (scaling_serial(s, &r->serial) < 0)
        r->serial = (double)NAN;
    weigh_all(r);
    return OPT_GO;
}

void findings_title(const findings *r, char title[FINDINGS_TITLE])
{
    snprintf(title, FINDINGS_TITLE,
             "%s, %lld row%s a step%s, %d device%s: %s scaling",
             r->model, (long long)r->point[0].rows, opt_s(r->point[0].rows),
             r->weak ? " and worker" : "", r->info.devices,
             opt_s(r->info.devices), r->weak ? "weak" : "strong");
}

void findings_free(findings *r)
{
    free(r->rate);
}
