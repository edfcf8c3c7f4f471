// SPDX-License-Identifier: Apache-2.0
#include "op_test/runner.hpp"

#include "tessera/base/error.hpp"
#include "tessera/base/nearest.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

namespace op_test {

namespace {

constexpr int all_right = 0, some_wrong = 1, cannot_run = 77;

std::string joined(const std::array<bool, parts>& which) {
    std::string text;
    for (std::size_t p = 0; p < parts; ++p) {
        text += which[p] ? (text.empty() ? "" : ",") + std::string(part_names[p]) : "";
    }
    return text;
}

/// Runs cases of a backend, shows them, and counts.
class runner {
public:
    runner(const options& o, std::string program) : o_(o), program_(std::move(program)) {}

    bool is_time_over() const {
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin_;
        return o_.seconds > 0 && taken.count() > o_.seconds;
    }

    void run(const backend& b, const task& t) {
        outcome found;
        const std::string name = b.name + ": " + t.what->name + ", " + std::string(ts::to_text(t.math)) + ", seed " +
                                 std::to_string(t.seed) +
                                 (t.devices == 0 ? ", whole" : ", devices " + std::to_string(t.devices));
        if (!o_.quiet) { // before it runs, so that one that ends the process is known
            std::printf("%s: ", name.c_str());
            std::fflush(stdout);
        }
        b.run(t, found);
        const bool right = found.is_right();
        if (o_.quiet && !right) {
            std::printf("%s: ", name.c_str());
        }
        if (!o_.quiet || !right) {
            std::printf("%s%s\n", shown(found).c_str(), !found.has_run() ? "nothing to do" : right ? "OK" : "FAIL");
        }
        cases_ += found.has_run() ? 1 : 0;
        for (const part p : {part::forward, part::backward, part::update}) {
            const finding& f = found.of(p);
            double& largest = largest_[static_cast<std::size_t>(t.math)];
            largest = std::max(largest, f.error);
            for (const std::string& sentence : f.wrong) {
                std::printf("  %s: %s\n", part_names[static_cast<std::size_t>(p)], sentence.c_str());
            }
        }
        if (!right) {
            ++wrong_;
            std::printf("  repeat: %s\n", repeats(b, t, found).c_str());
        }
        std::fflush(stdout);
    }

    void begin() { begin_ = std::chrono::steady_clock::now(); }

    void tell(const backend& b, std::size_t rows) {
        std::printf("%s: %zu rows, %d cases, %d wrong, largest difference", b.name.c_str(), rows, cases_, wrong_);
        for (const ts::precision math : b.precisions) {
            std::printf(" %.1e in %s", largest_[static_cast<std::size_t>(math)],
                        std::string(ts::to_text(math)).c_str());
        }
        std::printf("\n");
        any_wrong_ = any_wrong_ || wrong_ > 0;
        any_case_ = any_case_ || cases_ > 0;
        cases_ = wrong_ = 0;
        largest_ = {};
    }

    bool any_wrong() const { return any_wrong_; }
    bool any_case() const { return any_case_; }

private:
    static std::string shown(const outcome& found) {
        std::string text;
        for (const part p : {part::forward, part::backward, part::update}) {
            if (found.of(p).checks > 0) {
                char number[32];
                std::snprintf(number, sizeof number, " %.1e, ", found.of(p).error);
                text += part_names[static_cast<std::size_t>(p)] + std::string(number);
            }
        }
        return text;
    }

    std::string repeats(const backend& b, const task& t, const outcome& found) const {
        std::array<bool, parts> wrong{};
        for (std::size_t p = 0; p < parts; ++p) {
            wrong[p] = !found.of(static_cast<part>(p)).wrong.empty();
        }
        return program_ + " --backend " + b.name + " " + t.what->picks + " --seed " + std::to_string(t.seed) +
               " --precision " + std::string(ts::to_text(t.math)) + " --pass " + joined(wrong) +
               (t.devices == 0 ? " --whole" : " --devices " + std::to_string(t.devices));
    }

