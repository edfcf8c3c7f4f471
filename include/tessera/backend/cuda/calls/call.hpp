// SPDX-License-Identifier: Apache-2.0
// The calls that a bound plan makes, as values: which function of which library, its sizes, the memory that it touches,
// the stream that it is put on and what that stream waits for. Made without a GPU, printed as text, and executed as it
// stands.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/kernels/kernel.hpp"
#include "tessera/base/fixed_vector.hpp"
#include "tessera/execute/local/copy_box.hpp"
#include "tessera/plan/memory.hpp"
#include "tessera/plan/plan.hpp"

#include <string>
#include <variant>
#include <vector>

namespace tessera::cuda {

/// Bytes of which places in arenas on GPUs are multiples: as cudaMalloc aligns, and what the libraries' fastest kernels
/// may ask for.
inline constexpr index_t gpu_alignment = 256;

/// Bytes [offset, offset + bytes) of a tile (its own, or those of the tile that it is an alias of).
struct memory_use {
    int tile = -1;
    index_t offset = 0;
    index_t bytes = 0;
    bool write = false;
};

/// What a convolution's multipliers may do: cudnnMathType_t.
enum class math_type : std::uint8_t {
    standard, ///< tensor cores in TF32 for fp32
    tensor_cores,
    conversion, ///< never chosen: it rounds what the network keeps
    plain,      ///< multiply-add in fp32 alone
};

/// What a precision permits: no tensor cores, tensor cores in TF32, tensor cores in the type of the tensors.
constexpr math_type math_type_of(precision p) {
    return p == precision::fp32   ? math_type::plain
           : p == precision::tf32 ? math_type::standard
                                  : math_type::tensor_cores;
}

/// Whether an algorithm with these multipliers rounds no more than a precision permits. (In fp32 even the standard ones
/// may take TF32.)
constexpr bool rounds_as_little(math_type m, precision p) {
    return m == math_type::plain || (p != precision::fp32 && m != math_type::conversion);
}

/// Extents of a dense tensor of images, [N,C,H,W], or of volumes, [N,C,D,H,W]; and numbers of each dimension of a
/// window.
using tensor_extents = fixed_vector<int, max_rank>;
using window_numbers = fixed_vector<int, max_rank - 2>;

constexpr index_t volume_of(const tensor_extents& e) {
    index_t all = 1;
    for (const int x : e) {
        all *= x;
    }
    return all;
}

/// cudnnConvolutionForward, ...BackwardData or ...BackwardFilter on dense NCHW or NCDHW tensors with the same padding
/// on both sides. Memory: x, w, y (or their gradients), and workspace where it is not 0. In fp32 TF32 is off: FMA math
/// alone. In bf16 all three are of bf16, sums of fp32.
struct convolution {
    enum class direction : std::uint8_t { forward, backward_data, backward_filter };
    direction way = direction::forward;
    tensor_extents x{{}, 4}; ///< samples, channels, height, width; of volumes, depth before them
    tensor_extents w{{}, 4}; ///< output channels, input channels of a group, window
    tensor_extents y{{}, 4}; ///< samples, output channels, height, width
    window_numbers padding{{}, 2};
    window_numbers stride{{1, 1, 1}, 2};
    window_numbers dilation{{1, 1, 1}, 2};
    int groups = 1;
    precision math = precision::fp32;
    int algorithm = 0;                        ///< cudnnConvolutionFwdAlgo_t and its like
    math_type multipliers = math_type::plain; ///< with which the algorithm was chosen: the workspace depends on both
    index_t workspace = 0;                    ///< bytes

