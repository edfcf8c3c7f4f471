// SPDX-License-Identifier: Apache-2.0
// The operator table: the calls of every row under random splits against what the vendors' libraries say of them, as
// far as they say it without a GPU. The numbers that they make: tests/op_test.
#include "support/cuda_instances.hpp"
#include "support/cuda_lists.hpp"
#include "support/known_operators.hpp"
#include "support/one_operator.hpp"
#include "support/sweep.hpp"

#include "tessera/backend/cuda/calls/print.hpp"
#include "tessera/backend/cuda/issue/descriptors.hpp"
#include "tessera/backend/cuda/op/table.hpp"
#include "tessera/backend/reference/backend.hpp"
#include "tessera/net/precision.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
using namespace test_support;

/// Holds calls against the descriptors that cuDNN and cublasLt make of them.
struct descriptor_check {
    const ts::cuda::call& c;
    int& checked;

    static ts::index_t bytes(cudnnTensorDescriptor_t d) {
        std::size_t size = 0;
        ts::cuda::check(cudnnGetTensorSizeInBytes(d, &size), "cudnnGetTensorSizeInBytes");
        return static_cast<ts::index_t>(size);
    }
    void operator()(const ts::cuda::convolution& k) const {
        const auto x = ts::cuda::describe_tensor(k.x, k.type());
        const auto w = ts::cuda::describe_filter(k.w, k.type());
        const auto y = ts::cuda::describe_tensor(k.y, k.type());
        const auto how = ts::cuda::describe_convolution(k);
        ts::cuda::tensor_extents e{{}, k.y.size()};
        ts::cuda::check(cudnnGetConvolutionNdForwardOutputDim(how.get(), x.get(), w.get(), e.size(), e.begin()),
                        "cudnnGetConvolutionNdForwardOutputDim");
        CHECK(e == k.y);
        std::size_t filter = 0;
        ts::cuda::check(cudnnGetFilterSizeInBytes(w.get(), &filter), "cudnnGetFilterSizeInBytes");
        CHECK(bytes(x.get()) == c.memory[0].bytes);
        CHECK(static_cast<ts::index_t>(filter) == c.memory[1].bytes);
        CHECK(bytes(y.get()) == c.memory[2].bytes);
        cudnnMathType_t math = CUDNN_DEFAULT_MATH;
        ts::cuda::check(cudnnGetConvolutionMathType(how.get(), &math), "cudnnGetConvolutionMathType");
        CHECK(math == (k.math == ts::precision::fp32   ? CUDNN_FMA_MATH
                       : k.math == ts::precision::tf32 ? CUDNN_DEFAULT_MATH
                                                       : CUDNN_TENSOR_OP_MATH));
        ++checked;
    }
    void operator()(const ts::cuda::bias_add& k) const {
        CHECK(bytes(ts::cuda::describe_tensor(k.y).get()) == c.memory[1].bytes);
        CHECK(c.memory[0].bytes == k.y[1] * 4);
        ++checked;
    }
    void operator()(const ts::cuda::bias_gradient& k) const {
        CHECK(bytes(ts::cuda::describe_tensor(k.y).get()) == c.memory[0].bytes);
        CHECK(c.memory[1].bytes == k.y[1] * 4);
        ++checked;
    }
    void operator()(const ts::cuda::pooling& k) const {
        const auto x = ts::cuda::describe_tensor(k.x, k.type);
        const auto y = ts::cuda::describe_tensor(k.y, k.type);
        const auto how = ts::cuda::describe_pooling(k);
        ts::cuda::tensor_extents e{{}, k.y.size()};
        ts::cuda::check(cudnnGetPoolingNdForwardOutputDim(how.get(), x.get(), e.size(), e.begin()),
                        "cudnnGetPoolingNdForwardOutputDim");
        CHECK(e == k.y);
        CHECK(bytes(x.get()) == c.memory[0].bytes);
        CHECK(bytes(y.get()) == c.memory[1].bytes);
        ++checked;
    }
    void operator()(const ts::cuda::activation& k) const {
        const auto how = ts::cuda::describe_activation(k);
        CHECK(how.get() != nullptr);
        for (const ts::cuda::memory_use& m : c.memory) {
            CHECK(m.bytes == k.count * ts::bytes_of(k.type));
        }
        ++checked;
    }
    void operator()(const ts::cuda::normalization& k) const {
        const auto x = ts::cuda::describe_tensor(k.x, k.type);
        cudnnTensorDescriptor_t d = nullptr;
        ts::cuda::check(cudnnCreateTensorDescriptor(&d), "cudnnCreateTensorDescriptor");
        const ts::cuda::tensor_handle channels(d);
        ts::cuda::check(cudnnDeriveBNTensorDescriptor(d, x.get(), CUDNN_BATCHNORM_SPATIAL),
                        "cudnnDeriveBNTensorDescriptor");
        const bool backward = k.way == ts::cuda::normalization::direction::backward;
        CHECK(bytes(x.get()) == c.memory[0].bytes);
        CHECK(bytes(x.get()) == c.memory[backward                                                ? 4
                                         : k.way == ts::cuda::normalization::direction::training ? 3
                                                                                                 : 4]
                                    .bytes);
        CHECK(bytes(d) == c.memory[backward ? 2 : 1].bytes); // numbers of channels are of fp32
        CHECK(2 * bytes(d) == c.memory[k.way == ts::cuda::normalization::direction::training ? 4 : 3].bytes);
        ++checked;
    }
    void operator()(const ts::cuda::row_softmax& k) const {
        for (const ts::cuda::memory_use& m : c.memory) {
            CHECK(m.bytes == ts::index_t{k.rows} * k.columns * ts::bytes_of(k.type));
        }
        ++checked;
    }
    void operator()(const ts::cuda::tensor_operation& k) const {
        CHECK(ts::cuda::describe_operation(k).get() != nullptr);
        for (int i = 0; i < 3; ++i) {
            CHECK(c.memory[ts::to_size(i)].bytes == k.count * (i == 1 && k.repeats ? 1 : k.rows) * 4);
        }
        ++checked;
    }
    void operator()(const ts::cuda::matrix_product& k) const {
        const auto d = ts::cuda::describe_product(k);
        const auto get = [](cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t which, auto& to) {
            std::size_t written = 0;
            ts::cuda::check(cublasLtMatrixLayoutGetAttribute(layout, which, &to, sizeof to, &written),
                            "cublasLtMatrixLayoutGetAttribute");
        };
        // Bytes from the first element of the batch to the last.
        const auto elements = [&](cublasLtMatrixLayout_t layout, int i, std::uint64_t(&e)[2]) {
            std::uint32_t type = 0;
            get(layout, CUBLASLT_MATRIX_LAYOUT_TYPE, type);
            CHECK((type == CUDA_R_16BF) == (k.type_of(i) == ts::element::bf16));
            std::uint64_t lead = 0;
            std::int32_t batch = 0;
            std::int64_t apart = 0;
            get(layout, CUBLASLT_MATRIX_LAYOUT_ROWS, e[0]);
            get(layout, CUBLASLT_MATRIX_LAYOUT_COLS, e[1]);
            get(layout, CUBLASLT_MATRIX_LAYOUT_LD, lead);
            get(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, batch);
            get(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, apart);
            CHECK(batch == k.batch);
            CHECK(lead >= e[0]);
            return (static_cast<ts::index_t>((e[1] - 1) * lead + e[0]) + (batch - 1) * apart) *
                   ts::bytes_of(k.type_of(i));
        };
        std::uint64_t a[2];
        std::uint64_t b[2];
        std::uint64_t y[2];
        CHECK(elements(d.a.get(), 0, a) == c.memory[0].bytes);
        CHECK(elements(d.b.get(), 1, b) == c.memory[1].bytes);
        CHECK(elements(d.d.get(), 2, y) == c.memory[2].bytes);
        CHECK(a[k.transpose_a ? 1 : 0] == y[0]); // the product is one of matrices that fit
        CHECK(b[k.transpose_b ? 0 : 1] == y[1]);
        CHECK(a[k.transpose_a ? 0 : 1] == b[k.transpose_b ? 1 : 0]);
        cublasComputeType_t sums{};
        std::size_t written = 0;
        ts::cuda::check(cublasLtMatmulDescGetAttribute(d.product.get(), CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, &sums,
                                                       sizeof sums, &written),
                        "cublasLtMatmulDescGetAttribute");
        CHECK((sums == CUBLAS_COMPUTE_32F_FAST_TF32) == (k.math == ts::precision::tf32));
        CHECK(ts::cuda::describe_preference(k).get() != nullptr);
        ++checked;
    }
    template <class Other>
    void operator()(const Other&) const {}
};

