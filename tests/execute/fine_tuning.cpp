// SPDX-License-Identifier: Apache-2.0
// Batch norm by running statistics that stay (op/fixed_batch_norm.hpp): what it computes beside a batch norm in
// evaluation and in formulas, on every backend, split and whole, trained on and exported; and statistics of one value,
// which are refused.
#include "support/planned.hpp"
#include "support/refusal.hpp"
#include "tessera/backend/reference/backend.hpp"
#include "tessera/execute/trainer.hpp"
#include "tessera/io/exchange/network_cpp.hpp"
#include "tessera/io/exchange/network_file.hpp"
#include "tessera/io/files/checkpoint.hpp"
#include "tessera/io/files/load_weights.hpp"
#ifdef TESSERA_TEST_HOST
#include "tessera/host.hpp"
#endif

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

namespace {

namespace ts = tessera;
using test_support::contains;
using test_support::message_of;

struct conv : ts::conv2d<4, ts::window<3>, ts::padding<1>> {};
struct fc : ts::linear<3> {};
/// The network before fine-tuning, while it is, and with nothing of its norm trained: their parameters have the same
/// names.
namespace before {
struct norm : ts::batch_norm<> {};
struct net : ts::sequential<ts::image<2, 5, 5>, conv, norm, ts::relu, ts::flatten, fc, ts::cross_entropy> {};
} // namespace before
namespace tuned {
struct norm : ts::fixed_batch_norm<> {};
struct net : ts::sequential<ts::image<2, 5, 5>, conv, norm, ts::relu, ts::flatten, fc, ts::cross_entropy> {};
} // namespace tuned
namespace frozen {
struct norm : ts::fixed_batch_norm<ts::frozen> {};
struct net : ts::sequential<ts::image<2, 5, 5>, conv, norm, ts::relu, ts::flatten, fc, ts::cross_entropy> {};
} // namespace frozen
constexpr int samples = 8;

struct data {
    std::vector<float> inputs;
    std::vector<std::int32_t> labels;
    int size = samples;
};
data some(int seed) {
    data d;
    for (int i = 0; i < samples * 50; ++i) {
        d.inputs.push_back(static_cast<float>((i * 37 + seed * 101) % 200 - 80) / 50);
    }
    for (int i = 0; i < samples; ++i) {
        d.labels.push_back((i + seed) % 3);
    }
    return d;
}

template <class Net, class B>
struct made {
    explicit made(const ts::strategy& s, int devices = 1)
        : trainer(ts::local_devices(devices), s, samples, ts::sgd{.learning_rate = 0.1F}, {.seed = 3}) {}
    made() : made(ts::strategy(ts::describe<Net>(samples).view())) {}
    ts::trainer<Net, B> trainer;
};

/// What a checkpoint holds of a parameter.
template <class Trainer>
std::vector<float> parameter(Trainer& t, const std::string& path) {
    const ts::graph_view g = t.graph();
    const ts::network_paths paths = ts::paths_of(g);
    for (int p = 0; p < g.parameter_count; ++p) {
        if (paths.parameter(p) == path) {
            return t.values().parameter(p);
        }
    }
    FAIL("there is no parameter " << path);
    return {};
}

void check_close(const std::vector<float>& a, const std::vector<float>& b) {
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
        CHECK(static_cast<double>(a[i]) == doctest::Approx(static_cast<double>(b[i])).epsilon(1e-4));
    }
}