    constexpr void set_dimensions(int d) {
        x.count = w.count = y.count = d + 2;
        padding.count = stride.count = dilation.count = d;
    }
    /// Of x, w and y.
    constexpr element type() const { return math == precision::bf16 ? element::bf16 : element::f32; }
    /// Of x, w and y together.
    constexpr index_t array_bytes() const { return (volume_of(x) + volume_of(w) + volume_of(y)) * bytes_of(type()); }
    friend bool operator==(const convolution&, const convolution&) = default;
};

/// cudnnAddTensor: y[n,k,h,w] += bias[k], of fp32. Memory: bias, y. The planes of a volume are rows of one image, here
/// and in the gradient.
struct bias_add {
    int y[4] = {};
};

/// cudnnConvolutionBackwardBias: db[k] = sum of dy[n,k,h,w], of fp32. Memory: dy, db.
struct bias_gradient {
    int y[4] = {};
};

/// cublasLtMatmul with sums of fp32 (CUBLAS_COMPUTE_32F, without TF32 unless asked for), column-major: d[m,n] = scale *
/// op(a) op(b), and + bias[m] where it is asked for, and the positive part of that; or, with `sums`, besides b's sums
/// over k: sums[n]; in every matrix of a batch. op(a) is m x k and op(b) k x n. Memory: a, b, d, bias or sums,
/// workspace.
struct matrix_product {
    index_t m = 0;
    index_t n = 0;
    index_t k = 0;
    bool transpose_a = false;
    bool transpose_b = false;
    bool bias = false;
    bool positive = false;             ///< relu: CUBLASLT_EPILOGUE_RELU or ..._RELU_BIAS
    bool sums = false;                 ///< CUBLASLT_EPILOGUE_BGRADB: the gradient of a bias beside that of the weight
    index_t batch = 1;                 ///< matrices
    index_t lead[3] = {};              ///< of a, b, d: elements from one column to the next; 0: dense
    index_t apart[3] = {};             ///< of a, b, d: elements from one matrix of the batch to the next
    index_t alignment = gpu_alignment; ///< bytes: what the addresses of a, b and d are multiples of
    float scale = 1;
    precision math = precision::fp32;
    element result = element::f32; ///< of d and the bias; a and b are of bf16 in bf16, else of f32
    index_t workspace = 0;         ///< bytes
    int algorithm = 0;             ///< which of those that cublasLt proposes for all this

    /// Of a (0), b (1) or d (2).
    constexpr element type_of(int i) const {
        return i == 2 ? result : math == precision::bf16 ? element::bf16 : element::f32;
    }
    /// Of a, b or d, as they lie in memory.
    constexpr index_t rows_of(int i) const {
        return i == 0 ? (transpose_a ? k : m) : i == 1 ? (transpose_b ? n : k) : m;
    }
    constexpr index_t columns_of(int i) const {
        return i == 0 ? (transpose_a ? m : k) : i == 1 ? (transpose_b ? k : n) : n;
    }
    constexpr index_t lead_of(int i) const { return lead[i] > 0 ? lead[i] : rows_of(i); }
    /// Elements from the first to the last one.
    constexpr index_t span_of(int i) const {
        return (batch - 1) * apart[i] + (columns_of(i) - 1) * lead_of(i) + rows_of(i);
    }

    friend bool operator==(const matrix_product&, const matrix_product&) = default;
};

/// cudnnConvolutionBiasActivationForward: y = max(0, convolution + bias), by the same algorithm. Memory: x, w, y, bias,
/// workspace.
struct activated_convolution {
    convolution of;
};

/// cudnnBatchNormalizationForwardTraining (memory: x, gamma, beta, y, saved), ...ForwardInference (x, gamma, beta,
/// running, y) or ...Backward (x, dy, gamma, saved, dx, dgamma, dbeta). gamma to dbeta are of fp32; saved is mean and 1
/// / sqrt(variance + epsilon).
struct normalization {
    enum class direction : std::uint8_t { training, inference, backward };
    direction way = direction::training;
    int x[4] = {};
    double epsilon = 0;
    element type = element::f32; ///< of x, y and their gradients
};

/// cudnnSoftmaxForward (memory: x, y) or cudnnSoftmaxBackward (y, dy, dx) of every row, the accurate algorithm.
struct row_softmax {
    bool backward = false;
    int rows = 0;
    int columns = 0;
    element type = element::f32;
};

/// cudnnOpTensor of fp32: to = a + b, or a * b, `rows` rows of `count` numbers, of which b has all or one. Memory: a,
/// b, to.
struct tensor_operation {
    bool multiplies = false;
    index_t count = 0;
    index_t rows = 1;
    bool repeats = false; ///< b is one row
};

/// cudnnPoolingForward: y = scale * pool(x). Memory: x, y. A NaN propagates.
struct pooling {
    enum class mode : std::uint8_t { maximum, average, average_with_padding };
    mode how = mode::maximum;
    tensor_extents x{{}, 4};
    tensor_extents y{{}, 4};
    window_numbers window{{1, 1, 1}, 2};
    window_numbers padding{{}, 2};
    window_numbers stride{{1, 1, 1}, 2};
    float scale = 1;
    element type = element::f32;

