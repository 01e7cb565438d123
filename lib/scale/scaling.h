/* What a measurement of scaling found (scaling.c), and what follows from it
 * (scaling_model.c), which is arithmetic alone. */
#ifndef LS_SCALE_SCALING_H
#define LS_SCALE_SCALING_H

#include "lockstep.h"

enum { LS__ADVICE = 512 }; /* bytes of the sentence, with its end */

struct ls_scaling {
    bool weak;
    ls_scaling_info info;
    double cache; /* bytes of all L3; 0: not known */
    double cut; /* share of the parameters that all workers update */
    int points;
    ls_scaling_point *point; /* rising workers, the first with 1 */
    double *seconds;         /* [point * info.repeats + repeat] a step */
    char advice[LS__ADVICE];
};

/* Workers of all ranks. */
static inline int ls__scaling_hands(const ls_scaling_point *p)
{
    return p->ranks > 1 ? p->ranks * p->workers : p->workers;
}

/* The largest count of one rank whose numbers tell something: verified, and
 * with a core for each worker. */
const ls_scaling_point *ls__scaling_best(const ls_scaling *s);

/* Bytes that the operators read and write in a step of so many rows; 0: not
 * known. */
double ls__scaling_bytes(const ls_work *work, int64_t rows);

/* Write s->advice. */
void ls__scaling_advise(ls_scaling *s);

#endif
