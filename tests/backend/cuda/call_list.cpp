// SPDX-License-Identifier: Apache-2.0
// The list of calls against its plan: 200 random strategies, and lists with a defect, which the same checks must
// refuse.
#include "support/cuda_lists.hpp"
#include "support/networks.hpp"
#include "support/planned.hpp"
#include "support/random_pipeline.hpp"

#include "tessera/net/describe.hpp"
#include "tessera/net/precision.hpp"
#include "tessera/schedule/blocking_all_reduce.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <map>
#include <string>
#include <utility>

namespace {

namespace ts = tessera;
using namespace test_support;

struct one_case {
    ts::graph network;
    ts::lower_options how;
};

std::vector<one_case> cases() {
    namespace n = test_networks;
    std::vector<one_case> all;
    const auto add = [&](ts::graph g, const ts::optimizer& update, ts::run_kind kind, bool keep) {
        ts::lower_options o;
        o.update = update;
        o.kind = kind;
        o.keep_gradients = keep;
        all.push_back({std::move(g), o});
    };
    const ts::optimizer momentum(ts::sgd{.momentum = 0.9F});
    const ts::optimizer clipped(ts::sgd{.momentum = 0.9F}, 1.0F);
    const ts::optimizer adam(ts::adam{});
    constexpr auto train = ts::run_kind::training;
    add(ts::describe<n::lenet5::network>(4), momentum, train, false);
    add(ts::describe<n::residual_net::network>(4), clipped, train, false);
    add(ts::describe<n::inception::network>(4), adam, train, false);
    add(ts::describe<n::unet::network>(4), momentum, train, true);
    add(ts::describe<n::mlp::network>(8), clipped, train, false);
    add(ts::describe<n::frozen_net::network>(5), momentum, train, false);
    add(ts::describe<n::two_losses::network>(6), adam, train, true);
    add(ts::describe<n::residual_net::network>(4), momentum, ts::run_kind::evaluation, false);
    add(ts::describe<n::transformer::network>(4), momentum, train, false);
    return all;
}

/// A data-parallel multilayer perceptron on as many GPUs as devices: its updates share collectives.
listed listed_mlp(int devices, const ts::optimizer& update) {
    const ts::graph g = ts::describe<test_networks::mlp::network>(8);
    ts::lower_options o;
    o.update = update;
    return make_listed(g.view(), data_parallel(g.view(), devices), devices, gpu_placement(devices, 1), o);
}

/// How many lists: TESSERA_LISTS, or `otherwise`.
int list_count(int otherwise) {
    const char* said = std::getenv("TESSERA_LISTS");
    return said != nullptr ? std::atoi(said) : otherwise;
}

int count(const ts::cuda::call_list& l, ts::cuda::collective::kind which) {
    int n = 0;
    for (const ts::cuda::call& c : l.calls) {
        const auto* x = std::get_if<ts::cuda::collective>(&c.body);
        n += x != nullptr && x->which == which ? 1 : 0;
    }
    return n;
}

} // namespace

TEST_CASE("the calls of random strategies do what their plans say, on one GPU and on several") {
    std::vector<one_case> all = cases();
    coverage seen;
    std::size_t calls = 0;
    std::size_t waits = 0;
    int groups = 0;
    int collectives = 0;
    int sums = 0;
    const int lists = list_count(104);
    for (int i = 0; i < lists; ++i) {
        one_case& c = all[ts::to_size(i) % all.size()];
        ts::set_precision(c.network, i % 4 == 3 ? ts::precision::bf16 : ts::precision::fp32);
        const int devices = 1 + i / 3 % 8;
        const int kind = i % 3;
        const ts::strategy s = random_strategy(c.network.view(), devices, 7000 + static_cast<std::uint64_t>(i), seen);
        const listed x = make_listed(c.network.view(), s, devices, gpu_placement(devices, kind), c.how, i % 5 != 4);
        CAPTURE(i);
        CAPTURE(devices);
        CAPTURE(kind);
        CHECK(list_checker(x).run() == "");
        CHECK((kind != 0 || !x.list.communicates()));
        calls += x.list.calls.size();
        for (const ts::cuda::call& y : x.list.calls) {
            waits += y.waits.size();
        }
        groups += x.list.first_group.back();
        collectives += count(x.list, ts::cuda::collective::kind::all_gather);
        sums += count(x.list, ts::cuda::collective::kind::all_reduce);
    }
    CHECK(waits > 0);
    CHECK(groups > 0);
    CHECK(collectives > 0);
    CHECK(sums > 0);
    MESSAGE(lists << " lists: " << calls << " calls, " << waits << " waits, " << groups << " groups, " << collectives
                  << " members of all-gathers, " << sums << " of all-reduces");
}

