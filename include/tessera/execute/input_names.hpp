// SPDX-License-Identifier: Apache-2.0
// The names of a network's inputs as types, for the messages of feeds that do not fit. Nothing here is instantiated for
// feeds that do.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/net/precision.hpp"

#include <type_traits>

namespace tessera {

template <class... Entries>
struct dag;
template <class Name, class What>
struct input;

namespace detail {

template <class... Names>
struct name_list {};
template <class... A, class... B>
name_list<A..., B...> operator+(name_list<A...>, name_list<B...>);

template <class Entry>
struct name_of_input : std::type_identity<name_list<>> {};
template <class Name, class What>
struct name_of_input<input<Name, What>> : std::type_identity<name_list<Name>> {};

/// What may be an input of a network, by how the network is written: labels and lengths come with layers.
template <class First, class... Parts>
name_list<First, lengths, labels> possible_inputs(const sequential<First, Parts...>*);
template <class... Entries>
auto possible_inputs(const dag<Entries...>*)
    -> decltype((name_list<>() + ... + typename name_of_input<Entries>::type()) + name_list<lengths, labels>());
template <class Precision, class Net>
auto possible_inputs(const with_precision<Precision, Net>*) {
    return decltype(possible_inputs(static_cast<const Net*>(nullptr)))();
}
name_list<> possible_inputs(...);

/// Those of them for which Is<Net, Name>::value holds.
template <class Net, template <class, class> class Is, class... Names>
auto chosen(name_list<Names...>)
    -> decltype((name_list<>() + ... + std::conditional_t<Is<Net, Names>::value, name_list<Names>, name_list<>>()));
template <class Net, template <class, class> class Is>
using inputs_that = decltype(chosen<Net, Is>(decltype(possible_inputs(static_cast<const Net*>(nullptr)))()));

} // namespace detail

} // namespace tessera

#include "tessera/base/end_header.inl"