    const options& o_;
    std::string program_;
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
    int cases_ = 0;
    int wrong_ = 0;
    std::array<double, 3> largest_{};
    bool any_wrong_ = false;
    bool any_case_ = false;
};

/// The backends that are asked for. Throws tessera::error where there is none of a name.
std::vector<backend> chosen_backends(const options& o, const std::vector<backend>& all) {
    std::vector<backend> taken;
    std::vector<std::string> names;
    for (const backend& b : all) {
        names.push_back(b.name);
        if (o.backends.empty() && b.missing.empty()) {
            taken.push_back(b);
        }
    }
    for (const std::string& name : o.backends) {
        const auto found = std::find(names.begin(), names.end(), name);
        if (found == names.end()) {
            throw ts::error("--backend: there is no " + name + ts::did_you_mean(name, names) +
                            "; --list shows those that there are");
        }
        taken.push_back(all[ts::to_size(found - names.begin())]);
    }
    return taken;
}

std::vector<row> rows_of(const options& o) {
    std::vector<row> rows = rows_of_networks(o.networks);
    for (const row& r : rows_of_windows(o.windows)) {
        rows.push_back(r);
    }
    return rows.empty() ? table_rows() : rows;
}

void list(const options& o, const std::vector<backend>& all) {
    for (const backend& b : all) {
        std::printf("backend %s: %s\n", b.name.c_str(),
                    b.missing.empty() ? ("against " + b.against).c_str() : ("cannot run here: " + b.missing).c_str());
    }
    for (const row& r : chosen(rows_of(o), o.ops)) {
        std::printf("%-24s %s", r.kind.c_str(), r.name.c_str());
        for (const ts::shape& s : r.of.inputs) {
            for (int k = 0; k < s.rank; ++k) {
                std::printf("%s%lld", k == 0 ? " " : "x", static_cast<long long>(s[k]));
            }
        }
        std::printf("\n");
    }
}

int devices_of(const options& o, std::uint64_t seed) {
    return o.devices ? *o.devices : seed % 4 == 0 ? 0 : 1 + static_cast<int>(seed % 4) * 2;
}

void run_all(const options& o, const backend& b, const std::vector<row>& rows, runner& all) {
    all.begin();
    std::size_t offered = 0;
    for (const row& r : rows) {
        if (!b.refused.empty() && r.kind.find(b.refused) != std::string::npos) {
            continue;
        }
        ++offered;
        for (std::uint64_t seed = o.seeds.first; seed <= o.seeds.last; ++seed) {
            for (const ts::precision math : b.precisions) {
                const bool asked = o.precisions.empty() ||
                                   std::find(o.precisions.begin(), o.precisions.end(), math) != o.precisions.end();
                task t{&r, math, seed, devices_of(o, seed), o.wanted};
                for (std::size_t p = 0; p < parts; ++p) {
                    t.wanted[p] = t.wanted[p] && b.has[p];
                }
                if (asked && !all.is_time_over()) {
                    all.run(b, t);
                }
            }
        }
    }
    all.tell(b, offered);
}

} // namespace

int run(const options& o, const std::string& program, const std::vector<backend>& all) {
    if (o.helps) {
        std::fputs(help().c_str(), stdout);
        return all_right;
    }
    if (o.lists) {
        list(o, all);
        return all_right;
    }
    const std::vector<backend> backends = chosen_backends(o, all);
    for (const backend& b : backends) {
        if (!b.missing.empty()) {
            std::printf("tessera_op_test: %s cannot run here: %s\n", b.name.c_str(), b.missing.c_str());
            return cannot_run;
        }
    }
    runner cases(o, program);
    for (const backend& b : backends) {
        run_all(o, b, o.wrong_row ? std::vector<row>{*b.wrong} : chosen(rows_of(o), o.ops), cases);
    }
    if (!cases.any_case()) {
        throw ts::error("nothing has run: the backends have none of these passes or precisions for these operators");
    }
    return cases.any_wrong() ? some_wrong : all_right;
}

} // namespace op_test
