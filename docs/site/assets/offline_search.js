// SPDX-License-Identifier: Apache-2.0
// The theme searches in a worker, which it starts from a file, over an index that it asks for. A browser refuses both to a page that is itself opened
// from a file. So the worker's code comes as a text in a script (search_worker.js) and is started from memory, and the index comes as a script
// too (search_index.js), when somebody begins to search.
var __search = (function () {
    "use strict";
    var here = document.currentScript.src;
    var code = new Blob([search_worker_source], { type: "text/javascript" });
    var index = new Promise(function (resolve, reject) {
        var asked = false;
        function ask() {
            if (asked) { return; }
            asked = true;
            window.take_search_index = resolve;
            var script = document.createElement("script");
            script.src = new URL("search_index.js", here).href;
            script.onerror = reject;
            document.head.appendChild(script);
        }
        document.addEventListener("focusin", function (event) {
            if (event.target.getAttribute("data-md-component") === "search-query") { ask(); }
        });
        if (/[?&][qh]=/.test(location.search)) { ask(); } // words to search, or to mark: the theme takes the index for both
    });
    return { worker: URL.createObjectURL(code), index: index };
}());