template <class B>
void hold() {
    char name[] = "/tmp/tessera-tuning-XXXXXX";
    const std::string folder = ::mkdtemp(name);
    made<before::net, B> first;
    for (int i = 0; i < 5; ++i) {
        first.trainer.step(some(i));
    }
    ts::io::save_checkpoint(first.trainer, folder + "/trained");
    made<tuned::net, B> tuned;
    const auto found = ts::io::load_weights(tuned.trainer, folder + "/trained");
    std::filesystem::remove_all(folder);
    CHECK(found.missing.empty());
    const std::vector<float> statistics = parameter(tuned.trainer, "norm/statistics");
    CHECK(statistics == parameter(first.trainer, "norm/statistics"));
    CHECK(statistics != std::vector<float>{0, 0, 0, 0, 1, 1, 1, 1});
    // In evaluation it is the batch norm; in training, too: a step's loss is that of an evaluation before it.
    check_close(tuned.trainer.predict(some(7)).values, first.trainer.predict(some(7)).values);
    const double evaluated = tuned.trainer.evaluate(some(7)).loss;
    CHECK(evaluated == doctest::Approx(first.trainer.evaluate(some(7)).loss).epsilon(1e-5));
    // Its gradients are differences of losses: each weight of the norm moved a little, up and down.
    const std::vector<float> gamma = tuned.trainer.template weights<tuned::norm>();
    const std::vector<float> beta = tuned.trainer.template bias<tuned::norm>();
    const std::vector<float> kernel = tuned.trainer.template weights<conv>();
    const auto slope = [&](auto&& set, std::vector<float> values, std::size_t i) {
        double loss[2];
        const float there = values[i];
        for (const int k : {0, 1}) {
            values[i] = there + (k == 0 ? -1e-2F : 1e-2F);
            set(values);
            loss[k] = tuned.trainer.evaluate(some(7)).loss;
        }
        values[i] = there;
        set(values);
        return (loss[1] - loss[0]) / 2e-2;
    };
    std::vector<double> slopes[3];
    for (std::size_t i = 0; i < 4; ++i) {
        slopes[0].push_back(slope([&](auto& v) { tuned.trainer.template set_weights<tuned::norm>(v); }, gamma, i));
        slopes[1].push_back(slope([&](auto& v) { tuned.trainer.template set_bias<tuned::norm>(v); }, beta, i));
        slopes[2].push_back(slope([&](auto& v) { tuned.trainer.template set_weights<conv>(v); }, kernel, 11 * i));
    }
    CHECK(tuned.trainer.step(some(7)) == doctest::Approx(evaluated).epsilon(1e-5));
    const std::vector<float> new_gamma = tuned.trainer.template weights<tuned::norm>();
    const std::vector<float> new_beta = tuned.trainer.template bias<tuned::norm>();
    const std::vector<float> new_kernel = tuned.trainer.template weights<conv>();
    for (std::size_t i = 0; i < 4; ++i) {
        CHECK(static_cast<double>(gamma[i] - new_gamma[i]) / 0.1 ==
              doctest::Approx(slopes[0][i]).epsilon(0.03).scale(0.1));
        CHECK(static_cast<double>(beta[i] - new_beta[i]) / 0.1 ==
              doctest::Approx(slopes[1][i]).epsilon(0.03).scale(0.1));
        CHECK(static_cast<double>(kernel[11 * i] - new_kernel[11 * i]) / 0.1 ==
              doctest::Approx(slopes[2][i]).epsilon(0.03).scale(0.1));
    }
    CHECK(parameter(tuned.trainer, "norm/statistics") == statistics); // as it was
    CHECK(new_gamma != gamma);

    // Over devices, and with nothing trained.
    made<tuned::net, B> split(test_support::data_parallel(ts::describe<tuned::net>(samples).view(), 4), 4);
    made<tuned::net, B> whole;
    for (int i = 0; i < 3; ++i) {
        CHECK(split.trainer.step(some(i)) == doctest::Approx(whole.trainer.step(some(i))).epsilon(1e-5));
    }
    check_close(split.trainer.template weights<conv>(), whole.trainer.template weights<conv>());
    made<frozen::net, B> still;
    const std::vector<float> weights = still.trainer.template weights<conv>();
    still.trainer.step(some(1));
    CHECK(still.trainer.template weights<frozen::norm>() == std::vector<float>(4, 1.0F));
    CHECK(still.trainer.template bias<frozen::norm>() == std::vector<float>(4, 0.0F));
    CHECK(still.trainer.template weights<conv>() != weights);
}

} // namespace

