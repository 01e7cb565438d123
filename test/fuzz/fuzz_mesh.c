/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts that describe a mesh: its axes, and hwloc's synthetic machines.  What
 * is accepted has the devices and workers that were asked for. */
#include "lockstep.h"
#include "mutate.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

/* hwloc takes seconds for thousands of PUs, and memory that AddressSanitizer
 * does not give back, which is no find.  All numbers count, attributes' too. */
static bool is_slow(const char *text)
{
    double objects = 1;

    while (*text) {
        char *end = (char *)text + 1;

        if (isdigit((unsigned char)*text))
            objects *= fmax(1, (double)strtoul(text, &end, 10));
        text = end;
    }
    return objects > 2000;
}

static void open_mesh(const char *axes, const char *topology)
{
    ls_mesh_options o = ls_mesh_defaults();
    ls_mesh *mesh;

    o.axes = axes;
    o.topology = topology;
    o.workers = 2;
    if (ls_mesh_open(&mesh, &o) < 0) {
        if (!*ls_errmsg())
            abort();
        return;
    }
    if (ls_mesh_devices(mesh) < 1 || ls_mesh_workers(mesh) < 1)
        abort();
    ls_mesh_close(mesh);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = copy_of(data, size);

    text[size] = 0;
    if (size > 0 && text[0] == '@') {
        if (!is_slow(text) && !strstr(text, ".xml"))
            open_mesh(NULL, text + 1);
    } else {
        open_mesh(text, "core:2 pu:1");
    }
    free(text);
    return 0;
}

#ifndef FUZZING
int main(void)
{
    static const char axes[] = "data:4,model:2", machine[] =
        "@pack:2 numa:2 l3:1 core:4(memory=1GB) pu:2";

    feed(axes, sizeof axes - 1, 5000);
    feed(machine, sizeof machine - 1, 300);
    return 0;
}
#endif
