// SPDX-License-Identifier: Apache-2.0
// A plan as a text in which every number of it stands, and a number of 64 bits for a text: what must stay as it is when
// the inside of planning changes. The names in it stay as they were recorded, whatever the fields are called now.
#pragma once

#include "tessera/plan/plan.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace test_support {

/// Writes names and numbers, a line for every tile, task and list.
class canonical_plan {
public:
    explicit canonical_plan(const tessera::plan& p) {
        plan_itself(p);
        for (const tessera::tile& t : p.tiles) {
            add(t);
        }
        for (const tessera::task& t : p.tasks) {
            add(t);
        }
        for (const std::vector<int>& list : p.order) {
            say("list", list);
            end();
        }
        for (const auto* all : {&p.results, &p.gradients}) {
            for (const tessera::result_piece& r : *all) {
                say(all == &p.results ? "result" : "gradient", std::vector<int>{r.tensor, r.summand, r.tile, r.step});
            }
            end();
        }
    }
    const std::string& text() const { return text_; }

private:
    void end() { text_ += '\n'; }
    template <class T>
    void say(const char* name, const T& x) {
        text_ += name;
        text_ += ' ';
        if constexpr (requires { x.begin() != x.end(); }) {
            for (const auto& i : x) {
                text_ += std::to_string(i) + ",";
            }
        } else if constexpr (std::is_same_v<T, tessera::box>) {
            for (int d = 0; d < x.rank; ++d) {
                text_ += std::to_string(x.dim[d].begin) + ":" + std::to_string(x.dim[d].end) + ",";
            }
        } else if constexpr (std::is_enum_v<T>) {
            text_ += to_text(x);
        } else {
            text_ += std::to_string(x);
        }
        text_ += ' ';
    }

    void plan_itself(const tessera::plan& p) {
        say("training", p.kind == tessera::run_kind::training);
        say("devices", p.devices);
        say("lanes", p.streams);
        say("micro_batches", p.micro_batches);
        say("joint", p.joint_statistics);
        say("replica", p.replica_statistics);
        say("period", p.steps_per_plan);
        say("loss_scale", p.loss_scale);
        say("states", p.states);
        say("clips", p.clips);
        say("average_every", p.average_every);
        say("output_gradient", p.output_gradient);
        say("alignment", p.alignment);
        say("arena", p.arena_bytes);
        say("persistent", p.persistent_bytes);
        say("moved", p.moved_bytes);
        end();
    }

    void add(const tessera::tile& t) {
        say("tile", t.kind);
        say("tensor", t.tensor);
        say("region", t.region);
        say("device", t.device);
        say("type", static_cast<int>(t.type));
        say("alias", t.alias);
        say("keep", t.keep);
        say("part", t.summand);
        say("origin", t.origin);
        say("micro_batch", t.micro_batch);
        say("replica", t.replica);
        say("step", t.step);
        say("elements", t.elements);
        say("slice", t.slice);
        say("slices", t.slices);
        say("format", t.format);
        say("bytes", t.bytes);
        say("offset", t.offset);
        end();
    }

    void add(const tessera::task& t) {
        say("task", t.kind());
        say("op", t.op);
        say("pass", t.what);
        say("shard", t.shard_number);
        say("micro_batch", t.micro_batch);
        say("step", t.step);
        say("device", t.device);
        say("lane", t.stream);
        say("reads", t.reads);
        say("writes", t.writes);
        say("nests", t.compute().first_nest * 100 + t.compute().last_nest);
        say("emits", t.compute().emits);
        say("first_part", t.compute().first_part);
        constexpr int always = 9; // more are said where there are more, so that a larger max_loops changes no hash
        for (int l = 0; l < tessera::max_loops; ++l) {
            const tessera::interval& r = t.compute().ranges[l];
            if (l < always || r.end != 0) {
                say("range", std::vector<tessera::index_t>{r.begin, r.end});
            }
        }
        say("value", std::vector<int>(std::begin(t.compute().value), std::end(t.compute().value)));
        say("gradient", std::vector<int>(std::begin(t.compute().gradient), std::end(t.compute().gradient)));
        say("samples", t.compute().samples);
        say("running", t.compute().running);
        for (const tessera::copy_segment& s : t.copy().segments) {
            say("segment", s.source);
            say("of", s.region);
            say("overwrites", s.overwrite);
        }
        say("clear", t.copy().clear);
        say("reduce", static_cast<int>(t.copy().reduce));
        say("parameter", t.params().parameter);
        for (const tessera::task_parameter& x : t.params().parts) {
            say("part", std::vector<int>{x.parameter, x.reads, x.writes, x.state});
        }
        say("slice", t.params().slice);
        say("slices", t.params().slices);
        say("state", t.params().state);
        say("norms", t.params().norms);
        if (!t.params().layer_norms.empty()) {
            say("layer_norms", t.params().layer_norms);
        }
        for (const tessera::box& b : t.params().counted_elsewhere) {
            say("elsewhere", b);
        }
        say("scale", t.params().scale);
        say("how", static_cast<int>(t.params().method));
        say("message", t.params().message);
        say("late", t.late);
        say("implementation", t.compute().implementation);
        say("fused", t.compute().fused);
        say("activates", t.compute().activates);
        say("beside", t.side_stream);
        say("flag", t.nonfinite_count);
        say("scratch", t.scratch);
        say("workspace", t.compute().workspace);
        for (const tessera::wait_for& w : t.waits) {
            say("wait", std::vector<int>{w.list, w.count});
        }
        say("after", t.after);
        say("priority", t.priority);
        say("position", t.position);
        end();
    }

    std::string text_;
};

/// FNV-1a of a text, as 16 digits.
inline std::string digest_of(std::string_view text) {
    std::uint64_t h = 0xcbf29ce484222325ULL;
    for (const char c : text) {
        h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    }
    std::string digits(16, '0');
    for (std::size_t i = 16; i-- > 0; h >>= 4U) {
        digits[i] = "0123456789abcdef"[h & 15U];
    }
    return digits;
}

} // namespace test_support
