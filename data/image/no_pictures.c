/* SPDX-License-Identifier: BSD-3-Clause */
/* The decoders of a lockstep that was configured without libpng and
 * libjpeg. */
#include "base/error.h"
#include "image/picture.h"

static int none(const ls__coded *from)
{
    return ls__fail(LS_ENOTSUP, "%s: this lockstep was built without libpng "
                    "and libjpeg, so it reads no pictures", from->path);
}

int ls__png_decode(ls__picture *p, const ls__coded *from)
{
    (void)p;
    return none(from);
}

int ls__jpeg_decode(ls__picture *p, const ls__coded *from)
{
    (void)p;
    return none(from);
}
