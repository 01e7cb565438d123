/* What stands for onednn*.c in a library that was configured without oneDNN:
 * the backend "onednn" is refused. */
#include "backend/onednn.h"
#include "base/error.h"

int ls__onednn_take(ls__backend *backend)
{
    (void)backend;
    return ls__fail(LS_ENOTSUP, "backend \"onednn\" is not built into this "
                    "library: install oneDNN 2 (Debian, Ubuntu: libdnnl-dev) "
                    "and ./configure --with-onednn");
}
