/* SPDX-License-Identifier: BSD-3-Clause */
/* checkpoint.json, as it is and with its seal made right, up to the comparison
 * of its options.  (The arrays are fuzz_safetensors' business.) */
#include "checkpoint/checkpoint.h"
#include "mutate.h"

static void parse(const uint8_t *data, size_t size, int sealed)
{
    char *bytes = copy_of(data, size);
    ls__checkpoint c = {0};
    json_t *now = json_pack("{s:s, s:s}", "lr", "0.1", "seed", "0");
    ls__comparison how = {.folder = "fuzz", .may_change = "lr,s*",
                          .changed = json_object()};

    if (sealed)
        reseal(bytes, size, size);
    if (ls__checkpoint_parse(&c, "fuzz", bytes, size) == 0) {
        if (ls__checkpoint_compare(&how, now, c.options, false) == 0)
            (void)ls__checkpoint_compare(&how, now, c.nodes, true);
        if (c.step < 0 || !c.state)
            abort();
    }
    ls__checkpoint_close(&c);
    json_decref(how.changed);
    json_decref(now);
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    parse(data, size, 0);
    parse(data, size, 1);
    return 0;
}

#ifndef FUZZING
int main(void)
{
    static const char good[] =
        "{\n \"lockstep\": \"0\",\n \"lockstep.crc32\": \"00000000\",\n"
        " \"step\": 40,\n \"state\": \"00\",\n"
        " \"options\": {\"lr\": \"0.1\", \"seed\": \"0\"},\n"
        " \"graph\": {\"hash\": \"0\", \"nodes\": {\"lr\": \"1\"}},\n"
        " \"notes\": {\"cursor\": \"40\"}\n}";

    feed(good, sizeof good - 1, 50000);
    return 0;
}
#endif