/// A function as the table of operators names it.
std::string name_in_table(const ts::cuda::call& c) {
    const auto* const kernel = std::get_if<ts::cuda::kernel_launch>(&c.body);
    if (kernel != nullptr && kernel->which->family != nullptr) {
        return std::string("kernel:") + kernel->which->family;
    }
    const std::string name = ts::cuda::function_of(c);
    const std::size_t space = name.find(' ');
    return space == std::string::npos           ? name
           : name.compare(0, 7, "kernel ") == 0 ? "kernel:" + name.substr(7)
                                                : name.substr(0, space);
}

} // namespace

namespace {

/// vocabulary_loss has no row, and is refused by name.
bool is_offered(const tests::op_case& row) {
    return std::string_view(ts::record_of(row.attributes).name).find("vocabulary_loss") == std::string_view::npos;
}

} // namespace

TEST_CASE("calls of every row of the operator table are what the vendors' libraries say of them, under random splits") {
    constexpr int kind_count = test_support::op_kinds;
    int kinds[kind_count] = {};
    int vendor = 0;
    coverage seen;
    for (const tests::op_case& row : tests::op_table()) {
        if (!is_offered(row)) {
            continue;
        }
        ts::graph network = graph_of(row);
        const ts::graph_view g = network.view();
        for (std::uint64_t seed = 0; seed < 14; ++seed) { // 8 in fp32, 2 in tf32, 4 in bf16
            const ts::precision math = seed < 8    ? ts::precision::fp32
                                       : seed < 10 ? ts::precision::tf32
                                                   : ts::precision::bf16;
            ts::set_precision(network, math);
            const int devices = 1 + static_cast<int>(seed % 4) * 2;
            const ts::strategy s = random_strategy(g, devices, seed + 90, seen);
            CAPTURE(row.name);
            CAPTURE(seed);
            CAPTURE(std::string(ts::to_text(math)));
            ts::lower_options o;
            o.keep_gradients = true;
            o.output_gradient = g.tensor_count - 1;
            const listed x = make_listed(g, s, devices, gpu_placement(devices, static_cast<int>(seed % 3)), o);
            for (const ts::cuda::call& c : x.list.calls) {
                std::visit(descriptor_check{c, vendor}, c.body);
            }
        }
        ++kinds[test_support::number_of(row.attributes.kind)];
    }
    for (int k = 0; k < kind_count; ++k) {
        CAPTURE(std::string(ts::library_operators[k]->name));
        CHECK(kinds[k] > 0);
    }
    CHECK(vendor > 1000);
    MESSAGE(vendor << " vendor calls agree with their descriptors");
}

