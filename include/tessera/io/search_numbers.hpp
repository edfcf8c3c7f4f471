// SPDX-License-Identifier: Apache-2.0
// Strategies as the numbers of a search file, all fields of them: see search_file.hpp.
#pragma once

#include "tessera/base/error.hpp"
#include "tessera/layout/strategy.hpp"

#include <charconv>
#include <iterator>
#include <string>
#include <string_view>

namespace tessera::io::detail {

class search_writer {
public:
    void number(std::int64_t x) { text += std::to_string(x) + ' '; }
    void line() { text.back() = '\n'; }

    // Names for all members of a value: one that is added and forgotten here does not compile.
    void write(const strategy& s) {
        const auto& [ops, pool, micro_batches, period, schedule, statistics, parameters_on, overlap, sync] = s;
        for (const std::int64_t x :
             {micro_batches, period, static_cast<int>(statistics), parameters_on, overlap ? 1 : 0}) {
            number(x);
        }
        count(ops);
        count(pool);
        line();
        for (const configuration& c : ops) {
            write(c);
        }
        write(schedule);
        write(sync);
        for (const index_t x : pool) {
            number(x);
        }
        text += "end\n";
    }
    std::string text;

private:
    template <class List>
    void count(const List& list) {
        number(static_cast<std::int64_t>(list.size()));
    }
    void write(const configuration& c) {
        const auto& [degree, cuts, partial, replicate, start, stride, devices, uneven, reduces, stage, recompute] = c;
        for (int l = 0; l < max_loops; ++l) {
            number(degree[l]);
            number(cuts[l]);
        }
        for (const int x :
             {partial, replicate, start, stride, devices, uneven ? 1 : 0, reduces ? 1 : 0, stage, recompute ? 1 : 0}) {
            number(x);
        }
        line();
    }
    void write(const pipeline_schedule& s) {
        const auto& [stages, micro_batches, workers, mirrored, keeps] = s;
        number(stages);
        number(micro_batches);
        count(workers);
        for (const std::vector<step>& list : workers) {
            count(list);
            for (const auto& [stage, micro_batch, what] : list) {
                number(stage);
                number(micro_batch);
                number(static_cast<int>(what));
            }
        }
        for (const std::vector<char>* marks : {&mirrored, &keeps}) {
            count(*marks);
            for (const char m : *marks) {
                number(m != 0 ? 1 : 0);
            }
        }
        line();
    }
    void write(const synchronization& s) {
        const auto& [messages, sum_at, update_at, urgent_first, shards_parameters, average_every] = s;
        for (const int x : {static_cast<int>(sum_at), static_cast<int>(update_at), urgent_first ? 1 : 0,
                            shards_parameters ? 1 : 0, average_every}) {
            number(x);
        }
        count(messages);
        line();
        for (const auto& [how, server, pieces] : messages) {
            number(static_cast<int>(how));
            number(server);
            count(pieces);
            for (const auto& [parameter, slice, slices] : pieces) {
                number(parameter);
                number(slice);
                number(slices);
            }
            line();
        }
    }
};

class search_reader {
public:
    explicit search_reader(std::string_view text) : text_(text) {}

    [[noreturn]] static void refuse(const std::string& what) { throw error("tessera: search file: " + what); }

    std::string_view word() {
        const std::size_t end = std::min(text_.find_first_of(" \n", at_), text_.size());
        const std::string_view w = text_.substr(at_, end - at_);
        at_ = std::min(end + 1, text_.size());
        return w;
    }
    std::string_view rest_of_line() {
        const std::size_t end = std::min(text_.find('\n', at_), text_.size());
        const std::string_view w = text_.substr(at_, end - at_);
        at_ = std::min(end + 1, text_.size());
        return w;
    }
    /// The next so many bytes, which must be there.
    std::string text(std::size_t bytes) {
        if (bytes > text_.size() - at_) {
            refuse("it ends too early; the file is incomplete");
        }
        at_ += bytes;
        return std::string(text_.substr(at_ - bytes, bytes));
    }
    template <class T>
    T number(T least, T most, const char* what) {
        const std::string_view w = word();
        T x{};
        const auto [end, failed] = std::from_chars(w.data(), w.data() + w.size(), x);
        if (failed != std::errc{} || end != w.data() + w.size() || x < least || x > most) {
            refuse(std::string(what) + " is '" + std::string(w.substr(0, 40)) + "', which is not a number from " +
                   std::to_string(least) + " to " + std::to_string(most));
        }
        return x;
    }
    int small(const char* what, int least = INT32_MIN) { return number<int>(least, INT32_MAX, what); }
    bool flag(const char* what) { return number<int>(0, 1, what) == 1; }
    std::int64_t count(const char* what, std::int64_t most = INT64_MAX) { return number<std::int64_t>(0, most, what); }
    bool finished() const { return at_ == text_.size(); }

