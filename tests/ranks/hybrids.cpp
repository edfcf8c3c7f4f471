// SPDX-License-Identifier: Apache-2.0
// GEMS and HyPar-Flow over ranks: bit for bit what one process with as many devices computes, and the numbers of one
// device in double that runs the same micro-batches; where stages lie, what groups sum, and that a stage's sum begins
// before earlier stages have gone backward. Usage: mpirun -n RANKS hybrids DEVICES_EACH [RANKS_OF_NODE], the last as if
// so many ranks had a node of their own.
#include "examples/zoo/unet.hpp"
#include "support/instances.hpp"

#include "tessera/backend/reference/backend.hpp"
#include "tessera/execute/session.hpp"
#include "tessera/ranks/mpi.hpp"
#include "tessera/schedule/gems.hpp"
#include "tessera/search/pipeline.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <vector>

using namespace test_support;

namespace {

namespace search = ts::search;
namespace schedule = ts::schedule;

const ts::device_class core{"core", {100, 100, 100}, 10'000};

int equal = 0;
int wrong = 0;

/// A strategy and which worker has which of its stages.
struct hybrid {
    std::string name;
    ts::strategy how;
    int workers = 1;
    int width = 1; ///< devices of a worker
    bool mirrored = false;

    /// Whether a stage may have something on a device: on its worker's, and on that of the mirrored stage.
    bool has(int stage, int device) const {
        const int worker = device / width;
        return worker == stage || (mirrored && worker == workers - 1 - stage);
    }
};

/// GEMS on `workers` times `width` devices: rank r holds stage r and the mirrored one, each worker's devices share its
/// samples.
hybrid gems(const ts::graph_view& g, int workers, int width, int mini_batches, int parts) {
    const std::vector<int> stage = schedule::balance_stages(search::operator_times(g, core), workers);
    return {"GEMS of " + std::to_string(workers) + " stages x " + std::to_string(width) + ", " +
                std::to_string(mini_batches) + " mini-batches of " + std::to_string(parts) + " parts",
            search::pipeline(g, stage, schedule::gems(workers, mini_batches, parts), width), workers, width,
            mini_batches > 1};
}
hybrid hypar_flow(const ts::graph_view& g, int partitions, int replicas, int micro_batches) {
    return {"HyPar-Flow of " + std::to_string(partitions) + " partitions x " + std::to_string(replicas) +
                " replicas, " + std::to_string(micro_batches) + " micro-batches",
            search::hypar_flow(g, core, partitions, replicas, micro_batches), partitions, replicas, false};
}

/// All that a number of devices allows, of as many micro-batches as the batch has samples at most.
std::vector<hybrid> hybrids(const ts::graph_view& g, int devices) {
    const int batch = static_cast<int>(g.tensors[0].extents[0]);
    std::vector<hybrid> all;
    for (int workers = 2; workers <= devices; workers *= 2) {
        const int width = devices / workers;
        all.push_back(gems(g, workers, width, 2, 1)); // MAST
        if (batch % 4 == 0) {
            all.push_back(gems(g, workers, width, 4, 1)); // MASTER
            all.push_back(gems(g, workers, width, 2, 2));
        }
        all.push_back(hypar_flow(g, workers, width, 1));
        all.push_back(hypar_flow(g, workers, width, std::min(batch, 4)));
    }
    return all;
}

void fail(const ts::process_group& ranks, const std::string& name, const hybrid& h, const std::string& what) {
    ++wrong;
    std::fprintf(stderr, "wrong on rank %d: %s, %s: %s\n", ranks.rank(), name.c_str(), h.name.c_str(), what.c_str());
}

/// Parameters lie on the devices of their stage alone, and what sums their gradients reads and writes nothing else.
std::string misplaced(const ts::graph_view& g, const hybrid& h, const ts::plan& p) {
    std::vector<int> stage_of(ts::to_size(g.parameter_count), -1);
    for (int op = 0; op < g.op_count; ++op) {
        for (const int q : g.ops[op].parameters) {
            stage_of[ts::to_size(q)] = h.how.ops[ts::to_size(op)].stage;
        }
    }
    std::vector<std::set<int>> devices(ts::to_size(h.workers));
    for (const ts::tile& t : p.tiles) {
        if (t.kind == ts::tile_kind::parameter) {
            const int stage = stage_of[ts::to_size(t.tensor)];
            devices[ts::to_size(stage)].insert(t.device);
            if (!h.has(stage, t.device)) {
                return "parameter " + std::to_string(t.tensor) + " of stage " + std::to_string(stage) +
                       " lies on device " + std::to_string(t.device);
            }
        }
    }
    for (int s = 0; s < h.workers; ++s) {
        const bool has_any = std::find(stage_of.begin(), stage_of.end(), s) != stage_of.end();
        const bool centre = h.mirrored && s == h.workers - 1 - s;
        const auto most = ts::to_size(h.width * (h.mirrored && !centre ? 2 : 1));
        if (has_any && devices[ts::to_size(s)].size() != most) {
            return "stage " + std::to_string(s) + " lies on " + std::to_string(devices[ts::to_size(s)].size()) +
                   " devices instead of " + std::to_string(most);
        }
    }
    for (const ts::task& t : p.tasks) {
        if (t.kind() != ts::task_kind::update) {
            continue;
        }
        for (const auto* all : {&t.reads, &t.writes}) {
            for (const int x : *all) {
                const int stage = stage_of[ts::to_size(t.params().parameter)];
                if (!h.has(stage, p.tiles[ts::to_size(x)].device)) {
                    return "the sum of parameter " + std::to_string(t.params().parameter) + " of stage " +
                           std::to_string(stage) + " takes part of device " +
                           std::to_string(p.tiles[ts::to_size(x)].device);
                }
            }
        }
    }
    return "";
}

/// The same bits as one process, and the numbers of one device.
template <class Network>
void compare_all(const std::string& name, ts::index_t batch, ts::workers& over_ranks, ts::workers& here, int devices) {
    constexpr std::uint64_t seed = 5;
    const ts::graph network = ts::describe<Network>(batch);
    const ts::graph_view g = network.view();
    const ts::optimizer how(ts::sgd{.learning_rate = 0.1F, .momentum = 0.9F, .weight_decay = 0.01F});
    const batch_data data(g, 3);
    ts::reference::backend backend(how);
    const ts::session_options options{.seed = seed, .keep_gradients = true};
    std::map<int, oracle> one_device;
    for (const hybrid& h : hybrids(g, devices)) {
        const int count = h.how.micro_batches;
        const oracle& expected = one_device.try_emplace(count, g, data, how, 2, seed, count).first->second;
        comparison seen[2];
        for (int k = 0; k < 2; ++k) {
            ts::session<ts::reference::backend> session(g, h.how, devices, how, options, backend,
                                                        k == 0 ? over_ranks : here);
            if (const std::string where = misplaced(g, h, session.training_plan()); k == 0 && !where.empty()) {
                fail(*over_ranks.group(), name, h, where);
            }
            seen[k] = compare(session, g, data, expected);
        }
        const comparison& c = seen[0];
        if (c.losses != seen[1].losses || c.parameters != seen[1].parameters) {
            fail(*over_ranks.group(), name, h, "other bits than one process's");
        } else if (!(c.loss < allowed_rounding && c.gradient < allowed_rounding && c.change < allowed_rounding &&
                     c.copies_equal)) {
            fail(*over_ranks.group(), name, h, "other numbers than one device's, " + c.worst);
        } else {
            ++equal;
        }
    }
}

/// What GEMS is for: the images of a step may be many, for the activations of one mini-batch are there at a time.
template <ts::index_t Size>
void large_images(ts::workers& over_ranks, ts::workers& here, int devices) {
    using network = networks::padded_unet<Size, 1, 2, 2, 2>;
    const std::string name = "U-Net of " + std::to_string(Size) + " x " + std::to_string(Size);
    compare_all<network>(name, 4, over_ranks, here, devices);
    const ts::graph described = ts::describe<network>(4);
    const ts::graph_view g = described.view();
    const auto most = [&](const ts::strategy& s) {
        ts::lower_options o;
        ts::plan p = ts::lower(g, s.view(), devices, o);
        ts::reference::backend backend{ts::optimizer(ts::sgd{})};
        backend.bind(p, g, nullptr);
        ts::finish(g, p);
        return *std::max_element(p.arena_bytes.begin(), p.arena_bytes.end());
    };
    const hybrid master = gems(g, devices, 1, 4, 1);
    const std::vector<int> stage = schedule::balance_stages(search::operator_times(g, core), devices);
    const ts::index_t all_at_once = most(search::pipeline(g, stage, schedule::gpipe(devices, 4)));
    const ts::index_t in_turn = most(master.how);
    if (!(in_turn < all_at_once)) {
        fail(*over_ranks.group(), name, master,
             "a step of 4 mini-batches takes " + std::to_string(in_turn) + " bytes, GPipe " +
                 std::to_string(all_at_once));
    }
    if (over_ranks.group()->rank() == 0) {
        std::printf("%s: a step of 4 images takes %lld bytes of the fullest device under GEMS, %lld under GPipe\n",
                    name.c_str(), static_cast<long long>(in_turn), static_cast<long long>(all_at_once));
    }
}

struct wide : ts::conv2d<24, ts::window<5>, ts::padding<2>> {};
struct wide_again : ts::conv2d<24, ts::window<5>, ts::padding<2>> {};
struct hidden : ts::linear<32> {};
struct classes : ts::linear<10> {};
/// Its first half takes far longer than its second.
struct lopsided : ts::sequential<ts::image<3, 16, 16>, wide, ts::relu, wide_again, ts::relu, ts::max_pool<4>,
                                 ts::flatten, hidden, ts::relu, classes, ts::cross_entropy> {};

/// Steps in which the last stage's sum has begun before the first stage has gone backward, out of some, by the ranks'
/// clock.
int steps_that_overlap(const ts::strategy& s, const ts::optimizer& update, ts::workers& over_ranks, int devices,
                       int steps) {
    const ts::graph described = ts::describe<lopsided>(16);
    const ts::graph_view g = described.view();
    ts::reference::backend backend(update);
    ts::session<ts::reference::backend> session(g, s, devices, update, {}, backend, over_ranks);
    const batch_data data(g, 1);
    session.step(data.inputs);
    const ts::plan& p = session.training_plan();
    int overlapping = 0;
    for (int i = 0; i < steps; ++i) {
        ts::simulation::timeline measured;
        session.step(data.inputs, measured);
        ts::index_t backward_ends = 0;
        ts::index_t sum_begins = -1;
        for (std::size_t k = 0; k < p.tasks.size(); ++k) {
            const ts::task& t = p.tasks[k];
            const ts::simulation::task_span& span = measured.tasks[k];
            const bool computes = t.kind() == ts::task_kind::compute && t.what != ts::pass::forward;
            if (computes && s.ops[ts::to_size(t.op)].stage == 0) {
                backward_ends = std::max(backward_ends, span.end);
            }
            if (t.kind() == ts::task_kind::update &&
                t.params().parameter == g.parameter_count - 1) { // of the last stage
                sum_begins = sum_begins < 0 ? span.start : std::min(sum_begins, span.start);
            }
        }
        overlapping += sum_begins >= 0 && sum_begins < backward_ends ? 1 : 0;
    }
    return overlapping;
}

/// HyPar-Flow's all-reduce of a stage starts when that stage's backward ends. With a barrier it cannot, and does not:
/// an optimizer that clips by the norm of all gradients puts one before its updates.
void overlap(ts::workers& over_ranks, int devices) {
    constexpr int steps = 8; // on few cores a rank may get its turn late
    const ts::graph described = ts::describe<lopsided>(16);
    const ts::graph_view g = described.view();
    hybrid h{"HyPar-Flow of 2 partitions", {}, 2, devices / 2, false};
    std::vector<int> stage;
    for (int op = 0; op < g.op_count; ++op) {
        stage.push_back(op < 5 ? 0 : 1); // the convolutions, the rest
    }
    h.how = search::pipeline(g, stage, schedule::gpipe(2, 2), h.width);
    if (const int n = steps_that_overlap(h.how, ts::sgd{.learning_rate = 0.01F}, over_ranks, devices, steps); n == 0) {
        fail(*over_ranks.group(), "overlap", h, "no sum of the last stage began before the first had gone backward");
    }
    h.name += ", with a barrier";
    const ts::optimizer clips(ts::sgd{.learning_rate = 0.01F}, 1.0F);
    if (const int n = steps_that_overlap(h.how, clips, over_ranks, devices, steps); n != 0) {
        fail(*over_ranks.group(), "overlap", h, "sums began before the barrier");
    }
}

int program(ts::mpi::environment& mpi, int argc, char** argv) {
    if (argc != 2 && argc != 3) {
        std::fprintf(stderr, "usage: hybrids DEVICES_EACH [RANKS_OF_NODE]\n");
        return 2;
    }
    const ts::local_devices over = ts::mpi::ranks(
        mpi, {.devices_each = std::atoi(argv[1]), .patience = 120, .ranks_of_node = argc > 2 ? std::atoi(argv[2]) : 0});
    const int devices = over.count();
    ts::workers here(devices);
    compare_all<test_networks::lenet5::network>("LeNet-5", 8, over.threads(), here, devices);
    compare_all<test_networks::residual_net::network>("residual net", 8, over.threads(), here, devices);
    large_images<8>(over.threads(), here, devices);
    large_images<16>(over.threads(), here, devices);
    large_images<32>(over.threads(), here, devices);
    if (devices >= 4) {
        overlap(over.threads(), devices);
    }
    if (mpi.rank() == 0) {
        std::printf("%d ranks of %s devices on %d nodes: %d equal, %d wrong\n", mpi.size(), argv[1],
                    over.threads().group()->nodes(), equal, wrong);
    }
    return wrong == 0 && equal > 0 ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    return ts::mpi::run(argc, argv, [&](ts::mpi::environment& mpi) { return program(mpi, argc, argv); });
}
