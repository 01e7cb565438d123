/* SPDX-License-Identifier: BSD-3-Clause */
/* Pictures as SVG: a panel with axes, from numbers to places.
 *
 * Grey lines and text in between black and white are readable on both; a viewer
 * that knows which one it has makes them darker or lighter. */
#ifndef TOOLS_PLOT_H
#define TOOLS_PLOT_H

#include <stdio.h>

typedef struct plot {
    FILE *f;
    double left, right, top, bottom; /* places, */
    double x_low, x_high;            /* the numbers at left and right, */
    double y_low, y_high;            /* and at the bottom and the top */
} plot;

double plot_x(const plot *p, double x);
double plot_y(const plot *p, double y);

/* 1, 2 or 5 times a power of ten, so that 5 to 12 of them make `most`. */
double plot_unit(double most);

/* Begin a picture and end it; style: of classes beside text, title, grid and
 * axis. */
void plot_begin(FILE *f, int width, int height, const char *style,
                const char *title);
void plot_end(FILE *f);

void plot_text(FILE *f, double x, double y, const char *anchor,
               const char *words);
void plot_line(FILE *f, const char *class, double x1, double y1, double x2,
               double y2);

/* Horizontal lines with numbers, and what both axes are; title and y may be
 * NULL. */
void plot_frame(const plot *p, const char *title, const char *x, const char *y);

/* Numbers below the panel, `unit` apart. */
void plot_numbers(const plot *p, double unit);

#endif
