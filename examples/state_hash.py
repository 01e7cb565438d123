#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The state hash of a checkpoint's folder, from its files alone."""
import hashlib, json, struct, sys

sha, folder = hashlib.sha256(), sys.argv[1]
for name in "params", "optimizer":
    raw = open(f"{folder}/{name}.safetensors", "rb").read()
    data = 8 + struct.unpack("<q", raw[:8])[0]
    for key, t in json.loads(raw[8:data]).items():
        if key != "__metadata__":
            first, last = t["data_offsets"]
            sha.update(key.encode() + b"\0" + struct.pack(f"<{1 + len(t['shape'])}q", len(t["shape"]), *t["shape"]))
            sha.update(raw[data + first:data + last])
sha.update(struct.pack("<q", json.load(open(f"{folder}/checkpoint.json"))["step"]))
print(sha.hexdigest())
