// SPDX-License-Identifier: Apache-2.0
// nvcc compiles the core: networks, strategies, their plans and searches may stand in a .cu file beside kernels of the
// user's.
#include "tessera/tessera.hpp"

#include "tessera/plan/lower/lower.hpp"

namespace {

namespace ts = tessera;

struct fc1 : ts::linear<8> {};
struct fc2 : ts::linear<3> {};
struct network : ts::sequential<ts::features<4>, fc1, ts::relu, fc2, ts::cross_entropy> {};
using by_hand = ts::strategy_of<network, 2, 6, ts::on<fc1, ts::split<ts::channel, 2>>>; // two devices, six samples

__global__ void scale(float* x, float by, int n) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) {
        x[i] *= by;
    }
}

} // namespace

int main() {
    const ts::graph g = ts::describe<network>(6);
    scale<<<1, 32>>>(nullptr, 2.0F, 0);
    const ts::plan p = ts::lower(g.view(), by_hand::view(), by_hand::devices);
    return g.view().op_count == 4 && by_hand::view().ops[0].degree[1] == 2 && !p.tasks.empty() ? 0 : 1;
}
