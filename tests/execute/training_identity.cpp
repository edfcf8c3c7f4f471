// SPDX-License-Identifier: Apache-2.0
// What tells trainings apart: every field that changes numbers is seen and named, whatever else is not.
#include "tessera/execute/ranks/training_identity.hpp"
#include "support/changed_training.hpp"

#include "tessera/execute/ranks/step_identity.hpp"

#include <doctest/doctest.h>

#include <map>
#include <set>

namespace {

namespace ts = tessera;
using namespace test_support;

std::string difference(const training& a, const training& b) {
    const ts::field_lines x = a.lines();
    const ts::field_lines y = b.lines();
    CHECK((x.hash() == y.hash()) == (x.all() == y.all()));
    return ts::difference_of({"rank 1", x}, {"rank 0", y});
}

template <class T>
std::size_t listed() {
    std::set<std::string> names;
    T::each_field([&](const char* name, auto, const ts::field_facts&) { CHECK(names.insert(name).second); });
    return names.size();
}

} // namespace

TEST_CASE("training identity: the lists have all fields") {
    const std::map<std::string, std::size_t> counts = counts_of_training();
    CHECK(listed<ts::update_rule>() == counts.at("update_rule"));
    CHECK(listed<ts::optimizer>() == counts.at("update_rule") + 1); // and the groups
    CHECK(listed<ts::parameter_group>() == counts.at("parameter_group"));
    CHECK(listed<ts::session_options>() == counts.at("session_options"));
    // Of these the lines are written by hand: who adds a field must add its line, and its change to
    // support/changed_training.hpp.
    CHECK(counts.at("op_attributes") == 6);
    CHECK(counts.at("op_node") == 9);
    CHECK(counts.at("parameter_node") == 8);
    CHECK(counts.at("tensor_node") == 5);
}

TEST_CASE("training identity: a field that is changed at random is named, with both values") {
    const training before = some_training();
    CHECK(difference(before, before).empty());
    CHECK(difference(some_training(), before).empty());
    std::set<std::string> named;
    int allowed = 0;
    for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
        test_support::random pick{seed};
        training after = some_training();
        const std::string expected = change_at_random(after, pick);
        const std::string words = difference(after, before);
        INFO("seed ", seed, ": ", words);
        if (expected.empty()) {
            ++allowed;
            CHECK(words.empty());
            continue;
        }
        CHECK(words.find(expected) != std::string::npos);
        CHECK(words.find(" on rank 1") != std::string::npos);
        CHECK(words.find(" on rank 0") != std::string::npos);
        named.insert(expected);
    }
    CHECK(allowed > 20);
    CHECK(named.size() > 150); // so that the draws reach all
    for (const char* const field :
         {"optimizer.momentum", "optimizer.learning_rate", "optimizer.weight_decay", "optimizer.groups[0].rate",
          "optimizer.groups[1].path", "options.seed", "options.fuse", "network.samples"}) {
        INFO(field);
        CHECK(named.count(field) == 1);
    }
}

TEST_CASE("training identity: words of differences") {
    training a = some_training();
    training b = some_training();
    a.update.momentum = 0.8F;
    CHECK(difference(a, b) == "optimizer.momentum is 0.8 on rank 1 and 0.9 on rank 0");
    a.network = ts::describe<test_networks::lenet5::network>(8);
    CHECK(difference(a, b).find("; and more") != std::string::npos);
    b = a;
    b.network.ops[1].attributes.set(ts::op::pool_attributes{.window = {3, 2}, .stride = {2, 2}});
    CHECK(difference(a, b) == "network.average_pool.window is 2,2 on rank 1 and 3,2 on rank 0");
    // An operator more: its lines alone.
    b = a;
    b.network.ops.pop_back();
    CHECK(difference(a, b).rfind("network.cross_entropy.operator is cross_entropy on rank 1 and is not there on rank 0",
                                 0) == 0);
    // Other order of the same.
    ts::field_lines x;
    ts::field_lines y;
    x.add("a", 1);
    x.add("b", 2);
    y.add("b", 2);
    y.add("a", 1);
    CHECK(ts::difference_of({"x", x}, {"y", y}) == "after as many equal fields comes a on x and b on y");
    CHECK(ts::field_lines::from_text(x.text()).all() == x.all());
    // Long lists are shown where they differ.
    std::vector<int> many(100, 7);
    ts::field_lines p;
    p.add("list", many);
    many[70] = 8;
    ts::field_lines q;
    q.add("list", many);
    const std::string words = ts::difference_of({"p", p}, {"q", q});
    CHECK(words.find(",8,") != std::string::npos);
    CHECK(words.size() < 250);
    // What could end a line does not.
    ts::field_lines hostile;
    hostile.add("text", std::string("a\nb\tc"));
    CHECK(ts::field_lines::from_text(hostile.text()).all() == hostile.all());
}

TEST_CASE("training identity: also strategies that break rules have lines") {
    training t = some_training();
    t.how.ops.resize(3);
    t.how.ops[0].devices = 1'000'000;
    t.how.ops[1].cuts[0] = INT32_MAX;
    t.how.ops[2].degree[0] = INT32_MAX;
    t.how.ops[2].degree[1] = INT32_MAX;
    t.how.ops[2].devices = 0;
    CHECK(!difference(t, some_training()).empty());
    t.how.ops.resize(200);
    CHECK(!difference(t, some_training()).empty());
}

TEST_CASE("step identity: labels, sizes and what is read of other inputs") {
    const ts::graph g = ts::describe<test_networks::residual_net::network>(8);
    std::vector<float> images(8 * 3 * 12 * 12);
    std::vector<std::int32_t> labels(8);
    for (std::size_t i = 0; i < images.size(); ++i) {
        images[i] = static_cast<float>(i);
    }
    const auto what = [&] {
        ts::step_identity s;
        const ts::input_data inputs[] = {std::span<const float>(images), std::span<const std::int32_t>(labels)};
        ts::detail::add_batch(s, g.view(), inputs);
        return s;
    };
    const ts::step_identity before = what();
    for (std::int32_t& x : labels) { // each of them counts
        x = 1;
        CHECK(what().labels != before.labels);
        CHECK(what().inputs == before.inputs);
        x = 0;
    }
    CHECK(what() == before);
    std::swap_ranges(images.begin(), images.begin() + 432, images.begin() + 432); // two samples in another order
    CHECK(what().inputs != before.inputs);
    std::set<std::uint64_t> seen; // 0 to 70 bytes, each bit
    std::size_t all = 0;
    for (std::size_t bytes = 0; bytes <= 70; ++bytes) {
        std::vector<unsigned char> data(bytes + 1, 0);
        ++all;
        seen.insert(ts::detail::hash_of_bytes(data.data(), bytes));
        for (std::size_t bit = 0; bit < bytes * 8; ++bit, ++all) {
            data[bit / 8] = static_cast<unsigned char>(1U << (bit % 8));
            seen.insert(ts::detail::hash_of_bytes(data.data(), bytes));
            data[bit / 8] = 0;
        }
    }
    CHECK(seen.size() == all);
}
