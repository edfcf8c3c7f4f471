// SPDX-License-Identifier: Apache-2.0
#include "examples/zoo/amoebanet.hpp"
#include "examples/zoo/decoders.hpp"
#include "examples/zoo/deepseek.hpp"
#include "examples/zoo/dlrm.hpp"
#include "examples/zoo/efficientnet.hpp"
#include "examples/zoo/experts.hpp"
#include "examples/zoo/inception.hpp"
#include "examples/zoo/llama.hpp"
#include "examples/zoo/padded.hpp"
#include "examples/zoo/recurrent.hpp"
#include "examples/zoo/residual.hpp"
#include "examples/zoo/t5.hpp"
#include "examples/zoo/transformers.hpp"
#include "examples/zoo/unet.hpp"
#include "examples/zoo/vision_transformer.hpp"
#include "examples/zoo/whisper.hpp"
#include "examples/zoo/zoo.hpp"
#include "tessera/net/describe.hpp"

namespace networks {

namespace {

template <int Blocks>
struct shallow_resnet : ts::sequential<ts::image<3, 224, 224>, resnet_layers::conv1, resnet_layers::norm1, ts::relu,
                                       ts::max_pool<3, ts::stride<2>, ts::padding<1>>,
                                       resnet_layers::stage<1, 2, 64, 1>, resnet_layers::stage<2, 2, 128, 2>,
                                       resnet_layers::stage<3, Blocks, 256, 2>, resnet_layers::stage<4, 2, 512, 2>,
                                       ts::global_average_pool, resnet_layers::fc, ts::cross_entropy> {};

struct shallow_densenet
    : ts::sequential<ts::image<3, 224, 224>, densenet_layers::conv0, densenet_layers::norm0, ts::relu,
                     ts::max_pool<3, ts::stride<2>, ts::padding<1>>, densenet_layers::block<1, 2>,
                     densenet_layers::transition<1, 128>, densenet_layers::block<2, 2>,
                     densenet_layers::transition<2, 256>, densenet_layers::block<3, 2>,
                     densenet_layers::transition<3, 512>, densenet_layers::block<4, 2>, densenet_layers::norm5,
                     ts::relu, ts::global_average_pool, densenet_layers::classifier, ts::cross_entropy> {};

struct shallow_inception
    : ts::sequential<ts::image<3, 299, 299>, inception_layers::conv<0, 0, 32, ts::window<3>, ts::stride<2>>,
                     inception_layers::conv<0, 1, 32, ts::window<3>>, ts::max_pool<3, ts::stride<2>>,
                     inception_layers::conv<0, 4, 192, ts::window<3>>, ts::max_pool<3, ts::stride<2>>,
                     inception_layers::a<1, 32>, inception_layers::b<4>, inception_layers::c<5, 128>,
                     inception_layers::d<9>, inception_layers::e<10>, ts::global_average_pool, inception_layers::fc,
                     ts::cross_entropy> {};

/// Of heads that are wider together than the network.
template <int Layers>
using narrow = decoder_sizes<Layers, 24, 4, 2, 8, 40, 8, 30>;

struct narrow_deepseek {
    static constexpr int dense_layers = 1;
    static constexpr int layers = 1;
    static constexpr ts::index_t width = 24;
    static constexpr int heads = 2;
    static constexpr ts::index_t query_rank = 12;
    static constexpr ts::index_t rank = 10;
    static constexpr ts::index_t plain = 6;
    static constexpr ts::index_t turned = 4;
    static constexpr ts::index_t value_width = 5;
    static constexpr ts::index_t hidden = 40;
    static constexpr ts::index_t experts = 6;
    static constexpr ts::index_t expert_hidden = 16;
    static constexpr ts::index_t top = 2;
    static constexpr ts::index_t context = 8;
    static constexpr ts::index_t vocabulary = 30;
};

struct three_slots : ts::token_slots<ts::top<2>, ts::capacity<3>> {};

} // namespace

std::span<const zoo_entry> zoo_shallow() {
    static constexpr zoo_entry all[] = {
        {"resnet50", "two blocks a stage", ts::describe_at_run_time<shallow_resnet<2>>},
        {"resnet101", "two and three blocks a stage", ts::describe_at_run_time<shallow_resnet<3>>},
        {"resnext50", "three stages of two narrow blocks, 12 x 12",
         ts::describe_at_run_time<small_resnext<12, 3, 10, 2, 8, 16, 32, 4>>},
        {"efficientnet_b0", "three narrow stages, 16 x 16",
         ts::describe_at_run_time<
             efficientnet_parts<16, 3, 10, 20, 8, 32, mbconv_stage<1, 8, 1, 3, 1>, mbconv_stage<2, 12, 4, 3, 2>,
                                mbconv_stage<2, 16, 4, 5, 2>>::network>},
        {"vit_b_16", "one narrow layer, 24 x 24", ts::describe_at_run_time<vit_parts<24, 8, 1, 24, 3, 10>::network>},
        {"resnet110_v2", "two blocks a stage", ts::describe_at_run_time<resnet_v2<2>>},
        {"densenet121", "two layers a block", ts::describe_at_run_time<shallow_densenet>},
        {"inception_v3", "one block of each kind", ts::describe_at_run_time<shallow_inception>},
        {"resnet1001_v2", "three blocks a stage", ts::describe_at_run_time<resnet_v2<3>>},
        {"unet", "two levels", ts::describe_at_run_time<unet_parts<60, 1, 2, 64, 2, false>::network>},
        {"padded_unet", "two levels", ts::describe_at_run_time<padded_unet<64, 3, 2, 64, 2>>},
        {"amoebanet_d_18_208", "three normal cells", ts::describe_at_run_time<amoebanet_d<3, 32>>},
        {"rnntc", "three steps", ts::describe_at_run_time<rnntc_parts<3, 64>::network>},
        {"rnnlm", "three steps", ts::describe_at_run_time<rnnlm_parts<3, 64>::network>},
        {"nmt", "two steps", ts::describe_at_run_time<nmt_parts<2, 64>::network>},
        {"padded_lstm", "five steps", ts::describe_at_run_time<padded_lstm_parts<5, 20, 8, 6, 3>::network>},
        {"padded_gru", "five and three steps", ts::describe_at_run_time<padded_gru_parts<5, 3, 20, 8, 6>::network>},
        {"dlrm", "three tables", ts::describe_at_run_time<dlrm_parts<13, 16, 1460, 583, 305>::network>},
        {"transformer", "1 + 1 layers", ts::describe_at_run_time<transformer_base<8, 1>>},
        {"bert_large", "one layer", ts::describe_at_run_time<bert<1, 16>>},
        {"gpt2_124m", "two layers", ts::describe_at_run_time<gpt<2, 768, 12, 16>>},
        {"llama2_7b", "two narrow layers", ts::describe_at_run_time<llama_parts<2, 24, 3, 40, 8, 30>::network>},
        {"llama2_13b", "three narrow layers", ts::describe_at_run_time<llama_parts<3, 32, 4, 40, 8, 30>::network>},
        {"moe_8", "two layers", ts::describe_at_run_time<moe_parts<1, 64, 2, 8, 4, 128, 3, 2>::network>},
        {"routed_moe_8", "two narrow layers",
         ts::describe_at_run_time<routed_moe_parts<1, 24, 2, 8, 4, 40, three_slots, 2, 30>::network>},
        {"mixtral_8x7b", "two narrow layers",
         ts::describe_at_run_time<
             mixtral_parts<decoder_sizes<2, 24, 4, 2, 6, 20, 8, 30>, 4, twice_the_share>::network>},
        {"llama3_1_8b", "two narrow layers",
         ts::describe_at_run_time<
             llama3_parts<narrow<2>, ts::rotary_base<500>>::template scaled<ts::rotary_scale<8, 16>>>},
        {"mistral_7b", "two narrow layers, windows of three places",
         ts::describe_at_run_time<llama3_parts<narrow<2>, ts::rotary_base<10000>, ts::sliding_window<3>>::network>},
        {"qwen3_0_6b", "two narrow layers", ts::describe_at_run_time<qwen3_parts<narrow<2>, true>::network>},
        {"qwen3_8b", "one narrow layer", ts::describe_at_run_time<qwen3_parts<narrow<1>, false>::network>},
        {"gemma_2b", "two narrow layers", ts::describe_at_run_time<gemma_parts<narrow<2>, 4.9>::network>},
        {"gemma2_2b", "two narrow layers", ts::describe_at_run_time<gemma2_parts<narrow<1>, 4.9, 3>::network>},
        {"whisper_tiny", "1 + 1 layers, 14 frames",
         ts::describe_at_run_time<whisper_parts<1, 16, 2, 23, 14, 6, 5>::network>},
        {"t5_small", "2 + 2 narrow layers",
         ts::describe_at_run_time<t5_parts<t5_sizes<2, 12, 20, 3, 4, 30, 6, 8, 5>, 0.28867513459481287>::network>},
        {"t5_v1_1_small", "1 + 1 narrow layers",
         ts::describe_at_run_time<t5_parts<t5_sizes<1, 12, 20, 2, 4, 30, 6, 8, 5>, 0>::network>},
        {"deepseek_v3", "1 + 1 narrow layers", ts::describe_at_run_time<deepseek_parts<narrow_deepseek>::network>},
    };
    return all;
}

} // namespace networks
