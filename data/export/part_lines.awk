# SPDX-License-Identifier: BSD-3-Clause
# Makes c_part_lines.h of part_*.c: their lines as texts of C.
NR == 1 {
    print "/* Made of part_*.c by part_lines.awk. */"
    print "static const char *const lines[] = {"
}
/SPDX/ { next }
{
    gsub(/\\/, "&&")
    gsub(/"/, "\\\\&")
    printf "    \"%s\\n\",\n", $0
    count++
}
END {
    print "};"
    print "enum { COUNT = " count " };"
}
