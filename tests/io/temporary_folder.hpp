// SPDX-License-Identifier: Apache-2.0
// A folder of a test's own, gone at its end.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace test {

class temporary_folder {
public:
    temporary_folder() {
        std::string path = (std::filesystem::temp_directory_path() / "tessera.XXXXXX").string();
        if (::mkdtemp(path.data()) == nullptr) throw std::runtime_error("no temporary folder");
        path_ = path;
    }
    temporary_folder(const temporary_folder&) = delete;
    temporary_folder& operator=(const temporary_folder&) = delete;
    ~temporary_folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    [[nodiscard]] std::string path() const { return path_.string(); }
    [[nodiscard]] std::string operator/(const std::string& name) const { return (path_ / name).string(); }

    /// How many files lie in it.
    [[nodiscard]] std::ptrdiff_t files() const {
        return std::distance(std::filesystem::directory_iterator{path_}, std::filesystem::directory_iterator{});
    }

private:
    std::filesystem::path path_;
};

inline std::string read_text(const std::string& path) {
    std::ifstream file{path, std::ios::binary};
    return {std::istreambuf_iterator<char>{file}, {}};
}

inline void write_bytes(const std::string& path, const std::vector<std::uint8_t>& bytes) {
    std::ofstream file{path, std::ios::binary};
    for (const std::uint8_t byte : bytes) file.put(static_cast<char>(byte));
}

} // namespace test
