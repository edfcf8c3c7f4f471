// SPDX-License-Identifier: Apache-2.0
// Register tiles rows x columns: accumulators, one operand of the shorter side and one more fit the registers.

[[nodiscard]] inline detail::tile_set<detail::listed_sum> listed_tiles() noexcept {
    static constexpr detail::tile<detail::listed_sum> tiles[] = {
        listed_tile<1, 8>, listed_tile<3, 4>, listed_tile<4, 3>, listed_tile<5, 2>, listed_tile<6, 2>};
    return {tiles, 5, width};
}

[[nodiscard]] inline detail::tile_set<detail::strided_sum> strided_tiles() noexcept {
    static constexpr detail::tile<detail::strided_sum> tiles[] = {strided_tile<3, 4>, strided_tile<6, 2>};
    return {tiles, 2, width};
}

[[nodiscard]] inline detail::tile_set<detail::plane_sum> plane_tiles() noexcept {
    static constexpr detail::tile<detail::plane_sum> tiles[] = {plane_tile<1, 8>, plane_tile<3, 4>, plane_tile<5, 2>};
    return {tiles, 3, width};
}
