/* SPDX-License-Identifier: BSD-3-Clause */
/* See survey.h. */
#include "table/survey.h"
#include "table/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void look_at_marks(ls__column_survey *s, const ls__cell *cell)
{
    double x;

    if (strpbrk(cell->text, ".,") == NULL) {
        if (ls__number_value(cell->text, false, &x) && fabs(x) > s->most)
            s->most = fabs(x);
    } else if (cell->comma && ls__thousands(cell->text)) {
        if (!s->thousands++)
            snprintf(s->thousand, sizeof s->thousand, "%s", cell->text);
    } else {
        s->decimals++;
    }
}

/* A text that is no date. */
static void look_at_text(ls__column_survey *s, const ls__cell *cell)
{
    ls__look look = ls__looks_like(cell->text);

    if (look == LS__ABSENT && !s->absent++) {
        s->absent_line = ls_table_line(cell->table);
        snprintf(s->gone, sizeof s->gone, "%s", cell->text);
    } else if (look != LS__ABSENT && look != LS__PLAIN && !s->looks++) {
        s->look_line = ls_table_line(cell->table);
        snprintf(s->look, sizeof s->look, "%s", cell->text);
    }
}

/* A number that is not whole is no class. */
static void look_at_number(ls__column_survey *s, const ls__cell *cell,
                           const char *text)
{
    double x = 0;

    s->numbers++;
    if (*s->part || !ls__number_value(cell->text, cell->comma, &x))
        return;
    s->counted += s->numbers > 1 ? x == s->last + 1 : x == 0 || x == 1;
    s->last = x;
    if (x == floor(x))
        return;
    snprintf(s->part, sizeof s->part, "%s", text);
    s->part_line = ls_table_line(cell->table);
}

/* Is it one? */
static bool look_for_date(ls__column_survey *s, const ls__cell *cell)
{
    double part[LS__DATE_PARTS];

    bool is = ls__date_read(cell->text, part);

    if (is) {
        for (int i = LS__DAYS; i < LS__DATE_PARTS; i++) {
            s->first[i] = s->dates ? s->first[i] : part[i];
            s->varies[i] |= part[i] != s->first[i];
        }
        s->dates++;
    } else if (!s->other_line) {
        s->other_line = ls_table_line(cell->table);
        snprintf(s->other, sizeof s->other, "%s", cell->text);
    }
    return is;
}

int ls__survey_look(ls__column_survey *s, const ls__cell *cell)
{
    char room[LS__WORD];
    const char *text;
    bool date;

    if (cell->missing) {
        if (!s->missing++)
            s->missing_line = ls_table_line(cell->table);
        return 0;
    }
    date = look_for_date(s, cell);
    text = ls__cell_word(cell, room);
    if (text == room) {
        look_at_number(s, cell, text);
        look_at_marks(s, cell);
    } else {
        if (!s->texts++) {
            s->text_line = ls_table_line(cell->table);
            snprintf(s->text, sizeof s->text, "%s", text);
        }
        if (!date)
            look_at_text(s, cell);
    }
    return s->words.count > LS__MOST_WORDS || ls__words_add(&s->words, text)
               ? 0 : LS_ENOMEM;
}
