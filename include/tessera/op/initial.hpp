// SPDX-License-Identifier: Apache-2.0
// What parameters hold before training: by their operator's record, or as a layer says with initial_weights<> and
// initial_bias<>.
#pragma once
#include "tessera/base/begin_header.inl"

#include <cstdint>

namespace tessera {

/// How the values of a parameter are drawn. fan_in is how many inputs an output sums over, fan_out how many outputs an
/// input goes to.
enum class initial_values : std::uint8_t {
    uniform, ///< in +-1/sqrt(fan_in): PyTorch's for convolutions and linear layers
    ones,
    zeros,
    moments, ///< of running statistics: means 0, then variances 1
    constant,
    uniform_within,   ///< in +-number
    normal,           ///< mean 0, deviation `number`
    truncated_normal, ///< the same, drawn again beyond two deviations
    kaiming_uniform,  ///< in +-sqrt(6/fan_in): He et al., "Delving Deep into Rectifiers" (ICCV 2015), for relu
    kaiming_normal,   ///< deviation sqrt(2/fan_in)
    /// in +-sqrt(6/(fan_in+fan_out)): Glorot and Bengio, "Understanding the difficulty ..." (AISTATS 2010)
    xavier_uniform,
    xavier_normal, ///< deviation sqrt(2/(fan_in+fan_out))
    orthogonal,    ///< rows (or columns, where they are fewer) orthogonal, of length `number`: Saxe et al. (ICLR 2014)
};

/// All of them by name, in their order.
inline constexpr const char* initial_names[] = {
    "uniform",         "ones",           "zeros",          "moments",
    "constant",        "uniform_within", "normal",         "truncated_normal",
    "kaiming_uniform", "kaiming_normal", "xavier_uniform", "xavier_normal",
    "orthogonal"};

constexpr const char* to_text(initial_values initial) { return initial_names[static_cast<int>(initial)]; }

struct initial_rule {
    initial_values how = initial_values::uniform;
    float number = 1;
    bool said = false; ///< by the layer

    friend constexpr bool operator==(const initial_rule&, const initial_rule&) = default;
};

/// What initial_weights<> and initial_bias<> take. Numbers are quotients: constant<1, 10> is 0.1.
namespace initial {

template <initial_values How, int Numerator = 1, int Denominator = 1>
struct drawn {
    static_assert(Denominator != 0, "tessera: a number of initial values divides by zero");
    static constexpr initial_rule rule{How, static_cast<float>(static_cast<double>(Numerator) / Denominator), true};
    /// Goes by fan_in or is a matrix, which a bias has not.
    static constexpr bool of_matrices = How >= initial_values::kaiming_uniform;
};

struct zeros : drawn<initial_values::zeros> {};
struct ones : drawn<initial_values::ones> {};
template <int Numerator, int Denominator = 1>
struct constant : drawn<initial_values::constant, Numerator, Denominator> {};
template <int Numerator, int Denominator = 1>
struct uniform_within : drawn<initial_values::uniform_within, Numerator, Denominator> {};
template <int Numerator, int Denominator = 1>
struct normal : drawn<initial_values::normal, Numerator, Denominator> {};
template <int Numerator, int Denominator = 1>
struct truncated_normal : drawn<initial_values::truncated_normal, Numerator, Denominator> {};
struct kaiming_uniform : drawn<initial_values::kaiming_uniform> {};
struct kaiming_normal : drawn<initial_values::kaiming_normal> {};
struct xavier_uniform : drawn<initial_values::xavier_uniform> {};
struct xavier_normal : drawn<initial_values::xavier_normal> {};
template <int Numerator = 1, int Denominator = 1>
struct orthogonal : drawn<initial_values::orthogonal, Numerator, Denominator> {};

} // namespace initial

} // namespace tessera

#include "tessera/base/end_header.inl"
