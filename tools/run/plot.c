/* SPDX-License-Identifier: BSD-3-Clause */
/* See plot.h. */
#include "run/plot.h"
#include "opt/characters.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { WIDE = 8 }; /* as a digit at most is */

double plot_x(const plot *p, double x)
{
    return p->left +
           (p->right - p->left) * (x - p->x_low) / (p->x_high - p->x_low);
}

double plot_y(const plot *p, double y)
{
    return p->bottom -
           (p->bottom - p->top) * (y - p->y_low) / (p->y_high - p->y_low);
}

double plot_unit(double most)
{
    enum { UNITS = 5 };
    double ten = pow(10, floor(log10(most / UNITS))), part = most / UNITS / ten;

    return (part >= 5 ? 5 : part >= 2 ? 2 : 1) * ten;
}

/* Write words as XML has them. */
static void put_words(FILE *f, const char *words)
{
    for (const char *at = characters_shown(words); *at; at++)
        switch (*at) {
        case '<': fputs("&lt;", f); break;
        case '>': fputs("&gt;", f); break;
        case '&': fputs("&amp;", f); break;
        default: fputc(*at, f);
        }
    fputs("</text>\n", f);
}

void plot_begin(FILE *f, int width, int height, const char *style,
                const char *title)
{
    fprintf(f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
            "height=\"%d\" viewBox=\"0 0 %d %d\">\n"
            "<style>text{font:13px sans-serif;fill:#767676}"
            ".title{font-size:15px}.grid{stroke:#808080;stroke-opacity:.35}"
            ".axis{stroke:#808080}%s"
            "@media (prefers-color-scheme:light){text{fill:#333}}"
            "@media (prefers-color-scheme:dark){text{fill:#ddd}}</style>\n"
            "<text class=\"title\" x=\"20\" y=\"24\">",
            width, height, width, height, style);
    put_words(f, title);
}

void plot_end(FILE *f)
{
    fputs("</svg>\n", f);
}

void plot_text(FILE *f, double x, double y, const char *anchor,
               const char *words)
{
    fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    put_words(f, words);
}

void plot_line(FILE *f, const char *class, double x1, double y1, double x2,
               double y2)
{
    fprintf(f, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" "
            "y2=\"%.1f\"/>\n", class, x1, y1, x2, y2);
}

/* Put number i of those that are a unit apart; false where it is past the end.
 */
static bool number(double low, double high, double unit, int i, double *at,
                   char text[32])
{
    *at = low + i * unit;
    snprintf(text, 32, "%.7g", fabs(*at) < unit / 1e6 ? 0 : *at);
    return *at <= high + unit / 1e4;
}

void plot_numbers(const plot *p, double unit)
{
    char text[32];
    double v;

    for (int i = 0; number(p->x_low, p->x_high, unit, i, &v, text); i++) {
        double x = plot_x(p, v);

        plot_line(p->f, "axis", x, p->bottom, x, p->bottom + 5);
        plot_text(p->f, x, p->bottom + 20, "middle", text);
    }
}

void plot_frame(const plot *p, const char *title, const char *x, const char *y)
{
    double unit = plot_unit(p->y_high - p->y_low);
    double middle = (p->left + p->right) / 2, v, beside = 46;
    char text[32];

    for (int i = 0; number(p->y_low, p->y_high, unit, i, &v, text); i++) {
        plot_line(p->f, i ? "grid" : "axis", p->left, plot_y(p, v), p->right,
                  plot_y(p, v));
        plot_text(p->f, p->left - 8, plot_y(p, v) + 4, "end", text);
        beside = fmax(beside, 22 + WIDE * (double)strlen(text));
    }
    plot_line(p->f, "axis", p->left, p->top, p->left, p->bottom);
    if (title)
        plot_text(p->f, middle, p->top - 14, "middle", title);
    plot_text(p->f, middle, p->bottom + 38, "middle", x);
    if (!y)
        return;
    fprintf(p->f, "<text transform=\"translate(%.1f %.0f) rotate(-90)\" "
            "text-anchor=\"middle\">", p->left - beside,
            (p->top + p->bottom) / 2);
    put_words(p->f, y);
}
