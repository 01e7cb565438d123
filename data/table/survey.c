/* SPDX-License-Identifier: BSD-3-Clause */
/* See survey.h. */
#include "table/survey.h"
#include "base/pattern.h"
#include "table/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The first such cell. */
static void keep(const ls__cell *cell, char *text, size_t size, int64_t *line)
{
    if (*line)
        return;
    *line = ls_table_line(cell->table);
    snprintf(text, size, "%s", cell->text);
}

static void look_at_marks(ls__column_survey *s, const ls__cell *cell, double x)
{
    if (strpbrk(cell->text, ".,") == NULL) {
        s->most = fmax(s->most, fabs(x));
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
    ls__around around;
    ls__look look = ls__looks_like(cell->text, &around);

    if (look == LS__ABSENT) {
        s->absent++;
        if (ls__table_missing(cell->text))
            keep(cell, s->quoted, sizeof s->quoted, &s->quoted_line);
    } else if (look != LS__PLAIN) {
        if (!s->looks++) {
            s->look = look;
            s->around = around;
        }
        keep(cell, s->looked, sizeof s->looked, &s->look_line);
        s->alike += !strcmp(around.before, s->around.before) &&
                    !strcmp(around.behind, s->around.behind);
    }
}

/* A number that is not whole is no class. */
static void look_at_number(ls__column_survey *s, const ls__cell *cell,
                           const ls__number *n, const char *text)
{
    double x = n->value;

    s->numbers++;
    if (n->longer)
        keep(cell, s->longer, sizeof s->longer, &s->longer_line);
    if (*s->part)
        return;
    s->counted += s->numbers > 1 ? x == s->last + 1 : x == 0 || x == 1;
    s->last = x;
    if (x == floor(x))
        return;
    s->part_line = ls_table_line(cell->table);
    snprintf(s->part, sizeof s->part, "%s", text);
}

/* Months and years are of nearly equal steps. */
static void look_at_step(ls__column_survey *s, const ls__cell *cell, double day)
{
    double step = day - s->day;

    s->day = day;
    if (s->dates == 1)
        s->step = step;
    if (s->dates < 2 ||
        fabs(step - s->step) <= (s->step < 28 ? 1e-6 : s->step / 8))
        return;
    if (!s->uneven++) {
        s->uneven_line = ls_table_line(cell->table);
        s->odd = step;
    }
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
        look_at_step(s, cell, part[LS__DAYS]);
        s->dates++;
    } else {
        keep(cell, s->other, sizeof s->other, &s->other_line);
    }
    return is;
}

/* "id", "PassengerId", "customer_ID", and no "paid". */
static bool is_called_id(const char *name)
{
    size_t n = strlen(name);
    const char *end = name + (n < 2 ? 0 : n - 2);

    if (ls__same_letters(name, "id", SIZE_MAX) ||
        ls__same_letters(name, "uuid", SIZE_MAX) ||
        ls__same_letters(name, "guid", SIZE_MAX))
        return true;
    return n > 2 && ls__same_letters(end, "id", SIZE_MAX) &&
           (strchr("_-. ", end[-1]) ||
            (*end == 'I' && end[-1] >= 'a' && end[-1] <= 'z'));
}

bool ls__is_id(const ls__column_survey *s, const char *name)
{
    int64_t n = ls__values(s);

    return n >= LS__FEW_WORDS && !*s->part && !s->missing &&
           (s->words.count == n || s->words.count > LS__MOST_WORDS) &&
           !ls__is_of_dates(s) && is_called_id(name);
}

int ls__survey_look(ls__column_survey *s, const ls__cell *cell)
{
    char room[LS__WORD];
    const char *text;
    ls__number n;
    bool date;

    if (cell->missing) {
        if (!s->missing++)
            s->missing_line = ls_table_line(cell->table);
        return 0;
    }
    date = look_for_date(s, cell);
    text = s->words.count > LS__MOST_WORDS && *s->part /* none needs it */
               ? cell->text : ls__cell_word(cell, room);
    if (ls__number_read(cell->text, cell->comma, &n)) {
        look_at_number(s, cell, &n, text);
        look_at_marks(s, cell, n.value);
    } else {
        s->texts++;
        keep(cell, s->text, sizeof s->text, &s->text_line);
        if (!date)
            look_at_text(s, cell);
    }
    return s->words.count > LS__MOST_WORDS || ls__words_add(&s->words, text)
               ? 0 : LS_ENOMEM;
}
