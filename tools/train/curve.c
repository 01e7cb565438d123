/* SPDX-License-Identifier: BSD-3-Clause */
/* See curve.h. */
#define _GNU_SOURCE
#include "train/curve.h"
#include "opt/opt.h"
#include "run/output.h"
#include "run/plot.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* ------ Lines ------ */

static void put_point(curve_line *l)
{
    l->step[l->points] = l->step_sum / (double)l->waiting;
    l->value[l->points++] = l->value_sum / (double)l->waiting;
    l->step_sum = l->value_sum = 0;
    l->waiting = 0;
}

static void halve(curve_line *l)
{
    for (int i = 0; i < CURVE_POINTS / 2; i++) {
        l->step[i] = (l->step[2 * i] + l->step[2 * i + 1]) / 2;
        l->value[i] = (l->value[2 * i] + l->value[2 * i + 1]) / 2;
    }
    l->points = CURVE_POINTS / 2;
    l->each *= 2;
}

void curve_add(curve_line *l, int64_t step, double value)
{
    if (!isfinite(value))
        return;
    if (!l->each)
        l->each = 1;
    l->step_sum += (double)step;
    l->value_sum += value;
    if (++l->waiting < l->each)
        return;
    put_point(l);
    if (l->points == CURVE_POINTS)
        halve(l);
}

/* Leave out a point whole, that is the mean of several values. */
static void line_back(curve_line *l, int64_t done)
{
    while (l->points > 0 && l->step[l->points - 1] > (double)done)
        l->points--;
    l->step_sum = l->value_sum = 0;
    l->waiting = 0;
}

void curve_back(curve *c, int64_t done)
{
    line_back(&c->training, done);
    line_back(&c->evaluation, done);
}

/* ------ The frame ------ */

static void widen(plot *p, const curve_line *l)
{
    for (int i = 0; i < l->points; i++) {
        p->x_high = fmax(p->x_high, l->step[i]);
        p->y_low = fmin(p->y_low, l->value[i]);
        p->y_high = fmax(p->y_high, l->value[i]);
    }
}

/* The greatest value once a tenth of the updates is over. */
static double settled(const curve *c, double last)
{
    const curve_line *line[] = {&c->training, &c->evaluation};
    double most = 0;

    for (int k = 0; k < 2; k++)
        for (int i = 0; i < line[k]->points; i++)
            if (line[k]->step[i] > last / 10)
                most = fmax(most, line[k]->value[i]);
    return most;
}

/* Finds ranges from 0, or below it, to whole units.  A few of the first losses
 * that are far above all others are cut off. */
static bool find_ranges(const curve *c, plot *p, bool *cut)
{
    double most, unit;

    widen(p, &c->training);
    widen(p, &c->evaluation);
    p->x_high = fmax(p->x_high, 1);
    if (!(p->y_high > p->y_low))
        p->y_high = p->y_low + 1;
    most = settled(c, p->x_high);
    *cut = most > 0 && p->y_high > 4 * most;
    if (*cut)
        p->y_high = 1.2 * most;
    unit = plot_unit(p->y_high - p->y_low);
    p->y_low = floor(p->y_low / unit) * unit;
    p->y_high = ceil(p->y_high / unit) * unit;
    return c->training.points + c->evaluation.points > 0;
}

/* ------ SVG ------ */

enum { LEFT = 60, TOP = 40, WIDTH = 560, HEIGHT = 300, BELOW = 50 };

static const char style[] =
    "polyline,circle{fill:none;stroke-width:1.6}.key{stroke-width:3}"
    ".best{stroke:#808080;stroke-dasharray:3 3}"
    ".training{stroke:#3b82c4}.evaluation{stroke:#d9541e}";

