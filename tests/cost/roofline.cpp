// SPDX-License-Identifier: Apache-2.0
#include "tessera/cost/roofline.hpp"

#include "tessera/cost/profile.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;

} // namespace

TEST_CASE("roofline: the longer of arithmetic and traffic, at the shares of the peak") {
    ts::device_class d{"d", {100, 200, 300}, 1000, 0, 7, false};
    const ts::cost::roofline_efficiency all{{100, 50, 25}, 50};
    using ts::work_kind;
    CHECK(ts::cost::roofline_time({work_kind::convolution, 5000, 10}, d, all) == 7 + 50);
    CHECK(ts::cost::roofline_time({work_kind::matrix_product, 5000, 10}, d, all) == 7 + 50);
    CHECK(ts::cost::roofline_time({work_kind::elementwise, 5000, 10}, d, all) == 7 + 66);
    CHECK(ts::cost::roofline_time({work_kind::elementwise, 5000, 500}, d, all) == 7 + 1000);
    CHECK(ts::cost::kind_of_work(ts::op_kind::conv2d) == work_kind::convolution);
    CHECK(ts::cost::kind_of_work(ts::op_kind::linear) == work_kind::matrix_product);
    CHECK(ts::cost::kind_of_work(ts::op_kind::matmul) == work_kind::matrix_product); // attention's products
    CHECK(ts::cost::kind_of_work(ts::op_kind::softmax) == work_kind::elementwise);
    d.launch = 0;
    CHECK(ts::cost::roofline_time({work_kind::elementwise, 0, 0}, d, all) == 1);
}

TEST_CASE("profile: every field tells tasks apart, and the last measurement counts") {
    ts::cost::profile p;
    ts::cost::task_signature s;
    s.attributes.kind = ts::op_kind::conv2d;
    s.extent[0] = 4;
    CHECK(p.find(s) == 0);
    p.set(s, 100);
    p.set(s, 120);
    CHECK(p.find(s) == 120);
    CHECK(p.size() == 1);
    auto other = s;
    other.extent[7] = 1;
    CHECK(p.find(other) == 0);
    other = s;
    other.what = ts::pass::backward;
    CHECK(p.find(other) == 0);
    other = s;
    other.attributes.epsilon = 2e-5;
    CHECK(p.find(other) == 0);
    p.set(other, 5);
    CHECK(p.size() == 2);
    CHECK_THROWS_AS(p.set(s, 0), ts::error);
}
