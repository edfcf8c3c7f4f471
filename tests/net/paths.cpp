// SPDX-License-Identifier: Apache-2.0
// Paths of operators and parameters: one for each, the same on every compiler (clang reads this file too), and what
// they look like.
#include "tessera/net/paths.hpp"
#include "support/networks.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

namespace {

namespace ts = tessera;
namespace n = test_networks;

template <int Block, int Number = 7>
struct conv : ts::conv2d<4, ts::window<3>, ts::padding<1>> {};
enum class place { first, last };
template <place Where, bool Wide, char Letter>
struct fc : ts::linear<8> {};
template <class... Options>
struct any : ts::linear<8, Options...> {};
template <ts::index_t Out, class... Options>
struct out : ts::linear<Out, Options...> {};
template <class Inner, int... Numbers>
struct around : ts::linear<8> {};
template <int Part>
struct layers {
    struct norm : ts::layer_norm<> {};
    template <int Place>
    struct wide : ts::linear<8> {};
};
namespace left {
struct merge : ts::linear<8> {};
} // namespace left
namespace right {
struct merge : ts::linear<8> {};
} // namespace right
struct relu : ts::linear<8> {};

// What g++ and clang write differently, default arguments above all, is not in a name.
static_assert(ts::type_name<conv<1>>() == "conv<1,7>");
static_assert(ts::type_name<conv<-1, 2>>() == "conv<-1,2>");
static_assert(ts::type_name<fc<place::last, true, '<'>>() == "fc<1,true,60>");
static_assert(ts::type_name<fc<static_cast<place>(9), false, '\0'>>() == "fc<9,false,0>");
static_assert(ts::type_name<any<>>() == "any");
static_assert(ts::type_name<any<ts::no_bias, ts::frozen>>() == "any<no_bias,frozen>");
static_assert(ts::type_name<out<8>>() == "out<8>");
static_assert(ts::type_name<out<8, ts::window<3>>>() == "out<8,window<3>>");
static_assert(ts::type_name<around<long, 3, 4>>() == "around<int64,3,4>");
static_assert(ts::type_name<around<layers<2>::norm>>() == "around<norm>");
static_assert(ts::type_name<layers<2>::wide<3>>() == "wide<3>");
static_assert(ts::type_name<ts::max_pool<2>>() == "max_pool");
static_assert(ts::type_name<ts::detail::attention_core<2, relu>::scores>() == "scores");

template <class... Parts>
using on_features = ts::sequential<ts::features<8>, Parts..., ts::cross_entropy>;

std::vector<std::string> operators(const ts::graph& g) { return ts::paths_of(g.view()).ops; }
std::vector<std::string> parameters(const ts::graph& g) { return ts::paths_of(g.view()).parameters; }
using texts = std::vector<std::string>;

/// No two paths are equal, one at a time they are the same, and files can take them apart.
void check_all(const ts::graph_view& g) {
    const ts::network_paths paths = ts::paths_of(g);
    CHECK(std::set<std::string>(paths.ops.begin(), paths.ops.end()).size() == paths.ops.size());
    CHECK(std::set<std::string>(paths.parameters.begin(), paths.parameters.end()).size() == paths.parameters.size());
    for (int op = 0; op < g.op_count; ++op) {
        CHECK(ts::path_of(g, op) == paths.op(op));
        CHECK(paths.op(op).find_first_of(" :/@") == std::string::npos);
    }
    for (int p = 0; p < g.parameter_count; ++p) {
        CHECK(ts::parameter_path_of(g, p) == paths.parameter(p));
        CHECK(paths.parameter(p).find_first_of(" :@") == std::string::npos);
    }
}

} // namespace

TEST_CASE("layers of one name are numbered, those of one template told by their arguments") {
    using network = ts::sequential<ts::image<4, 8, 8>, conv<1, 2>, ts::relu, conv<2, 1>, ts::relu, ts::max_pool<2>,
                                   ts::max_pool<3>, ts::flatten, ts::cross_entropy>;
    const ts::graph g = ts::describe<network>(2);
    CHECK(operators(g) ==
          texts{"conv<1,2>", "relu.0", "conv<2,1>", "relu.1", "max_pool.0", "max_pool.1", "flatten", "cross_entropy"});
    CHECK(parameters(g) == texts{"conv<1,2>/weight", "conv<1,2>/bias", "conv<2,1>/weight", "conv<2,1>/bias"});
    CHECK(ts::path_of(g.view(), -1) == "-");
    CHECK(ts::parameter_path_of(g.view(), -1) == "-");
}

TEST_CASE("copies have numbers of their own, shared uses one set of parameters") {
    const ts::graph copies = ts::describe<on_features<ts::repeat<2, relu, ts::relu, layers<0>::norm>>>(2);
    CHECK(parameters(copies) == texts{"relu.0/weight", "relu.0/bias", "norm.0/weight", "norm.0/bias", "relu.1/weight",
                                      "relu.1/bias", "norm.1/weight", "norm.1/bias"});
    const ts::graph shared = ts::describe<on_features<any<>, ts::shared<any<>>>>(2);
    CHECK(operators(shared) == texts{"any.0", "any.1", "cross_entropy"});
    CHECK(parameters(shared) == texts{"any/weight", "any/bias"});
}

TEST_CASE("layers of the same name in different scopes are distinguished by as many scopes as necessary") {
    const ts::graph g = ts::describe<on_features<left::merge, right::merge, layers<1>::wide<0>, layers<2>::wide<0>,
                                                 layers<2>::wide<1>, ts::relu, relu>>(2);
    CHECK(operators(g) == texts{"left.merge", "right.merge", "layers<1>.wide<0>", "layers<2>.wide<0>", "wide<1>",
                                "relu.0", "relu.1", "cross_entropy"});
    CHECK(parameters(g).back() == "relu/bias");
}

TEST_CASE("names that are only texts are numbered, and stay unique whatever they are") {
    ts::graph_builder b;
    int at = b.add_input(ts::make_shape(2, 8), ts::element::f32, "input");
    for (const char* name : {"x", "x.0", "x", "x.0.0", "y"}) {
        at = b.add_op(ts::relu::attributes, name, ts::key_of<ts::relu>, false, &at, 1);
    }
    const ts::graph g = b.built();
    check_all(g.view());
    CHECK(operators(g).back() == "y");
}

TEST_CASE("every operator and parameter of every network has a path of its own") {
    check_all(ts::describe<n::transformer::network>(2).view());
    check_all(ts::describe<n::recurrent::network>(2).view());
    check_all(ts::describe<n::translator::network>(2).view());
    check_all(ts::describe<n::two_losses::network>(2).view());
    check_all(ts::describe<n::frozen_net::network>(2).view());
    check_all(ts::describe<on_features<left::merge, ts::repeat<3, right::merge, ts::relu>, relu>>(2).view());
}
