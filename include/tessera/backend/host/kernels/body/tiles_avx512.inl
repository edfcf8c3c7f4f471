// SPDX-License-Identifier: Apache-2.0
// Register tiles rows x columns: accumulators, one operand of the shorter side and one more fit the registers. The
// three kinds of sum (see tile.inl) need different ones, and each costs compile time.

[[nodiscard]] inline detail::tile_set<detail::listed_sum> listed_tiles() noexcept {
    static constexpr detail::tile<detail::listed_sum> tiles[] = {
        listed_tile<1, 8>, listed_tile<4, 6>, listed_tile<5, 5>, listed_tile<6, 4>,
        listed_tile<6, 2>, listed_tile<8, 3>, listed_tile<10, 2>};
    return {tiles, 7, width};
}

[[nodiscard]] inline detail::tile_set<detail::strided_sum> strided_tiles() noexcept {
    static constexpr detail::tile<detail::strided_sum> tiles[] = {strided_tile<5, 5>, strided_tile<6, 4>,
                                                                  strided_tile<12, 1>};
    return {tiles, 3, width};
}

[[nodiscard]] inline detail::tile_set<detail::plane_sum> plane_tiles() noexcept {
    static constexpr detail::tile<detail::plane_sum> tiles[] = {plane_tile<1, 8>, plane_tile<4, 6>, plane_tile<5, 5>,
                                                                plane_tile<6, 4>};
    return {tiles, 4, width};
}
