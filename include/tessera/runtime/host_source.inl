// SPDX-License-Identifier: Apache-2.0
// The inside of compiled sessions on the host: for exactly one source of a program, which links oneDNN; the CMake target tessera::host_runtime
// is such a source.

#include "tessera/backend/host/backend.hpp"
#include "tessera/runtime/host_session.hpp"

namespace tessera::host {

struct runtime_session::inside {
    backend uses;
    session<backend> trains;

    inside(const graph_view& g, const strategy& s, int device_count, const optimizer& update,
           const session_options& options, workers& threads)
        : uses(update, options), trains(g, s, device_count, update, options, uses, threads) {}
};

runtime_session::runtime_session(const graph_view& g, const strategy& s, int device_count, const optimizer& update,
                                 const session_options& options, runtime&, workers& threads)
    : inside_(new inside(g, s, device_count, update, options, threads)) {}
runtime_session::~runtime_session() { delete inside_; }

const plan& runtime_session::training_plan() const { return inside_->trains.training_plan(); }
const graph_view runtime_session::planned_graph() const { return inside_->trains.planned_graph(); }
const graph_view runtime_session::graph_of() const { return inside_->trains.graph_of(); }
graph_view runtime_session::graph_of(std::span<const input_data> inputs) const {
    return inside_->trains.graph_of(inputs);
}
std::uint64_t runtime_session::steps() const { return inside_->trains.steps(); }
double runtime_session::learning_rate() const { return inside_->trains.learning_rate(); }
void runtime_session::set_learning_rate(double rate) { return inside_->trains.set_learning_rate(rate); }
double runtime_session::step(std::span<const input_data> inputs) { return inside_->trains.step(inputs); }
std::vector<double> runtime_session::steps(std::span<const std::vector<input_data>> batches,
                                           std::span<const double> rates) {
    return inside_->trains.steps(batches, rates);
}
double runtime_session::loss_of(int op) const { return inside_->trains.loss_of(op); }
evaluation runtime_session::evaluate(std::span<const input_data> inputs) { return inside_->trains.evaluate(inputs); }
std::vector<prediction> runtime_session::predict(std::span<const input_data> inputs, const std::vector<int>& wanted) {
    return inside_->trains.predict(inputs, wanted);
}
void runtime_session::finish() { return inside_->trains.finish(); }
std::vector<float> runtime_session::parameter(int p) const { return inside_->trains.parameter(p); }
void runtime_session::set_parameter(int p, std::span<const float> values) {
    return inside_->trains.set_parameter(p, values);
}
void runtime_session::use_averages(bool use) { return inside_->trains.use_averages(use); }
bool runtime_session::uses_averages() const { return inside_->trains.uses_averages(); }
std::vector<float> runtime_session::gradient(int p) const { return inside_->trains.gradient(p); }
const optimizer& runtime_session::update() const { return inside_->trains.update(); }
field_lines runtime_session::identity_lines() const { return inside_->trains.identity_lines(); }
std::uint64_t runtime_session::seed() const { return inside_->trains.seed(); }
std::vector<float> runtime_session::kept(int p, int state) const { return inside_->trains.kept(p, state); }
void runtime_session::set_kept(int p, int state, std::span<const float> values) {
    return inside_->trains.set_kept(p, state, values);
}
std::vector<kept_piece> runtime_session::kept_pieces(int p, int state) const {
    return inside_->trains.kept_pieces(p, state);
}
void runtime_session::copy_kept(int p, int state, const kept_piece& piece, const box& to, float* numbers) const {
    return inside_->trains.copy_kept(p, state, piece, to, numbers);
}
void runtime_session::fill_kept(int p, int state, kept_source source) {
    return inside_->trains.fill_kept(p, state, source);
}
std::vector<kept_residual> runtime_session::residuals() const { return inside_->trains.residuals(); }
void runtime_session::copy_residual(const kept_residual& r, float* numbers) const {
    return inside_->trains.copy_residual(r, numbers);
}
void runtime_session::set_residual(const kept_residual& r, std::span<const float> numbers) {
    return inside_->trains.set_residual(r, numbers);
}
void runtime_session::settle() const { return inside_->trains.settle(); }
bool runtime_session::keeps(int p, int state) const { return inside_->trains.keeps(p, state); }
void runtime_session::resume_after(std::uint64_t steps, std::uint64_t seed, double learning_rate) {
    return inside_->trains.resume_after(steps, seed, learning_rate);
}
std::vector<std::pair<box, std::vector<float>>> runtime_session::parameter_copies(int p) const {
    return inside_->trains.parameter_copies(p);
}

} // namespace tessera::host
