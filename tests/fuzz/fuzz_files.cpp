// SPDX-License-Identifier: Apache-2.0
// Damages machine, strategy, network, ONNX, profile, placement, contest and data files at random and reads them: each must be read or refused by a tessera::error, whatever it holds, and what is
// read must come back the same and be usable. Usage: fuzz_files SECONDS [SEED]. Run it under sanitizers; it ends with 1 and the input at
// the first failure.
#include "tessera/io/machine_file.hpp"
#include "tessera/io/strategy_file.hpp"

#include "examples/networks.hpp"
#include "fuzz/contest_files.hpp"
#include "fuzz/data_files.hpp"
#include "fuzz/placement_files.hpp"
#include "support/random_pipeline.hpp"
#include "tessera/machine/presets.hpp"

#ifdef TESSERA_FUZZ_PROFILE // where the host backend is there, whose file it is
#include "tessera/backend/host/measure/profile.hpp"
#endif

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace ts = tessera;
namespace io = tessera::io;

/// Plans and simulates; a refusal is fine, anything else is not. (In use.cpp, so that this file can be optimized without it.)
void use(const ts::graph_view& g, const ts::strategy& s, int devices, const ts::cluster& on);
/// Network files, and what is done with one. (In network_files.cpp.)
std::vector<std::string> good_networks();
bool read_network(const std::string& text);
/// ONNX models. (In onnx_files.cpp.)
std::vector<std::string> good_models();
bool read_model(const std::string& bytes);

namespace {

class mutator {
public:
    explicit mutator(std::uint64_t seed) : random_(seed) {}

    std::size_t below(std::size_t n) { return n == 0 ? 0 : static_cast<std::size_t>(random_() % n); }

    std::string operator()(std::string text, const std::string& other) {
        for (std::size_t k = 1 + below(1 + below(6)); k > 0 && !text.empty(); --k) {
            const std::size_t place = below(text.size());
            switch (below(9)) {
            case 0:
                text[place] = letters[below(letters.size())];
                break;
            case 1:
                text[place] = static_cast<char>(below(256));
                break;
            case 2:
                text.erase(place, 1 + below(20));
                break;
            case 3:
                text.insert(place, 1, letters[below(letters.size())]);
                break;
            case 4:
                text.insert(place, text.substr(below(text.size()), 1 + below(60)));
                break;
            case 5:
                text.insert(place, other.substr(below(other.size()), 1 + below(200)));
                break;
            case 6:
                text.resize(place);
                break;
            case 7:
                text.replace(place, 1 + below(4), words[below(words.size())]);
                break;
            default:
                replace_number(text, place);
            }
        }
        return text;
    }

private:
    void replace_number(std::string& text, std::size_t from) {
        const std::size_t first = text.find_first_of("0123456789", from);
        if (first != std::string::npos) {
            const std::size_t last = text.find_first_not_of("0123456789", first);
            text.replace(first, (last == std::string::npos ? text.size() : last) - first,
                         numbers[below(numbers.size())]);
        }
    }

