/* SPDX-License-Identifier: BSD-3-Clause */
/* A program's own settings, compared over ranks. */
#include "base/error.h"
#include "rank/agree.h"

int ls_transport_compare(const ls_transport *t, int settings,
                         const ls_setting *setting)
{
    LS__NEED_AS(t, "transport", LS_EINVAL);
    LS__NEED_AS(setting || settings <= 0, "setting", LS_EINVAL);

    ls__facts f = {.count = 0};
    int status;

    for (int i = 0; i < settings; i++)
        ls__facts_put(&f, setting[i].name ? setting[i].name : "", "%s",
                      setting[i].value ? setting[i].value : "");
    status = ls__agree(t, &f);
    ls__facts_free(&f);
    return status;
}
