// SPDX-License-Identifier: Apache-2.0
#include "examples/zoo/experts.hpp"
#include "examples/zoo/llama.hpp"
#include "examples/zoo/transformers.hpp"
#include "examples/zoo/zoo.hpp"
#include "tessera/net/describe.hpp"

namespace networks {

std::span<const zoo_entry> zoo_language_models() {
    static constexpr zoo_entry all[] = {
        {"transformer", "Transformer base, 6 + 6 layers (Vaswani et al. 2017), 64 tokens",
         ts::describe_at_run_time<transformer_base<64>>},
        {"bert_large", "BERT-large (Devlin et al. 2019), 512 tokens", ts::describe_at_run_time<bert_large>},
        {"gpt2_124m", "GPT-2 (Radford et al. 2019), 1024 tokens", ts::describe_at_run_time<gpt2_124m>},
        {"gpt2_355m", "GPT-2 medium", ts::describe_at_run_time<gpt2_355m>},
        {"gpt2_774m", "GPT-2 large", ts::describe_at_run_time<gpt2_774m>},
        {"gpt2_1558m", "GPT-2 XL", ts::describe_at_run_time<gpt2_1558m>},
        {"gpt3_125m", "GPT-3 small (Brown et al. 2020), 2048 tokens", ts::describe_at_run_time<gpt3_125m>},
        {"gpt3_350m", "GPT-3 medium", ts::describe_at_run_time<gpt3_350m>},
        {"gpt3_760m", "GPT-3 large", ts::describe_at_run_time<gpt3_760m>},
        {"gpt3_1_3b", "GPT-3 XL", ts::describe_at_run_time<gpt3_1_3b>},
        {"gpt3_2_7b", "GPT-3 2.7B", ts::describe_at_run_time<gpt3_2_7b>},
        {"gpt3_6_7b", "GPT-3 6.7B", ts::describe_at_run_time<gpt3_6_7b>},
        {"gpt3_13b", "GPT-3 13B", ts::describe_at_run_time<gpt3_13b>},
        {"gpt3_175b", "GPT-3", ts::describe_at_run_time<gpt3_175b>},
        {"llama2_7b", "LLaMA 2 of 7B (Touvron et al. 2023), 4096 tokens", ts::describe_at_run_time<llama2_7b>},
        {"llama2_13b", "LLaMA 2 of 13B", ts::describe_at_run_time<llama2_13b>},
        {"moe_8", "language model of 12 layers, 8 experts in every other", ts::describe_at_run_time<moe_8>},
        {"moe_2048", "language model of 36 layers with GShard's 2048 experts in every other",
         ts::describe_at_run_time<moe_2048>},
        {"routed_moe_8", "moe_8 with tokens that are sent, and losses that balance the experts",
         ts::describe_at_run_time<routed_moe_8>},
        {"mixtral_8x7b", "Mixtral 8x7B (Jiang et al. 2024) with keys and values of all heads, 4096 tokens",
         ts::describe_at_run_time<mixtral_8x7b>},
    };
    return all;
}

} // namespace networks
