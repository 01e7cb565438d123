/* The phases of a step in which processes meet.  Worker 0 is the caller; the
 * others read what became of a meeting after the barrier that ends it, in a
 * phase in which nobody meets. */
#include "train/seam.h"
#include "train/giving.h"
#include "train/leaving.h"
#include "train/trainer.h"
#include "train/verdict.h"

bool ls__phase_reports(ls__step *s, int worker)
{
    const ls__seam *seam = s->trainer->seam;

    if (worker == 0)
        s->status = seam->reports(seam->user, s->notes.report);
    return true;
}

bool ls__phase_partials(ls__step *s, int worker)
{
    ls__leaving_add_rest(s, worker);
    return true;
}

bool ls__phase_exchange(ls__step *s, int worker)
{
    const ls__seam *seam = s->trainer->seam;

    if (worker == 0 && (s->status = ls__leaving_rest(s)) >= 0)
        s->status = seam->reports(seam->user, s->notes.report);
    return true;
}

/* What the workers found becomes what all found, in the first one's place. */
bool ls__phase_sound(ls__step *s, int worker)
{
    const ls_trainer *t = s->trainer;
    int64_t *bad = s->notes.bad;

    if (worker != 0)
        return true;
    for (int w = 1; w < t->workers; w++) {
        bad[0] = bad[0] < 0 ? bad[w] : bad[0];
        bad[w] = -1;
    }
    s->status = t->seam->sound(t->seam->user, &bad[0], s->notes.square);
    return true;
}

bool ls__phase_values(ls__step *s, int worker)
{
    if (worker == 0)
        s->status = ls__giving_rest(s->trainer);
    return true;
}

/* The rows of an output are those of devices, micro-batch by micro-batch. */
bool ls__phase_outputs(ls__step *s, int worker)
{
    const ls_trainer *t = s->trainer;
    int64_t each = s->rows * s->output->size;
    int64_t all = s->all * s->output->size, left = all;

    if (worker != 0 || s->status < 0)
        return true;
    for (int d = 0; d < t->devices.of; d++)
        if (s->notes.report[d].status < 0)
            return true;
    for (int m = 0; m < t->micro && left > 0 && s->status == 0; m++) {
        s->status = t->seam->outputs(t->seam->user, s->out + all - left,
                                     each * (int64_t)sizeof *s->out,
                                     left * (int64_t)sizeof *s->out);
        left -= each * t->devices.of;
    }
    return true;
}