/* The legend's place is a number of its own, from the right. */
static void put_line(const plot *p, const curve_line *l, const char *name,
                     int place)
{
    double to = p->right - 110 * place;
    char key[32];

    if (!l->points)
        return;
    fprintf(p->f, "<polyline class=\"%s\" points=\"", name);
    for (int i = 0; i < l->points; i++)
        fprintf(p->f, "%.1f,%.1f ", plot_x(p, l->step[i]),
                plot_y(p, fmin(l->value[i], p->y_high)));
    fputs("\"/>\n", p->f);
    if (l->points == 1)
        fprintf(p->f, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"2\"/>"
                "\n", name, plot_x(p, l->step[0]), plot_y(p, l->value[0]));
    snprintf(key, sizeof key, "key %s", name);
    plot_line(p->f, key, to - 100, TOP - 26, to - 80, TOP - 26);
    plot_text(p->f, to - 74, TOP - 22, "start", name);
}

static void put_best(const plot *p, int64_t step)
{
    double x = plot_x(p, (double)step);

    plot_line(p->f, "best", x, p->top, x, p->bottom);
    plot_text(p->f, x, p->top - 4, "middle", "best");
}

static void put_svg(FILE *f, const curve *c, const char *model)
{
    plot p = {.f = f, .left = LEFT, .right = LEFT + WIDTH, .top = TOP,
              .bottom = TOP + HEIGHT};
    char title[96];
    bool cut, any = find_ranges(c, &p, &cut);

    if (cut)
        snprintf(title, sizeof title, "%s: loss, above %g cut off", model,
                 p.y_high);
    else
        snprintf(title, sizeof title, "%s: loss", model);
    plot_begin(f, LEFT + WIDTH + 30, TOP + HEIGHT + BELOW, style, title);
    if (any) {
        plot_frame(&p, NULL, "updates", NULL);
        plot_numbers(&p, fmax(plot_unit(p.x_high), 1));
        if (c->best)
            put_best(&p, c->best);
        put_line(&p, &c->training, "training", 1);
        put_line(&p, &c->evaluation, "evaluation", 0);
    }
    plot_end(f);
}

int curve_write(const curve *c, const char *path, const char *title)
{
    output o;
    int status = output_open(&o, path);

    if (status == OPT_GO)
        put_svg(o.file, c, title);
    return output_close(&o, status);
}

/* ------ A terminal ------ */

enum { COLUMNS = 60, ROWS = 12 };

static void put_dots(char cell[ROWS][COLUMNS + 1], const curve_line *l,
                     const plot *p, char dot)
{
    for (int i = 0; i < l->points; i++) {
        double x = l->step[i] / p->x_high;
        double y = (fmin(l->value[i], p->y_high) - p->y_low) /
                   (p->y_high - p->y_low);
        int column = (int)(x * (COLUMNS - 1) + 0.5);
        int row = (int)((1 - y) * (ROWS - 1) + 0.5);

        cell[row][column] = dot;
    }
}

void curve_print(const curve *c, FILE *file)
{
    char cell[ROWS][COLUMNS + 1];
    plot p = {0};
    bool cut;

    if (!find_ranges(c, &p, &cut))
        return;
    memset(cell, ' ', sizeof cell);
    put_dots(cell, &c->training, &p, '.');
    put_dots(cell, &c->evaluation, &p, 'o');
    fprintf(file, "%10s  loss, by updates: . training%s\n", "",
            c->evaluation.points ? ", o evaluation" : "");
    for (int i = 0; i < ROWS; i++) {
        double value = p.y_high - (p.y_high - p.y_low) * i / (ROWS - 1);

        cell[i][COLUMNS] = 0;
        fprintf(file, "%10.4g |%s\n", value, cell[i]);
    }
    fprintf(file, "%10s +%.*s\n%12s0%*.0f\n", "", COLUMNS,
            "------------------------------------------------------------", "",
            COLUMNS - 1, p.x_high);
}

void curve_show(const curve *c, FILE *file)
{
    if (isatty(fileno(file)) && opt_columns() >= COLUMNS + 14)
        curve_print(c, file);
}
