// SPDX-License-Identifier: Apache-2.0
// Register tiles rows x columns: accumulators, one operand of the shorter side and two more fit the registers.

[[nodiscard]] inline detail::tile_set<detail::listed_sum> listed_tiles() noexcept {
    static constexpr detail::tile<detail::listed_sum> tiles[] = {listed_tile<2, 4>};
    return {tiles, 1, width};
}

[[nodiscard]] inline detail::tile_set<detail::strided_sum> strided_tiles() noexcept {
    static constexpr detail::tile<detail::strided_sum> tiles[] = {strided_tile<2, 4>};
    return {tiles, 1, width};
}

[[nodiscard]] inline detail::tile_set<detail::plane_sum> plane_tiles() noexcept {
    static constexpr detail::tile<detail::plane_sum> tiles[] = {plane_tile<2, 4>};
    return {tiles, 1, width};
}
