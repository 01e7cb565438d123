/* SPDX-License-Identifier: BSD-3-Clause */
/* The findings as an SVG: speed-up over workers with the ideal line, and the
 * times of a step as stacked bars. */
#include "opt/opt.h"
#include "run/output.h"
#include "run/plot.h"
#include "scale/scale_findings.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 880, HEIGHT = 380, TOP = 64, BOTTOM = 316 };

/* Room above the largest. */
static const double ROOM = 1.06;

static void x_number(const plot *p, double x, int workers, bool marked)
{
    char number[32];

    snprintf(number, sizeof number, "%d%s", workers, marked ? "*" : "");
    plot_text(p->f, x, BOTTOM + 18, "middle", number);
}

/* "2x4": ranks, and the workers of each. */
static void x_ranks(const plot *p, double x, const scaling_point *q)
{
    char number[48];

    snprintf(number, sizeof number, "%dx%d%s", q->ranks, q->workers,
             q->oversubscribed ? "*" : "");
    plot_text(p->f, x, BOTTOM + 18, "middle", number);
}

/* ------ Speed-up ------ */

static bool shown(const scaling_point *p)
{
    return isfinite(p->speedup);
}

/* A line for each number of ranks; returns where the next one begins. */
static int draw_line(const findings *r, const plot *p, int first)
{
    const scaling_point *from = &r->point[first], *last = NULL;
    int i = first;
    char ranks[32];

    fprintf(p->f, "<polyline class=\"measured%s\" points=\"",
            from->ranks > 1 ? " ranks" : "");
    for (; i < r->points && r->point[i].ranks == from->ranks; i++)
        if (shown(&r->point[i])) {
            last = &r->point[i];
            fprintf(p->f, "%.1f,%.1f ", plot_x(p, scaling_hands(last)),
                    plot_y(p, last->speedup));
        }
    fputs("\"/>\n", p->f);
    snprintf(ranks, sizeof ranks, "%d rank%s", from->ranks,
             opt_s(from->ranks));
    if (r->ranks && last)
        plot_text(p->f, plot_x(p, scaling_hands(last)) - 6,
                  plot_y(p, last->speedup) - 8, "end", ranks);
    return i;
}

static void draw_points(const findings *r, const plot *p)
{
    for (int i = 0; i < r->points;)
        i = draw_line(r, p, i);
    for (int i = 0; i < r->points; i++) {
        const scaling_point *q = &r->point[i];
        double x = plot_x(p, scaling_hands(q));

        if (!shown(q))
            continue;
        plot_line(p->f, "error", x, plot_y(p, q->speedup_least), x,
                  plot_y(p, q->speedup_most));
        fprintf(p->f,
                "<circle class=\"dot\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/>"
                "\n",
                x, plot_y(p, q->speedup));
    }
}

/* The mark at a count's label; "": no label. */
static const char *mark(const findings *r, int workers)
{
    for (int i = 0; i < r->points; i++)
        if (scaling_hands(&r->point[i]) == workers)
            return r->point[i].oversubscribed ? "*" : " ";
    return "";
}

/* Writes them from the right, leaving out what has no room. */
static void draw_counts(const findings *r, const plot *p)
{
    double last = p->right + 99;

    for (int w = r->most; w > 0; w--) {
        const char *m = mark(r, w);
        double x = plot_x(p, w);

        if (!*m || last - x < 22)
            continue;
        x_number(p, x, w, *m == '*');
        last = x;
    }
}

/* The ideal, and whatever is above it. */
static double most_speedup(const findings *r)
{
    double most = r->most;

    for (int i = 0; i < r->points; i++)
        if (shown(&r->point[i]))
            most = fmax(most, r->point[i].speedup_most);
    return most;
}

