// SPDX-License-Identifier: Apache-2.0
// Included before every header of the library: std::to_string of a floating-point number does not compile, for it
// writes "1,500000" under de_DE (fixed_text() of base/number_text.hpp does not). What the library includes of others
// comes first, for what they do is theirs.
#include <bits/stdc++.h>
#if __has_include(<nlohmann/json.hpp>)
#include <nlohmann/json.hpp>
#endif
#if __has_include(<range/v3/all.hpp>)
#include <range/v3/all.hpp>
#endif
#if __has_include(<CLI/CLI.hpp>)
#include <CLI/CLI.hpp>
#endif

namespace std {

template <class T>
requires std::is_integral_v<T> string locale_free_to_string(T x) { return to_string(x); }
string locale_free_to_string(float) = delete;
string locale_free_to_string(double) = delete;
string locale_free_to_string(long double) = delete;

} // namespace std

#define to_string locale_free_to_string
