// SPDX-License-Identifier: Apache-2.0
// The program under another locale, as if it were in Germany: 1.234.567,5. Streams by a facet of its own, which needs
// nothing; C's functions by de_DE, which is made by localedef where the system has it.
#pragma once

#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <locale>
#include <string>

#include <locale.h>

namespace test_support {

class other_locale {
public:
    other_locale() : streams_(std::locale()), of_c_(std::setlocale(LC_ALL, nullptr)) {
        std::locale::global(std::locale(std::locale::classic(), new german));
        for (const char* const name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"}) {
            is_c_other_ = is_c_other_ || std::setlocale(LC_ALL, name) != nullptr;
        }
        if (!is_c_other_) {
            make();
        }
        is_c_other_ = is_c_other_ && std::string(std::localeconv()->decimal_point) == ",";
    }
    ~other_locale() {
        std::locale::global(streams_);
        std::setlocale(LC_ALL, of_c_.c_str());
        if (!folder_.empty()) {
            std::filesystem::remove_all(folder_);
            ::unsetenv("LOCPATH");
        }
    }
    other_locale(const other_locale&) = delete;
    other_locale& operator=(const other_locale&) = delete;

    /// Whether C's functions write "1,5", too.
    bool is_c_other() const { return is_c_other_; }

private:
    struct german : std::numpunct<char> {
        char do_decimal_point() const override { return ','; }
        char do_thousands_sep() const override { return '.'; }
        std::string do_grouping() const override { return "\3"; }
        std::string do_truename() const override { return "wahr"; }
        std::string do_falsename() const override { return "falsch"; }
    };

    void make() {
        char name[] = "/tmp/tessera-locale-XXXXXX";
        if (::mkdtemp(name) == nullptr) {
            return;
        }
        folder_ = name;
        const std::string command =
            "localedef --no-archive -i de_DE -f UTF-8 '" + folder_ + "/de_DE.UTF-8' > '" + folder_ + "/said' 2>&1";
        if (std::system(command.c_str()) != 0) {
            return;
        }
        ::setenv("LOCPATH", name, 1);
        is_c_other_ = std::setlocale(LC_ALL, "de_DE.UTF-8") != nullptr;
    }

    std::locale streams_;
    std::string of_c_;
    std::string folder_;
    bool is_c_other_ = false;
};

} // namespace test_support
