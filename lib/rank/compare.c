/* Settings that are texts, compared over ranks, as many at a time as a message
 * of facts holds. */
#include "base/error.h"
#include "base/sha.h"
#include "rank/agree.h"

#include <stdio.h>
#include <string.h>

/* A text that is too long for a fact is its beginning and its hash. */
static void put_text(char *to, size_t room, const char *text)
{
    ls__sha256 sha;
    char hex[65];

    if (strlen(text) < room) {
        snprintf(to, room, "%s", text);
        return;
    }
    ls__sha256_init(&sha);
    ls__sha256_update(&sha, text, strlen(text));
    ls__sha256_hex(&sha, hex);
    snprintf(to, room, "%.*s.. (%.16s)", (int)room - 22, text, hex);
}

static void put_fact(ls__fact *f, const ls_setting *s)
{
    put_text(f->name, sizeof f->name, s->name ? s->name : "");
    put_text(f->value, sizeof f->value, s->value ? s->value : "");
}

/* Ranks with fewer settings would end before the others. */
static int compare_count(const ls_transport *t, int settings)
{
    ls__facts f = {.count = 0};

    ls__facts_put(&f, "the number of settings", "%d", settings);
    return ls__agree(t, &f);
}

int ls_transport_compare(const ls_transport *t, int settings,
                         const ls_setting *setting)
{
    LS__NEED_AS(t, "transport", LS_EINVAL);
    LS__NEED_AS(setting || settings <= 0, "setting", LS_EINVAL);

    int status = compare_count(t, settings);

    for (int i = 0; i < settings && status == 0; i += LS__FACTS) {
        ls__facts f = {.count = settings - i};

        if (f.count > LS__FACTS)
            f.count = LS__FACTS;
        for (int k = 0; k < f.count; k++)
            put_fact(&f.fact[k], &setting[i + k]);
        status = ls__agree(t, &f);
    }
    return status;
}
