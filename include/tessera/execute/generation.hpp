// SPDX-License-Identifier: Apache-2.0
// Tokens that continue sequences, of a network as a value: plans for new positions alone, and keys and values of
// earlier ones, which stay on their devices.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/generation_options.hpp"
#include "tessera/execute/ranks/own_memory.hpp"
#include "tessera/execute/session.hpp"
#include "tessera/plan/lower/lower.hpp"
#include "tessera/strategy/decoding_strategy.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

namespace tessera {

namespace detail {

/// Throws tessera::error for prompts that a cache of `room` positions, or a vocabulary of `tokens`, does not hold.
void require_prompts(std::span<const token_list> prompts, const generation_options& options, index_t room,
                     index_t tokens);
/// Throws it for a cache that cannot be.
void require(const generator_options& options, index_t room);

/// Before tokens go through a network: all processes of a group (null: there is none) call it, and throw group_error
/// where they have other tokens, lengths, options or sizes of pieces.
void compare_tokens(process_group* group, std::span<const token_list> tokens, std::span<const index_t> lengths,
                    const generation_options& options, index_t piece);

} // namespace detail

/// Continues sequences with a network. It has copies of the network's parameters, and of every attention the keys and
/// values of `max_length` positions of as many sequences as a batch has samples, in shards as the strategy has the
/// attention's (strategy/decoding_strategy.hpp): they are written in place, and nothing but tokens and logits comes and
/// goes from run to run.
///
/// Over ranks all processes make it and call it alike. Each reads all logits and chooses the tokens by itself: logits
/// are the same bits in all of them, and draw_of() is a function of seed, sequence and place, so that no token is sent.
template <Backend B>
class generation_session {
public:
    /// `tensor`: the logits. Throws tessera::error for a network that cannot, naming the layer, for a cache of more
    /// positions than a layer has places, and where memory is not enough.
    generation_session(const graph_view& g, int tensor, const strategy& s, int devices, index_t samples,
                       const generator_options& size, const session_options& options, B& backend, workers& threads)
        : whole_(with_batch(g, samples)), tensor_(tensor), strategy_(s), samples_(samples),
          room_(size.max_length > 0 ? size.max_length : positions_of(whole_.view(), tensor)),
          piece_(size.piece < room_ ? size.piece : room_), devices_(devices), options_(for_predictions(options)),
          backend_(backend), threads_(threads), memory_(backend, threads.group()), one_(network_of(1, size)),
          how_(strategy_for(one_, whole_.view(), s, devices)),
          kept_(one_.network.view(), how_, devices, optimizer(sgd{}), options_, backend, threads) {}
    generation_session(const generation_session&) = delete;
    generation_session& operator=(const generation_session&) = delete;

    /// Sets a parameter of the network.
    void set_parameter(int p, std::span<const float> values) {
        if (p < 0 || p >= parameters()) {
            throw error("tessera: there is no parameter " + std::to_string(p) + " in the network; it has " +
                        std::to_string(parameters()));
        }
        kept_.set_parameter(p, values);
        running_ = nullptr;
    }
    int parameters() const { return one_.kept_from; }
    index_t samples() const { return samples_; }
    index_t room() const { return room_; }
    index_t vocabulary() const { return whole_.tensors[to_size(tensor_)].extents.extent[2]; }
    /// The network of one new position, and how it is split.
    const decoding_network& network() const { return one_; }
    const strategy& how() const { return how_; }

    /// For each prompt the tokens that follow, of which the last is the stop token where there is one. Prompts may
    /// differ in length; more than a batch has samples go through one batch after the other. Throws tessera::error for
    /// an empty prompt, one that with the new tokens is longer than max_length, and tokens that are none.
    std::vector<token_list> generate(std::span<const token_list> prompts, const generation_options& options) {
        const device_turn turn(threads_);
        detail::compare_tokens(threads_.group(), prompts, {}, options, piece_);
        detail::require_prompts(prompts, options, room_, tokens());
        std::vector<token_list> all(prompts.size());
        for (std::size_t begin = 0; begin < prompts.size(); begin += to_size(samples_)) {
            const std::size_t count = std::min(to_size(samples_), prompts.size() - begin);
            generate(prompts.subspan(begin, count), begin, options, all);
        }
        return all;
    }

