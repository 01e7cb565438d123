/* SPDX-License-Identifier: BSD-3-Clause */
/* See output_json.h. */
#include "run/output_json.h"
#include "opt/opt.h"
#include "run/output.h"

int output_json(const char *path, json_t *json, size_t flags)
{
    output o;
    int status;

    if (!json)
        return opt_fail(OPT_FAILED, "%s: what was found does not become JSON",
                        path);
    status = output_open(&o, path);
    if (status == OPT_GO && json_dumpf(json, o.file, flags) < 0)
        status = opt_no_file(path);
    json_decref(json);
    return output_close(&o, status);
}
