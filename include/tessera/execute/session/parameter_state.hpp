// SPDX-License-Identifier: Apache-2.0
// The parameters of a session and what its optimizer keeps of them: where they lie, their first values, and how files
// and programs read and set them.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/local/initialize.hpp"
#include "tessera/execute/local/residuals.hpp"
#include "tessera/execute/local/state_pieces.hpp"
#include "tessera/execute/local/stored_values.hpp"
#include "tessera/execute/ranks/own_memory.hpp"
#include "tessera/execute/session/setting.hpp"

#include <cstring>
#include <span>
#include <utility>

namespace tessera::detail {

/// Owns the store, which all plans of a session share, and knows whether averages are where the weights were. It does
/// not know plans or runs: parameters must be there (session_setting::require_parameter) and no transfer of a step
/// under way, for which plan_cache::settled() waits. What it does in a group all processes do.
template <class B>
class parameter_state {
public:
    parameter_state(const session_setting& of, B& backend) : of_(of), backend_(backend), memory_(backend, of.group()) {}
    parameter_state(const parameter_state&) = delete;
    parameter_state& operator=(const parameter_state&) = delete;

    /// Takes the persistent tiles of a plan of all parameters, zeroed.
    void take_tiles_of(const plan& p) {
        store_ = parameter_store(p, memory_.source());
        for (const parameter_store::entry& e : store_.entries()) {
            if (e.what.kind == tile_kind::parameter && !e.what.on_host) {
                tiles_.push_back(e.what);
            }
        }
        bytes_ = p.persistent_bytes;
    }
    /// Sets all to their initial values, a function of the seed.
    void initialize() {
        const graph_view g = of_.view();
        const network_paths paths = paths_of(g);
        for (int i = 0; i < g.parameter_count; ++i) {
            std::vector<float> values(to_size(g.parameters[i].extents.volume()));
            tessera::initialize(g.parameters[i], paths.parameter(i), of_.options.seed, values);
            set(i, values, true);
        }
    }

    const parameter_store& store() const { return store_; }
    /// Null before take_tiles_of().
    const parameter_store* store_if_there() const { return store_.entries().empty() ? nullptr : &store_; }
    const std::vector<tile>* tiles() const { return store_.entries().empty() ? nullptr : &tiles_; }
    index_t bytes(std::size_t device) const { return bytes_[device]; }
    memory_of_group<B>& memory() const { return memory_; }

    // ---- whole parameters -------------------------------------------------------------------------------------------

    std::vector<float> parameter(int p) const {
        bring(p);
        return values_of(p, -1);
    }
    /// `begins`: no step was taken; it also sets where the parameter's average begins.
    void set(int p, std::span<const float> values, bool begins) {
        const auto name = [&] { return parameter_path_of(of_.view(), p); };
        set_values(p, -1, values, name);
        if (begins && of_.averages()) {
            set_values(p, of_.average_state(), values, name);
        }
    }
    /// A parameter, or with -1 all that is kept, to where this process reads it.
    void bring(int parameter) const {
        if constexpr (has_memory<B>) {
            memory_.bring(store_, parameter);
        } else {
            bring_to_all_nodes(store_, of_.group(), parameter);
        }
    }
    std::vector<std::pair<box, std::vector<float>>> copies(int p) const {
        std::vector<std::pair<box, std::vector<float>>> out;
        for (const parameter_store::entry& e : store_.entries()) {
            if (e.what.kind == tile_kind::parameter && e.what.tensor == p && e.what.slices == 1) {
                out.push_back({e.what.region, std::vector<float>(to_size(e.what.region.volume()))});
                backend_.to_plain(e.what, store_.address(e), out.back().second.data());
            }
        }
        return out;
    }

    // ---- averages ---------------------------------------------------------------------------------------------------

    bool uses_ema() const { return uses_ema_; }
    /// Changes the places of weights and averages.
    void swap_averages() {
        bring(-1);
        for (int p = 0; p < of_.parameters(); ++p) {
            if (keeps(p, of_.average_state())) {
                const auto weights = values_of(p, -1);
                const auto other = values_of(p, of_.average_state());
                set_values(p, -1, other);
                set_values(p, of_.average_state(), weights);
            }
        }
        uses_ema_ = !uses_ema_;
    }

    // ---- a parameter (`state` -1), or what the optimizer keeps of it ------------------------------------------------

    /// False for the optimizer's state of a parameter that is not trained.
    bool keeps(int p, int state) const { return !regions_of(store_, p, state).empty(); }
    std::vector<float> state_of(int p, int state) const { return values_of(p, place_of(p, state)); }
    void set_state(int p, int state, std::span<const float> values) {
        set_values(p, place_of(p, state), values, [&] { return parameter_path_of(of_.view(), p); });
    }
    std::vector<state_piece> pieces(int p, int state) const { return pieces_of(store_, p, place_of(p, state)); }
    void copy_piece(int p, int state, const state_piece& piece, const box& to, float* numbers) const {
        detail::copy_piece(backend_, store_, p, place_of(p, state), piece, to, numbers, of_.group());
    }
    void fill(int p, int state, state_source source) {
        store_sink<B> sink(backend_, store_, p, place_of(p, state), of_.group());
        if (of_.group() != nullptr) {
            of_.group()->barrier(barrier_point::set_parameter);
        }
        source(sink);
        sink.finish();
        if (of_.group() != nullptr) {
            of_.group()->barrier(barrier_point::set_parameter);
        }
    }

    // ---- what compressed gradients have left out --------------------------------------------------------------------

    std::vector<residual_key> residuals() const { return residuals_of(store_); }
    void copy_residual(const residual_key& r, float* numbers) const {
        std::memcpy(numbers, residual_at(store_, r), to_size(r.region.volume()) * sizeof(float));
    }
    void set_residual(const residual_key& r, std::span<const float> numbers) {
        float* const to = residual_at(store_, r);
        if (static_cast<index_t>(numbers.size()) != r.region.volume()) {
            throw error("tessera: a residual of " + std::to_string(r.region.volume()) + " numbers is given " +
                        std::to_string(numbers.size()));
        }
        if (of_.group() == nullptr || of_.group()->owns(r.device)) {
            std::memcpy(to, numbers.data(), numbers.size() * sizeof(float));
        }
    }
    void forget_residuals() { detail::forget_residuals(store_, of_.group()); }

private:
    std::vector<float> values_of(int p, int place) const {
        return stored_values(backend_, store_, p, place, of_.extents_of(p));
    }
    void set_values(int p, int place, std::span<const float> values, function_ref<std::string()> name = {}) {
        store_values(backend_, store_, p, place, of_.extents_of(p), values, of_.group(), name);
    }
    /// Where a number is while averages and weights have changed places.
    int place_of(int p, int state) const {
        const bool moved = uses_ema_ && (state < 0 || state == of_.average_state()) && keeps(p, of_.average_state());
        return !moved ? state : state < 0 ? of_.average_state() : -1;
    }

    const session_setting& of_;
    B& backend_;
    mutable memory_of_group<B> memory_; ///< that the store takes
    parameter_store store_;
    std::vector<tile> tiles_;    ///< of the parameters in it that devices have
    std::vector<index_t> bytes_; ///< of it on every device
    bool uses_ema_ = false;      ///< they are where the parameters were
};

} // namespace tessera::detail

#include "tessera/base/end_header.inl"
