/* SPDX-License-Identifier: BSD-3-Clause */
/* See scale_report.h. */
#include "scale/scale_report.h"
#include "opt/cores.h"
#include "opt/opt.h"
#include "run/machine_json.h"

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
    ls_mesh_options of = ls_mesh_defaults();
    ls_mesh *mesh = NULL;
    json_t *o = NULL;
    int status;

    of.cpus = cpus;
    of.devices = 1;
    of.details = true;
    of.workers = cores_of(of);
    status = of.workers < 0 ? of.workers : ls_mesh_open(&mesh, &of);
    if (status == 0)
        o = json_pack("{s:s, s:s, s:o, s:o, s:o, s:O}", "program",
                      opt_program_name, "version", ls_version(), "command",
                      scale_text(command), "system", kernel(), "machine",
                      machine_json(mesh, true), "models", models);
    ls_mesh_close(mesh);
    return status == 0 ? scale_put_json(o, path) : opt_check_usage(status);
}
