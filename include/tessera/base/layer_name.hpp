// SPDX-License-Identifier: Apache-2.0
// What a layer is called: the name of its type with its template arguments, the same on every compiler.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/type_name.hpp"

#include <type_traits>

namespace tessera {

/// The name of a layer, and its name with all scopes, for layers of one name. Where there are no scopes (a name that is
/// only a text, a layer of the library), layers of one name are numbered together.
struct layer_name {
    std::string_view own;  ///< conv1, conv<1,2>
    std::string_view full; ///< app::blocks<3>::conv1, as the compiler writes it; empty where there are no scopes

    constexpr layer_name(const char* name) : own(name) {}
    constexpr layer_name(std::string_view name) : own(name) {}
    constexpr layer_name(std::string_view name, std::string_view with_scopes) : own(name), full(with_scopes) {}
};

namespace detail {

/// Counts the characters of a text and, where there is room for them, keeps them.
struct text_writer {
    char* to = nullptr;
    std::size_t size = 0;

    constexpr void put(char c) {
        if (to != nullptr) {
            to[size] = c;
        }
        ++size;
    }
    constexpr void put(std::string_view text) {
        for (const char c : text) {
            put(c);
        }
    }
    constexpr void put_number(std::uintmax_t x) {
        if (x >= 10) {
            put_number(x / 10);
        }
        put(static_cast<char>('0' + x % 10));
    }
};

/// Where the last part of a qualified name begins, and where its template arguments begin or the name ends.
struct last_part {
    std::size_t begin = 0;
    std::size_t arguments = 0;

