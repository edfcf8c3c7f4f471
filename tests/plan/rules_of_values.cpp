// SPDX-License-Identifier: Apache-2.0
// One table of mistakes that drives both sides of the rules of pipelines and synchronization:
// tests/compile_fail/NAME.cpp makes the mistake in a type, and the row of that name in a value, which is refused with
// the words, the layer and the numbers that the compiler must print.
#include "docs/page.hpp"
#include "support/refusal.hpp"

#include "tessera/plan/lower/lower.hpp"
#include "tessera/schedule/policies.hpp"
#include "tessera/schedule/schedules.hpp"
#include "tessera/search/pipeline.hpp"

#include <functional>
#include <map>

namespace {

namespace ts = tessera;
namespace schedule = tessera::schedule;
using test_support::contains;
using test_support::message_of;
using ts::action_kind;
using ts::exchange;
using ts::rule;
using ts::strategy;

struct fc1 : ts::linear<8> {};
struct fc2 : ts::linear<8> {};
struct fc3 : ts::linear<4> {};
struct mlp : ts::sequential<ts::features<4>, fc1, ts::relu, fc2, ts::relu, fc3, ts::cross_entropy> {};
namespace with_norm {
struct conv1 : ts::conv2d<4, ts::window<3>> {};
struct norm1 : ts::batch_norm<> {};
struct fc1 : ts::linear<4> {};
struct network : ts::sequential<ts::image<1, 6, 6>, conv1, norm1, ts::relu, ts::flatten, fc1, ts::cross_entropy> {};
} // namespace with_norm
namespace small {
struct fc1 : ts::linear<4> {};
struct network : ts::sequential<ts::features<4>, fc1, ts::cross_entropy> {};
} // namespace small
namespace ignoring {
struct loss : ts::masked_cross_entropy<> {};
struct network : ts::sequential<ts::features<4>, fc1, loss> {};
} // namespace ignoring
namespace half_frozen {
struct fc1 : ts::linear<8> {};
struct fc2 : ts::linear<4, ts::frozen> {};
struct network : ts::sequential<ts::features<4>, fc1, ts::relu, fc2, ts::cross_entropy> {};
} // namespace half_frozen

/// What require() says of a strategy of a network for batches of 8 on two devices.
template <class Net = mlp, class Change>
std::string refused(Change&& change) {
    const ts::graph g = ts::describe<Net>(8);
    strategy s(g.view());
    change(s, g.view());
    return message_of([&] { ts::require(g.view(), s.view(), 2); });
}
/// The same where operators are in stages that begin with those of the list, each on a device of its own.
template <class Net = mlp>
std::string in_stages(const std::vector<int>& first, const ts::pipeline_schedule& order,
                      ts::statistics_over statistics = ts::statistics_over::micro_batch) {
    return refused<Net>([&](strategy& s, const ts::graph_view& g) {
        const std::vector<int> stage = schedule::stages_from(g, first);
        for (std::size_t op = 0; op < stage.size(); ++op) {
            s.ops[op].stage = stage[op];
            s.ops[op].start = stage[op] % 2;
        }
        s.follow(order);
        s.statistics = statistics;
    });
}
std::string of_steps(const std::vector<std::vector<ts::action>>& workers) {
    ts::pipeline_schedule s = schedule::empty_schedule(2, 2, 2);
    s.workers = workers;
    return in_stages({0, 4}, s);
}
std::string joint(const std::vector<int>& first, const ts::pipeline_schedule& order) {
    return in_stages<with_norm::network>(first, order, ts::statistics_over::mini_batch);
}
/// Messages of the small network's weight (0) and bias (1).
std::string sent(const std::vector<ts::message>& all, bool shards = false) {
    return refused<small::network>([&](strategy& s, const ts::graph_view&) {
        s.sync.messages = all;
        s.sync.shards_parameters = shards;
    });
}
std::string changed(const std::function<void(strategy&)>& change) {
    return refused([&](strategy& s, const ts::graph_view&) { change(s); });
}
template <class Make>
std::string made(Make&& make) {
    return message_of([&] { (void)make(); });
}

constexpr action_kind f = action_kind::forward;
constexpr action_kind b = action_kind::backward;
const std::vector<ts::action> second{{1, 0, f}, {1, 0, b}, {1, 1, f}, {1, 1, b}};

const std::vector<schedule::ready_gradient>& gradients() {
    static const std::vector<schedule::ready_gradient> all = schedule::gradients_of(ts::describe<mlp>(8).view());
    return all;
}

/// By the program's name.
const std::map<std::string, std::function<std::string()>>& mistakes() {
    static const std::map<std::string, std::function<std::string()>> all = {
        {"period_on_one_device",
         [] { return changed([](strategy& s) { s.steps_per_plan = 2, s.parameters_on = 0; }); }},
        {"stage_is_negative", [] { return changed([](strategy& s) { s.ops[0].stage = -1; }); }},
        {"stage_reads_later_stage", [] { return changed([](strategy& s) { s.ops[0].stage = 1; }); }},
        {"stage_without_operators", [] { return changed([](strategy& s) { s.ops[5].stage = 2; }); }},
        {"stage_number_is_huge", [] { return changed([](strategy& s) { s.ops[5].stage = 1000000000; }); }},
        {"stages_out_of_order",
         [] { return made([] {
                  return schedule::stages_from(ts::describe<mlp>(8).view(), {0, 4, 2});
              }); }},
        {"schedule_has_other_stages",
         [] {
             return in_stages({0, 2, 4}, schedule::interleaved(1, 2, 4));
         }},
        {"schedule_has_other_micro_batches",
         [] { return changed([](strategy& s) { s.follow(schedule::gpipe(1, 1)), s.micro_batches = 2; }); }},
        {"interleaved_in_wrong_groups", [] { return made([] { return schedule::interleaved(2, 2, 3); }); }},
        {"interleaved_without_workers", [] { return made([] { return schedule::interleaved(0, 3, 4); }); }},
        {"chimera_of_odd_stages", [] { return made([] { return schedule::chimera(3, 4); }); }},
        {"chimera_of_odd_micro_batches", [] { return made([] { return schedule::chimera(2, 5); }); }},
        {"gems_in_uneven_parts",
         [] {
             schedule::settings x{&schedule::gems_record, 2, 4};
             x.options.set(schedule::parts_option.name, 3);
             return made([&] { return schedule::make(x); });
         }},
        {"action_time_is_negative", [] { return made([] {
                                             return schedule::chimera(2, 4, {1, -2});
                                         }); }},
        {"pipeline_without_devices",
         [] {
             return made([] {
                 const ts::graph g = ts::describe<mlp>(8);
                 return ts::search::pipeline(g.view(), schedule::stages_from(g.view(), {0, 4}), schedule::gpipe(2, 4),
                                             0);
             });
         }},
        {"action_comes_twice",
         [] {
             return of_steps({{{0, 0, f}, {0, 1, f}, {0, 0, b}, {0, 1, b}, {0, 1, f}}, second});
         }},
        {"action_is_missing",
         [] {
             return of_steps({{{0, 0, f}, {0, 0, b}, {0, 1, b}}, second});
         }},
        {"action_on_other_worker",
         [] {
             return of_steps(
                 {{{0, 0, f}, {0, 1, f}, {0, 0, b}}, {{1, 0, f}, {1, 0, b}, {1, 1, f}, {1, 1, b}, {0, 1, b}}});
         }},
        {"backward_without_weights",
         [] {
             return of_steps({{{0, 0, f}, {0, 1, f}, {0, 0, b}, {0, 1, b}},
                              {{1, 0, f}, {1, 0, b}, {1, 1, f}, {1, 1, action_kind::backward_input}}});
         }},
        {"schedule_waits_for_itself",
         [] {
             return of_steps(
                 {{{0, 0, f}, {0, 0, b}, {0, 1, f}, {0, 1, b}}, {{1, 1, f}, {1, 1, b}, {1, 0, f}, {1, 0, b}}});
         }},
        {"action_of_negative_stage",
         [] {
             ts::pipeline_schedule s = schedule::gpipe(1, 1);
             s.workers[0].insert(s.workers[0].begin(), {-1, 0, f});
             return in_stages({0}, s);
         }},
        {"mirrored_micro_batch_is_missing",
         [] {
             ts::pipeline_schedule s = schedule::one_forward_one_backward(2, 2);
             s.mirrored = {0, 0, 0, 0, 1};
             return in_stages({0, 4}, s);
         }},
        {"loss_joins_micro_batches",
         [] { return refused<ignoring::network>([](strategy& s, const ts::graph_view&) { s.micro_batches = 2; }); }},
        {"joint_statistics_one_by_one",
         [] {
             return refused<with_norm::network>([](strategy& s, const ts::graph_view&) {
                 s.micro_batches = 2;
                 s.statistics = ts::statistics_over::mini_batch;
             });
         }},
        {"joint_statistics_mirrored",
         [] {
             return joint({0, 4}, schedule::gems(2, 2));
         }},
        {"joint_statistics_split_backward",
         [] {
             return joint({0, 4}, schedule::zero_bubble_h1(2, 2));
         }},
        {"joint_statistics_too_late",
         [] {
             return joint({0, 4}, schedule::one_forward_one_backward(2, 2));
         }},
        {"joint_statistics_out_of_order",
         [] {
             ts::pipeline_schedule s = schedule::empty_schedule(1, 2, 2);
             s.workers[0] = {{0, 0, f}, {0, 1, f}, {1, 0, f}, {1, 1, f}, {1, 0, b}, {0, 0, b}, {1, 1, b}, {0, 1, b}};
             return joint({0, 4}, s);
         }},
        {"no_parameter_servers", [] { return made([] { return schedule::parameter_server(gradients(), {0}); }); }},
        {"p3_in_empty_slices", [] { return made([] {
                                        return schedule::p3(gradients(), {2, 0});
                                    }); }},
        {"buckets_of_nothing", [] { return made([] {
                                        return schedule::buckets(gradients(), {0, 1});
                                    }); }},
        {"first_bucket_is_negative", [] { return made([] {
                                              return schedule::buckets(gradients(), {100, -1});
                                          }); }},
        {"zero_in_empty_buckets", [] { return made([] { return schedule::zero(gradients(), 1, 0); }); }},
        {"fusion_of_negative_bytes", [] { return made([] {
                                              return schedule::tensor_fusion(gradients(), {-1, 1});
                                          }); }},
        {"fusion_in_negative_time",
         [] { return made([] {
                  return schedule::tensor_fusion(gradients(), {100, -5});
              }); }},
        {"byte_scheduler_without_credit",
         [] { return made([] {
                  return schedule::byte_scheduler(gradients(), {exchange::server, 2, 10, 0, {}});
              }); }},
        {"servers_cut_nothing", [] { return made([] {
                                         return schedule::parameter_server(gradients(), {2, 0});
                                     }); }},
        {"gradients_of_no_workers",
         [] { return made([] { return schedule::gradients_of(ts::describe<mlp>(8).view(), {}, 0); }); }},
        {"worker_does_not_compute",
         [] { return made([] {
                  return schedule::gradients_of(ts::describe<mlp>(8).view(), {0, 1});
              }); }},
        {"zero_of_stage_4", [] { return made([] { return schedule::zero(gradients(), 4); }); }},
        {"message_of_frozen_parameter",
         [] {
             return refused<half_frozen::network>([](strategy& s, const ts::graph_view&) {
                 s.sync.messages = {{exchange::sliced, 0, {{0, 0, 1}, {1, 0, 1}, {2, 0, 1}}}};
             });
         }},
        {"slice_outside_gradient",
         [] {
             return sent({{exchange::sliced, 0, {{0, 0, 2}, {0, 2, 2}, {1, 0, 1}}}});
         }},
        {"slice_is_missing",
         [] {
             return sent({{exchange::sliced, 0, {{0, 0, 3}, {0, 1, 3}, {1, 0, 1}}}});
         }},
        {"slices_differ",
         [] {
             return sent({{exchange::sliced, 0, {{0, 0, 1}, {0, 1, 2}, {1, 0, 1}}}});
         }},
        {"slice_sent_twice",
         [] {
             return sent({{exchange::sliced, 0, {{0, 0, 1}, {1, 0, 1}}}, {exchange::server, 1, {{1, 0, 1}}}});
         }},
        {"gradient_not_sent",
         [] {
             return sent({{exchange::ring, 0, {{0, 0, 1}}}});
         }},
        // Older rules, whose programs are new.
        {"micro_batches_are_zero", [] { return changed([](strategy& s) { s.micro_batches = 0; }); }},
        {"micro_batches_exceed_samples", [] { return changed([](strategy& s) { s.micro_batches = 16; }); }},
        {"period_is_zero", [] { return changed([](strategy& s) { s.steps_per_plan = 0; }); }},
        {"parameters_on_missing_device", [] { return changed([](strategy& s) { s.parameters_on = 2; }); }},
        {"stage_device_does_not_exist",
         [] {
             return changed([](strategy& s) {
                 s.ops[2].stage = s.ops[3].stage = s.ops[2].start = s.ops[3].start = 1;
                 s.ops[4].stage = s.ops[5].stage = s.ops[4].start = s.ops[5].start = 2;
             });
         }},
        {"averages_never", [] { return made([] { return schedule::parameter_average(0); }); }},
        {"averages_on_one_device",
         [] { return changed([](strategy& s) { s.sync = schedule::parameter_average(1), s.parameters_on = 0; }); }},
        {"averages_past_the_period",
         [] { return changed([](strategy& s) { s.sync = schedule::parameter_average(3), s.steps_per_plan = 4; }); }},
        {"zero_3_on_one_device",
         [] { return changed([](strategy& s) { s.sync = schedule::zero(gradients(), 3), s.parameters_on = 1; }); }},
        {"times_without_messages",
         [] { return changed([](strategy& s) { s.sync.sum_at = ts::sync_time::after_backward; }); }},
        {"slices_without_messages", [] { return sent({}, true); }},
        {"compression_without_messages",
         [] { return changed([](strategy& s) { s.sync.compress = ts::compression::eight_bits; }); }},
        {"compression_on_one_device",
         [] {
             return changed(
                 [](strategy& s) { s.sync = schedule::eight_bit_gradients(gradients()), s.parameters_on = 0; });
         }},
        {"compression_with_one_device",
         [] {
             return made([] {
                 const ts::graph g = ts::describe<mlp>(8);
                 strategy s(g.view());
                 s.sync = schedule::one_bit_gradients(gradients());
                 ts::require(g.view(), s.view(), 1);
                 return s;
             });
         }},
        {"compression_of_slices_of_parameters",
         [] {
             return changed([](strategy& s) {
                 s.sync = schedule::zero(gradients(), 3);
                 s.sync.compress = ts::compression::one_bit;
             });
         }},
        {"compression_in_slices",
         [] {
             return changed([](strategy& s) {
                 s.sync.messages = {{exchange::all_reduce, 0, {{0, 0, 2}, {0, 1, 2}, {1, 0, 1}}}};
                 s.sync.compress = ts::compression::eight_bits;
             });
         }},
        {"compression_in_empty_blocks",
         [] { return made([] { return schedule::eight_bit_gradients(gradients(), 0); }); }},
        {"compression_to_nothing", [] { return made([] { return schedule::top_k_gradients(gradients(), 0); }); }},
        {"staleness_past_the_period",
         [] {
             return changed(
                 [](strategy& s) { s.sync = schedule::stale_gradients(gradients(), 4), s.steps_per_plan = 4; });
         }},
        {"staleness_is_negative", [] { return made([] { return schedule::stale_gradients(gradients(), -1); }); }},
        {"staleness_without_waiting",
         [] {
             return changed([](strategy& s) {
                 s.sync = schedule::stale_gradients(gradients(), 1), s.steps_per_plan = 4;
                 s.sync.update_at = ts::sync_time::ready;
             });
         }},
        {"slices_all_reduced",
         [] {
             return sent({{exchange::all_reduce, 0, {{0, 0, 1}, {1, 0, 1}}}}, true);
         }},
        {"slices_in_slices",
         [] {
             return sent({{exchange::sliced, 0, {{0, 0, 2}, {0, 1, 2}, {1, 0, 1}}}}, true);
         }},
    };
    return all;
}

/// Rules that only values meet.
const std::map<rule, std::function<std::string()>>& of_values_alone() {
    static const std::map<rule, std::function<std::string()>> all = {
        {rule::stages_for_other_operators,
         [] {
             return made([] {
                 return ts::search::pipeline(ts::describe<mlp>(8).view(), {0, 0, 0, 1, 1}, schedule::gpipe(2, 4));
             });
         }},
        {rule::stage_outside_schedule,
         [] {
             return made([] {
                 return ts::search::pipeline(ts::describe<mlp>(8).view(), {0, 0, 0, 1, 1, 2}, schedule::gpipe(2, 4));
             });
         }},
        {rule::devices_for_other_workers,
         [] {
             return made([] {
                 return ts::search::pipeline(ts::describe<mlp>(8).view(), {0, 0, 0, 1, 1, 1}, schedule::gpipe(2, 4),
                                             ts::search::pipeline_options{.widths = {1, 1, 1}});
             });
         }},
        {rule::load_is_negative, [] { return made([] {
                                          return schedule::balance_stages({1, -2}, 1);
                                      }); }},
        {rule::times_for_other_stages,
         [] {
             return made([] {
                 return schedule::timetable_of(schedule::gpipe(2, 2), std::vector<schedule::action_times>(3),
                                               schedule::chain_of_stages(2));
             });
         }},
        {rule::followers_of_other_stages,
         [] { return made([] {
                  return schedule::timetable_of(schedule::gpipe(2, 2), {{}}, {{1}, {2}});
              }); }},
        {rule::averages_need_plain_sgd,
         [] {
             return made([] {
                 const ts::graph g = ts::describe<mlp>(8);
                 strategy s(g.view());
                 s.sync = schedule::parameter_average(1);
                 ts::lower_options o;
                 o.update = ts::sgd{.momentum = 0.9F};
                 return ts::lower(g.view(), s.view(), 2, o);
             });
         }},
        {rule::compression_without_norms,
         [] {
             return made([] {
                 const ts::graph g = ts::describe<mlp>(8);
                 strategy s(g.view());
                 s.sync = schedule::eight_bit_gradients(gradients());
                 ts::lower_options o;
                 o.update = ts::optimizer(ts::sgd{}, 1.0F);
                 return ts::lower(g.view(), s.view(), 2, o);
             });
         }},
        {rule::staleness_without_norms,
         [] {
             return made([] {
                 const ts::graph g = ts::describe<mlp>(8);
                 strategy s(g.view());
                 s.sync = schedule::stale_gradients(gradients(), 1);
                 s.steps_per_plan = 2;
                 ts::lower_options o;
                 o.update = ts::optimizer(ts::sgd{}, 1.0F);
                 return ts::lower(g.view(), s.view(), 2, o);
             });
         }},
        {rule::state_on_host_without_state,
         [] {
             return made([] {
                 const ts::graph g = ts::describe<mlp>(8);
                 strategy s(g.view());
                 s.state_on_host = true;
                 ts::lower_options o;
                 o.update = ts::sgd{};
                 return ts::lower(g.view(), s.view(), 1, o);
             });
         }},
    };
    return all;
}

/// What a program's compiler must print, as an exception says it; empty: it says it in another way.
std::string as_said(const std::string& printed) {
    const auto inside = [&](const std::string& name) {
        const std::size_t at = printed.find(name + "<");
        return at == std::string::npos
                   ? std::string()
                   : printed.substr(at + name.size() + 1, printed.rfind('>') - at - name.size() - 1);
    };
    if (const std::string n = inside("found"); !n.empty()) {
        return "found " + n + ",";
    }
    if (const std::string n = inside("needed"); !n.empty()) {
        return "needed " + n + "]";
    }
    if (std::string n = inside("layer"); !n.empty()) {
        n = n == "network" ? "(the network itself)" : n;
        return "[layer " + (n.rfind("tessera::", 0) == 0 ? n.substr(9) : n);
    }
    if (contains(printed, "action_kind::")) { // forward, 0, 1>
        std::string what = printed.substr(printed.find("::") + 2);
        const std::size_t stage = what.find(", ");
        const std::size_t m = what.find(", ", stage + 2);
        const std::string of = what.substr(stage + 2, m - stage - 2);
        const std::string of_micro_batch = what.substr(m + 2, what.size() - m - 3);
        what = what.substr(0, stage) + (of[0] == '-' ? ", " : " of stage " + of + ", ");
        return what + (of_micro_batch[0] == '-' ? "" : "micro-batch " + of_micro_batch + ", ");
    }
    return contains(printed, "saying<") ? "" : printed;
}

std::vector<std::string> expectations(const std::string& text) {
    std::vector<std::string> all;
    std::istringstream lines(text);
    const std::string mark = "// expect-error: ";
    for (std::string line; std::getline(lines, line);) {
        if (line.rfind(mark, 0) == 0) {
            all.push_back(line.substr(mark.size()));
        }
    }
    return all;
}

/// The rules of this table.
bool is_ours(rule r) {
    return r == rule::period_on_one_device ||
           (r >= rule::compression_without_messages && r <= rule::staleness_out_of_range) ||
           (r >= rule::stage_is_negative && r <= rule::state_on_host_without_state);
}

} // namespace