TEST_CASE("factors of a product are rounded in tf32 and in bf16, and in fp32 they are not") {
    ts::graph network = graph_of({"linear",
                                  ts::attributes_of(ts::op_kind::linear, ts::op::linear_attributes{.out = 7}),
                                  {ts::make_shape(5, 6)}});
    const ts::graph_view g = network.view();
    const batch_data data(g, 3);
    const ts::strategy whole(g);
    ts::reference::backend plain;
    const auto exact = values_after(plain, g, whole, 1, data);
    double worst[3] = {};
    for (const ts::precision math : {ts::precision::fp32, ts::precision::tf32, ts::precision::bf16}) {
        ts::set_precision(network, math);
        emulated_backend emulated({}, gpu_placement(1, 0));
        for (const auto& [result, values] : values_after(emulated, g, whole, 1, data)) {
            double& most = worst[static_cast<int>(math)];
            most = std::max(most, relative(values, exact.at(result), 1e-6));
        }
    }
    CHECK(worst[0] < 1e-6);
    CHECK(worst[1] > 1e-5);
    CHECK(worst[2] > 1e-4);
}

TEST_CASE("blocks share a channel where there are few, and their sums are those of one") {
    coverage seen;
    int shared = 0;
    const ts::shape extents[] = {ts::make_shape(5, 3, 37, 41), ts::make_shape(2100, 3), ts::make_shape(70, 40, 2, 17)};
    for (const ts::shape& x : extents) {
        for (const bool layer : {false, true}) { // the latter's shifts are sums of columns
            const tests::op_case row{
                "few channels",
                ts::op_attributes{.kind = layer ? ts::op_kind::layer_norm : ts::op_kind::batch_norm},
                {x}};
            if (layer && x.rank == 4) {
                continue;
            }
            ts::graph network = graph_of(row);
            const ts::graph_view g = network.view();
            const batch_data data(g, 8);
            for (std::uint64_t seed = 0; seed < 4; ++seed) {
                ts::set_precision(network, seed < 3 ? ts::precision::fp32 : ts::precision::bf16);
                const int devices = 1 + static_cast<int>(seed);
                const ts::strategy s = random_strategy(g, devices, seed + 17, seen);
                CAPTURE(x[0]);
                CAPTURE(seed);
                ts::reference::backend plain;
                emulated_backend emulated({}, gpu_placement(devices, 0));
                each_result_beside(plain, emulated, g, s, devices, data,
                                   [&](int, const auto& got, const auto& expected) {
                                       CHECK(relative(got, expected, 1e-6) < (seed < 3 ? 1e-4 : 2e-2));
                                   });
                emulated.each_call([&](const ts::cuda::call& c) {
                    const auto* k = std::get_if<ts::cuda::kernel_launch>(&c.body);
                    shared += k != nullptr && k->which == &ts::cuda::kernels::add_channel_parts ? 1 : 0;
                });
            }
        }
    }
    CHECK(shared >= 8);
}

