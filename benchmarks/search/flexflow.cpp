// SPDX-License-Identifier: Apache-2.0
// FlexFlow's search on its six benchmarks (Jia, Zaharia and Aiken 2019), unrolled for 40 steps, 64 samples per device,
// on nodes of 4 P100, all simulated. Arguments: what to do, then names with values.
//   speed    full and delta simulation of the same random proposals: every makespan, and every tenth timeline, compared
//   search   what is found beside data parallelism, strategies by hand and OptCNN; where the time goes; which patterns
//            recur
//   seeds    also the spread over seeds;  long  also a search ten times as long (at least and at most ten times the
//            work);  ablation  also without reduction splits, without operator
//            placement, without searching parts of the machine first;  quality  all of that
//   exact    LeNet-5 and the RNNLM of 2 steps: every strategy of a space simulated, and MCMC in the same space
//   widths   nodes that OptCNN's eliminations leave, and widths of variable elimination
//   quick    a little of everything
// networks=0,1,5 devices=4,16 threads=2 seeds=10 temperature=0.0005 return_after=100 per_device=64
// least_work=1 work=5: a chain's million activities, see support/search_rule.hpp; proposals=100: so many of every chain
// instead
#include "benchmarks/search/flexflow_exact.hpp"
#include "benchmarks/search/flexflow_searches.hpp"
#include "benchmarks/search/flexflow_speed.hpp"
#include "benchmarks/search/flexflow_widths.hpp"

namespace {

void quick(flexflow::settings s) {
    flexflow::widths();
    flexflow::exact_one("LeNet-5, 64 samples", benchmarks::flexflow_lenet(64), 2);
    s.networks = {0, 4};
    s.devices = {4};
    s.seeds = 2;
    flexflow::speed_table(s);
    s.proposals = 200;
    flexflow::searches(s, {true, false, true});
}

} // namespace

int main(int count, char** arguments) {
    const std::string what = count > 1 ? arguments[1] : "quick";
    const flexflow::settings s = flexflow::read(count, arguments);
    if (what == "speed") {
        flexflow::speed_table(s);
    } else if (what == "search" || what == "seeds" || what == "long" || what == "ablation" || what == "quality") {
        const bool all = what == "quality";
        flexflow::searches(s, {all || what == "seeds", all || what == "long", all || what == "ablation"});
    } else if (what == "exact") {
        flexflow::exact();
    } else if (what == "widths") {
        flexflow::widths();
    } else {
        quick(s);
    }
}
