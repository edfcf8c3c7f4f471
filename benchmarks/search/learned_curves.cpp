// SPDX-License-Identifier: Apache-2.0
// Learning curves: the best step that a learner has found after so many prices, on two graphs of each generated family,
// for every learner and seeds 1 to 5, beside random placements, a Markov chain and annealing with as many prices.
// Usage: learned_curves FILE.csv [PRICES [FAMILY [SEEDS]]]: a line for each learner, graph, seed and number of prices;
// FILE-FAMILY.svg: the means. FAMILY: 0 (image cells), 1 (translation) or 2 (language cells); all of them where none is
// given.
#include "benchmarks/support/placing.hpp"
#include "tessera/host.hpp"
#include "tessera/io/files/file.hpp"
#include "tessera/io/reports/svg_plot.hpp"
#include "tessera/learned/gdp.hpp"
#include "tessera/learned/mirhoseini.hpp"
#include "tessera/learned/placeto.hpp"
#include "tessera/search/placement/list_placement.hpp"
#include "tessera/search/placement/metropolis.hpp"

#include <cstdlib>
#include <deque>
#include <functional>
#include <limits>
#include <map>

namespace tl = tessera::learned;
namespace sp = tessera::search::placement;
namespace io = tessera::io;

namespace {

using benchmarks::placing;

constexpr int devices = 4;
constexpr int most_groups = 24;
constexpr int samples = 16;
constexpr tl::gdp_shape gdp_shape{.nodes = 288, .edges = 1280, .devices = devices, .segment = 32, .samples = samples};
constexpr tl::placeto_shape placeto_shape{.nodes = 32, .edges = 320, .devices = devices};
constexpr tl::mirhoseini_shape recurrent_shape{.groups = 32, .devices = devices};

using seen_by = tessera::function_ref<void(const sp::found&)>;

/// One learner on one graph from one seed: calls `seen` with the best so far after every update, until so many
/// placements have been priced.
using run = std::function<void(placing&, std::int64_t prices, std::uint64_t seed, seen_by seen)>;

/// Updates of this learner until so many prices.
template <class Policy, class Seen>
void learn(Policy& policy, int number, std::int64_t prices, const Seen& seen) {
    do {
        policy.update(number);
        seen(policy.best(number));
    } while (policy.best(number).evaluations < prices);
}

sp::grouping groups_of(placing& p) { return benchmarks::groups_of(p, most_groups, placeto_shape.nodes); }

void learn_placeto(placing& p, std::int64_t prices, std::uint64_t seed, bool all_actions, seen_by seen) {
    const sp::grouping groups = groups_of(p);
    const std::int64_t each = std::int64_t{8} * groups.count * (all_actions ? devices : 1);
    const int updates = static_cast<int>(std::max<std::int64_t>(1, prices / each));
    tl::placeto<placeto_shape> policy({.learning_rate = 5e-3,
                                       .last_rate = 5e-4,
                                       .rate_updates = updates,
                                       .entropy = 0.2,
                                       .entropy_updates = updates,
                                       .all_actions = all_actions,
                                       .seed = seed});
    learn(policy, policy.add(p.graph, p.on, groups), prices, seen);
}

std::vector<std::pair<std::string, run>> learners() {
    return {
        {"GDP",
         [](placing& p, std::int64_t prices, std::uint64_t seed, seen_by seen) {
             tl::gdp<gdp_shape> policy({.graphs = 1,
                                        .entropy = 0.01,
                                        .entropy_updates = static_cast<int>(prices / samples),
                                        .infeasible = -3,
                                        .prior = 2,
                                        .seed = seed});
             learn(policy, policy.add(p.graph, p.on), prices, seen);
         }},
        {"recurrent policy",
         [](placing& p, std::int64_t prices, std::uint64_t seed, seen_by seen) {
             tl::mirhoseini<recurrent_shape> policy({.samples = samples,
                                                     .entropy = 0.01,
                                                     .entropy_updates = static_cast<int>(prices / samples),
                                                     .infeasible = -3,
                                                     .seed = seed});
             learn(policy, policy.add(p.graph, p.on, groups_of(p)), prices, seen);
         }},
        {"Placeto", [](placing& p, std::int64_t prices, std::uint64_t seed,
                       seen_by seen) { learn_placeto(p, prices, seed, false, seen); }},
        {"Placeto, all devices priced", [](placing& p, std::int64_t prices, std::uint64_t seed,
                                           seen_by seen) { learn_placeto(p, prices, seed, true, seen); }},
    };
}

/// Searches, which are run anew for every number of prices.
using search = std::function<sp::found(placing&, std::int64_t prices, std::uint64_t seed)>;
std::vector<std::pair<std::string, search>> searches() {
    return {
        {"random placements",
         [](placing& p, std::int64_t prices, std::uint64_t seed) { return sp::at_random(p.prices, prices, seed); }},
        {"random placements of the groups",
         [](placing& p, std::int64_t prices, std::uint64_t seed) {
             return sp::at_random(p.prices, prices, seed, groups_of(p));
         }},
        {"Markov chain",
         [](placing& p, std::int64_t prices, std::uint64_t seed) {
             return sp::metropolis(p.prices, {.evaluations = prices, .seed = seed});
         }},
        {"annealing",
         [](placing& p, std::int64_t prices, std::uint64_t seed) { return benchmarks::annealed(p, prices, seed); }},
    };
}

/// 100, 200, 400, ... and the last.
std::vector<std::int64_t> marks(std::int64_t prices) {
    std::vector<std::int64_t> all;
    for (std::int64_t at = 100; at < prices; at *= 2) {
        all.push_back(at);
    }
    all.push_back(prices);
    return all;
}

class curves {
public:
    curves(std::string file, std::int64_t prices, int seeds)
        : file_(std::move(file)), at_(marks(prices)), seeds_(seeds) {}

