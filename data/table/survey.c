/* SPDX-License-Identifier: BSD-3-Clause */
/* See survey.h. */
#include "table/survey.h"
#include "number/number.h"

#include <math.h>
#include <stdio.h>

/* A number that is not whole is no class. */
static void look_at_number(ls__survey *s, const ls__cell *cell,
                           const char *text)
{
    double x = 0;

    s->numbers++;
    if (*s->part || !ls__number_value(cell->text, cell->comma, &x))
        return;
    s->counted += x == (s->numbers > 1 ? s->last + 1 : 0);
    s->last = x;
    if (x == floor(x))
        return;
    snprintf(s->part, sizeof s->part, "%s", text);
    s->part_line = ls_table_line(cell->table);
}

static void look_for_date(ls__survey *s, const ls__cell *cell)
{
    double part[LS__DATE_PARTS];

    if (ls__date_read(cell->text, part)) {
        for (int i = LS__DAYS; i < LS__DATE_PARTS; i++) {
            s->first[i] = s->dates ? s->first[i] : part[i];
            s->varies[i] |= part[i] != s->first[i];
        }
        s->dates++;
    } else if (!s->other_line) {
        s->other_line = ls_table_line(cell->table);
        snprintf(s->other, sizeof s->other, "%s", cell->text);
    }
}

int ls__survey_look(ls__survey *s, const ls__cell *cell)
{
    char room[LS__WORD];
    const char *text;

    if (cell->missing) {
        if (!s->missing++)
            s->missing_line = ls_table_line(cell->table);
        return 0;
    }
    look_for_date(s, cell);
    text = ls__cell_word(cell, room);
    if (text == room) {
        look_at_number(s, cell, text);
    } else if (!s->texts++) {
        s->text_line = ls_table_line(cell->table);
        snprintf(s->text, sizeof s->text, "%s", text);
    }
    return s->words.count > LS__MOST_WORDS || ls__words_add(&s->words, text)
               ? 0 : LS_ENOMEM;
}