TEST_CASE("a value that makes a program's mistake is refused with the words and numbers that the compiler prints") {
    for (const auto& [made_by, mistake] : mistakes()) {
        const auto& program = made_by; // clang 14 captures no structured bindings
        CAPTURE(program);
        const std::string said = mistake();
        CAPTURE(said);
        const std::vector<std::string> printed =
            expectations(test::read_text(test::project_root() / "tests/compile_fail" / (program + ".cpp")));
        CHECK(printed.size() >= 3);
        for (const std::string& line : printed) {
            CAPTURE(line);
            CHECK(contains(said, as_said(line)));
        }
    }
}

TEST_CASE("every rule of pipelines and synchronization is in the table, and every program that shows one") {
    std::map<rule, int> met;
    const auto rule_of = [](const std::string& words) {
        for (int i = 1; i < 256 && std::string(ts::to_text(static_cast<rule>(i))) != ts::to_text(rule::none); ++i) {
            if (words.rfind(ts::to_text(static_cast<rule>(i)), 0) == 0) {
                return static_cast<rule>(i);
            }
        }
        return rule::none;
    };
    for (const auto& path : test::files_below("tests/compile_fail", {".cpp"})) {
        const std::vector<std::string> printed = expectations(test::read_text(path));
        const rule shown = printed.empty() ? rule::none : rule_of(printed[0]);
        const std::string name = path.stem().string();
        CAPTURE(name);
        if (is_ours(shown) && name != "message_of_layer_without_parameters") { // a value has no such parameter
            ++met[shown];
            CHECK(mistakes().count(name) == 1);
        }
    }
    for (const auto& [broken, mistake] : of_values_alone()) {
        const std::string said = mistake();
        CAPTURE(said);
        CHECK(rule_of(said.substr(said.find(' ') + 1)) == broken);
        ++met[broken];
    }
    for (int i = 1; i < 256 && std::string(ts::to_text(static_cast<rule>(i))) != ts::to_text(rule::none); ++i) {
        CAPTURE(ts::to_text(static_cast<rule>(i)));
        CHECK((!is_ours(static_cast<rule>(i)) || met[static_cast<rule>(i)] > 0));
    }
}