    void family(tl::family of) {
        of_ = of;
        means_.clear();
        order_.clear();
        std::deque<placing> problems;
        const tl::family_split split = tl::split_family();
        for (std::size_t i = 0; i < 2; ++i) {
            problems.emplace_back(of, split.training[i], devices);
        }
        experts(problems);
        for (const auto& [name, how] : searches()) {
            const auto began = std::chrono::steady_clock::now();
            for (placing& p : problems) {
                for (int seed = 1; seed <= seeds_; ++seed) {
                    for (std::size_t k = 0; k < at_.size(); ++k) {
                        note(name, p, seed, k, how(p, at_[k], static_cast<std::uint64_t>(seed)));
                    }
                }
            }
            row(name, benchmarks::seconds_since(began) / static_cast<double>(problems.size()) / seeds_);
        }
        for (const auto& [name, how] : learners()) {
            const auto began = std::chrono::steady_clock::now();
            for (placing& p : problems) {
                for (int seed = 1; seed <= seeds_; ++seed) {
                    learn_once(name, how, p, seed);
                }
            }
            row(name, benchmarks::seconds_since(began) / static_cast<double>(problems.size()) / seeds_);
        }
        draw();
    }

    void write() const { io::write_file_atomically(file_, text_); }

private:
    void experts(std::deque<placing>& problems) {
        std::printf("\n## %s\n\n", tl::to_text(of_));
        for (placing& p : problems) {
            const auto over = [&](const sp::found& f) {
                return f.feasible() ? std::to_string(static_cast<double>(f.step) / p.unit).substr(0, 5)
                                    : "does not fit";
            };
            std::printf("%s: %d nodes; equal times %s, equal memory %s, list scheduling %s\n", p.graph.name.c_str(),
                        p.graph.count(), over(sp::equal_times(p.prices)).c_str(),
                        over(sp::equal_memory(p.prices)).c_str(), over(sp::by_list(p.prices)).c_str());
        }
        std::printf("\n| learner or search, s |");
        for (const std::int64_t at : at_) {
            std::printf(" %lld |", static_cast<long long>(at));
        }
        std::printf("\n|---|");
        for (std::size_t k = 0; k < at_.size(); ++k) {
            std::printf("---|");
        }
        std::printf("\n");
    }

