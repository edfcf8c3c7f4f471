// SPDX-License-Identifier: Apache-2.0
// Prints, for each network and number of P100s, what MCMC finds beside data parallelism, the best strategy by hand and
// OptCNN, all simulated (how fast proposals are priced by full and by delta simulation: flexflow speed). Arguments:
// seconds per search, and the number of nodes if not all.
#include "tessera/search/mcmc/mcmc.hpp"
#include "examples/networks.hpp"
#include "tessera/machine/presets.hpp"
#include "tessera/part/residual.hpp"
#include "tessera/search/optcnn/optcnn.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

namespace ts = tessera;
namespace search = tessera::search;
namespace simulation = tessera::simulation;

// ---- networks with joins and branches -------------------------------------------------------------------------------

template <int Place, ts::index_t Channels>
struct conv : ts::conv2d<Channels, ts::window<3>, ts::padding<1>> {};
template <int Place, ts::index_t Channels>
struct down : ts::conv2d<Channels, ts::window<3>, ts::stride<2>, ts::padding<1>> {};
template <int Place>
struct norm : ts::batch_norm<> {};
struct stem : ts::conv2d<64, ts::window<7>, ts::stride<2>, ts::padding<3>> {};
struct head : ts::linear<1000> {};

/// Two basic blocks behind a convolution that halves the image (residual stages as of ResNet-18, the projections
/// replaced).
template <int Stage, ts::index_t Channels>
using stage = ts::branch<down<Stage, Channels>, norm<10 * Stage>, ts::relu,
                         ts::residual<conv<10 * Stage, Channels>, norm<10 * Stage + 1>, ts::relu,
                                      conv<10 * Stage + 1, Channels>, norm<10 * Stage + 2>>,
                         ts::relu,
                         ts::residual<conv<10 * Stage + 2, Channels>, norm<10 * Stage + 3>, ts::relu,
                                      conv<10 * Stage + 3, Channels>, norm<10 * Stage + 4>>,
                         ts::relu>;
struct residual_net : ts::sequential<ts::image<3, 224, 224>, stem, norm<0>, ts::relu, stage<1, 64>, stage<2, 128>,
                                     stage<3, 256>, stage<4, 512>, ts::global_average_pool, head, ts::cross_entropy> {};

template <int Place, ts::index_t Channels>
struct point : ts::conv2d<Channels, ts::window<1>> {};
template <int Place, ts::index_t Channels>
struct five : ts::conv2d<Channels, ts::window<5>, ts::padding<2>> {};

/// A module of four branches, as in GoogLeNet (Szegedy et al. 2015).
template <int Place, ts::index_t A, ts::index_t B, ts::index_t C>
using inception =
    ts::branch<ts::branches<ts::concat, ts::branch<point<10 * Place, A>, ts::relu>,
                            ts::branch<point<10 * Place + 1, B / 2>, ts::relu, conv<10 * Place + 1, B>, ts::relu>,
                            ts::branch<point<10 * Place + 2, C / 2>, ts::relu, five<10 * Place + 2, C>, ts::relu>,
                            ts::branch<point<10 * Place + 3, C>, ts::relu>>>;
struct branching_net
    : ts::sequential<ts::image<3, 224, 224>, stem, ts::relu, ts::max_pool<2>, conv<1, 192>, ts::relu, ts::max_pool<2>,
                     inception<1, 64, 128, 32>, inception<2, 128, 192, 96>, ts::max_pool<2>, inception<3, 192, 208, 48>,
                     inception<4, 160, 224, 64>, inception<5, 128, 256, 64>, inception<6, 112, 288, 64>,
                     inception<7, 256, 320, 128>, ts::max_pool<2>, inception<8, 256, 320, 128>,
                     inception<9, 384, 384, 128>, ts::global_average_pool, head, ts::cross_entropy> {};

// ---- measurements ---------------------------------------------------------------------------------------------------

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
double in_ms(ts::index_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-6; }

ts::index_t simulated(const ts::graph_view& g, const ts::strategy& s, const ts::cluster& on) {
    return simulation::simulate(g, ts::lower(g, s.view(), on.devices()), on).makespan;
}

void find(const char* name, const ts::graph_view& g, const ts::cluster& on, double limit) {
    std::vector<search::named_strategy> starts = search::hand_designed(g, on);
    double best_by_hand = 1e300;
    std::string by_hand;
    const double data = in_ms(simulated(g, starts[0].value, on));
    for (std::size_t i = 1; i < starts.size(); ++i) {
        const double cost = in_ms(simulated(g, starts[i].value, on));
        if (cost < best_by_hand) {
            best_by_hand = cost;
            by_hand = starts[i].name;
        }
    }
    starts.push_back({"OptCNN", search::optcnn(g, ts::uniform_machine(on))});
    const double optcnn = in_ms(simulated(g, starts.back().value, on));
    std::vector<search::mcmc_chain> chains;
    search::mcmc_options o;
    o.budget = INT64_MAX;
    o.patience = INT64_MAX;
    chains.reserve(starts.size());
    for (const search::named_strategy& s : starts) {
        ++o.seed;
        chains.emplace_back(g, on, s.value, o);
    }
    const double begin = seconds();
    while (seconds() - begin < limit) {
        for (search::mcmc_chain& c : chains) {
            c.run(5);
        }
    }
    std::int64_t made = 0;
    std::size_t winner = 0;
    for (std::size_t i = 0; i < chains.size(); ++i) {
        made += chains[i].made();
        winner = chains[i].best_cost() < chains[winner].best_cost() ? i : winner;
    }
    const double found = in_ms(chains[winner].best_cost());
    std::printf("%-22s %3d %9.3f %9.3f %9.3f %9.3f %6.2f %6.2f %8lld  %s; best by hand: %s\n", name, on.devices(), data,
                best_by_hand, optcnn, found, data / found, (best_by_hand < data ? best_by_hand : data) / found,
                static_cast<long long>(made), starts[winner].name.c_str(), by_hand.c_str());
    std::fflush(stdout);
}

template <class Action>
void for_all(int only, const Action& action) {
    for (const int nodes : {1, 4, 16}) {
        if (only > 0 && nodes != only) {
            continue;
        }
        const ts::cluster on(ts::machines::p100_nodes(nodes));
        const ts::index_t batch = 32 * on.devices();
        action("LeNet-5", ts::describe<networks::lenet5>(batch), on);
        action("AlexNet", ts::describe<networks::alexnet>(batch), on);
        action("VGG-16", ts::describe<networks::vgg16>(batch), on);
        action("residual, 18 layers", ts::describe<residual_net>(batch), on);
        action("branching, 9 modules", ts::describe<branching_net>(batch), on);
    }
}

} // namespace

int main(int count, char** arguments) {
    const double searched = count > 1 ? std::atof(arguments[1]) : 5;
    const int only = count > 2 ? std::atoi(arguments[2]) : 0;
    std::printf("Simulated ms per step; MCMC from every strategy by hand and OptCNN, %.0f s each, one core.\n\n",
                searched);
    std::printf("%-22s %3s %9s %9s %9s %9s %6s %6s %8s\n", "network", "GPU", "data", "by hand", "OptCNN", "MCMC",
                "/data", "/best", "proposals");
    for_all(only,
            [&](const char* name, const ts::graph& g, const ts::cluster& on) { find(name, g.view(), on, searched); });
}
