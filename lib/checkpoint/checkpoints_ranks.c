/* SPDX-License-Identifier: BSD-3-Clause */
/* Checkpoints of a state that is spread over ranks.  The first rank writes and
 * reads the files that one machine would; so they fit any number of ranks, and
 * no disk needs to be shared. */
#include "base/assert.h"
#include "base/json.h"
#include "checkpoint/checkpoints.h"
#include <lockstep/transport.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------ before ------ */

int ls__checkpoints_agree(const ls_checkpoints *c)
{
    size_t n = json_object_size(c->options), i = 0;
    ls_setting *list;
    const char *name;
    json_t *value;
    int status;

    if (!ls__spread_is(c->trainer))
        return 0;
    list = ls__new(n, sizeof *list, "settings");
    if ((status = ls__spread_agree(c->trainer, list ? 0 : LS_ENOMEM)) == 0) {
        json_object_foreach(c->options, name, value)
            list[i++] = (ls_setting){name, json_string_value(value)};
        LS__ASSERT(i == n);
        status = ls_transport_compare(ls__state_of(c->trainer).link, (int)n,
                                      list);
    }
    free(list);
    return status;
}

/* ------ saving ------ */

int ls__checkpoints_collect(ls_checkpoints *c)
{
    const ls_trainer *t = c->trainer;
    size_t bytes = (size_t)c->layout->floats * sizeof(float);
    int status = 0;

    if (c->copy[0])
        memcpy(c->copy[0], ls__state_block(t, 0), bytes);
    for (int m = 0; m < c->blocks - 1 && status == 0; m++)
        if (ls__spread_is(t))
            status = ls__spread_collect(t, m, c->copy[m + 1]);
        else
            memcpy(c->copy[m + 1], ls__state_block(t, m + 1), bytes);
    return status;
}

/* ------ loading ------ */

/* Packs the first rank's news besides the arrays; NULL: no memory. */
static char *pack_news(const ls_checkpoints *c, int64_t step)
{
    char *text = NULL;
    json_t *news = json_pack("{s:I, s:s, s:O?, s:O?}", "step",
                             (json_int_t)step, "skipped", c->skipped, "notes",
                             c->loaded, "differs", c->differs);

    if (news)
        text = ls__json_text(news, JSON_ENCODE_ANY);
    json_decref(news);
    return text;
}

static void keep_object(json_t **to, json_t *from)
{
    json_decref(*to);
    *to = json_is_object(from) ? json_incref(from) : NULL;
}

static int unpack_news(ls_checkpoints *c, const char *text, int64_t *step)
{
    json_t *news = json_loads(text, 0, NULL);
    const char *skipped = json_string_value(json_object_get(news, "skipped"));
    int status = 0;

    if (!skipped) {
        status = ls__no_memory("what was loaded", strlen(text));
    } else {
        *step = json_integer_value(json_object_get(news, "step"));
        snprintf(c->skipped, sizeof c->skipped, "%s", skipped);
        keep_object(&c->loaded, json_object_get(news, "notes"));
        keep_object(&c->differs, json_object_get(news, "differs"));
    }
    json_decref(news);
    return status;
}

/* The first rank's text becomes all ranks'; *text is to be freed. */
static int tell_text(const ls_trainer *t, char **text)
{
    int64_t bytes = *text ? (int64_t)strlen(*text) + 1 : 0;
    int status = ls__spread_tell(t, &bytes, sizeof bytes);

    if (status < 0)
        return status;
    if (bytes == 0)
        return ls__fail(LS_ENOMEM, "no memory for what was loaded");
    if (!ls__spread_first(t))
        *text = ls__new((size_t)bytes, 1, "what was loaded");
    status = ls__spread_agree(t, *text ? 0 : LS_ENOMEM);
    return status < 0 ? status : ls__spread_tell(t, *text, bytes);
}

static int tell_news(ls_checkpoints *c, int64_t *step)
{
    const ls_trainer *t = c->trainer;
    char *text = ls__spread_first(t) ? pack_news(c, *step) : NULL;
    int status = tell_text(t, &text);

    if (status == 0)
        status = ls__spread_agree(t, ls__spread_first(t)
                                         ? 0 : unpack_news(c, text, step));
    free(text);
    return status;
}

static int deal_state(ls_checkpoints *c)
{
    ls_trainer *t = c->trainer;
    int64_t bytes = c->layout->floats * (int64_t)sizeof(float);
    float *values = ls__state_write(t, 0);
    int status;

    if (c->copy[0])
        memcpy(values, c->copy[0], (size_t)bytes);
    status = ls__spread_tell(t, values, bytes);
    for (int m = 0; m < c->blocks - 1 && status == 0; m++)
        status = ls__spread_deal(t, m, c->copy[m + 1]);
    return status;
}

int ls__checkpoints_deal(ls_checkpoints *c, int status, int64_t *step)
{
    char message[LS__MESSAGE];
    int told;

    strncpy(message, ls_errmsg(), sizeof message - 1);
    message[sizeof message - 1] = 0;
    told = tell_news(c, step);
    if (told < 0)
        return told;
    if (status < 0)
        ls__fail(status, "%s", message);
    status = ls__spread_agree(c->trainer, status);
    return status < 0 || *step < 0 ? status : deal_state(c);
}
