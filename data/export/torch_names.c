/* SPDX-License-Identifier: BSD-3-Clause */
/* See torch_names.h. */
#include "export/torch_names.h"
#include "base/error.h"
#include "base/memory.h"
#include "table/number.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------ what the caller says ------ */

/* "NORM" or "NORM:EPSILON"; PyTorch's default is 1e-5. */
static int read_norm(ls__torch_rename *r, char *text)
{
    char *colon = strchr(text, ':');

    r->norm = text;
    r->epsilon = 1e-5;
    if (!colon)
        return 0;
    *colon = 0;
    if (ls__number_value(colon + 1, false, &r->epsilon) && r->epsilon >= 0)
        return 0;
    return ls__fail(LS_EINVAL, "names of layers: batch norm \"%s\": epsilon "
                    "\"%s\" is no number from 0 up", text, colon + 1);
}

static int add_rename(ls__torch_names *n, char *ours, char *theirs)
{
    ls__torch_rename *r = &n->rename[n->count++];
    char *norm = strchr(theirs, '&');

    *r = (ls__torch_rename){.ours = ours, .theirs = theirs};
    if (!norm)
        return 0;
    *norm = 0;
    return read_norm(r, norm + 1);
}

int ls__torch_names_read(ls__torch_names *names, const char *text)
{
    size_t n = text ? strlen(text) + 1 : 1;

    *names = (ls__torch_names){.copy = ls__new(n, 1, "names of layers")};
    if (!names->copy)
        return LS_ENOMEM;
    if (!text)
        return 0;
    memcpy(names->copy, text, n);
    for (char *at = names->copy, *end; at; at = end) {
        char *equals = strchr(at, '=');
        bool full = names->count == LS__TORCH_RENAMES;

        if ((end = strchr(at, ',')))
            *end++ = 0;
        if (!equals || equals == at || (end && equals >= end) || full)
            return ls__fail(LS_EINVAL, "names of layers \"%s\": \"%s\" is not "
                            "OURS=THEIRS%s", text, at,
                            full ? ", or one too many" : "");
        *equals = 0;
        if (add_rename(names, at, equals + 1) < 0)
            return LS_EINVAL;
    }
    return 0;
}

void ls__torch_names_free(ls__torch_names *names)
{
    free(names->copy);
    names->copy = NULL;
}

/* ------ names ------ */

const char *ls__torch_last_part(const char *name)
{
    const char *dot = strrchr(name, '.');

    return dot ? dot + 1 : name;
}

static const char *their_part(const char *part)
{
    static const char *const theirs[][2] = {
        {"kernel", "weight"}, {"scale", "weight"}, {"embedding", "weight"},
        {"mean", "running_mean"}, {"var", "running_var"}};

    for (size_t i = 0; i < sizeof theirs / sizeof *theirs; i++)
        if (!strcmp(part, theirs[i][0]))
            return theirs[i][1];
    return part;
}

/* "blocks_0.query" is "blocks.0.query". */
static void number_modules(char *name)
{
    for (char *c = name; (c = strchr(c, '_')); c++) {
        size_t digits = strspn(c + 1, "0123456789");

        if (digits && (c[1 + digits] == '.' || !c[1 + digits]))
            *c = '.';
    }
}

ls__torch_rename *ls__torch_names_of(ls__torch_names *names, const char *name)
{
    for (int i = 0; i < names->count; i++) {
        size_t n = strlen(names->rename[i].ours);

        if (!strncmp(name, names->rename[i].ours, n) &&
            (name[n] == '.' || !name[n]))
            return &names->rename[i];
    }
    return NULL;
}

void ls__torch_name(ls__torch_names *names, const char *name, bool is_param,
                    bool numbered, char out[LS__TORCH_NAME])
{
    ls__torch_rename *r = ls__torch_names_of(names, name);
    const char *rest = r ? name + strlen(r->ours) : name;
    const char *part;

    if (r)
        r->used = true;
    if (r && !*r->theirs)
        rest += *rest == '.';
    part = is_param ? ls__torch_last_part(rest) : rest + strlen(rest);
    snprintf(out, LS__TORCH_NAME, "%s%.*s%s", r ? r->theirs : "",
             (int)(part - rest), rest, their_part(part));
    if (numbered)
        number_modules(out);
}
