// Every way in which a source may quote by itself.
inline std::string escaped(std::string_view text) {
    std::string all;
    for (const char c : text) {
        all += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
        if (c == '<') {
            all += "&lt;";
        }
    }
    return all;
}
inline std::string page(const json& j, const std::string& title) {
    std::string data = j.dump(2);
    for (std::size_t i = data.find("</"); i != std::string::npos; i = data.find("</", i + 3)) {
        data.replace(i, 2, "<\\/");
    }
    return "<title>" + title + "</title>" + data;
}
