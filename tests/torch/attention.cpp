// SPDX-License-Identifier: Apache-2.0
// Attention in random settings on the host, whole and in shards, for tests/torch/attention.py to compare with
// PyTorch's: attention FOLDER [settings]
//
// Writes FOLDER/settings.txt, a line of numbers for each, and FOLDER/tensors.safetensors with what each read and made.
#include "support/one_operator.hpp"
#include "support/random_strategy.hpp"

#include "tessera/host.hpp"
#include "tessera/io/files/safetensors.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <list>

namespace {

namespace ts = tessera;
using random_pick = test_support::random;

enum class hidden { nothing, by_length, by_mask };

struct setting {
    ts::op::attention_attributes a;
    hidden what = hidden::nothing;
    tests::op_case of;

    explicit setting(random_pick& pick) {
        const auto one_in = [&](int n) { return pick(n) == 0; };
        const auto up_to = [&](int n) { return ts::index_t{1} + pick(n); };
        const ts::index_t groups = up_to(3), shared = one_in(2) ? 1 : up_to(3);
        const ts::index_t width = one_in(3) ? 16 * up_to(2) : up_to(20);
        const ts::index_t value_width = one_in(2) ? width : up_to(24);
        const ts::index_t queries = one_in(6) ? 1 : one_in(8) ? 120 + pick(20) : up_to(40);
        const ts::index_t keys = one_in(3) ? queries : one_in(8) ? 100 + pick(50) : up_to(45);
        a.heads = groups * shared;
        a.key_heads = groups;
        a.causal = one_in(2);
        a.window = one_in(3) ? up_to(20) : a.unlimited;
        a.scale = one_in(3) ? 0.05 * static_cast<double>(up_to(20)) : 0;
        a.alibi = one_in(4);
        if (one_in(3)) {
            a.buckets = 2 * (1 + up_to(16));
            a.max_distance = a.buckets + up_to(100);
        }
        const ts::index_t samples = up_to(3);
        of.inputs = {ts::make_shape(samples, queries, a.heads * width), ts::make_shape(samples, keys, groups * width),
                     ts::make_shape(samples, keys, groups * value_width)};
        if (one_in(2)) {
            what = one_in(2) ? hidden::by_length : hidden::by_mask;
            of.inputs.push_back(what == hidden::by_length ? ts::make_shape(samples) : ts::make_shape(samples, keys));
        }
        of.attributes =
            ts::attributes_of(what == hidden::nothing ? ts::op_kind::attention : ts::op_kind::padded_attention, a);
    }
};

struct tensors_of_file {
    std::list<std::vector<float>> numbers; // which `all` refers to
    std::vector<ts::io::named_tensor> all;

    void add(const std::string& name, const ts::shape& s, std::vector<float> x) {
        numbers.push_back(std::move(x));
        all.push_back({name, {s.extent, s.extent + s.rank}, numbers.back()});
    }
};

/// What one setting reads, and what it makes on 1 to 4 devices.
void run(int number, const setting& x, random_pick& pick, tensors_of_file& to) {
    const ts::graph network = test_support::graph_of(x.of);
    const ts::graph_view g = network.view();
    const test_support::batch_data data = test_support::data_of(x.of, g, static_cast<std::uint64_t>(number) + 1);
    const int devices = 1 + pick(4);
    test_support::coverage seen;
    const ts::strategy how =
        devices == 1 ? ts::strategy(g)
                     : test_support::random_strategy(g, devices, static_cast<std::uint64_t>(number) + 500, seen);
    ts::host::backend backend(ts::sgd{});
    const auto made = test_support::values_after(backend, g, how, devices, data);

    const std::string prefix = std::to_string(number) + ".";
    const char* const names[] = {"query", "key", "value"};
    const int output = g.ops[0].output;
    const auto floats = [](const std::vector<double>& v) { return std::vector<float>(v.begin(), v.end()); };
    for (int slot = 0; slot < 3; ++slot) {
        to.add(prefix + names[slot], g.tensors[slot].extents, data.numbers[ts::to_size(slot)]);
        to.add(prefix + names[slot] + ".gradient", g.tensors[slot].extents, floats(made.at(slot)));
    }
    if (x.what != hidden::nothing) {
        const auto& seen_keys = data.labels[3];
        to.add(prefix + "seen", g.tensors[3].extents, {seen_keys.begin(), seen_keys.end()});
    }
    to.add(prefix + "output", g.tensors[output].extents, floats(made.at(output)));
    to.add(prefix + "slope", g.tensors[output].extents, data.numbers.back());
    if (x.a.buckets > 0) {
        std::vector<float> table;
        for (ts::index_t i = 0; i < x.a.buckets * x.a.heads; ++i) { // as values_after() has parameters
            table.push_back(0.3F + static_cast<float>(ts::op::mix(static_cast<std::uint64_t>(i)) >> 44U) / 1048576.0F);
        }
        to.add(prefix + "table", g.parameters[0].extents, table);
        to.add(prefix + "table.gradient", g.parameters[0].extents, floats(made.at(test_support::first_gradient)));
    }
}

} // namespace

int main(int count, char** words) {
    if (count < 2) {
        std::fprintf(stderr, "attention FOLDER [settings]\n");
        return 2;
    }
    const std::filesystem::path folder = words[1];
    const int settings = count > 2 ? std::atoi(words[2]) : 200;
    try {
        std::filesystem::create_directories(folder);
        std::ofstream lines(folder / "settings.txt");
        tensors_of_file tensors;
        random_pick pick{2017};
        for (int i = 0; i < settings; ++i) {
            const setting x(pick);
            run(i, x, pick, tensors);
            lines << x.a.heads << ' ' << x.a.key_heads << ' ' << x.a.causal << ' ' << x.a.window << ' ' << x.a.scale
                  << ' ' << x.a.alibi << ' ' << x.a.buckets << ' ' << x.a.max_distance << ' '
                  << static_cast<int>(x.what) << '\n';
        }
        ts::io::write_safetensors((folder / "tensors.safetensors").string(), tensors.all);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
    return 0;
}
