// SPDX-License-Identifier: BSD-3-Clause
// What libcld2 makes of lines "language<tab>sentence" that it knows.
#include <cstdio>
#include <cstring>
#include <map>
#include <string>

#include <cld2/public/compact_lang_det.h>
#include <cld2/internal/lang_script.h>

int main()
{
    const std::map<std::string, std::string> same = {{"he", "iw"}, {"nb", "no"}};
    std::map<std::string, std::pair<long, long>> of; // right, all
    long right = 0, all = 0, named = 0, languages = 0;
    char line[1024];

    while (fgets(line, sizeof line, stdin)) {
        char *tab = strchr(line, '\t');
        bool reliable;

        if (!tab)
            continue;
        std::string name(line, tab), text(tab + 1, strcspn(tab + 1, "\n"));
        auto other = same.find(name);
        std::string want = other == same.end() ? name : other->second;
        if (CLD2::GetLanguageFromName(want.c_str()) == CLD2::UNKNOWN_LANGUAGE)
            continue;
        CLD2::Language is = CLD2::DetectLanguage(text.data(), (int)text.size(),
                                                 true, &reliable);
        of[name].first += want == CLD2::LanguageCode(is);
        of[name].second++;
    }
    for (auto &one : of) {
        right += one.second.first;
        all += one.second.second;
        languages += one.second.first > 0; // its tables have it
        named += one.second.first > 0 ? one.second.second : 0;
    }
    printf("libcld2: %ld of %ld right, %.2f %%; of the %ld languages that it "
           "names at all %.2f %%\n", right, all, all ? 100.0 * right / all : 0,
           languages, named ? 100.0 * right / named : 0);
}
