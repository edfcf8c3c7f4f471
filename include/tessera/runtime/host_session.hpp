// SPDX-License-Identifier: Apache-2.0
// A session on the host whose inside is compiled elsewhere, once: in the library tessera::host_runtime, or wherever a source includes
// runtime/host_source.inl.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/backend.hpp"
#include "tessera/execute/field_lines.hpp"
#include "tessera/execute/input_data.hpp"
#include "tessera/execute/kept_pieces.hpp"
#include "tessera/execute/prediction.hpp"
#include "tessera/execute/residuals.hpp"

#include <span>
#include <utility>
#include <vector>

namespace tessera::host {

class runtime;

/// What session<host::backend> is, see there, behind a pointer. It has the rows of all operators of the library, and those that an operator of one's own brings.
class runtime_session {
public:
    runtime_session(const graph_view& g, const strategy& s, int devices, const optimizer& update,
                    const session_options& options, runtime&, workers& threads);
    ~runtime_session();
    runtime_session(const runtime_session&) = delete;
    runtime_session& operator=(const runtime_session&) = delete;

    const plan& training_plan() const;
    const graph_view graph_of() const;
    const graph_view planned_graph() const;
    graph_view graph_of(std::span<const input_data> inputs) const;
    std::uint64_t steps() const;
    double learning_rate() const;
    void set_learning_rate(double rate);

    double step(std::span<const input_data> inputs);
    std::vector<double> steps(std::span<const std::vector<input_data>> batches, std::span<const double> rates = {});
    double loss_of(int op) const;
    evaluation evaluate(std::span<const input_data> inputs);
    std::vector<prediction> predict(std::span<const input_data> inputs, const std::vector<int>& wanted);
    void finish();

    std::vector<float> parameter(int p) const;
    void set_parameter(int p, std::span<const float> values);
    void use_averages(bool use);
    bool uses_averages() const;
    std::vector<float> gradient(int p) const;
    const optimizer& update() const;
    field_lines identity_lines() const;
    std::uint64_t seed() const;
    std::vector<float> kept(int p, int state) const;
    void set_kept(int p, int state, std::span<const float> values);
    bool keeps(int p, int state) const;
    std::vector<kept_piece> kept_pieces(int p, int state) const;
    void copy_kept(int p, int state, const kept_piece& piece, const box& to, float* numbers) const;
    void fill_kept(int p, int state, kept_source source);
    std::vector<kept_residual> residuals() const;
    void copy_residual(const kept_residual& r, float* numbers) const;
    void set_residual(const kept_residual& r, std::span<const float> numbers);
    void settle() const;
    void resume_after(std::uint64_t steps, std::uint64_t seed, double learning_rate);
    std::vector<std::pair<box, std::vector<float>>> parameter_copies(int p) const;

private:
    struct inside;
    inside* inside_;
};

/// The host backend of compiled sessions: trainer<network, host::runtime>. Whether it computes an operator of one's own that brings no row and is no expression
/// is known when the trainer is made.
class runtime {
public:
    using session_type = runtime_session;

    explicit runtime(const optimizer&) {}

    static constexpr bool supports(const op_record&, pass, precision math) { return math != precision::bf16; }
};

} // namespace tessera::host

#include "tessera/base/end_header.inl"
