// SPDX-License-Identifier: Apache-2.0
// docs/adding_a_backend.md, word for word: a backend that counts, and training on it.
// clang-format off
#include <tessera/backend/reference/backend.hpp>
#include <tessera/base/mutex.hpp>
#include <tessera/execute/trainer.hpp>

#include <deque>

namespace ts = tessera;

/// Runs every task as the reference backend does, and counts how often.
class counting_backend {
public:
    explicit counting_backend(const ts::optimizer& update) : plain_(update) {}

    /// Whether it computes a pass of an operator. Trainers ask while they are compiled.
    static constexpr bool supports(const ts::op_record& r, ts::pass what, ts::precision p) {
        return ts::reference::backend::supports(r, what, p);
    }

    /// Chooses an implementation for every task and a format for every tile. Plain formats are what a plan begins with.
    void bind(ts::plan& p, const ts::graph_view& g, const ts::parameter_store* store) { plain_.bind(p, g, store); }

    /// Called on the thread of a device, before its tasks are prepared there.
    void start(int device) { plain_.start(device); }

    /// What runs a task, given where its tiles lie. Made once, on the thread of the task's device; called in every
    /// step.
    ts::runnable prepare(const ts::plan& p, int index, const ts::graph_view& g, const ts::addresses& where) {
        const ts::locked hold(mutex_); // devices prepare their tasks at the same time
        counted& task = tasks_.emplace_back();
        task.what = plain_.prepare(p, index, g, where);
        return {[](void* context, const ts::run_state& run) {
                    counted& t = *static_cast<counted*>(context);
                    ++t.runs;
                    t.what.call(t.what.context, run);
                },
                &task};
    }

    /// Numbers of a tile as the caller sees them, whatever the format.
    void to_plain(const ts::tile& t, const std::byte* from, float* to) const { plain_.to_plain(t, from, to); }
    void from_plain(const ts::tile& t, const float* from, std::byte* to) const { plain_.from_plain(t, from, to); }

    struct counted {
        ts::runnable what;
        int runs = 0;
    };
    const std::deque<counted>& tasks() const { return tasks_; }

private:
    ts::reference::backend plain_;
    ts::mutex mutex_;
    std::deque<counted> tasks_; // which do not move
};
// clang-format on

#include <doctest/doctest.h>

#include <tessera/search/by_hand/baselines.hpp>

namespace {

struct fc1 : ts::linear<8> {};
struct fc2 : ts::linear<8> {};
struct network : ts::sequential<ts::features<6>, fc1, ts::relu, fc2, ts::cross_entropy> {};

} // namespace

TEST_CASE("training on the backend of the page") {
    std::vector<float> numbers;
    std::vector<std::int32_t> labels;
    for (int i = 0; i < 16 * 6; ++i) {
        numbers.push_back(static_cast<float>(i % 7) / 7.0F - 0.5F);
    }
    for (int i = 0; i < 16; ++i) {
        labels.push_back(i % 8);
    }
    const std::vector<ts::input_data> batch{std::span<const float>(numbers), std::span<const std::int32_t>(labels)};
    const ts::graph g = ts::describe<network>(16);
    // clang-format off
    const ts::strategy s = ts::search::data_parallel(g.view(), 2);
    const ts::optimizer update(ts::sgd{.learning_rate = 0.1F});
    ts::workers threads(2);

    counting_backend counting(update);
    ts::session<counting_backend> trained(g.view(), s, 2, update, {}, counting, threads);
    ts::reference::backend plain(update);
    ts::session<ts::reference::backend> other(g.view(), s, 2, update, {}, plain, threads);
    for (int step = 0; step < 3; ++step) {
        CHECK(trained.step(batch) == other.step(batch)); // to the bit
    }
    CHECK(counting.tasks().size() == trained.training_plan().tasks.size());
    for (const counting_backend::counted& task : counting.tasks()) {
        CHECK(task.runs == 3);
    }
    // clang-format on
    static_assert(ts::Backend<counting_backend>);
}
