// SPDX-License-Identifier: Apache-2.0
// The one place that knows which oneDNN there is: 2.x, whose memory descriptors are structs and whose operations have
// descriptors of their own, or
// 3.x, which has handles and makes primitive descriptors at once.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/box.hpp"
#include "tessera/base/error.hpp"
#include "tessera/base/owned.hpp"

#include <string>
#include <utility>

#include <oneapi/dnnl/dnnl.h>

#if DNNL_VERSION_MAJOR != 2 && DNNL_VERSION_MAJOR != 3
#error "tessera: the host backend is written for oneDNN 2.x and 3.x; install one of them"
#endif

namespace tessera::host {

void check(dnnl_status_t status, const char* call);

namespace detail {

template <auto Destroy>
struct destroy_with {
    template <class T>
    static void destroy(T* p) {
        static_cast<void>(Destroy(p));
    }
};

/// FNV-1a over numbers.
struct number_hash {
    std::uint64_t value = 14695981039346656037ULL;
    void operator()(std::int64_t x) { value = (value ^ static_cast<std::uint64_t>(x)) * 1099511628211ULL; }
};

} // namespace detail

/// Whether there is a Winograd convolution for processors: 3.x has dropped it.
inline constexpr bool has_winograd = DNNL_VERSION_MAJOR == 2;

#if DNNL_VERSION_MAJOR == 2

using desc_handle = const dnnl_memory_desc_t*;

/// How a tensor of 32-bit floats lies in memory, as oneDNN describes it. A value.
class tensor_desc {
public:
    tensor_desc() = default;
    tensor_desc(int rank, const dnnl_dims_t dims, dnnl_format_tag_t tag) {
        check(dnnl_memory_desc_init_by_tag(&md_, rank, dims, dnnl_f32, tag), "dnnl_memory_desc_init_by_tag");
    }
    explicit tensor_desc(desc_handle other) {
        if (other != nullptr) {
            md_ = *other;
        }
    }

    desc_handle get() const { return &md_; }
    int rank() const { return md_.ndims; }
    index_t extent(int d) const { return md_.dims[d]; }

    /// Of how it lays out memory; the same in every process.
    std::uint64_t hash() const {
        detail::number_hash mix;
        mix(md_.format_kind);
        for (int d = 0; d < md_.ndims; ++d) {
            mix(md_.padded_dims[d]);
        }
        if (md_.format_kind == dnnl_blocked) {
            const dnnl_blocking_desc_t& b = md_.format_desc.blocking;
            for (int d = 0; d < md_.ndims; ++d) {
                mix(b.strides[d]);
            }
            for (int i = 0; i < b.inner_nblks; ++i) {
                mix(b.inner_blks[i]);
                mix(b.inner_idxs[i]);
            }
        } else if (md_.format_kind == dnnl_format_kind_wino) {
            const dnnl_wino_desc_t& w = md_.format_desc.wino_desc;
            for (const int x : {static_cast<int>(w.wino_format), w.r, w.alpha, w.ic, w.oc, w.ic_block, w.oc_block,
                                w.ic2_block, w.oc2_block}) {
                mix(x);
            }
        }
        return mix.value;
    }

private:
    dnnl_memory_desc_t md_{};
};

#else

using desc_handle = const_dnnl_memory_desc_t;

/// How a tensor of 32-bit floats lies in memory, as oneDNN describes it. A value.
class tensor_desc {
public:
    tensor_desc() = default;
    tensor_desc(int rank, const dnnl_dims_t dims, dnnl_format_tag_t tag) {
        dnnl_memory_desc_t made = nullptr;
        check(dnnl_memory_desc_create_with_tag(&made, rank, dims, dnnl_f32, tag), "dnnl_memory_desc_create_with_tag");
        md_.reset(made);
    }
    explicit tensor_desc(desc_handle other) {
        if (other != nullptr) {
            dnnl_memory_desc_t made = nullptr;
            check(dnnl_memory_desc_clone(&made, other), "dnnl_memory_desc_clone");
            md_.reset(made);
        }
    }
    tensor_desc(const tensor_desc& other) : tensor_desc(other.get()) {}
    tensor_desc(tensor_desc&&) = default;
    tensor_desc& operator=(const tensor_desc& other) {
        md_ = std::move(tensor_desc(other).md_);
        return *this;
    }
    tensor_desc& operator=(tensor_desc&&) = default;
    ~tensor_desc() = default;

