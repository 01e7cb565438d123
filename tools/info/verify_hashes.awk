# SPDX-License-Identifier: BSD-3-Clause
# Writes verify_hashes.txt as the table that verify.h declares.
BEGIN {
    print "/* Made of tools/info/verify_hashes.txt. */\n#include \"info/verify.h\"\n"
    print "const verify_known verify_table[] = {"
}
function step_end() { if (n) print "{\"" state "\", " n ", {" digests "}},"; n = 0; digests = "" }
function run_end() { step_end(); if (name) print "}}," }
/^#/ { next }
$1 == "run" { run_end(); name = substr($0, 5); print "{\"" name "\", {"; next }
$1 == "step" { step_end(); state = $2; next }
{ for (i = 1; i <= NF; i++) { digests = digests (n++ ? ", 0x" : "0x") $i } }
END { run_end(); print "{.name = NULL}};" }
