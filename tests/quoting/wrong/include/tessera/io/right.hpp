// The writers of the languages. A reader may look at letters.
inline std::string page(const json& j, const std::string& title) {
    return "<title>" + quoted::html(title) + "</title>" + quoted::json_in_script(text_of_json(j));
}
inline bool ends(char c) { return c == '"'; }
