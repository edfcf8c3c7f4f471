// SPDX-License-Identifier: Apache-2.0
// Pages of docs/ that a test writes (with TESSERA_UPDATE_GOLDENS=1) or compares.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace test {

inline std::filesystem::path project_root() {
    return std::filesystem::path(__FILE__).parent_path().parent_path().parent_path();
}

inline std::string read_text(const std::filesystem::path& path) {
    std::ifstream file(path);
    REQUIRE_MESSAGE(file.good(), path.string());
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

/// The page must be this text; its first line that is not is shown.
inline void hold_page(const std::string& name, const std::string& made) {
    const std::filesystem::path path = project_root() / "docs" / name;
    if (std::getenv("TESSERA_UPDATE_GOLDENS") != nullptr) {
        std::ofstream(path) << made;
        return;
    }
    std::istringstream now(read_text(path));
    std::istringstream wanted(made);
    std::string a;
    std::string b;
    for (int number = 1;; ++number) {
        const bool more = static_cast<bool>(std::getline(wanted, a));
        const bool as_many = static_cast<bool>(std::getline(now, b));
        if (!more && !as_many) {
            return;
        }
        if (!more || !as_many || a != b) {
            FAIL("docs/" << name << ", line " << number << ", is\n"
                         << (as_many ? b : "(nothing)") << "\nand should be\n"
                         << (more ? a : "(nothing)") << "\n(TESSERA_UPDATE_GOLDENS=1 writes the page)");
        }
    }
}

/// All files below a folder of the project with one of these endings, sorted.
inline std::vector<std::filesystem::path> files_below(const std::string& folder,
                                                      const std::vector<std::string>& endings) {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(project_root() / folder)) {
        for (const std::string& ending : endings) {
            if (entry.is_regular_file() && entry.path().extension() == ending) {
                found.push_back(entry.path());
            }
        }
    }
    std::sort(found.begin(), found.end());
    return found;
}

} // namespace test
