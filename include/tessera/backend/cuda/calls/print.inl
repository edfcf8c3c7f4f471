// SPDX-License-Identifier: Apache-2.0
// Bodies of print.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/print.hpp"

namespace tessera::cuda {

TESSERA_INLINE std::string function_of(const call& c) {
    struct names {
        std::string operator()(const convolution& x) const {
            return x.way == convolution::direction::forward         ? "cudnnConvolutionForward"
                   : x.way == convolution::direction::backward_data ? "cudnnConvolutionBackwardData"
                                                                    : "cudnnConvolutionBackwardFilter";
        }
        std::string operator()(const bias_add&) const { return "cudnnAddTensor"; }
        std::string operator()(const bias_gradient&) const { return "cudnnConvolutionBackwardBias"; }
        std::string operator()(const matrix_product&) const { return "cublasLtMatmul"; }
        std::string operator()(const pooling&) const { return "cudnnPoolingForward"; }
        std::string operator()(const activation& x) const {
            return x.backward ? "cudnnActivationBackward" : "cudnnActivationForward";
        }
        std::string operator()(const activated_convolution&) const { return "cudnnConvolutionBiasActivationForward"; }
        std::string operator()(const normalization& x) const {
            return x.way == normalization::direction::training    ? "cudnnBatchNormalizationForwardTraining"
                   : x.way == normalization::direction::inference ? "cudnnBatchNormalizationForwardInference"
                                                                  : "cudnnBatchNormalizationBackward";
        }
        std::string operator()(const row_softmax& x) const {
            return x.backward ? "cudnnSoftmaxBackward" : "cudnnSoftmaxForward";
        }
        std::string operator()(const tensor_operation&) const { return "cudnnOpTensor"; }
        std::string operator()(const kernel_launch& x) const {
            return std::string("kernel ") + x.which->name + (x.type == element::bf16 ? "_bf16" : "");
        }
        std::string operator()(const memory_clear&) const { return "cudaMemsetAsync"; }
        std::string operator()(const memory_copy& x) const {
            return x.goes == memory_copy::way::on_gpu    ? "cudaMemcpyAsync on the GPU"
                   : x.goes == memory_copy::way::to_host ? "cudaMemcpyAsync to the host"
                                                         : "cudaMemcpyAsync from the host";
        }
        std::string operator()(const upload&) const { return "cudaMemcpyAsync from the processor"; }
        std::string operator()(const point_to_point& x) const { return x.sends ? "ncclSend" : "ncclRecv"; }
        std::string operator()(const collective& x) const {
            return x.which == collective::kind::reduce_scatter ? "ncclReduceScatter"
                   : x.which == collective::kind::all_gather   ? "ncclAllGather"
                   : x.which == collective::kind::all_reduce   ? "ncclAllReduce"
                   : x.which == collective::kind::reduce       ? "ncclReduce"
                                                               : "ncclBroadcast";
        }
    };
    return std::visit(names(), c.body);
}

} // namespace tessera::cuda

