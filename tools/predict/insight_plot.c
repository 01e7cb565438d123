/* SPDX-License-Identifier: BSD-3-Clause */
/* --explain as a picture: bars of the most important columns, and the curve of
 * calibration beside the line on which predictions would be right. */
#include "opt/characters.h"
#include "opt/opt.h"
#include "predict/insight.h"
#include "run/output.h"
#include "run/plot.h"

#include <math.h>
#include <string.h>

enum { TOP = 70, SIDE = 340, BARS = 20, LEFT = 180, GAP = 130, BELOW = 70,
       MOST = 22 };

static const char style[] = ".bar{fill:#4a7ebb}.curve{fill:none;stroke:#4a7ebb;"
                            "stroke-width:1.8}.dot{fill:#4a7ebb}";

/* A name, cut where it is long. */
static void put_name(FILE *f, double x, double y, const char *name)
{
    char cut[4 * MOST + 1];
    const char *end;

    characters_count(name, MOST, &end);
    snprintf(cut, sizeof cut, "%.*s", (int)(end - name), name);
    plot_text(f, x, y, "end", cut);
}

static void put_bars(FILE *f, const insight *in)
{
    int n = in->columns < BARS ? in->columns : BARS;
    double most = 0, step = (double)SIDE / (n > 8 ? n : 8);
    char number[32];

    for (int i = 0; i < n; i++)
        most = fmax(most, in->column[i].mean);
    for (int i = 0; i < n; i++) {
        double mean = in->column[i].mean, y = TOP + i * step;
        double wide = most > 0 ? fmax(mean, 0) / most * SIDE : 0;

        put_name(f, LEFT - 8, y + step / 2 + 4, in->column[i].name);
        fprintf(f, "<rect class=\"bar\" x=\"%d\" y=\"%.1f\" width=\"%.1f\" "
                "height=\"%.1f\"/>\n", LEFT, y + step / 8, wide, step * 3 / 4);
        snprintf(number, sizeof number, "%.4f", opt_shown(mean));
        plot_text(f, LEFT + wide + 6, y + step / 2 + 4, "start", number);
    }
    snprintf(number, sizeof number, "%s lost", in->of->worth.name);
    plot_text(f, LEFT + SIDE / 2., TOP - 14, "middle", number);
}

/* A square panel from the least to the greatest of both. */
static plot panel(FILE *f, const insight *in)
{
    double low = HUGE_VAL, high = -HUGE_VAL, left = LEFT + SIDE + GAP;
    plot p = {.f = f, .left = left, .right = left + SIDE, .top = TOP,
              .bottom = TOP + SIDE, .x_high = 1, .y_high = 1};

    for (int k = 0; k < INSIGHT_BINS; k++)
        if (in->bin[k].rows) {
            low = fmin(low, fmin(in->bin[k].said, in->bin[k].is));
            high = fmax(high, fmax(in->bin[k].said, in->bin[k].is));
        }
    if (in->of->target.words)
        return p;
    high = high > low ? high : low + 1;
    low = floor(low / plot_unit(high - low)) * plot_unit(high - low);
    p.x_low = p.y_low = low;
    p.x_high = p.y_high = high;
    return p;
}

static void put_curve(FILE *f, const insight *in)
{
    plot p = panel(f, in);

    plot_frame(&p, "calibration", "predicted",
               in->of->target.words ? "share of right rows"
                                    : "mean of what is");
    plot_numbers(&p, plot_unit(p.x_high - p.x_low));
    plot_line(f, "grid", p.left, p.bottom, p.right, p.top);
    fputs("<polyline class=\"curve\" points=\"", f);
    for (int k = 0; k < INSIGHT_BINS; k++)
        if (in->bin[k].rows)
            fprintf(f, "%.1f,%.1f ", plot_x(&p, in->bin[k].said),
                    plot_y(&p, in->bin[k].is));
    fputs("\"/>\n", f);
    for (int k = 0; k < INSIGHT_BINS; k++)
        if (in->bin[k].rows)
            fprintf(f, "<circle class=\"dot\" cx=\"%.1f\" cy=\"%.1f\" "
                    "r=\"3\"/>\n", plot_x(&p, in->bin[k].said),
                    plot_y(&p, in->bin[k].is));
}

int insight_draw(const insight *in, const char *path)
{
    output o;
    int status = output_open(&o, path);

    if (status == OPT_GO) {
        plot_begin(o.file, LEFT + SIDE + GAP + SIDE + 30, TOP + SIDE + BELOW,
                   style, "what predictions come from, and whether they are "
                   "right");
        put_bars(o.file, in);
        put_curve(o.file, in);
        plot_end(o.file);
    }
    return output_close(&o, status);
}
