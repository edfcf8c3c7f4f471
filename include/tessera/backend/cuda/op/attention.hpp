// SPDX-License-Identifier: Apache-2.0
// Attention as batched products of matrices with kernels between them: a task holds the scores of its shard in scratch
// memory while it runs, and keeps each row's maximum and sum.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/kernels/mask.hpp"
#include "tessera/backend/cuda/op/matmul.hpp"
#include "tessera/op/attention.hpp"

namespace tessera::cuda::kernels {

inline constexpr kernel attention_maximum{"attention_maximum", true};
inline constexpr kernel attention_total{"attention_total", true};
inline constexpr kernel attention_weights{"attention_weights", true};
inline constexpr kernel attention_mean{"attention_mean", true};
inline constexpr kernel attention_slopes{"attention_slopes", true};
inline constexpr kernel attention_buckets{"attention_buckets", true};

// clang-format off
TESSERA_KERNELS(attention_code,

/// Scores are [samples, heads, queries, keys] of the shard, densely.
struct attention_numbers {
    index_t samples = 0;
    index_t heads = 0;
    index_t queries = 0;
    index_t keys = 0;
    index_t first_sample = 0; ///< of the shard, in the whole operator
    index_t first_head = 0;
    index_t first_query = 0;
    index_t first_key = 0;
    index_t all_heads = 0;
    index_t all_queries = 0;
    index_t all_keys = 0;
    index_t window = 0; ///< at most all_queries + all_keys
    index_t causal = 0;
    index_t alibi = 0;
    index_t value_width = 0;
    index_t lengths_at = 0; ///< number of the pointer to the samples' lengths; 0: all keys count
    index_t mask_at = 0;    ///< of that to [samples, keys], 0 where a key does not count; 0: there is none
    index_t table_at = 0;   ///< of that to the shard's part of a table of buckets; 0: there is none
    index_t table_heads = 0;
    index_t table_head = 0; ///< of the part's heads the one that is the shard's first
    index_t buckets = 0;
    index_t max_distance = 0;
    index_t before_cap = 0; ///< slopes are those of scores before their cap
    index_t step_at = 0;    ///< number of the pointer to the step's values; 0: no weights are dropped
    index_t op = 0;
    index_t percent = 0;
};
struct attention_reals {
    double softcap = 0;
    double kept = 1; ///< factor of weights that are kept
};
,

/// A row of scores: a block's.
struct attention_row {
    long long row; // in the shard
    long long sample; // in the whole operator, as head and query
    long long head;
    long long query;
    long long place; // of the query among the keys
    long long first; // key of the shard that it sees
    long long end;
    long long mask; // number of the row's first key in dropout's mask
    const int* seen; // null, or of each of the shard's keys 0 where it does not count

    template <class Arguments>
    __device__ explicit attention_row(const Arguments& a) {
        row = blockIdx.x;
        query = a.n.first_query + row % a.n.queries;
        head = a.n.first_head + row / a.n.queries % a.n.heads;
        const long long own = row / a.n.queries / a.n.heads;
        sample = a.n.first_sample + own;
        place = query + a.n.all_keys - a.n.all_queries;
        mask = ((sample * a.n.all_heads + head) * a.n.all_queries + query) * a.n.all_keys;
        seen = nullptr;
        if (a.n.mask_at > 0) {
            seen = static_cast<const int*>(a.at[a.n.mask_at]) + own * a.n.keys;
        }
        long long last = place + (a.n.causal != 0 ? 1 : a.n.window);
        long long length = a.n.all_keys;
        if (a.n.lengths_at > 0) {
            length = static_cast<const int*>(a.at[a.n.lengths_at])[own];
        }
        last = last < length ? last : length;
        first = place - a.n.window + 1 - a.n.first_key;
        first = first < 0 ? 0 : first;
        end = last - a.n.first_key < a.n.keys ? last - a.n.first_key : a.n.keys;
    }
    __device__ bool sees(long long k) const {
        return k >= first && k < end && (seen == nullptr || seen[k] != 0);
    }
};

/// See op::attention_attributes::bucket_of.
template <class Numbers>
__device__ inline long long bucket_of(const Numbers& n, long long ahead) {
    const long long each = n.causal != 0 ? n.buckets : n.buckets / 2;
    const long long near = each / 2;
    const long long first = ahead > 0 && n.causal == 0 ? each : 0;
    const long long apart = ahead < 0 ? -ahead : (n.causal != 0 ? 0 : ahead);
    if (apart < near) {
        return first + apart;
    }
    const double far = ::log(static_cast<double>(apart) / near) / ::log(static_cast<double>(n.max_distance) / near);
    const long long bucket = near + static_cast<long long>(far * (each - near) + 1e-9);
    return first + (bucket < each ? bucket : each - 1);
}

/// The score of a key by scale * (q . k), and what its derivative is by that.
template <class Arguments>
__device__ float attention_score(const Arguments& a, const attention_row& r, long long key, float z, float* slope) {
    *slope = 1.0f;
    if (a.f.softcap > 0) {
        const float cap = static_cast<float>(a.f.softcap);
        const float bent = tanhf(z / cap);
        z = cap * bent;
        *slope = 1.0f - bent * bent;
    }
    if (a.n.alibi != 0) {
        const float power = -8.0f * static_cast<float>(r.head + 1) / static_cast<float>(a.n.all_heads);
        z -= exp2f(power) * static_cast<float>(r.place - a.n.first_key - key);
    }
    if (a.n.table_at > 0) {
        const long long row = bucket_of(a.n, a.n.first_key + key - r.place);
        const long long head = a.n.table_head + r.head - a.n.first_head;
        z += static_cast<const float*>(a.at[a.n.table_at])[row * a.n.table_heads + head];
    }
    return z;
}

/// What makes weights of a row's scores; maxima and sums are the pointers 1 and 2.
struct attention_softmax {
    float top;
    float part;
    bool drops;
    unsigned long long key;

    template <class Arguments>
    __device__ attention_softmax(const Arguments& a, const attention_row& r) {
        top = pointer<const float>(a, 1)[r.row];
        part = 1.0f / pointer<const float>(a, 2)[r.row];
        drops = a.n.step_at > 0;
        key = drops ? mask_key(*pointer<const step_values>(a, a.n.step_at), a.n.op) : 0;
    }
    __device__ float weight(float score) const { return expf(score - top) * part; }
    /// The factor of a weight: 1, or what dropout makes of it.
    template <class Arguments>
    __device__ float kept(const Arguments& a, const attention_row& r, long long k) const {
        if (!drops) {
            return 1.0f;
        }
        return keeps(key, r.mask + a.n.first_key + k, a.n.percent) ? static_cast<float>(a.f.kept) : 0.0f;
    }
};

/// at: scores, to.
template <class T>
__device__ void attention_maximum_of(const given<attention_numbers, attention_reals>& a) {
    __shared__ float shared[256];
    const attention_row r(a);
    const T* z = pointer<const T>(a, 0) + r.row * a.n.keys;
    float top = -1.0f / 0.0f;
    float slope;
    for (long long k = r.first + threadIdx.x; k < r.end; k += blockDim.x) {
        if (r.sees(k)) {
            top = larger(top, attention_score(a, r, k, z[k], &slope));
        }
    }
    shared[threadIdx.x] = top;
    __syncthreads();
    for (unsigned width = blockDim.x / 2; width > 0; width /= 2) {
        if (threadIdx.x < width) {
            shared[threadIdx.x] = larger(shared[threadIdx.x], shared[threadIdx.x + width]);
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        pointer<float>(a, 1)[r.row] = shared[0];
    }
}
TYPED_KERNEL(attention_maximum, attention_numbers, attention_reals)

/// The sum of exp(score - maximum). at: scores, maxima, to.
template <class T>
__device__ void attention_total_of(const given<attention_numbers, attention_reals>& a) {
    __shared__ double shared[256];
    const attention_row r(a);
    const T* z = pointer<const T>(a, 0) + r.row * a.n.keys;
    const float top = pointer<const float>(a, 1)[r.row];
    float slope;
    double sum = 0;
    for (long long k = r.first + threadIdx.x; k < r.end; k += blockDim.x) {
        sum += r.sees(k) ? expf(attention_score(a, r, k, z[k], &slope) - top) : 0.0f;
    }
    sum = block_sum(sum, shared);
    if (threadIdx.x == 0) {
        pointer<float>(a, 2)[r.row] = static_cast<float>(sum);
    }
}
TYPED_KERNEL(attention_total, attention_numbers, attention_reals)

/// The weights in place of the scores, those that dropout takes and those of keys that the row does not see being 0.
/// at: scores, maxima, sums.
template <class T>
__device__ void attention_weights_of(const given<attention_numbers, attention_reals>& a) {
    const attention_row r(a);
    T* z = pointer<T>(a, 0) + r.row * a.n.keys;
    const attention_softmax s(a, r);
    float slope;
    for (long long k = threadIdx.x; k < a.n.keys; k += blockDim.x) {
        float weight = 0.0f;
        if (r.sees(k)) {
            const float kept = s.kept(a, r, k);
            weight = kept != 0.0f ? kept * s.weight(attention_score(a, r, k, z[k], &slope)) : 0.0f;
        }
        z[k] = weight;
    }
}
TYPED_KERNEL(attention_weights, attention_numbers, attention_reals)

/// The sum of dy * y of every head of every query, which lie in the order of scores' rows. at: dy, y, to.
template <class T>
__device__ void attention_mean_of(const given<attention_numbers, attention_reals>& a) {
    __shared__ double shared[256];
    const long long query = blockIdx.x % a.n.queries;
    const long long head = blockIdx.x / a.n.queries % a.n.heads;
    const long long sample = blockIdx.x / a.n.queries / a.n.heads;
    const long long start = ((sample * a.n.queries + query) * a.n.heads + head) * a.n.value_width;
    const T* dy = pointer<const T>(a, 0) + start;
    const T* y = pointer<const T>(a, 1) + start;
    double sum = 0;
    for (long long e = threadIdx.x; e < a.n.value_width; e += blockDim.x) {
        sum += static_cast<double>(static_cast<float>(dy[e])) * static_cast<float>(y[e]);
    }
    sum = block_sum(sum, shared);
    if (threadIdx.x == 0) {
        pointer<float>(a, 2)[blockIdx.x] = static_cast<float>(sum);
    }
}
TYPED_KERNEL(attention_mean, attention_numbers, attention_reals)

/// The weights in place of the scores, as attention_weights, and the gradients of scale * (q . k) in place of those of
/// the weights. at: scores, maxima, sums, means, gradients of weights.
template <class T>
__device__ void attention_slopes_of(const given<attention_numbers, attention_reals>& a) {
    const attention_row r(a);
    T* z = pointer<T>(a, 0) + r.row * a.n.keys;
    T* dz = pointer<T>(a, 4) + r.row * a.n.keys;
    const attention_softmax s(a, r);
    const float mean = pointer<const float>(a, 3)[r.row];
    for (long long k = threadIdx.x; k < a.n.keys; k += blockDim.x) {
        float weight = 0.0f;
        float gradient = 0.0f;
        if (r.sees(k)) {
            float slope;
            weight = s.weight(attention_score(a, r, k, z[k], &slope));
            const float kept = s.kept(a, r, k);
            const float along = kept != 0.0f ? kept * static_cast<float>(dz[k]) : 0.0f;
            gradient = (a.n.before_cap != 0 ? slope : 1.0f) * weight * (along - mean);
            weight = kept != 0.0f ? kept * weight : 0.0f;
        }
        z[k] = weight;
        dz[k] = gradient;
    }
}
TYPED_KERNEL(attention_slopes, attention_numbers, attention_reals)

/// The gradient of a table of buckets, a block for each number of the shard's part: the sum of the gradients of the
/// scores that it is added to. A row's keys of one bucket are side by side. at: gradients of scores, to.
template <class T>
__device__ void attention_buckets_of(const given<attention_numbers, attention_reals>& a) {
    __shared__ double shared[256];
    __shared__ long long apart[2];
    const long long bucket = blockIdx.x / a.n.table_heads;
    const long long head = blockIdx.x % a.n.table_heads - a.n.table_head; // of the shard's
    const long long each = a.n.causal != 0 ? a.n.buckets : a.n.buckets / 2;
    const long long side = bucket < each ? -1 : 1;
    const long long far = a.n.all_queries + a.n.all_keys;
    if (threadIdx.x == 0) {
        const long long last = far < a.n.max_distance ? far : a.n.max_distance;
        long long at = side > 0 ? 1 : 0;
        while (at < last && bucket_of(a.n, side * at) < bucket) {
            ++at;
        }
        apart[0] = at;
        while (at < last && bucket_of(a.n, side * at) == bucket) {
            ++at;
        }
        apart[1] = at == last && bucket_of(a.n, side * at) == bucket ? far : at;
    }
    __syncthreads();
    double sum = 0;
    const long long rows = a.n.samples * a.n.queries;
    for (long long i = threadIdx.x; i < rows && head >= 0 && head < a.n.heads; i += blockDim.x) {
        const long long query = i % a.n.queries;
        const T* dz = pointer<const T>(a, 0) + ((i / a.n.queries * a.n.heads + head) * a.n.queries + query) * a.n.keys;
        const long long place = a.n.first_query + query + a.n.all_keys - a.n.all_queries - a.n.first_key;
        long long first = side > 0 ? place + apart[0] : place - apart[1] + 1;
        long long end = side > 0 ? place + apart[1] : place - apart[0] + 1;
        first = first < 0 ? 0 : first;
        end = end < a.n.keys ? end : a.n.keys;
        for (long long k = first; k < end; ++k) {
            sum += static_cast<float>(dz[k]);
        }
    }
    sum = block_sum(sum, shared);
    if (threadIdx.x == 0) {
        pointer<float>(a, 1)[blockIdx.x] = static_cast<float>(sum);
    }
}
TYPED_KERNEL(attention_buckets, attention_numbers, attention_reals)

)
// clang-format on

} // namespace tessera::cuda::kernels

namespace tessera::cuda::detail {

void attention_forward(const shard_call& s);

void attention_backward(const shard_call& s);

} // namespace tessera::cuda::detail

namespace tessera::cuda {

inline constexpr operator_row attention_rows[] = {
    {.of = &op::attention_record,
     .forward = detail::attention_forward,
     .backward = detail::attention_backward,
     .calls_forward = "cublasLtMatmul kernel:attention_maximum kernel:attention_total kernel:attention_weights",
     .calls_backward = "cublasLtMatmul kernel:attention_mean kernel:attention_slopes kernel:attention_buckets "
                       "kernel:strided_copy_f32",
     .why = "masks, dropout by global index, and partial maxima and sums where keys are split",
     .code = kernels::attention_code},
    {.of = &op::padded_attention_record,
     .forward = detail::attention_forward,
     .backward = detail::attention_backward,
     .calls_forward = "cublasLtMatmul kernel:attention_maximum kernel:attention_total kernel:attention_weights",
     .calls_backward = "cublasLtMatmul kernel:attention_mean kernel:attention_slopes kernel:attention_buckets "
                       "kernel:strided_copy_f32",
     .why = "as attention",
     .code = kernels::attention_code},
};

} // namespace tessera::cuda

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/op/attention.inl"
#endif

#include "tessera/base/end_header.inl"