    /// The logits [V] at every position of some sequences, of which `lengths` positions each are kept already, and then
    /// those of the tokens handed in: for those who choose tokens themselves.
    std::vector<std::vector<float>> feed(std::span<const token_list> tokens, std::span<const index_t> lengths) {
        const device_turn turn(threads_);
        detail::compare_tokens(threads_.group(), tokens, lengths, {}, piece_);
        std::vector<std::vector<float>> all(tokens.size());
        feed(tokens, lengths, [&](std::size_t n, index_t, std::span<const float> logits) {
            all[n].insert(all[n].end(), logits.begin(), logits.end());
        });
        return all;
    }

private:
    struct prepared_run {
        index_t positions;
        decoding_network network;
        fused_network planned;
        owned<shared_arenas> arenas;
        executor<B> runner;
    };

    static session_options for_predictions(session_options o) {
        o.for_training = false;
        o.keep_gradients = false;
        return o;
    }
    decoding_network network_of(index_t positions, const generator_options& size) const {
        detail::require(size, room_);
        return decoding_of(whole_.view(), tensor_, samples_, positions, room_);
    }
    index_t tokens() const {
        const graph_view g = one_.network.view();
        const index_t least = g.integers_in(one_.tokens);
        return least > 0 ? least : index_t{INT32_MAX};
    }

    prepared_run& run_of(index_t positions) {
        for (const auto& r : runs_) {
            if (r->positions == positions) {
                return *r;
            }
        }
        decoding_network network = decoding_of(whole_.view(), tensor_, samples_, positions, room_);
        const strategy s = strategy_for(network, whole_.view(), strategy_, devices_);
        const std::vector<int> wanted{network.output};
        fused_network planned =
            options_.fuse ? fuse(network.network.view(), s, wanted, false) : not_fused(network.network.view(), s);
        std::vector<tile> stored;
        for (const parameter_store::entry& e : kept_.stored().entries()) {
            if (e.what.kind == tile_kind::parameter && !e.what.on_host) {
                stored.push_back(e.what);
            }
        }
        lower_options o;
        o.kind = run_kind::evaluation;
        o.wanted.push_back(planned.tensors[to_size(network.output)]);
        o.stored = &stored;
        const graph_view g = planned.network.view();
        plan p = lower(g, planned.how.view(), devices_, o);
        agree_over(backend_, threads_.group());
        backend_.bind(p, g, &kept_.stored());
        const optimizer none = sgd{};
        tessera::finish(g, p, options_.device_memory, &none);
        owned<shared_arenas> arenas(new shared_arenas(memory_.source()));
        require_room(backend_, arenas->missing(p.arena_bytes));
        arenas->grow(working_arenas(p));
        const shared_arenas& own = *arenas;
        runs_.push_back(owned<prepared_run>(
            new prepared_run{positions, std::move(network), std::move(planned), std::move(arenas),
                             executor<B>(backend_, threads_, g, std::move(p), kept_.stored(), own)}));
        return *runs_.back();
    }

    /// One run of `positions` new positions of every sample; the logits [N,P,V].
    std::span<const float> run(index_t positions, const std::vector<std::int32_t>& tokens,
                               const std::vector<std::int32_t>& first) {
        prepared_run& r = run_of(positions);
        const auto number_of = [&](int t) { return to_size(r.planned.tensors[to_size(t)]); };
        std::vector<const void*> pointers(r.planned.network.tensors.size(), nullptr);
        std::vector<std::int32_t> places;
        pointers[number_of(r.network.tokens)] = tokens.data();
        pointers[number_of(r.network.first)] = first.data();
        if (r.network.places >= 0) {
            for (const std::int32_t f : first) {
                for (index_t i = 0; i < positions; ++i) { // behind the last one there is nothing but padding
                    places.push_back(static_cast<std::int32_t>(std::min(f + i, room_ - 1)));
                }
            }
            pointers[number_of(r.network.places)] = places.data();
        }
        if (running_ != &r) {
            r.runner.share_parameters();
            running_ = &r;
        }
        r.runner.run_alone(pointers.data(), options_.seed);
        const int t = r.planned.tensors[to_size(r.network.output)];
        const shape& extents = r.planned.network.tensors[to_size(t)].extents;
        logits_.assign(to_size(extents.volume()), 0.0F);
        const plan& p = r.runner.bound();
        sum_.add(backend_, p, r.runner.memory(), p.results, t, 0, whole(extents), logits_,
                 [&](const std::vector<int>& tiles) { bring(r, tiles); });
        return logits_;
    }
    /// Of a group whose processes do not see each other's memory: tiles to where this one reads them.
    void bring(const prepared_run& r, const std::vector<int>& tiles) {
        const plan& p = r.runner.bound();
        held_.clear();
        for (std::size_t i = 0; i < tiles.size() && RunsOverGroups<B>; ++i) {
            const int root = p.root(tiles[i]);
            const tile& t = p.tiles[to_size(root)];
            held_.push_back({t.device, r.runner.memory()[root], t.elements * bytes_of(t.type)});
        }
        memory_.bring(held_);
    }