TEST_CASE("a list is a function of its plan, and text") {
    const ts::graph g = ts::describe<test_networks::inception::network>(4);
    coverage seen;
    const ts::strategy s = random_strategy(g.view(), 4, 3, seen);
    const listed a = make_listed(g.view(), s, 4, gpu_placement(4, 2), {});
    const listed b = make_listed(g.view(), s, 4, gpu_placement(4, 2), {});
    const std::string text = ts::cuda::to_text(a.list, a.p, g.view());
    CHECK(text == ts::cuda::to_text(b.list, b.p, g.view()));
    CHECK(ts::to_size(std::count(text.begin(), text.end(), '\n')) == a.list.calls.size() + a.list.communicators.size());
    CHECK(text.find("cudnnConvolutionBackwardFilter") != std::string::npos);
    CHECK(text.find("ncclSend") != std::string::npos);
    CHECK(text.find("| event") != std::string::npos);
}

TEST_CASE("one device makes one vendor call for each task that has one") {
    const ts::graph g = ts::describe<test_networks::mlp::network>(8);
    const listed x = make_listed(g.view(), ts::strategy(g.view()), 1, {0}, {});
    std::string functions;
    for (const ts::cuda::call& c : x.list.calls) {
        functions += ts::cuda::function_of(c) + "\n";
        CHECK(c.waits.empty()); // one stream needs no events
        CHECK(!c.records);
    }
    CHECK(functions == "cudaMemcpyAsync from the processor\ncublasLtMatmul\nkernel dropout\nkernel gelu_forward\n"
                       "cublasLtMatmul\ncudnnActivationForward\ncublasLtMatmul\ncudaMemcpyAsync from the processor\n"
                       "kernel row_maximum\nkernel row_exponentials\nkernel row_loss\nkernel count_not_finite\nkernel "
                       "softmax_gradient\n"
                       "cublasLtMatmul\ncublasLtMatmul\nkernel sgd_update\nkernel sgd_update\n"
                       "cudnnActivationBackward\ncublasLtMatmul\ncublasLtMatmul\nkernel sgd_update\n"
                       "kernel gelu_backward\nkernel dropout\ncublasLtMatmul\nkernel sgd_update\n"
                       "kernel sgd_update\n");
}

TEST_CASE("data parallel updates on several GPUs are a reduce-scatter and an all-gather") {
    for (const bool clips : {false, true}) {
        const listed x = listed_mlp(2, ts::optimizer(ts::sgd{.momentum = 0.9F}, clips ? 1.0F : 0.0F));
        CHECK(list_checker(x).run() == "");
        // Five parameters, all of even size; with clipping their sums are exchanged one by one, for the norm.
        CHECK(count(x.list, ts::cuda::collective::kind::reduce_scatter) == (clips ? 0 : 5 * 2));
        CHECK(count(x.list, ts::cuda::collective::kind::all_gather) == 5 * 2);
    }
    // 18 x 24, 10 x 18 and the biases of 24 and 10 divide by 2; by 4 those of 10 do not.
    const listed four = listed_mlp(4, ts::optimizer());
    CHECK(list_checker(four).run() == "");
    CHECK(count(four.list, ts::cuda::collective::kind::all_gather) == 4 * 4);
}

