/* SPDX-License-Identifier: BSD-3-Clause */
/* The findings as tables of plain columns and a curve of characters. */
#include "scale/scale_findings.h"
#include "opt/characters.h"
#include "opt/opt.h"

#include <math.h>
#include <stdio.h>

/* ------ Numbers in columns ------ */

static void number(int width, const char *format, double x)
{
    char text[32];

    snprintf(text, sizeof text, format, x);
    printf("  %*s", width, isfinite(x) ? text : "-");
}

/* Print a share of a roof, where that was measured. */
static void share(int width, double x, double roof)
{
    number(width, "%.0f %%", roof > 0 && x > 0 ? 100 * x / roof : (double)NAN);
}

/* Begins a row with its counts: the ranks only where some row has several. */
static void row_of(const findings *r, int i)
{
    if (r->ranks)
        printf("%5d  ", r->point[i].ranks);
    printf("%7d", r->point[i].workers);
}

static const char *head(const findings *r)
{
    return r->ranks ? "ranks  workers" : "workers";
}

static void row_end(const findings *r, int i)
{
    const scaling_point *p = &r->point[i];

    if (p->oversubscribed)
        printf("  oversubscribed");
    if (!p->verified)
        printf("  state differs");
    putchar('\n');
}

/* ------ Tables ------ */

static void print_head(const findings *r)
{
    char title[FINDINGS_TITLE];

    findings_title(r, title);
    printf("%s, %d x %d step%s\n", title, r->info.repeats, r->info.steps,
           opt_s(r->info.steps));
    printf("%s%s%d usable core%s, %s, lockstep %s\n%s\n",
           characters_shown(r->cpu), *r->cpu ? ", " : "", r->cores,
           opt_s(r->cores), r->isa, ls_version(),
           characters_shown(r->command));
}

static void print_rates(const findings *r)
{
    printf("\n%s  %4s/step  %6s  %8s  %9s", head(r), r->unit.name, "spread",
           "steps/s", "rows/s");
    if (r->tokens)
        printf("  %9s", "tokens/s");
    printf("  %8s  %10s  %8s  %8s\n", "speed-up", "efficiency", "GFLOP/s",
           "FMA roof");
    for (int i = 0; i < r->points; i++) {
        const scaling_point *p = &r->point[i];
        const finding_rate *rate = &r->rate[i];

        row_of(r, i);
        number(9, "%.4g", r->unit.scale * p->seconds);
        number(6, "%.1f %%", rate->spread);
        number(8, "%.4g", rate->steps);
        number(9, "%.5g", rate->rows);
        if (r->tokens)
            number(9, "%.6g", rate->tokens);
        number(8, "%.2f", p->speedup);
        number(10, "%.0f %%", 100 * p->efficiency);
        number(8, "%.1f", p->flops > 0 ? 1e-9 * p->flops : (double)NAN);
        share(8, p->flops, p->flops_roof);
        row_end(r, i);
    }
}

static void print_times(const findings *r)
{
    double u = r->unit.scale;

    printf("\n%s of a step: mean over the workers%s, and the most of one\n",
           r->unit.name, r->ranks ? " of the first rank" : "");
    printf("%s  %9s  %8s  %8s  %8s  %8s  %8s  %8s  %8s\n", head(r),
           "gradients", "most", "reduce", "most", "update", "most", "waiting",
           "most");
    for (int i = 0; i < r->points; i++) {
        const ls_times *mean = &r->point[i].mean, *max = &r->point[i].max;

        row_of(r, i);
        number(9, "%.4g", u * mean->gradients);
        number(8, "%.4g", u * max->gradients);
        number(8, "%.4g", u * mean->reduce);
        number(8, "%.4g", u * max->reduce);
        number(8, "%.4g", u * mean->update);
        number(8, "%.4g", u * max->update);
        number(8, "%.4g", u * mean->waiting);
        number(8, "%.4g", u * max->waiting);
        row_end(r, i);
    }
}