    /// Tokens in pieces; calls take(sample, which of its tokens, logits) for each.
    template <class Take>
    void feed(std::span<const token_list> tokens, std::span<const index_t> lengths, Take&& take) {
        std::size_t most = 0;
        for (const token_list& t : tokens) {
            most = std::max(most, t.size());
        }
        const auto v = to_size(vocabulary());
        for (std::size_t begin = 0; begin < most;) {
            const index_t positions = most - begin == 1 ? 1 : piece_;
            const auto p = to_size(positions);
            std::vector<std::int32_t> now(to_size(samples_) * p, 0);
            std::vector<std::int32_t> first(to_size(samples_), 0);
            for (std::size_t n = 0; n < tokens.size(); ++n) {
                const std::size_t from = std::min(begin, tokens[n].size());
                first[n] = static_cast<std::int32_t>(lengths[n] + static_cast<index_t>(from));
                for (std::size_t i = from; i < std::min(from + p, tokens[n].size()); ++i) {
                    now[n * p + i - from] = tokens[n][i];
                }
            }
            const std::span<const float> logits = run(positions, now, first);
            for (std::size_t n = 0; n < tokens.size(); ++n) {
                for (std::size_t i = begin; i < std::min(begin + p, tokens[n].size()); ++i) {
                    take(n, static_cast<index_t>(i), logits.subspan((n * p + i - begin) * v, v));
                }
            }
            begin += p;
        }
    }

    /// Prompts of one batch, the first of which has this number among all.
    void generate(std::span<const token_list> prompts, std::size_t number, const generation_options& options,
                  std::vector<token_list>& all) {
        std::vector<token_list> next(prompts.begin(), prompts.end());
        std::vector<index_t> lengths(prompts.size(), 0);
        for (bool goes_on = options.new_tokens > 0; goes_on;) {
            std::vector<std::int32_t> chosen(prompts.size(), -1);
            feed(next, lengths, [&](std::size_t n, index_t i, std::span<const float> logits) {
                if (i + 1 == static_cast<index_t>(next[n].size())) {
                    const auto place = to_size(lengths[n] + i + 1);
                    chosen[n] = next_token(logits, options.how, draw_of(options.how.seed, number + n, place));
                }
            });
            goes_on = false;
            for (std::size_t n = 0; n < prompts.size(); ++n) {
                lengths[n] += static_cast<index_t>(next[n].size());
                next[n].clear();
                if (chosen[n] < 0) {
                    continue; // it has ended
                }
                token_list& mine = all[number + n];
                mine.push_back(chosen[n]);
                if (chosen[n] != options.stop_token && static_cast<index_t>(mine.size()) < options.new_tokens) {
                    next[n].push_back(chosen[n]);
                    goes_on = true;
                }
            }
        }
    }

    graph whole_;
    int tensor_;
    strategy strategy_;
    index_t samples_;
    index_t room_;
    index_t piece_;
    int devices_;
    session_options options_;
    B& backend_;
    workers& threads_;
    detail::memory_of_group<B> memory_;
    decoding_network one_;
    strategy how_;
    session<B> kept_;                       ///< the parameters, and what is kept
    std::vector<owned<prepared_run>> runs_; ///< by how many positions are new
    const prepared_run* running_ = nullptr; ///< the last that has run, with the parameters as they are
    detail::piece_sum sum_;
    std::vector<detail::resident_bytes> held_; ///< that it reads
    std::vector<float> logits_;
};

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/execute/generation.inl"
#endif

#include "tessera/base/end_header.inl"
