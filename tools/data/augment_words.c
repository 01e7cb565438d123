/* SPDX-License-Identifier: BSD-3-Clause */
/* --augment flip,crop:4,rotate:10,scale:0.8-1.2,..: the options of
 * ls_source_augment as words. */
#include "data/data.h"
#include "opt/opt.h"

#include <stdlib.h>
#include <string.h>

typedef enum form { WORD, WHOLE, REAL, RANGE } form;

static const struct {
    const char *name;
    form form;
    size_t at, high; /* members of ls_augment_options */
    double least, most;
    const char *as;
} words[] = {
#define AT(member) offsetof(ls_augment_options, member)
    {"flip", WORD, AT(flip), 0, 0, 0, "flip"},
    {"crop", WHOLE, AT(crop), 0, 1, 4096, "crop:4"},
    {"rotate", REAL, AT(rotate), 0, 0, 180, "rotate:10"},
    {"scale", RANGE, AT(scale_low), AT(scale_high), 0.01, 100,
     "scale:0.8-1.2"},
    {"brightness", REAL, AT(brightness), 0, 0, 100, "brightness:0.2"},
    {"contrast", REAL, AT(contrast), 0, 0, 100, "contrast:0.2"},
    {"cutout", WHOLE, AT(cutout), 0, 1, 65536, "cutout:8"},
    {"mixup", REAL, AT(mixup), 0, 0.001, 1, "mixup:0.2"},
};
enum { WORDS = sizeof words / sizeof *words, LONGEST = 64 };

static int wrong(const char *word, int i)
{
    return opt_fail(OPT_WRONG, "--augment: \"%s\" is not as %s, %g to %g", word,
                    words[i].as, words[i].least, words[i].most);
}

/* A number in its range, up to the character `end`; NULL: it is none. */
static char *read_number(const char *text, int i, char end, double *out)
{
    char *behind;

    if (!text || text[strspn(text, "0123456789.-")])
        return NULL;
    *out = strtod(text, &behind);
    return behind == text || *behind != end || !(*out >= words[i].least) ||
                   *out > words[i].most
               ? NULL
               : behind;
}

static int store(ls_augment_options *o, int i, const char *word,
                 const char *value)
{
    char *at = (char *)o + words[i].at, *behind;
    double x, high;

    if (words[i].form == WORD) {
        if (value)
            return opt_fail(OPT_WRONG, "--augment: \"%s\": %s takes no number",
                            word, words[i].name);
        *(bool *)at = true;
        return OPT_GO;
    }
    behind = read_number(value, i, words[i].form == RANGE ? '-' : '\0', &x);
    if (!behind)
        return wrong(word, i);
    if (words[i].form == WHOLE) {
        *(int *)at = (int)x;
        return (double)(int)x == x ? OPT_GO : wrong(word, i);
    }
    *(double *)at = x;
    if (words[i].form == REAL)
        return OPT_GO;
    if (!read_number(behind + 1, i, '\0', &high) || high < x)
        return wrong(word, i);
    *(double *)((char *)o + words[i].high) = high;
    return OPT_GO;
}

static int unknown(const char *word)
{
    char all[256] = "";

    for (int i = 0; i < WORDS; i++)
        opt_append(all, sizeof all, ",", "%s", words[i].as);
    return opt_fail(OPT_WRONG, "--augment: \"%s\" is none of %s", word, all);
}

static int read_word(ls_augment_options *o, char *word, bool seen[WORDS])
{
    char *value = strchr(word, ':');
    size_t n = value ? (size_t)(value - word) : strlen(word);

    for (int i = 0; i < WORDS; i++) {
        if (strlen(words[i].name) != n || strncmp(word, words[i].name, n))
            continue;
        if (seen[i])
            return opt_fail(OPT_WRONG, "--augment: %s is there twice",
                            words[i].name);
        seen[i] = true;
        return store(o, i, word, value ? value + 1 : NULL);
    }
    return unknown(word);
}

int augment_read(const char *text, ls_augment_options *o)
{
    bool seen[WORDS] = {false};
    int status = OPT_GO;

    for (const char *next; text && status == OPT_GO; text = next) {
        size_t n = strcspn(text, ",");
        char word[LONGEST];

        if (n >= LONGEST)
            return opt_fail(OPT_WRONG, "--augment: \"%s\" is too long", text);
        memcpy(word, text, n);
        word[n] = '\0';
        status = read_word(o, word, seen);
        next = text[n] ? text + n + 1 : NULL;
    }
    return status;
}
