// SPDX-License-Identifier: Apache-2.0
// Plans as programs for other libraries.
#include "plan.hpp"

#include <tessera/io/exchange/torch_export.hpp>

#include <string>

namespace planner {

void require_export(const request& r) {
    if (!r.exports.empty() && r.exports[0] != "torch") {
        throw ts::error("plans are exported to torch, not to '" + r.exports[0] + "'; say --export torch FOLDER");
    }
}

std::string export_plan(const problem& p, const ts::strategy& s, const request& r) {
    if (r.exports.empty()) {
        return {};
    }
    const std::string& folder = r.exports[1];
    const int devices = p.on.devices();
    ts::io::export_torch(folder, p.network, s.view(), devices, p.update, {.title = r.network});
    const std::string ranks = std::to_string(devices);
    return folder + " has a program for " + ranks + " ranks; torchrun --standalone --nproc-per-node " + ranks + " " +
           folder + "/program.py --data FILE";
}

} // namespace planner