TEST_CASE(
    "a norm by fixed statistics is the batch norm of an evaluation, in training too, and learns by its gradients") {
    hold<ts::reference::backend>();
#ifdef TESSERA_TEST_HOST
    hold<ts::host::backend>();
#endif
}

TEST_CASE("it is written to network files and read back, and written as C++") {
    for (const bool all : {false, true}) {
        const ts::graph g =
            all ? ts::graph(ts::describe<frozen::net>(samples)) : ts::graph(ts::describe<tuned::net>(samples));
        const ts::io::json written = ts::io::to_json(g.view(), "tuned");
        CHECK(contains(ts::io::to_text(written), "fixed_batch_norm"));
        const ts::io::network_file document = ts::io::network_from_text(ts::io::to_text(written));
        CHECK(ts::io::to_text(ts::io::to_json(document.network.view(), "tuned")) == ts::io::to_text(written));
        int trained = 0;
        for (const ts::parameter_node& p : document.network.parameters) {
            trained += p.trained ? 1 : 0;
        }
        CHECK(trained == (all ? 4 : 6));
    }
}

namespace {

struct lone : ts::batch_norm<> {};
struct flat : ts::sequential<ts::features<6>, lone, fc, ts::cross_entropy> {};
struct lone_fixed : ts::fixed_batch_norm<> {};
struct flat_fixed : ts::sequential<ts::features<6>, lone_fixed, fc, ts::cross_entropy> {};
struct pooled : ts::sequential<ts::image<2, 5, 5>, before::norm, ts::flatten, fc, ts::cross_entropy> {};

template <class Net>
std::string said_of(const ts::strategy& s, int batch, int given, int devices = 1) {
    return message_of([&] {
        ts::trainer<Net, ts::reference::backend> t(ts::local_devices(devices), s, batch, ts::sgd{});
        const ts::index_t each = t.graph().tensors[0].extents.volume() / batch;
        const std::vector<float> x(ts::to_size(each * given), 0.5F);
        const std::vector<std::int32_t> y(ts::to_size(given), 1);
        const std::vector<ts::input_data> inputs{std::span<const float>(x), std::span<const std::int32_t>(y)};
        t.step(inputs);
    });
}
template <class Net>
ts::strategy whole_of(int batch) {
    return ts::strategy(ts::describe<Net>(batch).view());
}

} // namespace

TEST_CASE(
    "statistics of one value for each channel are refused, of a batch, its short last one, a micro-batch and a shard") {
    CHECK(contains(said_of<flat>(whole_of<flat>(1), 1, 1), "lone would take its statistics over one value"));
    CHECK(contains(said_of<flat>(whole_of<flat>(4), 4, 1), "of a batch of 1 sample"));
    CHECK(said_of<flat>(whole_of<flat>(4), 4, 2) == "accepted");
    ts::strategy parts = whole_of<flat>(4);
    parts.micro_batches = 4;
    CHECK(contains(said_of<flat>(parts, 4, 4), "of a micro-batch of 1 sample"));
    parts.micro_batches = 2;
    CHECK(said_of<flat>(parts, 4, 4) == "accepted");
    ts::strategy shards = test_support::data_parallel(ts::describe<flat>(4).view(), 4);
    CHECK(said_of<flat>(shards, 4, 4, 4) == "accepted"); // over the batch, of all devices together
    shards.statistics = ts::statistics_over::replica;
    CHECK(contains(said_of<flat>(shards, 4, 4, 4), "of a shard of 1 sample"));
    CHECK(said_of<flat_fixed>(whole_of<flat_fixed>(1), 1, 1) == "accepted");
    CHECK(said_of<pooled>(whole_of<pooled>(1), 1, 1) == "accepted"); // 25 pixels
    // A network that does not train takes one sample.
    ts::trainer<flat, ts::reference::backend> t(ts::local_devices(1), whole_of<flat>(1), 1, ts::sgd{},
                                                {.for_training = false});
    CHECK(t.predict(ts::feed<ts::features<6>>(std::vector<float>(6, 1.0F))).values.size() == 3);
}