/* Print a rate in GB/s; 0: not known. */
static void rate(int width, double x)
{
    number(width, "%.1f", x > 0 ? 1e-9 * x : (double)NAN);
}

static void print_memory(const findings *r)
{
    printf("\nGB/s, read and written, and as a share of a copy by as many "
           "workers\n%s  %9s  %6s  %8s  %6s  %8s  %6s  %8s\n", head(r),
           "gradients", "", "reduce", "", "update", "", "copy");
    for (int i = 0; i < r->points; i++) {
        const scaling_point *p = &r->point[i];

        row_of(r, i);
        rate(9, p->gradient_rate);
        share(6, p->gradient_rate, p->copy_roof);
        rate(8, p->reduce_rate);
        share(6, p->reduce_rate, p->copy_roof);
        rate(8, p->update_rate);
        share(6, p->update_rate, p->copy_roof);
        rate(8, p->copy_roof);
        row_end(r, i);
    }
}

/* ------ The curve ------ */

enum { CELLS = 50 };

/* Up to the speed-up in one character, on to the ideal in dots. */
static void bar(int hands, double speedup, double cell)
{
    int full = isfinite(speedup) ? (int)(speedup / cell + 0.5) : 0;
    int ideal = (int)(hands / cell + 0.5);

    printf("  ");
    for (int i = 0; i < full || i < ideal; i++)
        putchar(i < full ? '#' : '.');
    number(0, "%.2f", speedup);
}

static void print_curve(const findings *r)
{
    double cell = r->most / (double)CELLS;

    printf("\nspeed-up (dots: ideal)\n");
    for (int i = 0; i < r->points; i++) {
        row_of(r, i);
        bar(scaling_hands(&r->point[i]), r->point[i].speedup, cell);
        row_end(r, i);
    }
}

/* ------ The operators ------ */

static void print_op(const findings *r, const finding_op *o)
{
    double flops = o->forward + o->backward;

    printf("%-20s", o->name);
    share(6, flops, r->info.work.row_flops);
    share(6, o->bytes, r->row_bytes);
    number(9, "%.3g", o->bytes > 0 ? flops / o->bytes : (double)NAN);
    if (isfinite(r->ridge)) {
        double step = r->unit.scale * (double)r->point[0].rows;

        number(8, "%.4g", step * o->cores);
        number(9, "%.4g", step * o->memory);
        if (o->bytes > 0)
            printf("  %s", finding_of_memory(o) ? "memory" : "cores");
    }
    putchar('\n');
}

/* How far a step of 1 worker is from what both roofs allow. */
static void print_bound(const findings *r)
{
    const scaling_point *one = &r->point[0];

    printf("1 worker: %.4g %s a step, %.2f x of the bound of %.4g (the longer "
           "times)\n", r->unit.scale * one->seconds, r->unit.name,
           one->seconds / r->bound, r->unit.scale * r->bound);
}

/* Each operator's FLOP and bytes, and which roof it meets first. */
static void print_operators(const findings *r)
{
    if (r->ops == 0)
        return;
    printf("\n%.4g FLOP and %.4g bytes a row", r->info.work.row_flops,
           r->row_bytes);
    if (isfinite(r->ridge))
        printf("; at the roofs of 1 worker memory bounds what has below %.1f "
               "FLOP a byte", r->ridge);
    printf("\n%-20s  %6s  %6s  %9s", "operator", "FLOP", "bytes", "FLOP/byte");
    if (isfinite(r->ridge))
        printf("  %s cores  %s memory  bound by", r->unit.name, r->unit.name);
    putchar('\n');
    for (int i = 0; i < r->ops; i++)
        print_op(r, &r->op[i]);
    if (isfinite(r->bound) && r->bound > 0)
        print_bound(r);
}

void scale_table(const findings *r)
{
    print_head(r);
    print_rates(r);
    print_times(r);
    print_memory(r);
    print_curve(r);
    print_operators(r);
    if (isfinite(r->serial))
        printf("serial share %.1f %%, fitted to the measured counts\n",
               100 * r->serial);
    printf("%s\n", r->scaling->advice);
}
