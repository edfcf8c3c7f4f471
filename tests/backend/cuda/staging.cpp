// SPDX-License-Identifier: Apache-2.0
// When a convolution or a pool is computed on a padded copy: only where cuDNN, which pads both sides alike, cannot do
// without. And how inputs of bf16 come to the GPU: as the caller has them, of fp32.
#include "support/cuda_lists.hpp"
#include "support/one_operator.hpp"

#include "tessera/net/precision.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
using namespace test_support;

/// Calls of one operator under a split of one of its loops.
listed list_of(const ts::op_attributes& a, const ts::shape& x, ts::loop_name name, int degree,
               ts::precision math = ts::precision::fp32) {
    ts::graph network = graph_of({"", a, {x}});
    ts::set_precision(network, math);
    ts::strategy s(network.view());
    const ts::description d = network.view().describe(0);
    s.ops[0].degree[d.find_loop(name)] = degree;
    s.ops[0].uneven = s.ops[0].reduces = true;
    ts::lower_options o;
    o.output_gradient = network.view().tensor_count - 1;
    return make_listed(network.view(), s, degree, gpu_placement(degree, 0), o);
}
std::vector<ts::cuda::call> calls_of(const ts::op_attributes& a, const ts::shape& x, ts::loop_name name, int degree) {
    return list_of(a, x, name, degree).list.calls;
}

template <class Body>
std::vector<Body> all(const std::vector<ts::cuda::call>& calls) {
    std::vector<Body> found;
    for (const ts::cuda::call& c : calls) {
        if (const auto* b = std::get_if<Body>(&c.body)) {
            found.push_back(*b);
        }
    }
    return found;
}

int count(const std::vector<ts::cuda::call>& calls, const ts::cuda::kernel& which) {
    int n = 0;
    for (const auto& k : all<ts::cuda::kernel_launch>(calls)) {
        n += k.which == &which ? 1 : 0;
    }
    return n;
}

constexpr ts::op_attributes first_of_resnet = ts::attributes_of(
    ts::op_kind::conv2d, ts::op::conv2d_attributes{.window = {7, 7}, .stride = {2, 2}, .padding = {3, 3}, .out = 4});
constexpr ts::op_attributes same =
    ts::attributes_of(ts::op_kind::conv2d, ts::op::conv2d_attributes{.window = {3, 3}, .padding = {1, 1}, .out = 4});

} // namespace

TEST_CASE("a whole convolution is not staged, also where a stride leaves padding unread") {
    for (const ts::op_attributes& a : {first_of_resnet, same}) {
        const auto calls = calls_of(a, ts::make_shape(2, 3, 16, 16), ts::loop_name::sample, 1);
        CHECK(all<ts::cuda::memory_clear>(calls).empty());
        CHECK(count(calls, ts::cuda::kernels::strided_copy_f32) == 0);
        for (const ts::cuda::convolution& c : all<ts::cuda::convolution>(calls)) {
            CHECK(c.padding[0] == a.as<ts::op::window_attributes>().padding[0]);
            CHECK(c.x[2] == 16);
        }
        CHECK(all<ts::cuda::convolution>(calls).size() == 3); // forward, and two ways back
    }
}

TEST_CASE(
    "the first and the last shard of rows are staged, those between have no padding, samples and channels never are") {
    const auto rows = calls_of(same, ts::make_shape(2, 3, 12, 12), ts::loop_name::height, 3);
    int forward = 0;
    for (const ts::cuda::convolution& c : all<ts::cuda::convolution>(rows)) {
        if (c.way == ts::cuda::convolution::direction::forward) {
            // 4 rows of output need 6 of input, one of them padding in the outer shards; cuDNN pads the columns.
            CHECK(c.y[2] == 4);
            CHECK(c.x[2] == 6);
            CHECK(c.x[3] == 12);
            CHECK(c.padding[0] == 0);
            CHECK(c.padding[1] == 1);
            ++forward;
        }
    }
    CHECK(forward == 3);
    CHECK(all<ts::cuda::memory_clear>(rows).size() == 4); // x for forward and for the weights' gradient, in two shards
    for (const ts::loop_name name : {ts::loop_name::sample, ts::loop_name::channel}) {
        const auto calls = calls_of(same, ts::make_shape(2, 3, 12, 12), name, 2);
        CHECK(all<ts::cuda::memory_clear>(calls).empty());
    }
}