    constexpr explicit last_part(std::string_view name) : arguments(name.size()) {
        int depth = 0;
        for (std::size_t i = 0; i < name.size(); ++i) {
            const char c = name[i];
            if (c == '\'') { // a character as an argument
                i += i + 1 < name.size() && name[i + 1] == '\\' ? 2 : 1;
                while (i + 1 < name.size() && name[i] != '\'') {
                    ++i;
                }
            } else if (c == '<' || c == '(' || c == '{' || c == '[') {
                arguments = c == '<' && depth == 0 ? i : arguments;
                ++depth;
            } else if (c == '>' || c == ')' || c == '}' || c == ']') {
                --depth;
            } else if (c == ':' && depth == 0) {
                begin = i + 1;
                arguments = name.size();
            }
        }
    }
    constexpr std::string_view of(std::string_view name) const { return name.substr(begin, arguments - begin); }
};

template <class T>
constexpr void write_own_name(text_writer& w);

template <class T>
constexpr void write_type(text_writer& w) {
    if constexpr (std::is_same_v<T, bool>) {
        w.put("bool");
    } else if constexpr (std::is_integral_v<
                             T>) { // compilers call these long int or long, and each is another size elsewhere
        w.put(std::is_signed_v<T> ? "int" : "uint");
        w.put_number(8 * sizeof(T));
    } else {
        write_own_name<T>(w);
    }
}

template <auto Value>
constexpr void write_value(text_writer& w) {
    using type = std::remove_const_t<decltype(Value)>;
    if constexpr (std::is_same_v<type, bool>) {
        w.put(Value ? "true" : "false");
    } else if constexpr (std::is_integral_v<type> || std::is_enum_v<type>) {
        const auto number = static_cast<std::intmax_t>(Value);
        const bool negative = number < 0 && (std::is_enum_v<type> || std::is_signed_v<type>);
        if (negative) {
            w.put('-');
        }
        const auto bits = static_cast<std::uintmax_t>(number);
        w.put_number(negative ? 0 - bits : bits);
    } else {
        w.put('?'); // the scopes tell such layers apart
    }
}

template <class... Writers>
constexpr void write_list(text_writer& w, Writers... each) {
    if constexpr (sizeof...(Writers) > 0) {
        w.put('<');
        bool first = true;
        ((first ? void() : w.put(','), first = false, each(w)), ...);
        w.put('>');
    }
}

/// The template arguments of a type, default ones too, which compilers print or leave out as they like: values alone,
/// types alone, or a list that begins with the ones and goes on with the others. Other lists are not shown; their types
/// are distinguished by their scopes.
template <class T>
struct value_arguments {
    static constexpr bool known = false;
};
template <template <auto...> class T, auto... V>
struct value_arguments<T<V...>> {
    static constexpr bool known = true;
    static constexpr void write(text_writer& w) { write_list(w, write_value<V>...); }
};
template <class T>
struct type_arguments {
    static constexpr bool known = false;
};
template <template <class...> class T, class... A>
struct type_arguments<T<A...>> {
    static constexpr bool known = true;
    static constexpr void write(text_writer& w) { write_list(w, write_type<A>...); }
};
template <class T>
struct mixed_arguments {
    static constexpr void write(text_writer&) {}
};
template <template <class, auto...> class T, class A, auto... V>
struct mixed_arguments<T<A, V...>> {
    static constexpr void write(text_writer& w) { write_list(w, write_type<A>, write_value<V>...); }
};
template <template <auto, class...> class T, auto V, class... A>
struct mixed_arguments<T<V, A...>> {
    static constexpr void write(text_writer& w) { write_list(w, write_value<V>, write_type<A>...); }
};
template <template <auto, auto, class...> class T, auto V, auto U, class... A>
struct mixed_arguments<T<V, U, A...>> {
    static constexpr void write(text_writer& w) { write_list(w, write_value<V>, write_value<U>, write_type<A>...); }
};
template <template <auto, auto, auto, class...> class T, auto V, auto U, auto S, class... A>
struct mixed_arguments<T<V, U, S, A...>> {
    static constexpr void write(text_writer& w) {
        write_list(w, write_value<V>, write_value<U>, write_value<S>, write_type<A>...);
    }
};

template <class T>
constexpr void write_own_name(text_writer& w) {
    constexpr std::string_view name = full_type_name<T>();
    w.put(last_part(name).of(name));
    if constexpr (value_arguments<T>::known) {
        value_arguments<T>::write(w);
    } else if constexpr (type_arguments<T>::known) {
        type_arguments<T>::write(w);
    } else {
        mixed_arguments<T>::write(w);
    }
}

template <std::size_t Size>
struct kept_text {
    char text[Size + 1]{};
    constexpr std::string_view view() const { return {text, Size}; }
};

template <class T>
constexpr std::size_t own_name_size() {
    text_writer w;
    write_own_name<T>(w);
    return w.size;
}
template <class T>
constexpr auto make_own_name() {
    kept_text<own_name_size<T>()> kept;
    text_writer w{kept.text};
    write_own_name<T>(w);
    return kept;
}
template <class T>
inline constexpr auto own_name_text = make_own_name<T>();

constexpr bool is_of_library(std::string_view full) { return full.substr(0, 9) == "tessera::"; }

} // namespace detail

/// The name of T without its scopes and with its template arguments, such as conv1 or conv<1,2>; the library's own
/// types without arguments: shared.
template <class T>
constexpr std::string_view type_name() {
    constexpr std::string_view full = full_type_name<T>();
    constexpr detail::last_part last(full);
    if constexpr (detail::is_of_library(full) || last.arguments == full.size()) {
        return last.of(full);
    } else {
        return detail::own_name_text<T>.view();
    }
}

namespace detail {

template <class T>
constexpr layer_name make_layer_name() {
    if constexpr (requires { std::string_view(T::path); }) {
        return {std::string_view(T::path)};
    } else {
        constexpr std::string_view full = full_type_name<T>();
        return {type_name<T>(), is_of_library(full) ? std::string_view() : full};
    }
}
/// Read once: clang would read every character again wherever a layer is used, and counts those steps.
template <class T>
inline constexpr layer_name layer_name_of = make_layer_name<T>();

} // namespace detail

/// What a layer of type T is called: as its type, or as its member `path` says, which need be no name of C++.
template <class T>
constexpr const layer_name& name_of_layer() {
    return detail::layer_name_of<T>;
}

} // namespace tessera

#include "tessera/base/end_header.inl"
