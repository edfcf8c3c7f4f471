// SPDX-License-Identifier: Apache-2.0
// A request from beginning to end, for the command line and for Python.
#include "plan.hpp"

namespace planner {

void require_answerable(const request& r, const std::vector<std::string>& searches) {
    for (const std::string& name : searches) {
        require_search(name);
    }
    require_schedule(r, searches);
    require_writable(r);
    require_export(r);
}

presented answer(const request& asked, const ts::cluster& on, const named_network& network, const asker& who) {
    request r = asked;
    r.network = network.name; // as results are titled
    write_network(network, r);
    const problem p{on, network.graph.view(), optimizer_of(r)};
    for (const std::string& layer : r.explain) {
        (void)find_layer(p.network, layer); // before a search that takes long
    }
    const bool read = !r.from.empty();
    const ts::search::search_found found = read ? ts::search::search_found{strategy_in(p, r.from)} : who.find(p);
    write_strategy(p, found.best, r);
    if (const std::string exported = export_plan(p, found.best, r); !exported.empty()) {
        who.note(exported);
    }
    return present(p, found, read ? r.from : r.search, r, who.say);
}

} // namespace planner
