/* SPDX-License-Identifier: BSD-3-Clause */
/* See printing.h. */
#include "train/printing.h"
#include "opt/characters.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

/* ------ Which there are ------ */

/* 1, 2, 5, 10, 20, 50 .. times the first. */
static int64_t widen(int64_t every, int64_t first)
{
    int64_t times = every / first;

    while (times >= 10)
        times /= 10;
    return times == 2 ? every / 2 * 5 : every * 2;
}

/* Count 0, every, 2 every .. and the last of n. */
static int64_t count_steps(int64_t n, int64_t every)
{
    return (n - 1) / every + 1 + ((n - 1) % every != 0);
}

/* Count 1, every, 2 every .. and the last of n. */
static int64_t count_epochs(int64_t n, int64_t every)
{
    return n / every + (n % every != 0) + (every > 1);
}

/* Choose the steps that have a line, beside so many other lines; or none. */
static void choose_steps(lines *l, int64_t others)
{
    int64_t first = l->steps, most = LINES_MOST - others;

    if (l->steps && count_steps(l->last, l->steps) > most)
        most = LINES_FEW - others;
    while (l->steps && l->steps < l->last &&
           count_steps(l->last, l->steps) > most)
        l->steps = l->steps < l->last / 4 ? widen(l->steps, first) : l->last;
    if (l->steps && count_steps(l->last, l->steps) > most)
        l->steps = 0;
}

/* Is it 1, 2, 5, 10, 20, 50 ..? */
static bool is_round(int64_t epoch)
{
    while (epoch >= 10 && epoch % 10 == 0)
        epoch /= 10;
    return epoch == 1 || epoch == 2 || epoch == 5;
}

/* Count those up to n, and the last. */
static int64_t count_round(int64_t n)
{
    int64_t count = !is_round(n);

    for (int64_t power = 1; power <= n; power *= 10)
        count += 1 + (2 * power <= n) + (5 * power <= n);
    return count;
}

/* Choose the epochs, of `each` lines; gives how many lines they are.  A run may
 * end early, so round ones come before equal strides. */
static int64_t choose_epochs(lines *l, int64_t each)
{
    int64_t n = l->batches ? l->last / l->batches : 0;

    if (n > LINES_MOST / 2 && each * n > LINES_MOST &&
        each * count_round(n) <= LINES_MOST) {
        l->epochs = 0;
        return each * count_round(n);
    }
    while (n > LINES_MOST / 2 && each * n > LINES_MOST && l->epochs < n &&
           each * count_epochs(n, l->epochs) > LINES_OF_EPOCHS)
        l->epochs = widen(l->epochs, 1);
    return each * count_epochs(n, l->epochs);
}

void lines_open(lines *l, const run *r, const train_settings *set)
{
    bool evaluates = data_holds_rows(&r->data) && r->set.data.epochs;
    int64_t each = r->model->epochs + (evaluates && !set->eval_every);

    *l = (lines){.steps = set->log_every, .epochs = 1,
                 .batches = r->data.batches, .last = r->set.data.steps,
                 .asked = set->eval_every > 0};
    if (isatty(STDOUT_FILENO) && isatty(STDERR_FILENO)) /* mpirun's is one */
        l->since = opt_seconds();
    if (!run_given(r, "log-every"))
        choose_steps(l, choose_epochs(l, each));
}

bool lines_has_step(const lines *l, int64_t step)
{
    return l->steps && (step % l->steps == 0 || step == l->last - 1);
}

bool lines_has_epoch(const lines *l, int64_t done)
{
    int64_t epoch = l->batches ? done / l->batches : 0;

    return (l->epochs ? epoch % l->epochs == 0 : is_round(epoch)) ||
           epoch == 1 || l->last - done < l->batches;
}

bool lines_has_evaluation(const lines *l, int64_t done)
{
    return l->asked || done == l->last || lines_has_epoch(l, done);
}

/* ------ What they say ------ */

static void end_line(const lines *l)
{
    double seconds = l->since > 0 ? opt_seconds() - l->since : 0;

    if (l->since > 0)
        printf(seconds < 100 ? "  %.1f s" : "  %.0f s", seconds);
    putchar('\n');
}

void lines_step(const lines *l, int64_t step, double loss)
{
    printf("[lockstep] step %04lld  loss %.4f", (long long)step,
           opt_shown(loss));
    end_line(l);
}

void lines_epoch(const lines *l, int64_t epoch, double loss, double accuracy)
{
    printf("Epoch %lld: Loss=%.4f", (long long)epoch, opt_shown(loss));
    if (!isnan(accuracy))
        printf(", Acc=%.4f", opt_shown(accuracy));
    end_line(l);
}

void lines_figures(const lines_held *held, FILE *file)
{
    fprintf(file, "loss %.4f", opt_shown(held->loss));
    if (!isnan(held->accuracy))
        fprintf(file, "  acc %.4f", opt_shown(held->accuracy));
    figures_print(held->figures, file);
    if (held->by)
        fprintf(file, "  %s %.4g", held->by, opt_shown(held->selected));
}

void lines_evaluation(const lines *l, const lines_held *held)
{
    printf("[lockstep] eval %sstep %04lld  ", held->what,
           (long long)held->step);
    lines_figures(held, stdout);
    fputs(held->rest, stdout);
    if (*held->what)
        putchar('\n'); /* it is none of the moments of a run */
    else
        end_line(l);
}