TEST_CASE("no computation waits for gradients on their way: sums and updates have a stream beside it") {
    const ts::graph g = ts::describe<test_networks::mlp::network>(512);
    for (const int kind : {0, 1}) { // on one GPU and on several
        CAPTURE(kind);
        const listed x = make_listed(g.view(), data_parallel(g.view(), 2), 2, gpu_placement(2, kind), {});
        CHECK(list_checker(x).run() == "");
        int updates = 0;
        for (const ts::cuda::call& c : x.list.calls) {
            const auto& stream = x.list.streams[ts::to_size(c.stream)];
            const auto* k = std::get_if<ts::cuda::kernel_launch>(&c.body);
            if (k != nullptr && k->which == &ts::cuda::kernels::sgd_update) {
                ++updates;
                CHECK(stream.side_stream);
            } else if (stream.device >= 0 && !stream.side_stream) {
                for (const ts::cuda::call_wait& w : c.waits) {
                    CHECK(x.list.streams[ts::to_size(x.list.calls[ts::to_size(w.call)].stream)].device ==
                          stream.device);
                    CHECK(!x.list.streams[ts::to_size(x.list.calls[ts::to_size(w.call)].stream)].side_stream);
                }
            }
        }
        CHECK(updates == 2 * 5);
    }
}

TEST_CASE("partial sums that several GPUs need are an all-reduce, the maxima and sums of a split softmax too") {
    struct fc : ts::linear<12> {};
    using network = ts::sequential<ts::features<8>, fc, ts::cross_entropy>;
    const ts::graph g = ts::describe<network>(6);
    ts::strategy s(g.view());
    s.ops[0].degree[1] = 2; // classes
    s.ops[1].degree[1] = 2;
    s.ops[1].reduces = true;
    const listed x = make_listed(g.view(), s, 2, {0, 1}, {});
    CHECK(list_checker(x).run() == "");
    int maxima = 0;
    for (const ts::cuda::call& c : x.list.calls) {
        const auto* sum = std::get_if<ts::cuda::collective>(&c.body);
        maxima += sum != nullptr && sum->how == ts::reducer::max ? 1 : 0;
    }
    CHECK(count(x.list, ts::cuda::collective::kind::all_reduce) == 6); // two members each; one counts losses
    CHECK(maxima == 2);
    const listed one = make_listed(g.view(), s, 2, {0, 0}, {});
    CHECK(list_checker(one).run() == "");
    CHECK(!one.list.communicates());
}

TEST_CASE(
    "a convolution of stride 2 and a window of 1 takes the whole tile: nothing is cut out of it, and its gradient "
    "alone is put among zeros") {
    struct first : ts::conv2d<4, ts::window<1>> {};
    struct strided : ts::conv2d<6, ts::window<1>, ts::stride<2>> {};
    struct beside : ts::conv2d<6, ts::window<1>, ts::stride<2>> {};
    struct last : ts::linear<3> {};
    using network = ts::sequential<ts::image<2, 6, 6>, first, strided, ts::flatten, last, ts::cross_entropy>;
    using branches = ts::sequential<ts::image<2, 6, 6>, first, ts::branches<ts::add, strided, beside>, ts::flatten,
                                    last, ts::cross_entropy>;
    const auto copies = [](const listed& x) {
        int n = 0;
        for (const ts::cuda::call& c : x.list.calls) {
            const auto* k = std::get_if<ts::cuda::kernel_launch>(&c.body);
            n += std::holds_alternative<ts::cuda::memory_clear>(c.body) ||
                         std::holds_alternative<ts::cuda::memory_copy>(c.body) ||
                         (k != nullptr && k->which == &ts::cuda::kernels::strided_copy_f32)
                     ? 1
                     : 0;
            if (const auto* conv = std::get_if<ts::cuda::convolution>(&c.body);
                conv != nullptr && conv->stride[0] == 2) {
                CHECK(conv->x[2] == 6);
                CHECK(conv->x[3] == 6);
            }
        }
        return n;
    };
    const ts::graph one = ts::describe<network>(4);
    const listed x = make_listed(one.view(), ts::strategy(one.view()), 1, {0}, {});
    CHECK(list_checker(x).run() == "");
    CHECK(copies(x) == 2);
    const ts::graph two = ts::describe<branches>(4); // whose gradients one launch adds up
    const listed y = make_listed(two.view(), ts::strategy(two.view()), 1, {0}, {});
    CHECK(list_checker(y).run() == "");
    CHECK(copies(y) == 4);
}