    desc_handle get() const { return md_.get(); }
    int rank() const { return md_ ? number(dnnl_query_ndims_s32) : 0; }
    index_t extent(int d) const { return numbers(dnnl_query_dims)[d]; }

    /// Of how it lays out memory; the same in every process.
    std::uint64_t hash() const {
        detail::number_hash mix;
        dnnl_format_kind_t kind = dnnl_format_kind_undef;
        check(dnnl_memory_desc_query(md_.get(), dnnl_query_format_kind, &kind), "dnnl_memory_desc_query");
        mix(kind);
        const int dimensions = rank();
        for (int d = 0; d < dimensions; ++d) {
            mix(numbers(dnnl_query_padded_dims)[d]);
        }
        if (kind == dnnl_blocked) {
            for (int d = 0; d < dimensions; ++d) {
                mix(numbers(dnnl_query_strides)[d]);
            }
            for (int i = 0; i < number(dnnl_query_inner_nblks_s32); ++i) {
                mix(numbers(dnnl_query_inner_blks)[i]);
                mix(numbers(dnnl_query_inner_idxs)[i]);
            }
        }
        return mix.value;
    }

private:
    using handle = owned<dnnl_memory_desc, detail::destroy_with<dnnl_memory_desc_destroy>>;

    int number(dnnl_query_t what) const {
        int found = 0;
        check(dnnl_memory_desc_query(md_.get(), what, &found), "dnnl_memory_desc_query");
        return found;
    }
    const dnnl_dim_t* numbers(dnnl_query_t what) const {
        const dnnl_dims_t* found = nullptr;
        check(dnnl_memory_desc_query(md_.get(), what, &found), "dnnl_memory_desc_query");
        return *found;
    }

    handle md_;
};

#endif

bool operator==(const tensor_desc& a, const tensor_desc& b);
index_t bytes_of(const tensor_desc& d);
/// Last dimension fastest. Weights of groups of volumes have one dimension more than any tensor of a network.
constexpr dnnl_format_tag_t plain_tag(int rank) {
    constexpr dnnl_format_tag_t tags[] = {dnnl_a, dnnl_a, dnnl_ab, dnnl_abc, dnnl_abcd, dnnl_abcde, dnnl_abcdef};
    return tags[rank];
}
/// The same extents, last dimension fastest.
tensor_desc plain_like(const tensor_desc& d);

/// Steps, distances (0: side by side) and padding of a window in each of its dimensions.
struct window_steps {
    dnnl_dims_t stride{}, dilation{}, begin{}, end{};
};

/// What a primitive is for: which pass, and for backward passes the descriptor of the forward one.
enum class direction : std::uint8_t { forward, inference, backward_data, backward_weights };

/// Makes primitive descriptors. Each returns one, or null where oneDNN has none for the shapes; `bias` may be null.
struct primitive_descs {
    dnnl_engine_t engine;
    const_dnnl_primitive_attr_t attributes;
    direction way;
    const_dnnl_primitive_desc_t hint; ///< of forward

#if DNNL_VERSION_MAJOR == 2
    dnnl_primitive_desc_t convolution(dnnl_alg_kind_t how, const tensor_desc& x, const tensor_desc& w,
                                      const tensor_desc* bias, const tensor_desc& y, const window_steps& g) const {
        dnnl_convolution_desc_t d{};
        dnnl_status_t made = dnnl_invalid_arguments;
        if (way == direction::backward_data) {
            made = dnnl_dilated_convolution_backward_data_desc_init(&d, how, x.get(), w.get(), y.get(), g.stride,
                                                                    g.dilation, g.begin, g.end);
        } else if (way == direction::backward_weights) {
            made = dnnl_dilated_convolution_backward_weights_desc_init(&d, how, x.get(), w.get(), handle(bias), y.get(),
                                                                       g.stride, g.dilation, g.begin, g.end);
        } else {
            made = dnnl_dilated_convolution_forward_desc_init(&d, kind(), how, x.get(), w.get(), handle(bias), y.get(),
                                                              g.stride, g.dilation, g.begin, g.end);
        }
        return create(made, &d);
    }

    dnnl_primitive_desc_t inner_product(const tensor_desc& x, const tensor_desc& w, const tensor_desc* bias,
                                        const tensor_desc& y) const {
        dnnl_inner_product_desc_t d{};
        dnnl_status_t made = dnnl_invalid_arguments;
        if (way == direction::backward_data) {
            made = dnnl_inner_product_backward_data_desc_init(&d, x.get(), w.get(), y.get());
        } else if (way == direction::backward_weights) {
            made = dnnl_inner_product_backward_weights_desc_init(&d, x.get(), w.get(), handle(bias), y.get());
        } else {
            made = dnnl_inner_product_forward_desc_init(&d, kind(), x.get(), w.get(), handle(bias), y.get());
        }
        return create(made, &d);
    }

