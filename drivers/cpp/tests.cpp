// Tests without a server: what is read, and the sentences for what cannot be.
#include "counts.hpp"
#include "driver.hpp"

#include <functional>
#include <iostream>

namespace {

int failures = 0;

void check(bool holds, const std::string& what) {
    failures += !holds;
    if (!holds) std::cerr << "It does not hold that " << what << "\n";
}
void equal(const std::string& found, const std::string& due) { check(found == due, "`" + found + "` is `" + due + "`"); }
// The sentence with which something is refused.
std::string refused(const std::function<void()>& what) {
    try {
        what();
    } catch (const Failed& failed) {
        return failed.message;
    } catch (const std::exception& error) {
        return error.what();
    }
    return "nothing";
}
void refuses(const std::function<void()>& what, const std::string& due) {
    const auto found = refused(what);
    check(found.find(due) != found.npos, "`" + found + "` has `" + due + "`");
}

std::string number(std::uint64_t value, int bytes) {
    std::string text;
    while (bytes-- > 0) text += static_cast<char>(value >> 8 * bytes);
    return text;
}
std::string sized(const std::string& bytes) { return number(bytes.size(), 4) + bytes; }
Bytes bytes_of(const std::string& text) { return {reinterpret_cast<const cass_byte_t*>(text.data()), text.size()}; }
Type type(std::string_view name) { return Type::read(name); }
Value decoded(const std::string& name, const std::string& bytes) {
    static std::pmr::monotonic_buffer_resource memory;
    static std::deque<std::string> kept;
    return decoded(type(name), bytes_of(kept.emplace_back(bytes)), memory);
}

void json() {
    const auto read = [](std::string_view line) { return Json::read(line); };
    const Json job = read(R"( {"seed": 18446744073709551615, "a": [1, {"b": null}], "t": "x\"\\\n\u0007ä", "logged": true} )");
    check(job["seed"].number() == ~0ULL, "a seed of 64 bits is read");
    equal(job["t"].text, "x\"\\\n\aä");
    check(!job["a"].items[1]["b"] && !job["absent"]["deeper"], "null and what is absent are nothing");
    equal(job["logged"].text, "true");
    equal(written(std::string("a\"\\\x1f\n")), R"("a\"\\\u001f\u000a")");
    equal(written(Object().put("n", 1).put("l", std::vector<std::string>{"x", "y"}).put("o", Object().put("b", false))), R"({"n":1,"l":["x","y"],"o":{"b":false}})");
    for (const char* line : {"{", "{\"a\" 1}", "[1 2]", "\"a", "", "{\"a\":}", "\"\\"}) refuses([&] { read(line); }, "JSON was expected");
    refuses([&] { read("-1").number(); }, "a whole number was expected, and `-1` was found");
}

void types() {
    const Type nested = type("map<text, list<tuple<int, udt<text, uuid>>>>");
    check(nested.of[1].of[0].of[1].of[1].kind == CASS_VALUE_TYPE_UUID && nested.has(CASS_VALUE_TYPE_UDT), "types are nested");
    refuses([] { type("vector<float, 3>"); }, "The tape has the type `vector<float, 3>`");
    for (const char* name : {"map<int>", "list", "int<text>", "set<int, int>", "list<"}) refuses([&] { type(name); }, "The tape has ");
}

void values() {
    check(decoded("tinyint", "\xff").integer == -1 && decoded("int", number(-5, 4)).integer == -5, "numbers have signs");
    check(decoded("date", number(1U << 31, 4)).integer == 1LL << 31, "a date counts from 2^31 days before 1970");
    char text[CASS_UUID_STRING_LENGTH];
    cass_uuid_string(*decoded("uuid", number(0x0011223344556677, 8) + number(0x8899aabbccddeeff, 8)).uuid, text);
    equal(text, "00112233-4455-6677-8899-aabbccddeeff");
    const Duration took = *decoded("duration", "\x01\x04\xbf\xff").duration;
    check(took.months == -1 && took.days == 2 && took.nanoseconds == -8192, "a duration has vints");
    check(decoded("decimal", number(3, 4) + "\x01\x02").scale == 3 && decoded("inet", "\x7f").size == 0, "unreachable");
}

}  // namespace

int main() {
    json();
    types();
    values();
    std::cerr << (failures == 0 ? "ok" : "failed") << "\n";
    return failures != 0;
}
