// SPDX-License-Identifier: Apache-2.0
#include "examples/zoo/dlrm.hpp"
#include "examples/zoo/padded.hpp"
#include "examples/zoo/recurrent.hpp"
#include "examples/zoo/towers.hpp"
#include "examples/zoo/zoo.hpp"
#include "tessera/base/error.hpp"
#include "tessera/net/describe.hpp"

#include <string>

namespace networks {

std::span<const zoo_entry> zoo_sequences() {
    static constexpr zoo_entry all[] = {
        {"rnntc", "four LSTM layers of 1024, 40 steps, classification (FlexFlow)", ts::describe_at_run_time<rnntc>},
        {"rnnlm", "two LSTM layers of 2048, 40 steps, language model (FlexFlow)", ts::describe_at_run_time<rnnlm>},
        {"rnnlm_2_steps", "the same, 2 steps", ts::describe_at_run_time<rnnlm_2_steps>},
        {"nmt", "LSTM translation with attention, 1024, 40 steps (FlexFlow)", ts::describe_at_run_time<nmt>},
        {"nmt_2048", "the same of 2048", ts::describe_at_run_time<nmt_2048>},
        {"padded_lstm", "two LSTM layers in both directions, padded texts of up to 64 tokens, classification",
         ts::describe_at_run_time<padded_lstm>},
        {"padded_gru", "GRU translation (Cho et al. 2014), padded sources of up to 30 tokens",
         ts::describe_at_run_time<padded_gru>},
        {"two_towers", "recommendation by two towers, with a loss for ratings and one for actions",
         ts::describe_at_run_time<two_towers>},
        {"contrastive_towers", "a tower of words and one of features of pictures, under CLIP's loss",
         ts::describe_at_run_time<contrastive_towers>},
        {"dlrm", "DLRM for Criteo Kaggle (Naumov et al. 2019)", ts::describe_at_run_time<dlrm_kaggle>},
    };
    return all;
}

ts::graph describe(std::string_view name, ts::index_t batch) {
    std::string known;
    for (const zoo_entry& e : zoo()) {
        if (name == e.name) {
            return e.describe(batch);
        }
        known += std::string(known.empty() ? "" : ", ") + e.name;
    }
    throw ts::error("tessera: the zoo has no network called " + std::string(name) + "; it has " + known);
}

} // namespace networks