TEST_CASE(
    "shards of a volume's depth are staged as those of rows are; samples, channels and what reads no padding are not") {
    const ts::shape x = ts::make_shape(2, 3, 12, 6, 5);
    const auto calls = calls_of(ts::conv3d<4, ts::window<3>, ts::padding<1>>::attributes, x, ts::loop_name::depth, 3);
    int forward = 0;
    for (const ts::cuda::convolution& c : all<ts::cuda::convolution>(calls)) {
        if (c.way == ts::cuda::convolution::direction::forward) {
            CHECK(c.y[2] == 4); // planes, of 6 of the input, one of them padding in the outer shards
            CHECK(c.x[2] == 6);
            CHECK(c.x[3] == 6);
            CHECK(c.padding == ts::cuda::window_numbers{{0, 1, 1}, 3});
            ++forward;
        }
    }
    CHECK(forward == 3);
    CHECK(all<ts::cuda::memory_clear>(calls).size() == 4);
    for (const ts::loop_name name : {ts::loop_name::sample, ts::loop_name::channel}) {
        CHECK(
            all<ts::cuda::memory_clear>(calls_of(ts::conv3d<4, ts::window<3>, ts::padding<1>>::attributes, x, name, 2))
                .empty());
    }
    const auto flat =
        calls_of(ts::conv3d<4, ts::window<1, 3, 3>, ts::padding<0, 1, 1>>::attributes, x, ts::loop_name::depth, 3);
    CHECK(all<ts::cuda::memory_clear>(flat).empty());
    // A pool of cuDNN's where no shard is padded on one side, else our kernel.
    const auto even = calls_of(ts::max_pool3d<2>::attributes, x, ts::loop_name::depth, 3);
    CHECK(all<ts::cuda::pooling>(even).size() == 3);
    const auto odd = calls_of(ts::max_pool3d<3, ts::stride<1>, ts::padding<1>>::attributes, x, ts::loop_name::depth, 3);
    CHECK(count(odd, ts::cuda::kernels::pool3d_forward) == 2);
    CHECK(all<ts::cuda::pooling>(odd).size() == 1);
}

TEST_CASE("a pool of shards of rows is cuDNN's where it can be, and our kernel's where padding is on one side") {
    const ts::op_attributes plain =
        ts::attributes_of(ts::op_kind::max_pool, ts::op::pool_attributes{.window = {2, 2}, .stride = {2, 2}});
    const auto even = calls_of(plain, ts::make_shape(2, 3, 8, 8), ts::loop_name::height, 2);
    CHECK(all<ts::cuda::pooling>(even).size() == 2);
    CHECK(count(even, ts::cuda::kernels::pool_forward) == 0);
    const ts::op_attributes padded =
        ts::attributes_of(ts::op_kind::max_pool, ts::op::pool_attributes{.window = {3, 3}, .padding = {1, 1}});
    const auto odd = calls_of(padded, ts::make_shape(2, 3, 8, 8), ts::loop_name::height, 2);
    CHECK(all<ts::cuda::pooling>(odd).empty());
    CHECK(count(odd, ts::cuda::kernels::pool_forward) == 2);
}

TEST_CASE(
    "inputs of bf16 are uploaded as fp32 into scratch memory of their copy, rows or not, and rounded by the GPU") {
    for (const ts::loop_name name : {ts::loop_name::sample, ts::loop_name::height}) {
        const listed x = list_of(same, ts::make_shape(4, 3, 12, 12), name, 2, ts::precision::bf16);
        const std::vector<ts::cuda::call>& calls = x.list.calls;
        int uploads = 0;
        int in_rows = 0;
        for (std::size_t i = 0; i < calls.size(); ++i) {
            const auto* u = std::get_if<ts::cuda::upload>(&calls[i].body);
            if (u == nullptr) {
                continue;
            }
            const ts::task& t = x.p.tasks[ts::to_size(calls[i].task)];
            const ts::tile& target = x.p.tiles[ts::to_size(t.writes[0])];
            const ts::cuda::memory_use& staged = calls[i].memory[0];
            CHECK(target.type == ts::element::bf16);
            CHECK(u->type == ts::element::f32);
            CHECK(staged.tile == t.scratch); // placed in the arena beforehand, like any working memory
            CHECK(staged.bytes == target.elements * 4);
            in_rows += u->what.row == target.elements ? 1 : 0;
            REQUIRE(i + 1 < calls.size());
            const ts::cuda::call& next = calls[i + 1];
            const auto* k = std::get_if<ts::cuda::kernel_launch>(&next.body);
            REQUIRE(k != nullptr);
            CHECK(k->which == &ts::cuda::kernels::round_to_bf16);
            CHECK(k->numbers.as<ts::cuda::kernels::count_numbers>().count == target.elements);
            CHECK(next.task == calls[i].task);
            CHECK(next.stream == calls[i].stream);
            CHECK(next.memory[0].tile == staged.tile);
            CHECK(next.memory[0].offset == staged.offset);
            CHECK_FALSE(next.memory[0].write);
            CHECK(next.memory[1].tile == t.writes[0]);
            CHECK(next.memory[1].bytes == target.elements * 2);
            ++uploads;
        }
        CHECK(uploads >= 4); // the input and the output's gradient on both devices
        CHECK(in_rows == (name == ts::loop_name::sample ? uploads : 0));
    }
    const listed plain = list_of(same, ts::make_shape(4, 3, 12, 12), ts::loop_name::height, 2);
    for (const ts::cuda::call& c : plain.list.calls) {
        if (std::holds_alternative<ts::cuda::upload>(c.body)) {
            CHECK(c.memory[0].tile == plain.p.tasks[ts::to_size(c.task)].writes[0]);
        }
    }
}
