// SPDX-License-Identifier: Apache-2.0
// The text of the kernels: NVRTC compiles it for every architecture that this toolkit and CUDA 12.8 have in common,
// without a GPU.
#include "support/cuda_emulation.hpp"

#include "tessera/backend/cuda/issue/module.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace {

namespace cuda = tessera::cuda;

/// The instructions of every kernel in a binary, which is an ELF file: its sections .text.NAME.
std::map<std::string, std::string_view> kernels_in(const std::vector<char>& binary) {
    const auto number = [&](std::size_t at, std::size_t bytes) {
        REQUIRE(at + bytes <= binary.size());
        std::uint64_t x = 0;
        std::memcpy(&x, binary.data() + at, bytes);
        return static_cast<std::size_t>(x);
    };
    const std::size_t sections = number(40, 8);
    const std::size_t size = number(58, 2);
    const std::size_t names = number(sections + number(62, 2) * size + 24, 8);
    std::map<std::string, std::string_view> found;
    for (std::size_t i = 0; i < number(60, 2); ++i) {
        const std::size_t section = sections + i * size;
        const std::string name = binary.data() + names + number(section, 4);
        if (name.starts_with(".text.")) {
            found[name.substr(6)] = {binary.data() + number(section + 24, 8), number(section + 32, 8)};
        }
    }
    return found;
}

struct all_but_layer_norm {
    static constexpr bool has(const tessera::op_record& r) {
        return !tessera::same_operator(r, tessera::op::layer_norm_record);
    }
};

struct first : tessera::conv2d<8, tessera::window<3>> {};
struct last : tessera::linear<10> {};
struct images : tessera::sequential<tessera::image<1, 8, 8>, first, tessera::max_pool<2>, tessera::relu,
                                    tessera::flatten, last, tessera::cross_entropy> {};

} // namespace

TEST_CASE("all kernels compile, and the binary has each of them") {
    for (const int capability : {80, 90}) {
        const std::vector<char>& binary = cuda::compiled_kernels(capability);
        CAPTURE(capability);
        CHECK(binary.size() > 10000);
        std::vector<std::string> found;
        for (const auto& [name, code] : kernels_in(binary)) {
            found.push_back(name);
        }
        CHECK(found == cuda_emulation::names()); // those that tests run, no more and no fewer
        CHECK(found.size() > 60);
        CHECK(&cuda::compiled_kernels(capability) == &binary); // once for a process
    }
}

TEST_CASE("the kernels of an operator leave those of others as they are") {
    const auto all = kernels_in(cuda::compiled_kernels(90));
    const std::vector<char> binary =
        cuda::compile_kernels(90, cuda::kernel_source(cuda::rows_of<all_but_layer_norm>()));
    const auto others = kernels_in(binary);
    CHECK(others.size() + 8 == all.size());
    for (const auto& other : others) {
        CAPTURE(other.first);
        CHECK(all.at(other.first) == other.second);
    }
}

TEST_CASE("for a network that is a type the kernels of its operators are compiled, and of no others") {
    const std::string text = cuda::kernel_source(cuda::rows_of<tessera::operators_of<images>>());
    const auto all = kernels_in(cuda::compiled_kernels(90));
    const auto found = kernels_in(cuda::compiled_kernels(90, text));
    for (const char* const has : {"add_bias_bf16", "pool_maximum_backward", "row_loss", "sgd_update", "row_leader"}) {
        CHECK_MESSAGE(found.contains(has), has);
    }
    for (const char* const lacks : {"layer_normalize", "group_normalize", "look_up", "softmax_forward", "dropout",
                                    "gelu_forward", "route_forward", "running_moments"}) {
        CHECK_MESSAGE(!found.contains(lacks), lacks);
        CHECK_MESSAGE(all.contains(lacks), lacks);
    }
    for (const auto& one : found) {
        CHECK(all.at(one.first) == one.second);
    }
}

TEST_CASE("the text of each operator needs that of no other") {
    std::set<std::string> known;
    int generated = 0;
    for (const cuda::operator_row* const row : cuda::operator_rows) {
        CAPTURE(row->of->name);
        if (row->code == nullptr && row->text != nullptr && generated++ % 8 != 0) {
            // what is made of expressions and nests is made in one way: every eighth, for each takes NVRTC 2 s
            continue;
        }
        const std::string text = row->code != nullptr ? row->code : row->text != nullptr ? row->text() : "";
        if (!text.empty() && known.insert(text).second) {
            const cuda::operator_row* const alone[] = {row};
            CHECK_NOTHROW((void)cuda::compile_kernels(90, cuda::kernel_source(alone)));
        }
    }
}

TEST_CASE("a backend that was made for other operators refuses a network by name") {
    const tessera::graph g = tessera::describe<images>(4);
    CHECK_NOTHROW(cuda::require_kernels_of(cuda::rows_of<tessera::operators_of<images>>(), g.view()));
    try {
        cuda::require_kernels_of(cuda::rows_of<tessera::operator_of<last>>(), g.view());
        FAIL("bound");
    } catch (const tessera::error& e) {
        CHECK(std::string(e.what()).find("tessera: first: the backend was made for a network without the operator "
                                         "conv2d") == 0);
    }
}

namespace own {
struct softmax : tessera::operation<softmax> { // not the library's
    static constexpr const char* name = "softmax";
    static constexpr void body(auto& w) {
        const auto [n, c] = w.loops(sample, channel);
        const auto x = exp(w.input(n, c));
        w.output(n, c) = x / w.sum(c, x);
    }
};
} // namespace own

TEST_CASE("an operator of one's own with the name of one of the library is refused") {
    struct fc : tessera::linear<4> {};
    struct network : tessera::sequential<tessera::features<3>, fc, own::softmax, tessera::mse_loss> {};
    const tessera::graph g = tessera::describe<network>(4);
    try {
        cuda::require_kernels_of(cuda::rows_of<tessera::all_operators>(), g.view());
        FAIL("bound");
    } catch (const tessera::error& e) {
        CHECK(std::string(e.what()).find("tessera: softmax: an operator of the library is called softmax, and this is "
                                         "another") == 0);
    }
}

TEST_CASE("an architecture that does not exist is an error with the compiler's words") {
    try {
        cuda::compile_kernels(12);
        FAIL("compiled");
    } catch (const tessera::error& e) {
        CHECK(std::string(e.what()).find("sm_12") != std::string::npos);
        CHECK(std::string(e.what()).find("NVRTC_ERROR_INVALID_OPTION") != std::string::npos);
    }
}