TEST_CASE("the table of operators says which calls a whole shard makes, no more and no fewer") {
    std::map<std::string_view, std::set<std::string>> made[2];
    for (const tests::op_case& row : tests::op_table()) {
        if (!is_offered(row)) {
            continue;
        }
        const ts::graph network = graph_of(row);
        ts::lower_options o;
        o.output_gradient = network.view().tensor_count - 1;
        const listed x = make_listed(network.view(), ts::strategy(network.view()), 1, {0}, o);
        for (const ts::cuda::call& c : x.list.calls) {
            const ts::task& t = x.p.tasks[ts::to_size(c.task)];
            const bool updates = t.kind() == ts::task_kind::compute && t.what == ts::pass::update;
            if (t.kind() == ts::task_kind::compute) {
                made[t.what == ts::pass::forward || updates ? 0 : 1][ts::record_of(row.attributes).name].insert(
                    name_in_table(c));
            }
        }
    }
    for (const ts::cuda::operator_row* row : ts::cuda::operator_rows) {
        const ts::cuda::operator_row& r = *row;
        for (int way = 0; way < 2; ++way) {
            std::set<std::string> said;
            std::string rest = way == 0 ? r.calls_forward : r.calls_backward;
            for (std::size_t end = 0; end != std::string::npos;
                 rest = rest.substr(end == std::string::npos ? 0 : end + 1)) {
                end = rest.find(' ');
                said.insert(rest.substr(0, end));
            }
            said.erase("-");
            CAPTURE(std::string(r.of->name));
            CAPTURE(way);
            CHECK(made[way][r.of->name] == said);
            const bool own = (std::string(r.calls_forward) + r.calls_backward).find("kernel:") != std::string::npos;
            CHECK(own == (*r.why != 0)); // where a kernel is our own, the table says why
        }
    }
    CHECK(ts::cuda::operator_table().find("batch_norm: forward cudnnBatchNormalizationForwardTraining") !=
          std::string::npos);
}

