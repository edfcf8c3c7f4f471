// SPDX-License-Identifier: Apache-2.0
// Bodies of write.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/torch/write.hpp"

namespace tessera::torch::detail {

TESSERA_INLINE std::string list_of_places(const std::vector<located_tile>& all) {
    std::string text = "[";
    for (std::size_t i = 0; i < all.size(); ++i) {
        text += (i > 0 ? ", (" : "(") + std::to_string(all[i].rank) + ", " + text_of(all[i].region) + ")";
    }
    return text + "]";
}

TESSERA_INLINE std::string text_of_exchange(const exchange_table& x) {
    std::string text = "    " + literal(x.name) + ": rt.Exchange(\n        kind=" + literal(x.kind) + ",\n";
    text += x.input.empty() ? "" : "        input=" + literal(x.input) + ",\n";
    text += x.sources.empty() ? "" : "        sources=" + list_of_places(x.sources) + ",\n";
    text += "        targets=" + list_of_places(x.targets) + ",\n";
    if (!x.moves.empty()) {
        text += "        moves=[\n";
        for (const box_move& m : x.moves) {
            text += "            (" + std::to_string(m.from) + ", " + std::to_string(m.to) + ", " + text_of(m.region) +
                    "),\n";
        }
        text += "        ],\n";
    }
    text += x.largest ? "        largest=True,\n" : "";
    text += x.differentiable ? "" : "        differentiable=False,\n";
    return text + "    ),\n";
}

TESSERA_INLINE std::string text_of_parameter(const parameter_table& p) {
    return "    " + literal(p.name) + ": rt.Parameter(" + text_of(p.extents) + ", " + list_of_places(p.homes) +
           (p.trained ? "" : ", trained=False") + (p.rate == 1 ? "" : ", rate=" + text_of(p.rate)) +
           (p.decay == 0 ? "" : ", decay=" + text_of(p.decay)) + "),\n";
}

TESSERA_INLINE std::string text_of_optimizer(const optimizer& o) {
    const auto number = [](const char* name, float x) {
        return std::string(", ") + name + "=" + text_of(static_cast<double>(x));
    };
    const bool is_adam = o.which == update_rule::kind::adam;
    const bool is_rmsprop = o.which == update_rule::kind::rmsprop;
    std::string text = std::string("dict(kind=\"") +
                       (is_rmsprop    ? "rmsprop"
                        : !is_adam    ? "sgd"
                        : o.decoupled ? "adamw"
                                      : "adam") +
                       "\"";
    text += number("lr", o.learning_rate);
    text += is_adam ? ", betas=(" + text_of(static_cast<double>(o.beta1)) + ", " +
                          text_of(static_cast<double>(o.beta2)) + ")"
                    : "";
    text += is_rmsprop ? number("alpha", o.beta2) : "";
    text += is_adam || is_rmsprop ? number("eps", o.epsilon) : "";
    text += !is_adam && o.momentum != 0 ? number("momentum", o.momentum) : "";
    text += o.nesterov ? ", nesterov=True" : "";
    text += o.centered ? ", centered=True" : "";
    text += o.clip_norm > 0 ? number("clip_norm", o.clip_norm) : "";
    text += o.clip_value > 0 ? number("clip_value", o.clip_value) : "";
    text += o.loss_scale != 1 ? number("loss_scale", o.loss_scale) : "";
    return text + ")";
}

TESSERA_INLINE shared_lines by_lines(const std::map<int, std::vector<std::string>>& stage) {
    shared_lines all;
    for (const auto& [rank, lines] : stage) {
        bool found = false;
        for (auto& [ranks, known] : all) {
            if (known == lines) {
                ranks.push_back(rank);
                found = true;
                break;
            }
        }
        if (!found) {
            all.push_back({{rank}, lines});
        }
    }
    return all;
}

TESSERA_INLINE std::string name_of_function(std::size_t stage, std::size_t stages, const std::vector<int>& ranks,
                                            std::size_t groups) {
    std::string name = stages > 1 ? "stage_" + std::to_string(stage) : "forward";
    if (groups > 1) {
        name += "_of_rank" + std::string(ranks.size() > 1 ? "s" : "");
        const std::size_t few = std::min<std::size_t>(ranks.size(), 4);
        for (std::size_t i = 0; i < few; ++i) {
            name += "_" + std::to_string(ranks[i]);
        }
        name += few < ranks.size() ? "_and_more" : "";
    }
    return name;
}

TESSERA_INLINE std::string stage_functions(const program& p) {
    std::string functions;
    std::string table = "STAGES = [\n";
    for (std::size_t i = 0; i < p.stages.size(); ++i) {
        const shared_lines all = by_lines(p.stages[i]);
        table += "    {";
        bool first = true;
        for (const auto& [ranks, lines] : all) {
            const std::string name = name_of_function(i, p.stages.size(), ranks, all.size());
            functions += "def " + name + "(r):\n";
            for (const std::string& line : lines) {
                functions += "    " + line + "\n";
            }
            functions += "\n\n";
            for (const int rank : ranks) {
                table += (first ? "" : ", ") + std::to_string(rank) + ": " + name;
                first = false;
            }
        }
        table += "},\n";
    }
    return functions + table + "]\n";
}

TESSERA_INLINE std::string text_of_actions(const program& p) {
    std::string text = "ACTIONS = [\n";
    for (const action& a : p.actions) {
        text += "    (" + literal(to_text(a.what)) + ", " + std::to_string(a.stage) + ", " +
                std::to_string(a.micro_batch) + "),\n";
    }
    return text + "]\n";
}

TESSERA_INLINE std::string text_of_part(const bucket_part& x) {
    return x.slices == 1
               ? literal(x.parameter)
               : "(" + literal(x.parameter) + ", " + std::to_string(x.slice) + ", " + std::to_string(x.slices) + ")";
}

TESSERA_INLINE std::string text_of_gathers(const program& p) {
    std::string text;
    for (const std::vector<std::string>& names : p.gathers) {
        std::string list;
        for (const std::string& name : names) {
            list += (list.empty() ? "" : ", ") + literal(name);
        }
        text += "        [" + list + "],\n";
    }
    return text.empty() ? text : ",\n    gathers=[\n" + text + "    ]";
}

TESSERA_INLINE std::string text_of_check(const program& p) {
    if (p.check.empty()) {
        return p.unchecked.empty() ? std::string() : ",\n    unchecked=" + literal(p.unchecked);
    }
    std::string counts;
    for (const input_table& x : p.inputs) {
        counts += x.integers > 0 ? (counts.empty() ? "" : ", ") + literal(x.name) + ": " + std::to_string(x.integers)
                                 : std::string();
    }
    return ",\n    check=CHECK,\n    within=" + text_of(p.within) +
           ",\n    weights_crc=" + std::to_string(p.weights_crc) + ",\n    counts={" + counts + "}";
}

TESSERA_INLINE std::string table_of_check(const program& p) {
    std::string text;
    for (const recorded_step& x : p.check) {
        text += "    (\n        " + text_of(x.loss) + ",\n        {\n";
        for (const auto& [name, norm] : x.norms) {
            text += "            " + literal(name) + ": " + text_of(norm) + ",\n";
        }
        text += "        },\n    ),\n";
    }
    return text.empty()
               ? text
               : "\n# Of the first steps on made-up samples the loss, and the norm of every parameter's gradient: "
                 "--check repeats them.\nCHECK = [\n" +
                     text + "]\n";
}

TESSERA_INLINE std::string heading(const program& p, std::string_view title, std::string_view by) {
    const std::string ranks = std::to_string(p.ranks);
    return "# Written by " + quoted::line(by) + ".\n\"\"\"" + quoted::python_inside(title) + " on " + ranks +
           " ranks.\n\nEvery rank has the local operators of its shards and its part of the exchanges between them. "
           "Run it with\n\n    "
           "torchrun --standalone --nproc-per-node " +
           ranks +
           " program.py --data samples.safetensors\n\nwhere samples.safetensors has a tensor for every input in "
           "INPUTS. "
           "In an exchange, regions are ((first, end), ...) in\nthe whole tensor, of the first micro-batch.\n\"\"\"\n\n"
           "import pathlib\n\nimport torch  # noqa: F401\nimport torch.nn.functional as F  # noqa: F401\n\nimport "
           "tessera_runtime as rt\n\n";
}

} // namespace tessera::torch::detail