TEST_CASE("ranks are in the order of GPUs where no slice goes with one, so that one communicator serves any order") {
    const ts::graph g = ts::describe<test_networks::mlp::network>(9);
    using kind = ts::cuda::collective::kind;
    int seen[5]{};
    const auto hold = [&](const ts::strategy& s, int devices) {
        for (const bool turned : {false, true}) {
            std::vector<int> gpus = gpu_placement(devices, 1); // the last GPU first
            if (turned) {
                std::reverse(gpus.begin(), gpus.end());
            }
            const listed x = make_listed(g.view(), s, devices, gpus, {});
            CHECK(list_checker(x).run() == "");
            for (const ts::cuda::call& c : x.list.calls) {
                if (const auto* what = std::get_if<ts::cuda::collective>(&c.body)) {
                    const std::vector<int>& ranks = x.list.communicators[ts::to_size(c.communicator)];
                    const bool slices = what->which == kind::reduce_scatter || what->which == kind::all_gather;
                    CHECK((slices || std::is_sorted(ranks.begin(), ranks.end()) == true));
                    seen[static_cast<int>(what->which)] += turned ? 0 : 1;
                }
            }
        }
    };
    coverage covered;
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        hold(random_strategy(g.view(), 3, seed, covered), 3);
    }
    ts::strategy s = data_parallel(
        g.view(), 3); // 10 x 18 and the like do not divide by 3: a reduction and a broadcast of each slice
    hold(s, 3);
    s.sync = ts::schedule::blocking_all_reduce(ts::schedule::gradients_of(g.view()));
    hold(s, 3);
    CHECK(seen[static_cast<int>(kind::all_reduce)] > 0);
    CHECK(seen[static_cast<int>(kind::reduce_scatter)] > 0);
}

TEST_CASE("a defect in a list is found") {
    const ts::graph g = ts::describe<test_networks::lenet5::network>(4);
    coverage seen;
    const ts::strategy s = random_strategy(g.view(), 4, 12, seen);
    for (int kind = 0; kind < 3; ++kind) {
        CAPTURE(kind);
        const listed good = make_listed(g.view(), s, 4, gpu_placement(4, kind), {});
        REQUIRE(list_checker(good).run() == "");
        int missing = 0;
        int removed = 0;
        for (std::size_t c = 0; c < good.list.calls.size(); c += 3) {
            if (good.list.calls[c].waits.empty()) {
                continue;
            }
            listed bad = good;
            bad.list.calls[c].waits.pop_back();
            ++removed;
            missing += list_checker(bad).run() != "" ? 1 : 0;
        }
        CHECK(removed > 0);
        CHECK(missing == removed); // no wait is idle
        listed outside = good;
        outside.list.calls[5].memory.back().bytes += 1 << 20;
        CHECK(list_checker(outside).run().find("outside") != std::string::npos);
        listed shifted = good;
        shifted.p.tiles[ts::to_size(good.p.root(good.list.calls[5].memory[0].tile))].offset += 64;
        CHECK(list_checker(shifted).run() != "");
        listed wrong_gpu = good;
        wrong_gpu.list.streams[ts::to_size(good.list.calls[5].stream)].gpu = 9;
        CHECK(list_checker(wrong_gpu).run() != "");
        listed short_write = good;
        for (ts::cuda::call& c : short_write.list.calls) {
            for (ts::cuda::memory_use& m : c.memory) {
                m.bytes -= m.write && std::holds_alternative<ts::cuda::convolution>(c.body) ? 4 : 0;
            }
        }
        CHECK(list_checker(short_write).run().find("unwritten") != std::string::npos);
        if (kind == 1) {
            listed alone = good;
            for (std::size_t c = 0; c < alone.list.calls.size(); ++c) {
                if (auto* e = std::get_if<ts::cuda::point_to_point>(&alone.list.calls[c].body)) {
                    e->count = 1;
                    alone.list.calls[c].memory[0].bytes = ts::bytes_of(e->type);
                    break;
                }
            }
            CHECK(list_checker(alone).run() != "");
        }
    }
}

