/* Evaluation during the training. */
#include "evaluate.h"
#include "opt.h"

#include <math.h>
#include <stdio.h>

int evaluation_check(const run *r)
{
    const data *d = &r->data;
    const settings *s = &r->set;

    if (data_holds_rows(d))
        return OPT_GO;
    if (!d->text.bytes)
        return opt_fail(OPT_WRONG,
                        "--%s: nothing is held out; --eval-data or --eval-x "
                        "names rows to evaluate on, --valid holds some back",
                        s->eval_every ? "eval-every" : "early-stop");
    if (text_eval_batches(&d->text))
        return OPT_GO;
    return opt_fail(OPT_FAILED,
                    "%s: %lld bytes are held out, fewer than "
                    "--seq-len %lld",
                    s->eval_data ? s->eval_data : s->data,
                    (long long)d->text.held_size, (long long)s->seq_len);
}

/* Rows, and a text of --eval-data, are evaluated without being told to: after
 * each epoch, or at the end. */
bool evaluation_due(const evaluation *e, int64_t done)
{
    const settings *s = &e->run->set;
    const data *d = &e->run->data;
    bool rows = data_holds_rows(d);
    int64_t every = s->eval_every;

    if (!every && !rows && !d->text.other)
        return false;
    if (!every && rows && s->epochs)
        every = d->batches;
    return done == s->steps || (every && done % every == 0);
}

/* Sums over all batches, each mean by its weight; NaN where all weights are 0.
 */
static int sum_batches(evaluation *e, double *loss, double *accuracy)
{
    run *r = e->run;
    int64_t batches = data_eval_batches(&r->data);
    double weight = 0, right = 0;
    int status = OPT_GO;

    *loss = 0;
    for (int64_t i = 0; i < batches && status == OPT_GO; i++) {
        ls_result part;

        status = data_eval_fill(&r->data, i, r->batch);
        if (status == OPT_GO)
            status = opt_check(ls_evaluate(r->trainer, r->batch, &part));
        if (status != OPT_GO || !(part.weight > 0))
            continue;
        *loss += part.weight * (double)part.loss;
        right += part.weight * (double)part.accuracy;
        weight += part.weight;
    }
    *loss /= weight;
    *accuracy = right / weight;
    return status;
}

/* A model that tells no accuracy is judged by its loss. */
static void count(score *s, double loss, double accuracy, int64_t done)
{
    double value = isnan(accuracy) ? loss : accuracy;
    bool better = isnan(accuracy) ? value < s->best : value > s->best;

    if (!s->times++ || better) {
        s->best = value;
        s->best_step = done;
        s->since = 0;
    } else {
        s->since++;
    }
    s->by_loss = isnan(accuracy);
    s->last = value;
    s->loss = loss;
}

int evaluation_open(evaluation *e, run *r, score *s)
{
    *e = (evaluation){r, s, {0}};
    return figures_open(&e->figures, r);
}

void evaluation_close(evaluation *e)
{
    figures_close(&e->figures);
}

bool evaluation_better(const evaluation *e)
{
    return e->score->times && !e->score->since;
}

bool evaluation_enough(const evaluation *e)
{
    int64_t most = e->run->set.early_stop;

    return most && e->score->times && e->score->since >= most;
}

int evaluate(evaluation *e, int64_t done)
{
    double loss, accuracy;
    int status = sum_batches(e, &loss, &accuracy);

    if (status != OPT_GO)
        return status;
    printf("[lockstep] eval step %04lld  loss %.4f", (long long)done,
           opt_shown(loss));
    if (data_holds_rows(&e->run->data) && !isnan(accuracy))
        printf("  acc %.4f", opt_shown(accuracy));
    status = figures_print(&e->figures);
    putchar('\n');
    count(e->score, loss, accuracy, done);
    return opt_end(status);
}

int evaluation_sum(const evaluation *e)
{
    const score *s = e->score;

    if (!s->times || !data_holds_rows(&e->run->data))
        return OPT_GO;
    printf("[lockstep] eval best %s %.4f at step %04lld, last %.4f\n",
           s->by_loss ? "loss" : "acc", opt_shown(s->best),
           (long long)s->best_step, opt_shown(s->last));
    figures_confusion(&e->figures);
    return opt_end(OPT_GO);
}
