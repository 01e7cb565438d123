/* See curve.h. */
#define _GNU_SOURCE
#include "train/curve.h"
#include "opt/opt.h"
#include "run/output.h"

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

/* ------ The frame ------ */

typedef struct range {
    double low, high, unit; /* between marks */
} range;

static void widen(range *x, range *y, const curve_line *l)
{
    for (int i = 0; i < l->points; i++) {
        x->high = fmax(x->high, l->step[i]);
        y->low = fmin(y->low, l->value[i]);
        y->high = fmax(y->high, l->value[i]);
    }
}

/* 1, 2 or 5 times a power of ten, about a fifth of the whole. */
static double unit_of(double width)
{
    double ten = pow(10, floor(log10(width / 5))), part = width / 5 / ten;

    return (part > 5 ? 10 : part > 2 ? 5 : part > 1 ? 2 : 1) * ten;
}

/* From 0, or below it, to whole units. */
static bool find_ranges(const curve *c, range *x, range *y)
{
    *x = *y = (range){0};
    widen(x, y, &c->training);
    widen(x, y, &c->evaluation);
    if (c->training.points + c->evaluation.points == 0)
        return false;
    x->high = fmax(x->high, 1);
    x->unit = fmax(unit_of(x->high), 1);
    if (!(y->high > y->low))
        y->high = y->low + 1;
    y->unit = unit_of(y->high - y->low);
    y->low = floor(y->low / y->unit) * y->unit;
    y->high = ceil(y->high / y->unit) * y->unit;
    return true;
}

static double share(const range *r, double value)
{
    return (value - r->low) / (r->high - r->low);
}

/* ------ SVG ------ */

enum { LEFT = 60, TOP = 40, WIDTH = 560, HEIGHT = 300, BELOW = 50 };

static double at_x(const range *x, double value)
{
    return LEFT + WIDTH * share(x, value);
}

static double at_y(const range *y, double value)
{
    return TOP + HEIGHT * (1 - share(y, value));
}

static void put_marks(FILE *f, const range *x, const range *y)
{
    for (double v = y->low; v < y->high + y->unit / 2; v += y->unit)
        fprintf(f,
                "<path d=\"M%d %.1fh%d\" stroke=\"#ddd\"/>"
                "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
                LEFT, at_y(y, v), WIDTH, LEFT - 8, at_y(y, v) + 4,
                fabs(v) < y->unit / 1e6 ? 0 : v);
    for (double v = 0; v <= x->high; v += x->unit)
        fprintf(f,
                "<path d=\"M%.1f %dv5\" stroke=\"#888\"/>"
                "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.0f"
                "</text>\n",
                at_x(x, v), TOP + HEIGHT, at_x(x, v), TOP + HEIGHT + 20, v);
    fprintf(f,
            "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">updates"
            "</text>\n",
            LEFT + WIDTH / 2, TOP + HEIGHT + 40);
    fprintf(f, "<path d=\"M%d %dv%dh%d\" fill=\"none\" stroke=\"#888\"/>\n",
            LEFT, TOP, HEIGHT, WIDTH);
}

/* The legend's place is a number of its own, from the right. */
static void put_line(FILE *f, const curve_line *l, const range *x,
                     const range *y, const char *colour, const char *name,
                     int place)
{
    int to = LEFT + WIDTH - 110 * place;

    if (!l->points)
        return;
    fprintf(f,
            "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.6\" "
            "points=\"",
            colour);
    for (int i = 0; i < l->points; i++)
        fprintf(f, "%.1f,%.1f ", at_x(x, l->step[i]), at_y(y, l->value[i]));
    fprintf(f, "\"/>\n");
    if (l->points == 1)
        fprintf(f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n",
                at_x(x, l->step[0]), at_y(y, l->value[0]), colour);
    fprintf(f,
            "<path d=\"M%d %dh20\" stroke=\"%s\" stroke-width=\"3\"/>"
            "<text x=\"%d\" y=\"%d\">%s</text>\n",
            to - 100, TOP - 14, colour, to - 74, TOP - 10, name);
}

static void put_svg(FILE *f, const curve *c, const char *title)
{
    range x, y;

    fprintf(f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
            "height=\"%d\" font-family=\"sans-serif\" font-size=\"12\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
            "<text x=\"%d\" y=\"%d\" font-size=\"14\">%s: loss</text>\n",
            LEFT + WIDTH + 30, TOP + HEIGHT + BELOW, LEFT, TOP - 10, title);
    if (find_ranges(c, &x, &y)) {
        put_marks(f, &x, &y);
        put_line(f, &c->training, &x, &y, "#1f6fb4", "training", 1);
        put_line(f, &c->evaluation, &x, &y, "#d9541e", "evaluation", 0);
    }
    fputs("</svg>\n", f);
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
                     const range *x, const range *y, char dot)
{
    for (int i = 0; i < l->points; i++) {
        int column = (int)(share(x, l->step[i]) * (COLUMNS - 1) + 0.5);
        int row = (int)((1 - share(y, l->value[i])) * (ROWS - 1) + 0.5);

        cell[row][column] = dot;
    }
}

void curve_print(const curve *c, FILE *file)
{
    char cell[ROWS][COLUMNS + 1];
    range x, y;

    if (!find_ranges(c, &x, &y))
        return;
    memset(cell, ' ', sizeof cell);
    put_dots(cell, &c->training, &x, &y, '.');
    put_dots(cell, &c->evaluation, &x, &y, 'o');
    for (int i = 0; i < ROWS; i++) {
        double value = y.high - (y.high - y.low) * i / (ROWS - 1);

        cell[i][COLUMNS] = 0;
        fprintf(file, "%10.4g |%s\n", value, cell[i]);
    }
    fprintf(file, "%10s +%.*s\n%12s0%*.0f  updates; . training%s\n", "",
            COLUMNS,
            "------------------------------------------------------------", "",
            COLUMNS - 1, x.high, c->evaluation.points ? ", o evaluation" : "");
}

void curve_show(const curve *c, FILE *file)
{
    if (isatty(fileno(file)) && opt_columns() >= COLUMNS + 14)
        curve_print(c, file);
}