namespace tessera::torch {

TESSERA_INLINE std::string to_text(const program& p, std::string_view title, std::string_view by) {
    std::string text = detail::heading(p, title, by);
    text += "INPUTS = {\n";
    for (const input_table& x : p.inputs) {
        text += "    " + literal(x.name) + ": (" + text_of(x.extents) + ", " + literal(to_text(x.type)) + "),\n";
    }
    text += "}\n\n# The whole shape; which rank holds which region.\nPARAMETERS = {\n";
    for (const parameter_table& x : p.parameters) {
        text += detail::text_of_parameter(x);
    }
    text += "}\n\nEXCHANGES = {\n";
    for (const exchange_table& x : p.exchanges) {
        text += detail::text_of_exchange(x);
    }
    text += "}\n\nDROPOUTS = {\n";
    for (const dropout_table& x : p.dropouts) {
        text += "    " + literal(x.name) + ": rt.Dropout(number=" + std::to_string(x.number) +
                ", percent=" + std::to_string(x.percent) + ", unit=" + literal(x.unit) +
                ", shape=" + text_of(x.extents) + ",\n        shards=" + detail::list_of_places(x.shards) + "),\n";
    }
    text += "}\n\n# Gradients that are summed together, in this order.\nBUCKETS = [\n";
    for (const bucket_table& x : p.buckets) {
        text += "    rt.Bucket(" + literal(x.how) + ", [";
        for (std::size_t i = 0; i < x.parts.size(); ++i) {
            text += (i > 0 ? ", " : "") + detail::text_of_part(x.parts[i]);
        }
        text += x.how == "server" ? "], server=" + std::to_string(x.server) + "),\n" : "]),\n";
    }
    text += "]\n\n\n" + detail::stage_functions(p) +
            "\n# In the order in which every rank does those of its stages.\n" + detail::text_of_actions(p);
    std::string recomputes;
    for (std::size_t i = 0; i < p.recomputes.size(); ++i) {
        recomputes += p.recomputes[i] != 0 ? std::to_string(i) + ", " : "";
    }
    text += detail::table_of_check(p) + "\nPROGRAM = rt.Program(\n    ranks=" + std::to_string(p.ranks) +
            ",\n    batch=" + std::to_string(p.batch) + ",\n    micro_batches=" + std::to_string(p.micro_batches) +
            ",\n    inputs=INPUTS,\n    parameters=PARAMETERS,\n    exchanges=EXCHANGES,\n    dropouts=DROPOUTS,\n    "
            "buckets=BUCKETS,\n    stages=STAGES,\n    recomputes=(" +
            recomputes + "),\n    actions=ACTIONS,\n    optimizer=" + detail::text_of_optimizer(p.update) +
            detail::text_of_gathers(p) + detail::text_of_check(p) + ",\n    seed=" + std::to_string(p.seed) +
            ",\n    folder=pathlib.Path(__file__).parent,\n)\n\nif __name__ == \"__main__\":\n    rt.main(PROGRAM)\n";
    return text;
}

} // namespace tessera::torch

#include "tessera/base/end_header.inl"