    constexpr void set_dimensions(int d) {
        x.count = y.count = d + 2;
        window.count = padding.count = stride.count = d;
    }
};

/// cudnnActivationForward (memory: x, y) or cudnnActivationBackward (memory: y, dy, dx) on `count` numbers in a row.
/// Backward hands y in for x as well: the derivatives of these three functions are functions of y.
struct activation {
    enum class function : std::uint8_t { relu, sigmoid, tanh };
    function which = function::relu;
    bool backward = false;
    index_t count = 0;
    element type = element::f32;
};

/// A kernel of our own: memory in the order of its pointers. The memory after the first `pointers` entries is handed
/// over as a table of addresses in pointer number `pointers`, `constants` as a table of integers after that, the step's
/// values after that.
struct kernel_launch {
    const kernel* which = nullptr;
    element type = element::f32; ///< of activations
    int pointers = 0;
    std::vector<index_t> constants;
    bool reads_step = false; ///< takes the address of the step's values
    kernel_numbers numbers;
    int blocks = 1;
    int threads = 256;
};

/// cudaMemsetAsync to 0. Memory: what is cleared.
struct memory_clear {};

/// cudaMemcpyAsync within a GPU, or between it and pinned memory of its host. Memory: from, to.
struct memory_copy {
    enum class way : std::uint8_t { on_gpu, to_host, from_host };
    way goes = way::on_gpu;
};

/// A box of an input of the caller's, copied by cudaMemcpyAsync: from where it is if it lies there in a row, else
/// packed in pinned memory by the processor first. Memory: to.
struct upload {
    int tensor = 0;
    box_copy what;
    element type = element::f32; ///< on both sides; never bf16, which callers do not hand in
};

/// ncclSend (memory read) or ncclRecv (memory written), in a group with its peer.
struct point_to_point {
    bool sends = false;
    int peer = 0; ///< rank
    element type = element::f32;
    index_t count = 0;
};

/// A member's part of a collective, in place: ncclReduceScatter (sum), ncclAllGather, ncclAllReduce (sum or maximum),
/// and, where slices are not equal, ncclReduce (sum) or ncclBroadcast of each. Memory: the whole array, of which member
/// r owns elements [r * count, (r + 1) * count); for all_reduce, reduce and broadcast `count` is that of the whole
/// array. An all_reduce of two arrays leaves its sum in the second. Several collectives of the same members in one
/// group are one message.
struct collective {
    enum class kind : std::uint8_t { reduce_scatter, all_gather, all_reduce, reduce, broadcast };
    kind which = kind::all_reduce;
    index_t count = 0;
    element type = element::f32;
    reducer how = reducer::sum;
    int root = 0; ///< rank: who gets a reduce's sum, or has what a broadcast hands on
};

using call_body = std::variant<convolution, bias_add, bias_gradient, matrix_product, pooling, activation,
                               activated_convolution, normalization, row_softmax, tensor_operation, kernel_launch,
                               memory_clear, memory_copy, upload, point_to_point, collective>;

/// Waits until call `call` has finished. `spins`: the host, too, must wait until that call was issued, because the
/// plan's own waits do not say so.
struct call_wait {
    int call = 0;
    bool spins = false;
};

struct call {
    int task = -1;
    int stream = 0; ///< that it is put on
    call_body body;
    std::vector<memory_use> memory;
    std::vector<call_wait> waits;
    bool records = false; ///< an event after it, for the waits of others
    int group =
        -1; ///< calls of one number are issued together (ncclGroupStart, ncclGroupEnd), groups in the order of numbers
    int communicator = -1;
    int rank = -1;
};

/// A stream. Every device of the plan has one for computing, and one for the own work of tasks that communicate
/// (packing, sums, updates), where it has such; every GPU that communicates has one for NCCL.
struct call_stream {
    int device = -1; ///< of the plan; -1 for a GPU's NCCL calls
    int gpu = 0;
    bool side_stream = false; ///< the computation
};

/// What a plan does on GPUs, in an order in which one thread could issue it all.
struct call_list {
    std::vector<int> gpus; ///< of every device of the plan
    std::vector<call_stream> streams;
    std::vector<std::vector<int>> communicators; ///< GPUs by rank
    std::vector<call> calls;
    std::vector<int> first;       ///< call of every task, and the end
    std::vector<int> first_group; ///< number of the first group at or after every task, and the end

    /// The stream of a device's own work, beside its computation or not.
    int stream_of(int device, bool side_stream) const;
    /// True where GPUs communicate.
    bool communicates() const { return !streams.empty() && streams.back().device < 0; }
    /// The stream of a GPU's NCCL calls, or -1.
    int nccl_stream_of(int gpu) const;
};

} // namespace tessera::cuda

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/calls/call.inl"
#endif

#include "tessera/base/end_header.inl"
