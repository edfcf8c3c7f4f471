// SPDX-License-Identifier: Apache-2.0
#include "examples/zoo/amoebanet.hpp"
#include "examples/zoo/inception.hpp"
#include "examples/zoo/zoo.hpp"
#include "tessera/net/describe.hpp"

namespace networks {

std::span<const zoo_entry> zoo_cells() {
    static constexpr zoo_entry all[] = {
        {"inception_v3", "Inception-v3 (Szegedy et al. 2016), 299 x 299", ts::describe_at_run_time<inception_v3>},
        {"amoebanet_d_18_208", "AmoebaNet-D of 18 cells and 208 filters (GPipe, table 1)",
         ts::describe_at_run_time<amoebanet_d<18, 208>>},
        {"amoebanet_d_18_256", "AmoebaNet-D (18, 256) (GPipe, table 2)",
         ts::describe_at_run_time<amoebanet_d<18, 256>>},
        {"amoebanet_d_18_416", "AmoebaNet-D (18, 416)", ts::describe_at_run_time<amoebanet_d<18, 416>>},
        {"amoebanet_d_18_544", "AmoebaNet-D (18, 544)", ts::describe_at_run_time<amoebanet_d<18, 544>>},
        {"amoebanet_d_36_544", "AmoebaNet-D (36, 544)", ts::describe_at_run_time<amoebanet_d<36, 544>>},
        {"amoebanet_d_72_512", "AmoebaNet-D (72, 512)", ts::describe_at_run_time<amoebanet_d<72, 512>>},
    };
    return all;
}

} // namespace networks