TEST_CASE("what is carried between GPUs counts as what it repeats, and as nothing else") {
    const ts::graph g = ts::describe<test_networks::lenet5::network>(4);
    coverage seen;
    const ts::strategy s = random_strategy(g.view(), 4, 12, seen);
    listed x = make_listed(g.view(), s, 4, gpu_placement(4, 1), {});
    int repeated = 0;
    int refused = 0;
    for (std::size_t i = 0; i < x.p.tiles.size(); ++i) {
        const int origin = x.p.tiles[i].origin;
        if (origin < 0) {
            continue;
        }
        for (int other = 0; other < static_cast<int>(x.p.tiles.size()); ++other) {
            const ts::tile& a = x.p.tiles[ts::to_size(origin)];
            const ts::tile& b = x.p.tiles[ts::to_size(other)];
            if (b.origin < 0 && b.kind == a.kind && b.tensor == a.tensor && !(b.region == a.region) && b.summand >= 0) {
                x.p.tiles[i].origin = other;
                ++repeated;
                refused += ts::verify(g.view(), x.p).text.find("every part") != std::string::npos ? 1 : 0;
                x.p.tiles[i].origin = origin;
                break;
            }
        }
        if (repeated == 5) {
            break;
        }
    }
    CHECK(!ts::verify(g.view(), x.p));
    CHECK(repeated == 5);
    CHECK(refused == repeated);
}

TEST_CASE("a plan that cannot be put into calls is refused") {
    const ts::graph g = ts::describe<test_networks::mlp::network>(8);
    ts::cuda::algorithm_table algorithms;
    ts::plan p = ts::lower(g.view(), ts::strategy(g.view()).view(), 2);
    CHECK_THROWS_WITH_AS(ts::cuda::bind(p, g.view(), {{0}, {}}, algorithms),
                         "tessera: the plan has 2 devices and only 1 are placed on GPUs", ts::error);
    p.tasks[1].become(ts::task_kind::reorder);
    CHECK_THROWS_WITH_AS(ts::cuda::bind(p, g.view(), {{0, 0}, {}}, algorithms),
                         "tessera: the CUDA backend keeps all tensors in one memory format; a plan bound to another "
                         "backend cannot run on it",
                         ts::error);
}

TEST_CASE("an array of 2^31 elements is refused with the operator's name, one of an element less is not") {
    struct pool : ts::max_pool<2> {};
    struct wide : ts::conv2d<1, ts::window<1>> {};
    const auto list = [](const ts::graph& g) { return make_listed(g.view(), ts::strategy(g.view()), 1, {0}, {}); };
    struct fc : ts::linear<2> {};
    using fits =
        ts::sequential<ts::image<1, 32768, 32767>, pool, ts::global_average_pool, ts::flatten, fc, ts::cross_entropy>;
    using large = ts::sequential<ts::image<1, 32768, 32768>, wide, pool, ts::global_average_pool, ts::flatten, fc,
                                 ts::cross_entropy>;
    CHECK(list(ts::describe<fits>(2)).list.calls.size() > 0);
    std::string text;
    try {
        list(ts::describe<large>(2));
    } catch (const ts::error& e) {
        text = e.what();
    }
    CHECK(text == "tessera: wide, forward of shard 0, works on an array of 2147483648 elements, and cuDNN takes less "
                  "than 2^31; split the "
                  "operator more, or use smaller batches or micro-batches");
}

