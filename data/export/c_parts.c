/* SPDX-License-Identifier: BSD-3-Clause */
/* The text that sources are made of: items of the library's kernels and of the
 * headers here, which `make` has put into c_kernel_text.h.  A call asks for
 * what it names; an item is written behind those that it needs. */
#include "base/error.h"
#include "base/memory.h"
#include "export/writer.h"

#include "export/c_kernel_text.h"

#include <stdlib.h>
#include <string.h>

/* Writes an item once, behind those that it needs. */
static void put_item(const ls__writer *w, ls__text *to, int i, bool *written)
{
    i = w->int8 ? item[i].twin : i;
    if (written[i])
        return;
    written[i] = true;
    for (const short *n = needs + item[i].needs; *n >= 0; n++)
        put_item(w, to, *n, written);
    ls__text_put(to, "%s", item_text[i]);
    if (!strcmp(item_text[i] + strlen(item_text[i]) - 2, "}\n"))
        ls__text_put(to, "\n");
}

/* Writes what a word names, if it does. */
static void put_named(const ls__writer *w, ls__text *to, const char *word,
                      size_t n, bool *written)
{
    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        if (*word == *name[i].of && !strncmp(word, name[i].of, n) &&
            !name[i].of[n])
            put_item(w, to, name[i].item, written);
}

int ls__parts_write(ls__writer *w, ls__text *to)
{
    static const char first[] = "LS__SOURCE flush fp_mode mode_set "
                                "mode_restore OUT_OF_LINE";
    const char *const texts[] = {first, w->calls.bytes};
    bool *written = ls__new(ITEMS, sizeof *written, "C source");

    if (!written)
        return LS_ENOMEM;
    for (int i = 0; i < 2; i++)
        for (const char *at = texts[i]; at && *at;) {
            size_t n = strspn(at, LS__LETTERS);

            if (at == texts[i] || at[-1] != '.') /* no member */
                put_named(w, to, at, n, written);
            at += n ? n : 1;
        }
    free(written);
    return 0;
}
