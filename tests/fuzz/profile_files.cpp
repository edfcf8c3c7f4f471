// SPDX-License-Identifier: Apache-2.0
// Profiles of the host's times for fuzz_files, where the host backend is there, whose file it is.
#include "fuzz/target.hpp"

#ifdef TESSERA_FUZZ_PROFILE
#include "tessera/backend/host/measure/profile.hpp"
#include "tessera/io/files/file.hpp"

namespace {

const std::string& path() {
    static const std::string path = fuzz::path_for("profile");
    return path;
}

bool read_profile(const std::string& text) {
    fuzz::put(path(), text);
    return fuzz::counted([&] {
        tessera::host::profile p(path());
        const double* found = p.find("conv forward 3");
        return found == nullptr || *found > 0;
    });
}

std::string profile_of(int times) {
    {
        std::remove(path().c_str());
        tessera::host::profile p(path());
        p.add("conv forward 3", 1.25e-5);
        for (int i = 1; i < times; ++i) {
            p.add("linear forward " + std::to_string(i), 1e-6 * i);
        }
    }
    return tessera::io::read_file(path());
}

} // namespace

std::vector<fuzz::target> fuzz::profile_targets() {
    const std::string few = profile_of(3);
    const auto lines = [few](int count) {
        std::string large = few;
        const std::size_t end = few.find_last_not_of('\n');
        const std::size_t line = few.rfind('\n', end) + 1;
        for (int i = 0; i < count; ++i) {
            large += few.substr(line, end + 1 - line) + std::to_string(i) + "\n";
        }
        return large;
    };
    return {{"profile", {few}, {{20'000, lines}}, read_profile}};
}
#else
std::vector<fuzz::target> fuzz::profile_targets() { return {}; }
#endif