    void learn_once(const std::string& name, const run& how, placing& p, int seed) {
        std::size_t next = 0;
        sp::found last;
        how(p, at_.back(), static_cast<std::uint64_t>(seed), [&](const sp::found& best) {
            for (; next < at_.size() && best.evaluations > at_[next]; ++next) {
                note(name, p, seed, next, last); // what was known by then
            }
            last = best;
            for (; next < at_.size() && best.evaluations == at_[next]; ++next) {
                note(name, p, seed, next, last);
            }
        });
        for (; next < at_.size(); ++next) {
            note(name, p, seed, next, last);
        }
    }

    void note(const std::string& name, const placing& p, int seed, std::size_t k, const sp::found& f) {
        if (means_.find(name) == means_.end()) {
            order_.push_back(name);
            means_[name].resize(at_.size());
        }
        means_[name][k].add(p, f);
        const bool fits = f.feasible() && !f.where.empty();
        text_ += std::string(tl::to_text(of_)) + "," + p.graph.name + "," + name_in_file(name) + "," +
                 std::to_string(seed) + "," + std::to_string(at_[k]) + "," +
                 (fits ? std::to_string(static_cast<double>(f.step) / p.unit) : "") + "\n";
    }
    static std::string name_in_file(std::string name) {
        std::replace(name.begin(), name.end(), ',', ';');
        return name;
    }

    void row(const std::string& name, double seconds) {
        benchmarks::placed_row(name + ", " + std::to_string(seconds).substr(0, 4), means_[name]);
    }

    /// A curve begins where all runs have a placement that fits.
    void draw() const {
        io::line_chart chart{std::string("Best placement of ") + tl::to_text(of_) + " after so many prices (logarithm)",
                             "prices, log2", "step / work of one device"};
        for (const std::string& name : order_) {
            io::plot_series s{name, {}, {}};
            for (std::size_t k = 0; k < at_.size(); ++k) {
                const benchmarks::placed_cell& c = means_.at(name)[k];
                s.x.push_back(std::log2(static_cast<double>(at_[k])));
                s.y.push_back(c.fit == c.all ? c.sum / c.fit : std::numeric_limits<double>::quiet_NaN());
            }
            chart.series.push_back(std::move(s));
        }
        const std::string stem = file_.substr(0, file_.rfind('.'));
        std::string of = tl::to_text(of_);
        std::replace(of.begin(), of.end(), ' ', '-');
        io::write_file_atomically(stem + "-" + of + ".svg", io::to_svg(chart));
    }

    std::string file_;
    std::vector<std::int64_t> at_;
    int seeds_;
    tl::family of_ = tl::family::image_cells;
    std::map<std::string, std::vector<benchmarks::placed_cell>> means_;
    std::vector<std::string> order_;
    std::string text_ = "family,graph,learner,seed,prices,step over work\n";
};

} // namespace

int main(int count, char** arguments) {
    const long long prices = count > 2 ? std::atoll(arguments[2]) : 6400;
    const int of = count > 3 ? std::atoi(arguments[3]) : -1;
    const int seeds = count > 4 ? std::atoi(arguments[4]) : 5;
    if (count < 2 || prices < 200 || of > 2 || of < -1 || seeds < 1) {
        std::fprintf(stderr, "learned_curves FILE.csv [PRICES (at least 200) [FAMILY (0 to 2, -1: all) [SEEDS]]]\n");
        return 2;
    }
    try {
        curves all(arguments[1], prices, seeds);
        for (const tl::family f : tl::all_families) {
            if (of < 0 || static_cast<int>(f) == of) {
                all.family(f);
                all.write();
            }
        }
    } catch (const std::exception& e) {
        std::fprintf(stderr, "learned_curves: %s\n", e.what());
        return 1;
    }
}