TEST_CASE("the calls of random pipelines do what their plans say, on one GPU and on several") {
    const std::vector<one_case> all = cases();
    coverage seen;
    std::map<std::string, int> schedules;
    std::size_t calls = 0;
    int sums = 0;
    int collectives = 0;
    int recomputed = 0;
    const int lists = list_count(32);
    for (int i = 0; i < lists; ++i) {
        const one_case& c = all[ts::to_size(i) % all.size()];
        const int devices = 1 + i / 3 % 4;
        const int kind = i % 3;
        const pipeline_case p = random_pipeline(c.network.view(), devices, 400 + static_cast<std::uint64_t>(i), seen);
        const listed x = make_listed(c.network.view(), p.how, devices, gpu_placement(devices, kind), c.how);
        CAPTURE(i);
        CAPTURE(p.schedule);
        CAPTURE(p.stages);
        CAPTURE(p.how.micro_batches);
        CAPTURE(devices);
        CAPTURE(kind);
        CHECK(list_checker(x).run() == "");
        for (std::size_t t = 0; t < x.p.tasks.size(); ++t) {
            const ts::task& of = x.p.tasks[t];
            recomputed += of.what == ts::pass::recompute ? 1 : 0;
            if (of.kind() == ts::task_kind::sum) { // one launch that reads every summand
                ++sums;
                REQUIRE(x.list.first[t + 1] == x.list.first[t] + 1);
                const ts::cuda::call& only = x.list.calls[ts::to_size(x.list.first[t])];
                CHECK(only.memory.size() == of.reads.size() + 1);
            }
        }
        calls += x.list.calls.size();
        collectives += count(x.list, ts::cuda::collective::kind::all_gather);
        ++schedules[p.schedule];
    }
    CHECK(sums > 0);
    CHECK(recomputed > 0);
    CHECK(collectives > 0);
    CHECK(schedules.size() >= (lists < 32 ? 1 : 7));
    std::string names;
    for (const auto& [name, number] : schedules) {
        names += ", " + name + " " + std::to_string(number);
    }
    MESSAGE(lists << " lists: " << calls << " calls, " << sums << " sums over micro-batches, " << recomputed
                  << " tasks done again" << names);
}

TEST_CASE("a relu goes with the product or convolution before it, where it can, and a switch leaves it alone") {
    struct conv : ts::conv2d<4, ts::window<3>, ts::padding<1>> {};
    struct bare : ts::conv2d<4, ts::window<3>, ts::padding<1>, ts::no_bias> {};
    struct fc : ts::linear<8> {};
    struct out : ts::linear<3> {};
    using network = ts::sequential<ts::image<2, 6, 6>, conv, ts::relu, bare, ts::relu, ts::flatten, fc, ts::relu, out,
                                   ts::cross_entropy>;
    const ts::graph g = ts::describe<network>(4);
    const auto count_of = [](const ts::cuda::call_list& l, const std::string& name) {
        int n = 0;
        for (const ts::cuda::call& c : l.calls) {
            n += ts::cuda::function_of(c) == name ? 1 : 0;
        }
        return n;
    };
    const listed with = make_listed(g.view(), ts::strategy(g.view()), 1, {0}, {});
    const listed without = make_listed(g.view(), ts::strategy(g.view()), 1, {0}, {}, false);
    CHECK(list_checker(with).run() == "");
    CHECK(list_checker(without).run() == "");
    CHECK(count_of(with.list, "cudnnConvolutionBiasActivationForward") == 1); // the other has no bias
    CHECK(count_of(with.list, "cudnnConvolutionForward") == 1);
    CHECK(count_of(with.list, "cudnnActivationForward") == 1);
    CHECK(count_of(with.list, "cudnnActivationBackward") == 3);
    CHECK(count_of(without.list, "cudnnConvolutionForward") == 2);
    CHECK(count_of(without.list, "cudnnActivationForward") == 3);
    CHECK(count_of(without.list, "cudnnConvolutionBackwardBias") == 2); // of linear layers
    CHECK(count_of(with.list, "cudnnConvolutionBackwardBias") == 0);    // which come with their weights'
    CHECK(with.p.arena_bytes[0] <= without.p.arena_bytes[0]);           // in place
    CHECK(ts::cuda::to_text(with.list, with.p, g.view()).find(" bias relu") != std::string::npos);
    // A split of the sums leaves a partial result, which has to be added up first; data parallel splits keep the
    // fusion.
    ts::strategy partial(g.view());
    partial.ops[5].degree[2] = 2;
    const listed split = make_listed(g.view(), partial, 2, {0, 0}, {});
    CHECK(list_checker(split).run() == "");
    CHECK(count_of(split.list, "cudnnActivationForward") == 2);
}

