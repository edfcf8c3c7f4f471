// SPDX-License-Identifier: Apache-2.0
// Gated feed-forward networks compute what their parts do one by one, with one operator less for each.
#include "tessera/part/gated.hpp"
#include "support/same_numbers.hpp"
#include "tessera/op/gelu.hpp"
#include "tessera/op/multiply.hpp"
#include "tessera/op/relu.hpp"
#include "tessera/op/rms_norm.hpp"
#include "tessera/op/rotary.hpp"
#include "tessera/op/silu.hpp"
#include "tessera/part/residual.hpp"

#include <doctest/doctest.h>

#include <string>

namespace {

namespace ts = tessera;
using namespace test_support;

struct norm : ts::rms_norm<> {};
struct gate : ts::linear<10, ts::no_bias> {};
struct up : ts::linear<10, ts::no_bias> {};
struct down : ts::linear<8, ts::no_bias> {};
struct classes : ts::linear<5> {};

template <class Part>
struct network : ts::sequential<ts::sequence<3, 8>, ts::residual<norm, ts::rotary<ts::heads<2>, ts::halves>, Part>,
                                classes, ts::cross_entropy> {};
template <class Activation>
using by_parts = ts::branch<ts::branches<ts::multiply, ts::branch<gate, Activation>, ts::branch<up>>, down>;

template <class Part, class Activation>
void check_alike(const std::string& name) {
    CAPTURE(name);
    const ts::graph one = ts::describe<network<Part>>(4);
    const ts::graph parts = ts::describe<network<by_parts<Activation>>>(4);
    CHECK(one.view().op_count + 1 == parts.view().op_count);
    bool named = false;
    for (const ts::op_node& op : one.ops) {
        named = named || ts::to_text(op.attributes.kind) == name;
    }
    CHECK(named);
    const ts::optimizer how(ts::sgd{.learning_rate = 0.1F});
    const oracle a(one.view(), batch_data(one.view(), 3), how, 3, 3);
    const oracle b(parts.view(), batch_data(parts.view(), 3), how, 3, 3);
    REQUIRE(a.change.size() == b.change.size());
    for (std::size_t i = 0; i < a.losses.size(); ++i) {
        CHECK(a.losses[i] == doctest::Approx(b.losses[i]).epsilon(1e-12));
    }
    for (std::size_t p = 0; p < a.change.size(); ++p) {
        CHECK(relative(a.change[p], b.change[p], 1e-9) < 1e-10);
    }
}

} // namespace

TEST_CASE("swiglu, geglu and reglu train as two linear layers, an activation and a product do") {
    check_alike<ts::swiglu<gate, up, down>, ts::silu>("silu_gate");
    check_alike<ts::geglu<gate, up, down>, ts::gelu>("gelu_gate");
    check_alike<ts::reglu<gate, up, down>, ts::relu>("relu_gate");
}