TEST_CASE("a loss tied to the last product is refused by name") {
    int refused = 0;
    for (const tests::op_case& row : tests::op_table()) {
        if (is_offered(row)) {
            continue;
        }
        ++refused;
        const ts::graph network = graph_of(row);
        ts::lower_options o;
        o.output_gradient = network.view().tensor_count - 1;
        CHECK_THROWS_WITH_AS(make_listed(network.view(), ts::strategy(network.view()), 1, {0}, o),
                             doctest::Contains("and the CUDA backend has no such operator"), ts::error);
    }
    CHECK(refused > 0);
}

TEST_CASE("every operator of the library is in the table, once") {
    for (const ts::op_record* of : ts::library_operators) {
        int rows = 0;
        for (const ts::cuda::operator_row* r : ts::cuda::operator_rows) {
            rows += r->of == of ? 1 : 0;
        }
        CAPTURE(std::string(of->name));
        CHECK(rows == 1);
    }
    CHECK(ts::cuda::operator_rows.size() == static_cast<int>(std::size(ts::library_operators)));
}

TEST_CASE("supports() says what is offered, and what is not is refused by name when a plan is bound") {
    using ts::pass;
    using ts::precision;
    for (const ts::cuda::operator_row* r : ts::cuda::operator_rows) {
        for (const precision math : {precision::fp32, precision::tf32, precision::bf16}) {
            for (const pass what : {pass::forward, pass::backward, pass::recompute, pass::evaluate}) {
                CHECK(ts::cuda::supports(*r->of, what, math)); // the sweep above has computed each
            }
            CHECK(ts::cuda::supports(*r->of, pass::update, math) == (r->of == &ts::op::batch_norm_record));
        }
    }
    // A row without a pass, or only for some precisions.
    ts::cuda::operator_row limited = ts::cuda::linear_row;
    limited.most = precision::tf32;
    CHECK(limited.offers(pass::forward, precision::tf32));
    CHECK(!limited.offers(pass::forward, precision::bf16));
    CHECK(!limited.offers(pass::update, precision::fp32));
    CHECK(ts::cuda::precisions_of(limited) == "fp32, tf32");

    // Bound, not run.
    static constexpr ts::op_record made_up{.name = "made_up",
                                           .infer = ts::op::relu_record.infer,
                                           .describe = [](const ts::op_attributes&, const ts::shape* x, int) {
                                               return ts::op::describe_function(*x, 1, true);
                                           }};
    CHECK(!ts::cuda::supports(made_up, pass::forward, precision::fp32));
    const auto message = [](const ts::op_attributes& of, auto change) {
        ts::graph network = graph_of(tests::op_case{"one", of, {ts::make_shape(4, 6)}});
        const ts::strategy s(network.view());
        ts::plan p = ts::lower(network.view(), s.view(), 1, ts::lower_options());
        change(network, p);
        ts::cuda::algorithm_table algorithms;
        try {
            ts::cuda::bind(p, network.view(), {{0}, {}}, algorithms);
        } catch (const ts::error& e) {
            return std::string(e.what());
        }
        return std::string();
    };
    const auto as_it_is = [](ts::graph&, ts::plan&) {};
    CHECK(message({.kind = ts::op_kind::relu}, as_it_is) == "");
    const std::string unknown = message({.kind = ts::op_kind{&made_up}}, as_it_is);
    CAPTURE(unknown);
    CHECK(
        unknown.find(" is a made_up, and the CUDA backend has no such operator; run the network on another backend, or "
                     "have its record bring a row: .rows = {{\"cuda\", &row}}") != std::string::npos);
    const std::string no_pass = message({.kind = ts::op_kind::relu}, [](ts::graph&, ts::plan& p) {
        for (ts::task& t : p.tasks) {
            t.what = t.kind() == ts::task_kind::compute ? pass::update : t.what;
        }
    });
    CAPTURE(no_pass);
    CHECK(no_pass.find(" is a relu, of which the CUDA backend has no pass update") != std::string::npos);
    const std::string no_precision = message({.kind = ts::op_kind::relu}, [](ts::graph& g, ts::plan&) {
        for (auto& op : g.ops) {
            op.attributes.math = static_cast<precision>(3);
        }
    });
    CAPTURE(no_precision);
    CHECK(no_precision.find(" is a relu, which the CUDA backend does not compute in the network's precision; take one "
                            "that it has: fp32, tf32, bf16") != std::string::npos);
}