    static constexpr std::string_view letters = "{}[]\",:0123456789-+.eE\\utrfalsn \n";
    static constexpr std::array<std::string_view, 10> words{"null",     "true",    "{}",       "[]", "\"\"",
                                                            "[[[[[[[[", "\\ud800", "\xff\xfe", ",,", "0x1"};
    static constexpr std::array<std::string_view, 16> numbers{"-1",
                                                              "0",
                                                              "1",
                                                              "2",
                                                              "3",
                                                              "7",
                                                              "64",
                                                              "4096",
                                                              "1048576",
                                                              "2147483647",
                                                              "2147483648",
                                                              "4294967296",
                                                              "9223372036854775807",
                                                              "18446744073709551616",
                                                              "1e308",
                                                              "0.5"};
    std::mt19937_64 random_;
};

const ts::graph& network() {
    static const ts::graph g = ts::describe<networks::lenet5>(12);
    return g;
}

/// A kind of file: what good ones look like, and what is done with one. The latter returns false where a file is read wrongly.
struct file_kind {
    const char* name;
    std::vector<std::string> good;
    bool (*read)(const std::string& text);
};

bool read_machine(const std::string& text) {
    const ts::device_graph g = io::machine_from_text(text);
    if (!(io::machine_from_text(io::to_text(io::to_json(g))) == g)) {
        return false;
    }
    const ts::cluster on(g);
    (void)ts::uniform_machine(on);
    if (on.devices() <= 8) {
        ts::strategy s(network().view());
        for (ts::configuration& c : s.ops) {
            c.degree[0] = std::min(on.devices(), 12);
            c.uneven = c.reduces = true;
        }
        use(network().view(), s, on.devices(), on);
    }
    return true;
}

bool read_strategy(const std::string& text) {
    const ts::graph_view g = network().view();
    const io::strategy_file file = io::strategy_from_text(g, text);
    const std::string again = io::to_text(io::to_json(g, file.value, file.devices));
    const io::strategy_file back = io::strategy_from_text(g, again);
    if (io::to_text(io::to_json(g, back.value, back.devices)) != again) {
        return false;
    }
    static const ts::cluster on(ts::machines::p100_nodes(2));
    if (file.devices <= on.devices() && file.value.micro_batches <= 64) {
        use(g, file.value, file.devices, on);
    }
    return true;
}

#ifdef TESSERA_FUZZ_PROFILE
const std::string& profile_path() {
    static const std::string path = "fuzz_files.profile." + std::to_string(::getpid());
    return path;
}

bool read_profile(const std::string& text) {
    io::write_file_atomically(profile_path(), text);
    ts::host::profile p(profile_path());
    const double* found = p.find("conv forward 3");
    return found == nullptr || *found > 0;
}

std::string good_profile() {
    {
        std::remove(profile_path().c_str());
        ts::host::profile p(profile_path());
        p.add("conv forward 3", 1.25e-5);
        p.add("conv backward 3", 2.5e-5);
        p.add("linear forward 64x32", 1e-6);
    }
    return io::read_file(profile_path());
}
#endif

std::vector<file_kind> all_kinds() {
    std::vector<file_kind> all;
    file_kind machines{"machine", {}, read_machine};
    for (const auto& g : {ts::machines::this_host(), ts::machines::k80_nodes(1), ts::machines::heterogeneous()}) {
        machines.good.push_back(io::to_text(io::to_json(g)));
    }
    all.push_back(machines);
    file_kind strategies{"strategy", {}, read_strategy};
    test_support::coverage seen;
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
        const ts::graph_view g = network().view();
        strategies.good.push_back(io::to_text(io::to_json(g, test_support::random_pipeline(g, 4, seed, seen).how, 4)));
    }
    all.push_back(strategies);
    all.push_back({"network", good_networks(), read_network});
    all.push_back({"ONNX", good_models(), read_model});
    all.push_back({"CSV", fuzz_data::tables(), fuzz_data::read_table});
    all.push_back({"vocabulary", fuzz_data::vocabularies(), fuzz_data::read_vocabulary});
    all.push_back({"IDX", fuzz_data::labels(), fuzz_data::read_labels});
    all.push_back({"CIFAR", fuzz_data::pictures(), fuzz_data::read_pictures});
    all.push_back({"split problem", fuzz_data::split_problems(), fuzz_data::read_split_problem});
    all.push_back({"contest", fuzz_data::contest_problems(), fuzz_data::read_contest});
    all.push_back({"layer profile", fuzz_data::profiles(), fuzz_data::read_profile_of_layers});
#ifdef TESSERA_FUZZ_PROFILE
    all.push_back({"profile", {good_profile()}, read_profile});
#endif
    return all;
}

/// Reads one input; true if it was accepted. Ends the program where it should have been neither.
bool attempt(const file_kind& kind, const std::string& text) {
    const char* what = "it is not read back the same";
    try {
        if (kind.read(text)) {
            return true;
        }
    } catch (const ts::error&) {
        return false;
    } catch (const std::exception& e) {
        what = e.what();
    }
    std::printf("fuzz_files: a %s file: %s\n%s\n", kind.name, what, text.c_str());
    std::exit(EXIT_FAILURE);
}

} // namespace

int main(int count, char** arguments) {
    const double seconds = count > 1 ? std::atof(arguments[1]) : 0;
    const std::uint64_t seed = count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 1;
    if (!(seconds > 0)) {
        std::fprintf(stderr, "usage: fuzz_files SECONDS [SEED]\n");
        return 2;
    }
    using clock = std::chrono::steady_clock;
    const std::vector<file_kind> kinds = all_kinds();
    bool all_read = true;
    for (std::size_t k = 0; k < kinds.size(); ++k) {
        for (const std::string& good : kinds[k].good) {
            all_read = attempt(kinds[k], good) && all_read; // otherwise every mutation of it would be refused as well
        }
        mutator mutate(seed + 1000 * k);
        long tried = 0;
        long accepted = 0;
        const auto end = clock::now() + std::chrono::duration<double>(seconds / static_cast<double>(kinds.size()));
        while (clock::now() < end) {
            const std::vector<std::string>& good = kinds[k].good;
            const std::string text = mutate(good[mutate.below(good.size())], good[mutate.below(good.size())]);
            accepted += attempt(kinds[k], text) ? 1 : 0;
            ++tried;
        }
        std::printf("fuzz_files: %ld damaged %s files, %ld could still be read and used, all others were refused\n",
                    tried, kinds[k].name, accepted);
        all_read = all_read && tried > accepted;
    }
    std::remove(fuzz_data::path().c_str());
#ifdef TESSERA_FUZZ_PROFILE
    std::remove(profile_path().c_str());
#endif
    if (!all_read) {
        std::printf("fuzz_files: a good file was refused, or no damaged one was\n");
    }
    return all_read ? EXIT_SUCCESS : EXIT_FAILURE;
}
