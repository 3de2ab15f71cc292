// The JSON of the worker protocol: what a job has is read, and what a worker says is written.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

// A value that was read; absent ones have no kind. Numbers stay texts, because a double would lose bits of them.
struct Json {
    enum class Kind { none, word, string, list, object } kind = Kind::none;
    std::string text;
    std::vector<Json> items;
    std::map<std::string, Json> fields;

    explicit operator bool() const { return kind != Kind::none; }
    const Json& operator[](const std::string& name) const {
        static const Json absent;
        const auto found = fields.find(name);
        return found == fields.end() ? absent : found->second;
    }
    std::uint64_t number(std::uint64_t if_absent = 0) const {
        if (!*this) return if_absent;
        if (kind != Kind::word || text.find_first_not_of("0123456789") != text.npos)
            throw std::runtime_error("a whole number was expected, and `" + text + "` was found");
        return std::stoull(text);
    }

    // Reads a value from the beginning of `left`.
    static Json read(std::string_view& left) {
        Json json;
        const auto skip = [&](char due) {
            left.remove_prefix(std::min(left.find_first_not_of(" \t\r\n"), left.size()));
            const bool is_there = !left.empty() && left.front() == due;
            left.remove_prefix(is_there ? 1 : 0);
            return is_there;
        };
        const auto wrong = [&] { return std::runtime_error("JSON was expected at `" + std::string(left.substr(0, 20)) + "`"); };
        if (const bool is_object = skip('{'); is_object || skip('[')) {
            json.kind = is_object ? Kind::object : Kind::list;
            for (bool is_first = true; !skip(is_object ? '}' : ']'); is_first = false) {
                if (!is_first && !skip(',')) throw wrong();
                Json item = read(left);
                if (!is_object) json.items.push_back(std::move(item));
                else if (item.kind != Kind::string || !skip(':')) throw wrong();
                else json.fields[item.text] = read(left);
            }
        } else if (skip('"')) {
            json.kind = Kind::string;
            while (!left.empty() && left.front() != '"') {
                json.text += left.front();
                left.remove_prefix(1);
                if (json.text.back() != '\\' || left.empty()) continue;
                const auto at = std::string_view("nrtbfu").find(left.front());
                json.text.back() = at == std::string_view::npos ? left.front() : "\n\r\t\b\f"[at];
                // The parent escapes control characters alone so; it writes all others as they are.
                if (at == 5) json.text.back() = static_cast<char>(std::stoi(std::string(left.substr(1, 4)), nullptr, 16));
                left.remove_prefix(at == 5 ? std::min<std::size_t>(left.size(), 5) : 1);
            }
            if (!skip('"')) throw wrong();
        } else {
            json.text = left.substr(0, left.find_first_of(",]} \t\r\n"));
            if (json.text.empty()) throw wrong();
            if (json.text != "null") json.kind = Kind::word;
            left.remove_prefix(json.text.size());
        }
        return json;
    }
};

inline std::string written(const std::convertible_to<std::string_view> auto& of) {
    const std::string_view text = of;
    std::string quoted = "\"";
    for (const char one : text) {
        if (one == '"' || one == '\\') quoted += '\\';
        if (static_cast<unsigned char>(one) >= 0x20) quoted += one;
        else (quoted += one < 0x10 ? "\\u000" : "\\u001") += "0123456789abcdef"[one & 15];
    }
    return quoted + '"';
}
inline std::string written(bool value) { return value ? "true" : "false"; }
inline std::string written(const std::integral auto& value) { return std::to_string(value); }
template <class T> std::string written(const std::vector<T>& all) {
    std::string list = "[";
    for (const T& one : all) list += (list.size() > 1 ? "," : "") + written(one);
    return list + "]";
}

// An object that is being written.
struct Object {
    std::string text = "{";

    template <class T> Object& put(std::string_view name, const T& value) {
        text += (text.size() > 1 ? "," : "") + written(name) + ":" + written(value);
        return *this;
    }
};
inline std::string written(const Object& object) { return object.text + "}"; }