    strategy read_strategy(int operators) {
        strategy s;
        auto& [ops, pool, micro_batches, period, schedule, statistics, parameters_on, overlap, sync] = s;
        micro_batches = small("the number of micro-batches", 1);
        period = small("the period", 1);
        statistics = choice<statistics_over>(std::size(all_statistics), "the kind of statistics");
        parameters_on = small("the device that stores the parameters", -1);
        overlap = flag("'overlap'");
        const int count_of_ops = small("the number of operators", 0);
        if (count_of_ops != operators) {
            refuse("a strategy has " + std::to_string(count_of_ops) + " operators and the network has " +
                   std::to_string(operators));
        }
        const std::int64_t numbers = length("the number of devices listed");
        for (int op = 0; op < operators; ++op) {
            ops.push_back(read_configuration());
        }
        schedule = read_schedule();
        sync = read_synchronization();
        for (std::int64_t i = 0; i < numbers; ++i) {
            pool.push_back(number<index_t>(INT64_MIN, INT64_MAX, "a device"));
        }
        if (word() != "end") {
            refuse("a strategy does not end where it should");
        }
        return s;
    }

private:
    /// Of a list, which cannot be longer than the file.
    std::int64_t length(const char* what) { return count(what, static_cast<std::int64_t>(text_.size())); }
    template <class Choice>
    Choice choice(std::size_t values, const char* what) {
        return static_cast<Choice>(number<int>(0, static_cast<int>(values) - 1, what));
    }
    configuration read_configuration() {
        configuration c;
        auto& [degree, cuts, partial, replicate, start, stride, devices, uneven, reduces, stage, recompute] = c;
        for (int l = 0; l < max_loops; ++l) {
            degree[l] = small("a degree", 1);
            cuts[l] = number<int>(-1, INT32_MAX / 2, "a place of cut points");
        }
        partial = small("a number of parts", 1);
        replicate = small("a number of replicas", 1);
        start = small("a first device");
        stride = small("a stride");
        devices = number<int>(-1, INT32_MAX / 2, "a place of devices");
        uneven = flag("'uneven'");
        reduces = flag("'reduces'");
        stage = small("a stage", 0);
        recompute = flag("'recompute'");
        return c;
    }
    pipeline_schedule read_schedule() {
        pipeline_schedule s;
        auto& [stages, micro_batches, workers, mirrored, keeps] = s;
        stages = small("the number of stages", 0);
        micro_batches = small("the number of micro-batches of a schedule", 1);
        workers.resize(static_cast<std::size_t>(length("the number of workers")));
        for (std::vector<step>& list : workers) {
            const std::int64_t steps = length("the number of steps");
            for (std::int64_t i = 0; i < steps; ++i) {
                step x;
                auto& [own, micro_batch, what] = x;
                own = small("the stage of a step", 0);
                micro_batch = small("the micro-batch of a step", 0);
                what = choice<step_kind>(std::size_t{1} + static_cast<int>(step_kind::backward_weight), "a step");
                list.push_back(x);
            }
        }
        for (std::vector<char>* marks : {&mirrored, &keeps}) {
            const std::int64_t marked = length("the number of marks of micro-batches");
            for (std::int64_t i = 0; i < marked; ++i) {
                marks->push_back(flag("the mark of a micro-batch") ? 1 : 0);
            }
        }
        return s;
    }
    synchronization read_synchronization() {
        synchronization s;
        auto& [messages, sum_at, update_at, urgent_first, shards_parameters, average_every] = s;
        sum_at = choice<sync_time>(2, "when gradients are summed");
        update_at = choice<sync_time>(2, "when parameters are updated");
        urgent_first = flag("'urgent_first'");
        shards_parameters = flag("'shards_parameters'");
        average_every = small("the number of steps between averages", 0);
        const std::int64_t all = length("the number of messages");
        for (std::int64_t i = 0; i < all; ++i) {
            message m;
            auto& [how, server, pieces] = m;
            how = choice<exchange>(std::size_t{1} + static_cast<int>(exchange::server), "how a message goes");
            server = small("the server of a message", 0);
            const std::int64_t parts = length("the number of pieces of a message");
            for (std::int64_t k = 0; k < parts; ++k) {
                gradient_slice x;
                auto& [parameter, slice, slices] = x;
                parameter = small("a parameter", 0);
                slice = small("a slice", 0);
                slices = small("a number of slices", 1);
                pieces.push_back(x);
            }
            messages.push_back(static_cast<message&&>(m));
        }
        return s;
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

} // namespace tessera::io::detail