    dnnl_primitive_desc_t pooling(dnnl_alg_kind_t how, const tensor_desc& x, const tensor_desc& y,
                                  const dnnl_dims_t kernel, const window_steps& g) const {
        dnnl_pooling_v2_desc_t d{};
        const dnnl_status_t made = way == direction::backward_data
                                       ? dnnl_pooling_v2_backward_desc_init(&d, how, x.get(), y.get(), g.stride, kernel,
                                                                            g.dilation, g.begin, g.end)
                                       : dnnl_pooling_v2_forward_desc_init(&d, kind(), how, x.get(), y.get(), g.stride,
                                                                           kernel, g.dilation, g.begin, g.end);
        return create(made, &d);
    }

private:
    dnnl_primitive_desc_t create(dnnl_status_t described, const_dnnl_op_desc_t d) const {
        dnnl_primitive_desc_t made = nullptr;
        return described == dnnl_success &&
                       dnnl_primitive_desc_create(&made, d, attributes, engine, hint) == dnnl_success
                   ? made
                   : nullptr;
    }
#else
    dnnl_primitive_desc_t convolution(dnnl_alg_kind_t how, const tensor_desc& x, const tensor_desc& w,
                                      const tensor_desc* bias, const tensor_desc& y, const window_steps& g) const {
        dnnl_primitive_desc_t made = nullptr;
        dnnl_status_t status = dnnl_invalid_arguments;
        if (way == direction::backward_data) {
            status = dnnl_convolution_backward_data_primitive_desc_create(
                &made, engine, how, x.get(), w.get(), y.get(), g.stride, g.dilation, g.begin, g.end, hint, attributes);
        } else if (way == direction::backward_weights) {
            status = dnnl_convolution_backward_weights_primitive_desc_create(
                &made, engine, how, x.get(), w.get(), handle(bias), y.get(), g.stride, g.dilation, g.begin, g.end, hint,
                attributes);
        } else {
            status = dnnl_convolution_forward_primitive_desc_create(&made, engine, kind(), how, x.get(), w.get(),
                                                                    handle(bias), y.get(), g.stride, g.dilation,
                                                                    g.begin, g.end, attributes);
        }
        return status == dnnl_success ? made : nullptr;
    }

    dnnl_primitive_desc_t inner_product(const tensor_desc& x, const tensor_desc& w, const tensor_desc* bias,
                                        const tensor_desc& y) const {
        dnnl_primitive_desc_t made = nullptr;
        dnnl_status_t status = dnnl_invalid_arguments;
        if (way == direction::backward_data) {
            status = dnnl_inner_product_backward_data_primitive_desc_create(&made, engine, x.get(), w.get(), y.get(),
                                                                            hint, attributes);
        } else if (way == direction::backward_weights) {
            status = dnnl_inner_product_backward_weights_primitive_desc_create(&made, engine, x.get(), w.get(),
                                                                               handle(bias), y.get(), hint, attributes);
        } else {
            status = dnnl_inner_product_forward_primitive_desc_create(&made, engine, kind(), x.get(), w.get(),
                                                                      handle(bias), y.get(), attributes);
        }
        return status == dnnl_success ? made : nullptr;
    }

    dnnl_primitive_desc_t pooling(dnnl_alg_kind_t how, const tensor_desc& x, const tensor_desc& y,
                                  const dnnl_dims_t kernel, const window_steps& g) const {
        dnnl_primitive_desc_t made = nullptr;
        const dnnl_status_t status =
            way == direction::backward_data
                ? dnnl_pooling_backward_primitive_desc_create(&made, engine, how, x.get(), y.get(), g.stride, kernel,
                                                              g.dilation, g.begin, g.end, hint, attributes)
                : dnnl_pooling_forward_primitive_desc_create(&made, engine, kind(), how, x.get(), y.get(), g.stride,
                                                             kernel, g.dilation, g.begin, g.end, attributes);
        return status == dnnl_success ? made : nullptr;
    }

private:
#endif
    dnnl_prop_kind_t kind() const;
    static desc_handle handle(const tensor_desc* d) { return d == nullptr ? nullptr : d->get(); }
};

} // namespace tessera::host

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/onednn/version.inl"
#endif

#include "tessera/base/end_header.inl"