namespace tessera::cuda::detail {

TESSERA_INLINE std::vector<index_t> used(const kernel_numbers& numbers) {
    std::size_t count = kernel_integers;
    while (count > 20 && numbers.n[count - 1] == 0) {
        --count;
    }
    return {numbers.n, numbers.n + count};
}

TESSERA_INLINE std::string number(double x) {
    char text[32];
    const auto end = std::to_chars(text, text + sizeof text, x);
    return std::string(text, end.ptr);
}

TESSERA_INLINE std::string size_text::operator()(const convolution& c) const {
    return "x " + joined(c.x, "x") + " w " + joined(c.w, "x") + " y " + joined(c.y, "x") + " padding " +
           joined(c.padding, ",") + " stride " + joined(c.stride, ",") + " dilation " + joined(c.dilation, ",") +
           " groups " + std::to_string(c.groups) + detail::said(c.math) + " algorithm " + std::to_string(c.algorithm) +
           (c.multipliers == math_type_of(c.math) ? "" : " math " + std::to_string(static_cast<int>(c.multipliers))) +
           " workspace " + std::to_string(c.workspace);
}

TESSERA_INLINE std::string size_text::operator()(const matrix_product& c) const {
    return std::to_string(c.m) + "x" + std::to_string(c.n) + "x" + std::to_string(c.k) + (c.transpose_a ? " T" : " N") +
           (c.transpose_b ? "T" : "N") + (c.bias ? " bias" : "") + (c.positive ? " relu" : "") +
           (c.sums ? " sums" : "") +
           (c.batch > 1 ? " batch " + std::to_string(c.batch) + " apart " + joined(c.apart, ",") : "") +
           (c.lead[0] > 0 ? " lead " + joined(c.lead, ",") : "") +
           (c.scale < 1 ? " scale " + number(static_cast<double>(c.scale)) : "") + detail::said(c.math) +
           (c.algorithm > 0 ? " algorithm " + std::to_string(c.algorithm) : "") + " workspace " +
           std::to_string(c.workspace);
}

TESSERA_INLINE std::string size_text::operator()(const pooling& c) const {
    constexpr const char* names[] = {"maximum", "average", "average with padding"};
    return std::string(names[static_cast<int>(c.how)]) + " x " + joined(c.x, "x") + " y " + joined(c.y, "x") +
           " window " + joined(c.window, ",") + " padding " + joined(c.padding, ",") + " stride " +
           joined(c.stride, ",") + " scale " + number(static_cast<double>(c.scale)) +
           (c.type == element::bf16 ? " bf16" : "");
}

TESSERA_INLINE std::string size_text::operator()(const activation& c) const {
    constexpr const char* names[] = {"relu", "sigmoid", "tanh"};
    return std::string(names[static_cast<int>(c.which)]) + " " + std::to_string(c.count) +
           (c.type == element::bf16 ? " bf16" : "");
}

TESSERA_INLINE std::string size_text::operator()(const normalization& c) const {
    return "x " + joined(c.x, "x") + " epsilon " + number(c.epsilon) + (c.type == element::bf16 ? " bf16" : "");
}

TESSERA_INLINE std::string size_text::operator()(const row_softmax& c) const {
    return std::to_string(c.rows) + "x" + std::to_string(c.columns) + (c.type == element::bf16 ? " bf16" : "");
}

TESSERA_INLINE std::string size_text::operator()(const tensor_operation& c) const {
    return (c.multiplies ? "multiply " : "add ") + std::to_string(c.rows) + "x" + std::to_string(c.count) +
           (c.repeats ? " one row" : "");
}

TESSERA_INLINE std::string size_text::operator()(const kernel_launch& c) const {
    return std::to_string(c.blocks) + "x" + std::to_string(c.threads) + " n " + joined(used(c.numbers), ",");
}

TESSERA_INLINE std::string size_text::operator()(const point_to_point& c) const {
    return std::to_string(c.count) + " " + to_text(c.type) + (c.sends ? " to " : " from ") + std::to_string(c.peer);
}

TESSERA_INLINE std::string size_text::operator()(const collective& c) const {
    const bool rooted = c.which == collective::kind::reduce || c.which == collective::kind::broadcast;
    return std::to_string(c.count) + " " + to_text(c.type) + (rooted ? " root " + std::to_string(c.root) : "");
}

} // namespace tessera::cuda::detail

namespace tessera::cuda {

TESSERA_INLINE std::string to_text(const call_list& l, const plan& p, const graph_view& g, int number) {
    const call& c = l.calls[to_size(number)];
    const task& t = p.tasks[to_size(c.task)];
    const call_stream& stream = l.streams[to_size(c.stream)];
    std::string text = std::to_string(number) + " task " + std::to_string(c.task) + " " + to_text(t.kind()) + " " +
                       path_of(g, t.op) + " " + to_text(t.what) + " | ";
    text += stream.device >= 0 ? "device " + std::to_string(stream.device) + " gpu " + std::to_string(stream.gpu) +
                                     (stream.side_stream ? " beside" : "")
                               : "nccl gpu " + std::to_string(stream.gpu);
    text += " | " + function_of(c) + " " + std::visit(detail::size_text(), c.body);
    for (const memory_use& m : c.memory) {
        const tile& x = p.tiles[to_size(p.root(m.tile))];
        const char* const arenas[arenas_of_device] = {":a", ":p", ":h", ":s"};
        text += std::string(m.write ? " >" : " <") + std::to_string(x.device) + arenas[static_cast<int>(arena_of(x))] +
                std::to_string(x.offset + m.offset) + "+" + std::to_string(m.bytes);
    }
    if (c.group >= 0) {
        text += " | group " + std::to_string(c.group) + " communicator " + std::to_string(c.communicator) + " rank " +
                std::to_string(c.rank);
    }
    for (const call_wait& w : c.waits) {
        text += " | after " + std::to_string(w.call);
    }
    return text + (c.records ? " | event" : "") + "\n";
}

TESSERA_INLINE std::string to_text(const call_list& l, const plan& p, const graph_view& g) {
    std::string text;
    for (std::size_t i = 0; i < l.communicators.size(); ++i) {
        text += "communicator " + std::to_string(i) + ": gpus " + detail::joined(l.communicators[i], " ") + "\n";
    }
    for (int i = 0; i < static_cast<int>(l.calls.size()); ++i) {
        text += to_text(l, p, g, i);
    }
    return text;
}

} // namespace tessera::cuda

#include "tessera/base/end_header.inl"
