// SPDX-License-Identifier: Apache-2.0
// Softmax and layer norm of rows, and look-ups in tables. Arrays are [rows, columns], or [rows, positions, columns].
// clang-format off
TESSERA_DEVICE_CODE(

/// exp(x - maximum) / sum, and 0 where a causal row does not see. at: x, maxima, sums, y. n: rows, columns, 1, -, then what
/// seen_columns takes; so have row_maximum and row_exponentials in a softmax.
template <class T>
__device__ void softmax_forward_of(const arguments& a) {
    const T* x = pointer<const T>(a, 0);
    for (long long i = first_index(); i < a.n[0] * a.n[1]; i += index_step()) {
        const long long row = i / a.n[1];
        pointer<T>(a, 3)[i] = i % a.n[1] < seen_columns(a, row)
                                      ? expf(x[i] - pointer<const float>(a, 1)[row]) / pointer<const float>(a, 2)[row]
                                      : 0.0f;
    }
}
extern "C" __global__ void softmax_forward(arguments a) { softmax_forward_of<float>(a); }
extern "C" __global__ void softmax_forward_bf16(arguments a) { softmax_forward_of<bf16>(a); }

/// The sum of dy * y of every row: a block for each. at: dy, y, to. n: rows, columns.
template <class T>
__device__ void softmax_total_gradient_of(const arguments& a) {
    __shared__ double shared[256];
    const long long row = blockIdx.x;
    const T* dy = pointer<const T>(a, 0) + row * a.n[1];
    const T* y = pointer<const T>(a, 1) + row * a.n[1];
    double sum = 0;
    for (long long k = threadIdx.x; k < a.n[1]; k += blockDim.x) {
        sum += static_cast<double>(dy[k]) * y[k];
    }
    sum = block_sum(sum, shared);
    if (threadIdx.x == 0) {
        pointer<float>(a, 2)[row] = static_cast<float>(sum);
    }
}
extern "C" __global__ void softmax_total_gradient(arguments a) { softmax_total_gradient_of<float>(a); }
extern "C" __global__ void softmax_total_gradient_bf16(arguments a) { softmax_total_gradient_of<bf16>(a); }

/// y * (dy - sum of dy * y). at: dy, y, sums, dx. n: rows, columns.
template <class T>
__device__ void softmax_input_gradient_of(const arguments& a) {
    for (long long i = first_index(); i < a.n[0] * a.n[1]; i += index_step()) {
        pointer<T>(a, 3)[i] =
            pointer<const T>(a, 1)[i] * (pointer<const T>(a, 0)[i] - pointer<const float>(a, 2)[i / a.n[1]]);
    }
}
extern "C" __global__ void softmax_input_gradient(arguments a) { softmax_input_gradient_of<float>(a); }
extern "C" __global__ void softmax_input_gradient_bf16(arguments a) { softmax_input_gradient_of<bf16>(a); }

/// at: x, statistics[2, rows], gamma, beta, y. n of all of layer norm: rows, columns of the shard. f: columns of the whole row, epsilon.
template <class T>
__device__ void layer_normalize_of(const arguments& a) {
    const T* x = pointer<const T>(a, 0);
    for (long long i = first_index(); i < a.n[0] * a.n[1]; i += index_step()) {
        const long long c = i % a.n[1];
        const normalizer n = normalizer_of(a.at[1], i / a.n[1], a.n[0], a.f[0], a.f[1]);
        const double normal = (x[i] - n.mean) * n.inverse;
        pointer<T>(a, 4)[i] = static_cast<float>(pointer<const float>(a, 2)[c] * normal + pointer<const float>(a, 3)[c]);
    }
}
extern "C" __global__ void layer_normalize(arguments a) { layer_normalize_of<float>(a); }
extern "C" __global__ void layer_normalize_bf16(arguments a) { layer_normalize_of<bf16>(a); }

/// The sums of dy * gamma and of dy * gamma * normalized x of every row: a block for each. at: dy, x, gamma, statistics, to[2, rows].
template <class T>
__device__ void layer_statistics_gradient_of(const arguments& a) {
    __shared__ double shared[256];
    const long long row = blockIdx.x;
    const T* dy = pointer<const T>(a, 0) + row * a.n[1];
    const T* x = pointer<const T>(a, 1) + row * a.n[1];
    const normalizer n = normalizer_of(a.at[3], row, a.n[0], a.f[0], a.f[1]);
    double plain = 0;
    double normal = 0;
    for (long long c = threadIdx.x; c < a.n[1]; c += blockDim.x) {
        const double g = static_cast<double>(dy[c]) * pointer<const float>(a, 2)[c];
        plain += g;
        normal += g * ((x[c] - n.mean) * n.inverse);
    }
    plain = block_sum(plain, shared);
    normal = block_sum(normal, shared);
    if (threadIdx.x == 0) {
        pointer<double>(a, 4)[row] = plain;
        pointer<double>(a, 4)[a.n[0] + row] = normal;
    }
}
extern "C" __global__ void layer_statistics_gradient(arguments a) { layer_statistics_gradient_of<float>(a); }
extern "C" __global__ void layer_statistics_gradient_bf16(arguments a) { layer_statistics_gradient_of<bf16>(a); }

/// The sum of dy * normalized x of every column: a block for each. at: dy, x, statistics, to[columns].
template <class T>
__device__ void layer_scale_gradient_of(const arguments& a) {
    __shared__ double shared[256];
    const long long c = blockIdx.x;
    double sum = 0;
    for (long long row = threadIdx.x; row < a.n[0]; row += blockDim.x) {
        const long long at = row * a.n[1] + c;
        const normalizer n = normalizer_of(a.at[2], row, a.n[0], a.f[0], a.f[1]);
        sum += pointer<const T>(a, 0)[at] * ((pointer<const T>(a, 1)[at] - n.mean) * n.inverse);
    }
    sum = block_sum(sum, shared);
    if (threadIdx.x == 0) {
        pointer<float>(a, 3)[c] = static_cast<float>(sum);
    }
}
extern "C" __global__ void layer_scale_gradient(arguments a) { layer_scale_gradient_of<float>(a); }
extern "C" __global__ void layer_scale_gradient_bf16(arguments a) { layer_scale_gradient_of<bf16>(a); }

/// dx = (dy * gamma - (sum of dy * gamma + normalized x * sum of dy * gamma * normalized x) / columns) / sigma.
/// at: dy, x, gamma, statistics, sums[2, rows], dx.
template <class T>
__device__ void layer_input_gradient_of(const arguments& a) {
    const double* sums = pointer<const double>(a, 4);
    for (long long i = first_index(); i < a.n[0] * a.n[1]; i += index_step()) {
        const long long row = i / a.n[1];
        const normalizer n = normalizer_of(a.at[3], row, a.n[0], a.f[0], a.f[1]);
        const double normal = (pointer<const T>(a, 1)[i] - n.mean) * n.inverse;
        const double g = static_cast<double>(pointer<const T>(a, 0)[i]) * pointer<const float>(a, 2)[i % a.n[1]];
        pointer<T>(a, 5)[i] = static_cast<float>(n.inverse * (g - (sums[row] + normal * sums[a.n[0] + row]) / a.f[0]));
    }
}
extern "C" __global__ void layer_input_gradient(arguments a) { layer_input_gradient_of<float>(a); }
extern "C" __global__ void layer_input_gradient_bf16(arguments a) { layer_input_gradient_of<bf16>(a); }

/// The rows of the tokens that lie in the shard's part of the table, 0 for others. at: tokens, table, y. n of both: tokens, columns,
/// rows of the part, number of its first row.
template <class T>
__device__ void look_up_of(const arguments& a) {
    for (long long i = first_index(); i < a.n[0] * a.n[1]; i += index_step()) {
        const long long row = pointer<const int>(a, 0)[i / a.n[1]] - a.n[3];
        pointer<T>(a, 2)[i] = row >= 0 && row < a.n[2] ? pointer<const float>(a, 1)[row * a.n[1] + i % a.n[1]] : 0.0f;
    }
}
extern "C" __global__ void look_up(arguments a) { look_up_of<float>(a); }
extern "C" __global__ void look_up_bf16(arguments a) { look_up_of<bf16>(a); }

/// A block for each row of the table, a thread for each column of it: it adds up the gradients of the row's tokens in their order.
/// at: tokens, dy, to.
template <class T>
__device__ void look_up_gradient_of(const arguments& a) {
    __shared__ int hits[256];
    __shared__ int found[1];
    const int* tokens = pointer<const int>(a, 0);
    const T* dy = pointer<const T>(a, 1);
    const long long row = blockIdx.x;
    float* to = pointer<float>(a, 2) + row * a.n[1];
    for (long long c = threadIdx.x; c < a.n[1]; c += blockDim.x) {
        to[c] = 0.0f;
    }
    for (long long first = 0; first < a.n[0]; first += blockDim.x) {
        if (threadIdx.x == 0) {
            found[0] = 0;
        }
        __syncthreads();
        const long long own = first + threadIdx.x;
        const bool hit = own < a.n[0] && tokens[own] == row + a.n[3];
        hits[threadIdx.x] = hit ? 1 : 0;
        if (hit) {
            found[0] = 1;
        }
        __syncthreads();
        for (long long c = threadIdx.x; found[0] == 1 && c < a.n[1]; c += blockDim.x) {
            float sum = to[c];
            for (unsigned k = 0; k < blockDim.x; ++k) {
                sum += hits[k] == 1 ? dy[(first + k) * a.n[1] + c] : 0.0f;
            }
            to[c] = sum;
        }
        __syncthreads();
    }
}
extern "C" __global__ void look_up_gradient(arguments a) { look_up_gradient_of<float>(a); }
extern "C" __global__ void look_up_gradient_bf16(arguments a) { look_up_gradient_of<bf16>(a); }

/// The same table added to every sample. at: x, table, y. n: count, elements of the table.
template <class T>
__device__ void add_table_of(const arguments& a) {
    for (long long i = first_index(); i < a.n[0]; i += index_step()) {
        pointer<T>(a, 2)[i] = pointer<const T>(a, 0)[i] + pointer<const float>(a, 1)[i % a.n[1]];
    }
}
extern "C" __global__ void add_table(arguments a) { add_table_of<float>(a); }
extern "C" __global__ void add_table_bf16(arguments a) { add_table_of<bf16>(a); }

)
// clang-format on
