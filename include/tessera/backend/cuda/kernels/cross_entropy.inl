// SPDX-License-Identifier: Apache-2.0
// Softmax cross-entropy of a shard of the classes. Logits are [samples, classes, plane]; a row is a sample's pixel.
// n of all: samples, classes of the shard, plane, number of the shard's first class. The first two kernels serve softmax as well,
// whose numbers are in sequence.inl.
// clang-format off
TESSERA_DEVICE_CODE(

/// How many of its columns a row of a softmax sees: all, or (n[4], rows of a sample, above 0) in a causal one those up to the row's own
/// number, which is n[5] for the first row, counted from the shard's first column.
__device__ inline long long seen_columns(const arguments& a, long long row) {
    const long long own = a.n[4] > 0 ? row % a.n[4] + a.n[5] + 1 : a.n[1];
    return own < a.n[1] ? own : a.n[1];
}

/// A block for each row. at: logits, to.
template <class T>
__device__ void row_maximum_of(const arguments& a) {
    __shared__ float shared[256];
    const long long row = blockIdx.x;
    const T* x = pointer<const T>(a, 0) + row / a.n[2] * a.n[1] * a.n[2] + row % a.n[2];
    const long long seen = seen_columns(a, row);
    float largest = -1.0f / 0.0f;
    for (long long k = threadIdx.x; k < seen; k += blockDim.x) {
        largest = larger(largest, x[k * a.n[2]]);
    }
    largest = block_maximum(largest, shared);
    if (threadIdx.x == 0) {
        pointer<float>(a, 1)[row] = largest;
    }
}
extern "C" __global__ void row_maximum(arguments a) { row_maximum_of<float>(a); }
extern "C" __global__ void row_maximum_bf16(arguments a) { row_maximum_of<bf16>(a); }

/// The sum of exp(logit - maximum). A block for each row. at: logits, maxima, to.
template <class T>
__device__ void row_exponentials_of(const arguments& a) {
    __shared__ double shared[256];
    const long long row = blockIdx.x;
    const T* x = pointer<const T>(a, 0) + row / a.n[2] * a.n[1] * a.n[2] + row % a.n[2];
    const float largest = pointer<const float>(a, 1)[row];
    const long long seen = seen_columns(a, row);
    double sum = 0;
    for (long long k = threadIdx.x; k < seen; k += blockDim.x) {
        sum += expf(x[k * a.n[2]] - largest);
    }
    sum = block_sum(sum, shared);
    if (threadIdx.x == 0) {
        pointer<float>(a, 2)[row] = static_cast<float>(sum);
    }
}
extern "C" __global__ void row_exponentials(arguments a) { row_exponentials_of<float>(a); }
extern "C" __global__ void row_exponentials_bf16(arguments a) { row_exponentials_of<bf16>(a); }

/// log(sum) + maximum - logit of the label, where the shard has the label's class, else 0. at: logits, labels, maxima, sums, to.
template <class T>
__device__ void row_loss_of(const arguments& a) {
    for (long long row = first_index(); row < a.n[0] * a.n[2]; row += index_step()) {
        const long long k = pointer<const int>(a, 1)[row] - a.n[3];
        float loss = 0.0f;
        if (k >= 0 && k < a.n[1]) {
            const float x = pointer<const T>(a, 0)[(row / a.n[2] * a.n[1] + k) * a.n[2] + row % a.n[2]];
            loss = logf(pointer<const float>(a, 3)[row]) + pointer<const float>(a, 2)[row] - x;
        }
        pointer<float>(a, 4)[row] = loss;
    }
}
extern "C" __global__ void row_loss(arguments a) { row_loss_of<float>(a); }
extern "C" __global__ void row_loss_bf16(arguments a) { row_loss_of<bf16>(a); }

/// (softmax - 1 at the label) * f[0]. at: logits, labels, maxima, sums, dx.
template <class T>
__device__ void softmax_gradient_of(const arguments& a) {
    const T* x = pointer<const T>(a, 0);
    const float scale = static_cast<float>(a.f[0]);
    const long long count = a.n[0] * a.n[1] * a.n[2];
    for (long long i = first_index(); i < count; i += index_step()) {
        const long long k = i / a.n[2] % a.n[1];
        const long long row = i / (a.n[1] * a.n[2]) * a.n[2] + i % a.n[2];
        const float p = expf(x[i] - pointer<const float>(a, 2)[row]) / pointer<const float>(a, 3)[row];
        const bool hit = pointer<const int>(a, 1)[row] == k + a.n[3];
        pointer<T>(a, 4)[i] = (p - (hit ? 1.0f : 0.0f)) * scale;
    }
}
extern "C" __global__ void softmax_gradient(arguments a) { softmax_gradient_of<float>(a); }
extern "C" __global__ void softmax_gradient_bf16(arguments a) { softmax_gradient_of<bf16>(a); }

struct leader {
    float logit;
    int number;
};

/// The larger logit; of equal ones that of the smaller number.
__device__ inline leader leading(leader a, leader b) {
    return b.logit > a.logit || (b.logit == a.logit && b.number < a.number) ? b : a;
}

/// The largest logit of each row and its class, of several the first. A block for each row. at: logits, leaders.
template <class T>
__device__ void row_leader_of(const arguments& a) {
    __shared__ leader shared[256];
    const long long row = blockIdx.x;
    const T* x = pointer<const T>(a, 0) + row / a.n[2] * a.n[1] * a.n[2] + row % a.n[2];
    leader best = {-1.0f / 0.0f, 0x7fffffff};
    for (long long k = threadIdx.x; k < a.n[1]; k += blockDim.x) {
        best = leading(best, {x[k * a.n[2]], static_cast<int>(a.n[3] + k)});
    }
    shared[threadIdx.x] = best;
    __syncthreads();
    for (unsigned width = blockDim.x / 2; width > 0; width /= 2) {
        if (threadIdx.x < width) {
            shared[threadIdx.x] = leading(shared[threadIdx.x], shared[threadIdx.x + width]);
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        pointer<leader>(a, 1)[row] = shared[0];
    }
}
extern "C" __global__ void row_leader(arguments a) { row_leader_of<float>(a); }
extern "C" __global__ void row_leader_bf16(arguments a) { row_leader_of<bf16>(a); }

)
// clang-format on
