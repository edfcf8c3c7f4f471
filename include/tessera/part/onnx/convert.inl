// SPDX-License-Identifier: Apache-2.0
// Bodies of convert.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/part/onnx/convert.hpp"

namespace tessera::onnx {

TESSERA_INLINE converter::converter(const model& m, const options& given, const std::string& called)
    : model_(m), how_(given), called_(called) {
    t_.opset = m.opset;
    t_.source = &m.graph;
    t_.most_numbers = 4 * m.bytes + (index_t{1} << 26);
}

TESSERA_INLINE translated converter::run() {
    const graph& g = model_.graph;
    if (model_.opset < oldest_opset || model_.opset > newest_opset) {
        throw error("tessera: '" + called_ + "' is of opset " + std::to_string(model_.opset) + ", and " +
                    std::to_string(oldest_opset) + " to " + std::to_string(newest_opset) +
                    " are read; export the model with one of them, such as 18");
    }
    if (g.outputs.empty() || g.nodes.empty() || g.nodes.size() > most_foreign_nodes) {
        throw error("tessera: '" + called_ + "' has " + std::to_string(g.nodes.size()) + " nodes and " +
                    std::to_string(g.outputs.size()) + " outputs; a network has at least one of each, and at most " +
                    std::to_string(most_foreign_nodes) + " nodes");
    }
    count_readers(g);
    take_initializers(g);
    take_inputs(g);
    for (const node& n : g.nodes) {
        translate(n);
    }
    refuse_problems();
    return finished(g);
}

TESSERA_INLINE void converter::refuse_problems() const {
    if (problems_.empty()) {
        return;
    }
    std::string text = "tessera: '" + called_ + "' has what a network has no words for:";
    for (std::size_t i = 0; i < problems_.size() && i < 100; ++i) {
        text += "\n  " + problems_[i];
    }
    throw error(text + (problems_.size() > 100 ? "\n  and " + std::to_string(problems_.size() - 100) + " more" : ""));
}

TESSERA_INLINE void converter::count_readers(const graph& g) {
    for (const node& n : g.nodes) {
        for (const std::string& i : n.inputs) {
            ++t_.readers[i];
            t_.first_reader.emplace(i, &n);
        }
    }
    for (const value_info& o : g.outputs) {
        t_.readers[o.name] += 2; // whatever reads it, it stays
    }
}

TESSERA_INLINE void converter::take_initializers(const graph& g) {
    if (g.has_sparse) {
        problem("sparse initializers are not read");
    }
    for (const tensor& i : g.initializers) {
        try {
            if (t_.readers.count(i.name) > 0) {
                t_.values[i.name] = t_.hold(constant_of(i));
            }
        } catch (const cannot_say& e) {
            problem(e.why);
            t_.values[i.name] = value{};
        }
    }
}

TESSERA_INLINE void converter::take_inputs(const graph& g) {
    const value_info* first = nullptr;
    for (const value_info& i : g.inputs) {
        if (t_.values.count(i.name) > 0) {
            continue; // an initializer that may be given anew
        }
        t_.values[i.name] = value{};
        const bool number = is_number(i.type);
        if (!i.is_tensor || !i.has_shape || i.dimensions.empty() || i.dimensions.size() > max_rank ||
            (!number && i.type != data_type::i32 && i.type != data_type::i64)) {
            problem("the input '" + i.name + "' is of " + (i.is_tensor ? to_text(i.type) : "no tensor's type") +
                    " with " + std::to_string(i.dimensions.size()) +
                    " dimensions; tensors of numbers, int32 and int64 with 1 to 5 are read");
            continue;
        }
        const dimension& n = i.dimensions[0];
        if (first == nullptr) {
            first = &i;
            t_.one_sample = n.extent == 1 && n.name.empty();
            t_.samples = n.extent > 1 ? n.extent : stand_in_samples;
            said_ = n.extent;
        } else if (n.extent != said_ || (n.extent < 0 && n.name != first->dimensions[0].name)) {
            problem("the input '" + i.name + "' has other samples, its first dimension, than the input '" +
                    first->name + "'");
            continue;
        }
        shape s = make_shape(t_.samples);
        bool fine = true;
        for (std::size_t d = 1; d < i.dimensions.size(); ++d) {
            const dimension& x = i.dimensions[d];
            fine = fine && x.extent > 0 && x.extent < INT32_MAX;
            if (x.extent <= 0 || x.extent >= INT32_MAX) {
                problem("dimension " + std::to_string(d) + " of the input '" + i.name + "' is " +
                        (x.extent >= 0    ? std::to_string(x.extent)
                         : x.name.empty() ? "not said"
                                          : "'" + x.name + "', which may be anything") +
                        "; only the samples may be: export the model with its size");
            }
            s.extent[s.rank++] = x.extent;
        }
        if (n.extent == 0 || n.extent >= INT32_MAX || (fine && is_too_large(s))) {
            problem("the input '" + i.name + "' has no samples, or is too large");
            fine = false;
        }
        if (fine) {
            t_.values[i.name] = translation::data(t_.w.input(i.name, s, number ? element::f32 : element::i32));
            if (number && i.type != data_type::f32) {
                t_.note("the input '" + i.name + "' is of " + to_text(i.type) + ", and fp32 in the network");
            }
        }
    }
    if (first == nullptr) {
        problem("it has no inputs");
    }
}

TESSERA_INLINE void converter::translate(const node& n) {
    const std::string at =
        "node '" + (n.name.empty() ? (n.outputs.empty() ? "" : n.outputs[0]) : n.name) + "' (" + n.type + ")";
    const auto done = t_.done.find(&n);
    if (done != t_.done.end()) {
        t_.values[n.outputs[0]] = t_.values[done->second];
        return;
    }
    try {
        for (const std::string& i : n.inputs) {
            const auto found = t_.values.find(i);
            if (!i.empty() && found == t_.values.end()) {
                throw cannot_say{"it reads '" + i + "', which nothing before it makes"};
            }
            if (!i.empty() && found->second.is == value::kind::nothing) {
                forget(n); // what is wrong with it is listed already
                return check_type(model_, n);
            }
        }
        check_type(model_, n);
        call c(t_, n);
        if (fold(c)) {
            return;
        }
        for (const node_handler& h : node_handlers) {
            if (n.type == h.type) {
                c.require(!c.in.empty() && !n.outputs.empty(), "it has no inputs, or no outputs");
                return h.handle(c);
            }
        }
        throw cannot_say{"there is no operator for it where its inputs are computed of the model's; of constants and "
                         "shapes alone it is computed as the model is read"};
    } catch (const cannot_say& e) {
        problem(at + ": " + e.why);
        forget(n);
    }
}

TESSERA_INLINE void converter::forget(const node& n) {
    for (const std::string& o : n.outputs) {
        t_.values[o] = value{};
    }
}

TESSERA_INLINE translated converter::finished(const graph& g) {
    translated out;
    const auto found = t_.values.find(g.outputs[0].name);
    if (found == t_.values.end() || found->second.is != value::kind::data) {
        problem("the output '" + g.outputs[0].name + "' is not computed of the model's inputs");
        refuse_problems();
    }
    try {
        const view result = t_.w.whole(found->second.v, "result");
        if (t_.w.node_at(result.node).is_input) {
            throw cannot_say{"it is an input"};
        }
        out.result = result.node;
        add_loss(result);
    } catch (const cannot_say& e) {
        problem("the output '" + g.outputs[0].name + "': " + e.why);
        refuse_problems();
    }
    if (g.outputs.size() > 1) {
        t_.note("of " + std::to_string(g.outputs.size()) +
                " outputs the first has the loss; what only the others need is left out");
    }
    if (!t_.apart.empty()) {
        t_.note(std::to_string(t_.apart.size()) + " initializers, such as " + *t_.apart.begin() +
                ", are read in several ways, each of which is trained by itself");
    }
    t_.w.keep_what_is_read({out.result, static_cast<int>(t_.w.nodes.size()) - 1});
    out.result = t_.w.moved_to[to_size(out.result)];
    out.name = g.name.empty() ? "model" : g.name;
    out.batch = how_.batch > 0 ? how_.batch : said_ > 0 ? said_ : 1;
    out.written = std::move(t_.w);
    out.notes = std::move(t_.notes);
    return out;
}

TESSERA_INLINE void converter::add_loss(const view& result) {
    const op_attributes loss = network_writer::named(how_.loss);
    const op_record& record = record_of(loss);
    if (!record.facts.loss || record.inputs != 2) {
        throw cannot_say{"'" + how_.loss + "' is no loss of a tensor and labels, such as cross_entropy or mse_loss"};
    }
    view read = result;
    const written_node& last = t_.w.node_at(result.node);
    if (how_.loss == "cross_entropy" && last.attributes.kind == op_kind::softmax) {
        read = view::of(last.reads[0], t_.w.node_at(last.reads[0]).extents);
        t_.note("the loss is behind what goes into the last softmax, for it has one itself");
    }
    const bool integers = record.labels != nullptr;
    const shape labels = integers ? record.labels(loss, read.base) : read.base;
    const view targets = t_.w.input(integers ? "labels" : "targets", labels, integers ? element::i32 : element::f32);
    t_.w.add(how_.loss, loss, {read.node, targets.node});
}

TESSERA_INLINE translated network_of(const model& m, const options& given, const std::string& called) {
    return converter(m, given, called).run();
}

} // namespace tessera::onnx

#include "tessera/base/end_header.inl"