TEST_CASE("batch norm and softmax are one call of cuDNN each way, unless a split divides their sums") {
    const ts::graph g = ts::describe<test_networks::residual_net::network>(4);
    const auto norms = [&](const listed& x) {
        int vendor = 0;
        int own = 0;
        for (const ts::cuda::call& c : x.list.calls) {
            const auto* k = std::get_if<ts::cuda::kernel_launch>(&c.body);
            vendor += std::holds_alternative<ts::cuda::normalization>(c.body) ? 1 : 0;
            own += k != nullptr && (k->which == &ts::cuda::kernels::normalize ||
                                    k->which == &ts::cuda::kernels::normalize_gradient)
                       ? 1
                       : 0;
        }
        return std::pair{vendor, own};
    };
    int layers = 0;
    ts::strategy samples(g.view());
    for (int op = 0; op < g.view().op_count; ++op) {
        if (g.view().ops[op].attributes.kind == ts::op_kind::batch_norm) {
            ++layers;
            samples.ops[ts::to_size(op)].degree[0] = 2;
            samples.ops[ts::to_size(op)].reduces = true;
        }
    }
    REQUIRE(layers > 0);
    CHECK(norms(make_listed(g.view(), ts::strategy(g.view()), 1, {0}, {})) == std::pair{2 * layers, 0});
    CHECK(norms(make_listed(g.view(), samples, 2, {0, 0}, {})) == std::pair{0, 4 * layers});
    namespace id = ts::cuda::kernels;
    int passes = 0; // over x and its gradient, for the sums, gamma and beta together
    for (const ts::cuda::call& c : make_listed(g.view(), samples, 2, {0, 0}, {}).list.calls) {
        const auto* k = std::get_if<ts::cuda::kernel_launch>(&c.body);
        passes +=
            k != nullptr && k->which == &id::statistics_gradient && k->numbers.as<id::channel_numbers>().wanted == 7
                ? 1
                : 0;
    }
    CHECK(passes == 2 * layers);
}

TEST_CASE("a task that does not count its loss, or changes something by less than the count of all, is refused") {
    const ts::graph g = ts::describe<test_networks::two_losses::network>(4);
    coverage seen;
    int tried = 0;
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        const int devices = 2 + static_cast<int>(seed % 3);
        const ts::strategy s = random_strategy(g.view(), devices, seed, seen);
        listed x = make_listed(g.view(), s, devices, gpu_placement(devices, 1), {});
        REQUIRE(ts::verify(g.view(), x.p).text == "");
        std::vector<int> own; // counts of single devices
        for (int i = 0; i < static_cast<int>(x.p.tiles.size()); ++i) {
            const ts::tile& a = x.p.tiles[ts::to_size(i)];
            if (a.kind == ts::tile_kind::scalar && a.tensor < 0 && a.summand >= 0) {
                own.push_back(i);
            }
        }
        const auto is_refused = [&](ts::task& t, int flag) {
            const int right = std::exchange(t.nonfinite_count, flag);
            const std::string text = ts::verify(g.view(), x.p).text;
            t.nonfinite_count = right;
            ++tried;
            CHECK(text.find("does not count its loss") != std::string::npos);
        };
        for (ts::task& t : x.p.tasks) {
            if (t.nonfinite_count < 0) {
                continue;
            }
            is_refused(t, -1);
            for (const int count : own) { // of one device, or of another
                if (t.nonfinite_count != count) {
                    is_refused(t, count);
                }
            }
        }
    }
    CHECK(tried > 100);
}
