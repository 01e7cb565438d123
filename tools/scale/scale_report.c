/* SPDX-License-Identifier: BSD-3-Clause */
/* See scale_report.h. */
#include "scale/scale_report.h"
#include "opt/opt.h"
#include "run/machine_json.h"
#include "scale/ground.h"

#include <sys/utsname.h>

/* The kernel, by which the clock, huge pages and the quota differ. */
static json_t *kernel(void)
{
    struct utsname u;

    if (uname(&u) < 0)
        return json_null();
    return json_pack("{s:s, s:s, s:s}", "name", u.sysname, "release", u.release,
                     "machine", u.machine);
}

int scale_report(json_t *models, const char *command, const char *cpus,
                 const char *path)
{
    described here;
    int status = described_open(&here, NULL, cpus);
    json_t *o = NULL;

    if (status == OPT_GO)
        o = json_pack("{s:s, s:s, s:o, s:o, s:o, s:O}", "program",
                      opt_program_name, "version", ls_version(), "command",
                      scale_text(command), "system", kernel(), "machine",
                      machine_json(here.mesh, true), "models", models);
    described_close(&here);
    return status == OPT_GO ? scale_put_json(o, path) : status;
}
