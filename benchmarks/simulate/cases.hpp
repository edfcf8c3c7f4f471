// SPDX-License-Identifier: Apache-2.0
// Networks and strategies on which predictions are held against measurements.
#pragma once

#include "examples/networks.hpp"
#include "examples/zoo/transformers.hpp"
#include "support/random_strategy.hpp"
#include "tessera/host.hpp"
#include "tessera/search/mcmc/proposals.hpp"
#include "tessera/search/optcnn/optcnn.hpp"
#include "tessera/search/quick_searches.hpp"
#include "tessera/search/run.hpp"

#include <cstdio>
#include <string>
#include <vector>

namespace reality {

namespace ts = tessera;

struct mlp : ts::sequential<ts::features<784>, networks::mlp_layers::fc1, ts::relu, networks::mlp_layers::fc2, ts::relu,
                            networks::mlp_layers::fc3, ts::cross_entropy> {};
using small_transformer = networks::gpt_parts<2, 128, 4, 64, 1000>::network;

/// A residual network for 32 x 32 images: three stages of one basic block (He et al. 2016), 16, 32 and 64 channels
/// wide.
namespace residual_layers {
template <int Place, ts::index_t Channels, int Stride>
struct conv : ts::conv2d<Channels, ts::window<3>, ts::padding<1>, ts::stride<Stride>, ts::no_bias> {};
template <int Place>
struct norm : ts::batch_norm<> {};
template <int Place, ts::index_t Channels>
struct project : ts::conv2d<Channels, ts::window<1>, ts::stride<2>, ts::no_bias> {};
template <int Place, ts::index_t Channels>
using block =
    ts::residual<conv<Place, Channels, 1>, norm<Place>, ts::relu, conv<Place + 1, Channels, 1>, norm<Place + 1>>;
template <int Place, ts::index_t Channels>
using down = ts::branches<
    ts::add, ts::branch<conv<Place, Channels, 2>, norm<Place>, ts::relu, conv<Place + 1, Channels, 1>, norm<Place + 1>>,
    ts::branch<project<Place, Channels>>>;
struct fc : ts::linear<10> {};
} // namespace residual_layers
struct residual_net : ts::sequential<ts::image<3, 32, 32>, residual_layers::conv<0, 16, 1>, residual_layers::norm<0>,
                                     ts::relu, residual_layers::block<10, 16>, ts::relu, residual_layers::down<20, 32>,
                                     ts::relu, residual_layers::down<30, 64>, ts::relu, ts::global_average_pool,
                                     residual_layers::fc, ts::cross_entropy> {};

inline const std::vector<std::string>& network_names() {
    static const std::vector<std::string> names = {"small", "lenet5", "alexnet", "mlp", "residual", "transformer"};
    return names;
}

inline ts::graph network(const std::string& name) {
    if (name == "small") {
        return ts::describe<networks::small_convnet>(64);
    }
    if (name == "lenet5") {
        return ts::describe<networks::lenet5>(64);
    }
    if (name == "alexnet") {
        return ts::describe<networks::alexnet>(8);
    }
    if (name == "mlp") {
        return ts::describe<mlp>(64);
    }
    if (name == "residual") {
        return ts::describe<residual_net>(32);
    }
    if (name == "transformer") {
        return ts::describe<small_transformer>(8);
    }
    throw ts::error("there is no network " + name + "; there are small, lenet5, alexnet, mlp, residual, transformer");
}

struct named {
    std::string name;
    int devices = 1;
    ts::strategy how;
};

/// The named strategies and seeded random ones: on one device and on two, of any splits, and as a search would meet
/// them, a few proposals away from data parallelism.
inline std::vector<named> strategies(const ts::graph_view& g) {
    std::vector<named> all;
    const auto add = [&](const std::string& name, int devices, const ts::strategy& s) {
        for (const named& other : all) {
            if (other.devices == devices && ts::is_same(other.how, s)) {
                return;
            }
        }
        all.push_back({name, devices, s});
    };
    const ts::cluster on(ts::fully_linked(ts::machines::host(2)));
    for (const ts::search::search_record* r : ts::search::quick_searches<>) {
        ts::search::search_options how;
        if (ts::find_option(*r, ts::search::faithful_option.name) != nullptr) {
            how.values.set(ts::search::faithful_option.name, 1);
        }
        const bool alone = r == &ts::search::single_device_record;
        if (applies(*r, g, on)) {
            add(std::string(r->title), alone ? 1 : 2, ts::search::run(*r, g, on, how).best);
        }
    }
    const auto legal = [&](const ts::strategy& s, int devices) {
        try {
            ts::require(g, s.view(), devices);
            return true;
        } catch (const ts::error&) {
            return false;
        }
    };
    test_support::coverage seen;
    for (std::uint64_t seed = 1, found = 0; found < 8 && seed < 100; ++seed) {
        const ts::strategy s = test_support::random_strategy(g, 1, seed, seen);
        if (legal(s, 1)) {
            add("random " + std::to_string(seed), 1, s);
            ++found;
        }
    }
    for (std::uint64_t seed = 1001, found = 0; found < 16 && seed < 1100; ++seed) {
        const ts::strategy s = test_support::random_strategy(g, 2, seed, seen);
        if (legal(s, 2)) {
            add("random " + std::to_string(seed), 2, s);
            ++found;
        }
    }
    const ts::search::proposer propose(g, on, {});
    for (std::uint64_t seed = 1; seed <= 14; ++seed) {
        ts::search::random_numbers pick{seed};
        ts::strategy s = ts::search::data_parallel(g, 2);
        for (std::uint64_t made = 0, tries = 0; made < 1 + seed && tries < 1000; ++tries) {
            const ts::search::proposal p = propose.next(s, pick);
            for (const ts::change& x : p) {
                ts::apply(s, x);
            }
            made += p.empty() ? 0 : 1;
        }
        if (legal(s, 2)) {
            add("neighbour " + std::to_string(seed), 2, s);
        }
    }
    return all;
}

} // namespace reality