static void draw_speedup(const findings *r, FILE *f)
{
    int most = r->most;
    plot p = {.f = f,
              .left = 64,
              .right = 400,
              .top = TOP,
              .bottom = BOTTOM,
              .x_high = ROOM * most,
              .y_high = ROOM * most_speedup(r)};

    plot_frame(&p, "speed-up, - - ideal",
               r->ranks ? "workers of all ranks" : "workers",
               "rows a second, of 1 worker's");
    plot_line(f, "ideal", plot_x(&p, 0), plot_y(&p, 0), plot_x(&p, most),
              plot_y(&p, most));
    draw_points(r, &p);
    draw_counts(r, &p);
}

/* ------ Times ------ */

static const char *const phases[] = {"gradients", "reduce", "update",
                                     "waiting"};
enum { PHASES = 4 };

static void part(const plot *p, double x, double half, double *sum, double time,
                 const char *class)
{
    double top = plot_y(p, *sum + time);

    fprintf(p->f,
            "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
            "height=\"%.1f\"/>\n",
            class, x - half, top, 2 * half, plot_y(p, *sum) - top);
    *sum += time;
}

static void draw_bars(const findings *r, const plot *p)
{
    double step = (p->right - p->left) / r->points;

    for (int i = 0; i < r->points; i++) {
        const ls_times *t = &r->point[i].mean;
        const double time[] = {t->gradients, t->reduce, t->update, t->waiting};
        double x = p->left + (i + .5) * step, sum = 0;
        double half = step > 88 ? 28 : step * .32;

        for (int k = 0; k < PHASES; k++)
            part(p, x, half, &sum, r->unit.scale * time[k], phases[k]);
        if (r->ranks)
            x_ranks(p, x, &r->point[i]);
        else
            x_number(p, x, r->point[i].workers, r->point[i].oversubscribed);
    }
}

static void draw_legend(FILE *f)
{
    for (int i = 0; i < PHASES; i++) {
        int y = TOP + 4 + 20 * i;

        fprintf(f, "<rect class=\"%s\" x=\"786\" y=\"%d\" width=\"12\" "
                "height=\"12\"/>\n", phases[i], y);
        plot_text(f, 804, y + 10, "start", phases[i]);
    }
}

/* The longest sum of a bar's parts, not of the steps they should add up to. */
static double most_time(const findings *r)
{
    double most = 0;

    for (int i = 0; i < r->points; i++) {
        const ls_times *t = &r->point[i].mean;

        most = fmax(most, t->gradients + t->reduce + t->update + t->waiting);
    }
    return most;
}

static void draw_times(const findings *r, FILE *f)
{
    plot p = {.f = f,
              .left = 500,
              .right = 770,
              .top = TOP,
              .bottom = BOTTOM,
              .x_high = 1,
              .y_high = ROOM * r->unit.scale * most_time(r)};

    plot_frame(&p, "a step, mean over the workers",
               r->ranks ? "ranks x workers of each" : "workers", r->unit.name);
    draw_bars(r, &p);
    draw_legend(f);
}

/* ------ All of it ------ */

static const char style[] =
    ".ideal{stroke:#808080;stroke-dasharray:5 4}"
    ".measured{fill:none;stroke:#3b82c4;stroke-width:2}.dot{fill:#3b82c4}"
    ".error{stroke:#3b82c4}"
    ".ranks{stroke-opacity:.55}"
    ".gradients{fill:#3b82c4}.reduce{fill:#d98a29}.update{fill:#3f9e6e}"
    ".waiting{fill:#9a9a9a}";

static void draw(const findings *r, FILE *f)
{
    bool shared = false;
    char title[FINDINGS_TITLE];

    for (int i = 0; i < r->points; i++)
        shared |= r->point[i].oversubscribed;
    findings_title(r, title);
    plot_begin(f, WIDTH, HEIGHT, style, title);
    draw_speedup(r, f);
    draw_times(r, f);
    if (shared)
        plot_text(f, 20, HEIGHT - 8, "start",
                  "* more workers than usable cores");
    plot_end(f);
}

int scale_plot(const findings *r, const char *path)
{
    output o;
    int status = output_open(&o, path);

    if (status == OPT_GO)
        draw(r, o.file);
    return output_close(&o, status);
}
