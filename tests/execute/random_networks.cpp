// SPDX-License-Identifier: Apache-2.0
// The same numbers as one device, over random networks of all kinds of operators.
// benchmarks/same_numbers/random_networks runs thousands.
#include "support/random_pairs.hpp"

#include "tessera/backend/reference/backend.hpp"
#ifdef TESSERA_TEST_HOST
#include "support/host_formats.hpp"
#endif

#include <doctest/doctest.h>

namespace {

using namespace test_support;

template <class Make>
pair_findings hold_pairs(int networks, int each, std::uint64_t first, Make make) {
    pair_findings found;
    for (std::uint64_t number = first; found.networks < networks; ++number) {
        try_pairs<ts::reference::backend>(number, each, found, make);
    }
    for (const std::string& w : found.wrong) {
        FAIL_CHECK(w);
    }
    for (const std::string& r : found.rough) {
        MESSAGE("rough, like one device of this backend: " << r);
    }
    CHECK(found.rough.size() * 50 < ts::to_size(found.pairs));
    CHECK(found.unusable * 10 < networks);
    CHECK(found.decided_by_rounding * 20 < found.pairs);
    MESSAGE(found.pairs << " pairs of " << found.networks << " networks (" << found.unusable
                        << " more are left out, and rounding decides in " << found.decided_by_rounding
                        << "), largest relative difference of losses " << found.worst.loss << ", gradients "
                        << found.worst.gradient << ", changes of weights " << found.worst.change);
    return found;
}

} // namespace

TEST_CASE("random networks under random strategies, schedules and policies give the numbers of one device") {
    const pair_findings found = hold_pairs(
        300, 3, 20000, [](const ts::optimizer& update, std::uint64_t) { return ts::reference::backend(update); });
    for (int k = 0; k < op_kinds; ++k) {
        CAPTURE(std::string(ts::library_operators[k]->name));
        CHECK(found.kinds[ts::to_size(k)] > 0);
    }
    for (int role = 0; role < 5; ++role) {
        CHECK(found.splits.roles[role] > 0);
    }
    CHECK(found.splits.joins > 0);
}

#ifdef TESSERA_TEST_HOST
TEST_CASE("so they do on the host, in any formats") {
    hold_pairs(100, 2, 30000, [](const ts::optimizer& update, std::uint64_t seed) {
        return host_in_formats_of(update, static_cast<int>(seed % 1000));
    });
}
#endif

TEST_CASE("what floats explain is right, and a gradient that is off by one per cent, or lacks its largest element, is "
          "wrong") {
    using finding = random_oracle::finding;
    int held = 0;
    int tried = 0;
    int caught = 0;
    for (std::uint64_t number = 40000; held < 60; ++number) {
        const random_case c(number);
        const batch_data data(c.network.view(), number);
        const auto off = [&](double nudge, std::uint64_t draw) { return nudged_oracle(c, data, 1, nudge, draw).seen; };
        random_oracle expected(c, data, 1, [&] { return off(std::ldexp(1.0, -24), 99); });
        if (!expected.is_usable()) {
            continue;
        }
        CAPTURE(number);
        ++held;
        record_difference d;
        CHECK(expected.judge(off(std::ldexp(1.0, -24), 77), d) != finding::wrong);
        training_record scaled = expected.expected();
        std::vector<double>* most = nullptr; // the largest gradient
        double largest = 0;
        for (std::size_t p = 0; p < scaled.gradients[0].size(); ++p) {
            double squares = 0;
            for (const double x : scaled.gradients[0][p]) {
                squares += x * x;
            }
            if (squares > largest && c.network.parameters[p].trained) {
                largest = squares;
                most = &scaled.gradients[0][p];
            }
        }
        if (most == nullptr || largest < 1e-10) {
            continue;
        }
        training_record holed = expected.expected();
        std::size_t element = 0;
        for (std::size_t i = 0; i < most->size(); ++i) {
            element = std::abs((*most)[i]) > std::abs((*most)[element]) ? i : element;
        }
        holed.gradients[0][ts::to_size(most - scaled.gradients[0].data())][element] = 0;
        for (double& x : *most) {
            x *= 1.01;
        }
        ++tried;
        caught += expected.judge(scaled, d) == finding::wrong ? 1 : 0;
        caught += expected.judge(holed, d) == finding::wrong ? 1 : 0;
    }
    CHECK(tried > 40);
    CHECK(caught * 10 >= 2 * tried * 9); // in the others a few bits more make a jump as large
}
