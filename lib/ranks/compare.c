/* SPDX-License-Identifier: BSD-3-Clause */
/* A program's own settings, compared over ranks. */
#include "base/error.h"
#include "ranks/agree.h"

int ls_transport_compare(const ls_transport *t, int n_settings,
                         const ls_setting *settings)
{
    LS__NEED_AS(t, "transport", LS_EINVAL);
    LS__NEED_AS(settings || n_settings <= 0, "settings", LS_EINVAL);

    ls__facts f = {.count = 0};
    int status;

    for (int i = 0; i < n_settings; i++)
        ls__facts_put(&f, settings[i].name ? settings[i].name : "", "%s",
                      settings[i].value ? settings[i].value : "");
    status = ls__agree(t, &f);
    ls__facts_free(&f);
    return status;
}
