// Tests without a server: what is read, and the sentences for what cannot be.
#include "counts.hpp"
#include "driver.hpp"

#include <deque>
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
    const Object inner = Object().put("b", false);
    equal(written(Object().put("n", 1).put("l", std::vector<std::string>{"x", "y"}).put("o", inner)), R"({"n":1,"l":["x","y"],"o":{"b":false}})");
    for (const char* line : {"{", "{\"a\" 1}", "[1 2]", "\"a", "", "{\"a\":}", "\"\\"}) refuses([&] { read(line); }, "JSON was expected");
    refuses([&] { read("-1").number(); }, "a whole number was expected, and `-1` was found");
}

void types() {
    const Type nested = type("map<text, list<tuple<int, udt<text, uuid>>>>");
    check(nested.of[1].of[0].of[1].of[1].kind == CASS_VALUE_TYPE_UUID && nested.has(CASS_VALUE_TYPE_UDT), "types are nested");
    check(type("null").kind != CASS_VALUE_TYPE_UNKNOWN, "a column that is always null has a type");
    refuses([] { type("vector<float, 3>"); }, "The tape has the type `vector<float, 3>`");
    for (const char* name : {"map<int>", "list", "int<text>", "set<int, int>", "list<", "list<int", "int>", "tuple<int,>", ""})
        refuses([&] { type(name); }, "The tape has the type `" + std::string(name) + "`, which this worker does not know; leave it out.");
}

void values() {
    check(decoded("tinyint", "\xff").integer == -1 && decoded("int", number(-5, 4)).integer == -5, "numbers have signs");
    check(decoded("date", number(1U << 31, 4)).integer == 1LL << 31, "a date counts from 2^31 days before 1970");
    char text[CASS_UUID_STRING_LENGTH];
    cass_uuid_string(*decoded("uuid", number(0x0011223344556677, 8) + number(0x8899aabbccddeeff, 8)).uuid, text);
    equal(text, "00112233-4455-6677-8899-aabbccddeeff");
    const Duration took = *decoded("duration", "\x01\x04\xbf\xff").duration;
    check(took.months == -1 && took.days == 2 && took.nanoseconds == -8192, "a duration has vints");
    const Value decimal = decoded("decimal", number(3, 4) + "\x01\x02");
    check(decimal.scale == 3 && decimal.size == 2, "a decimal has its scale first");
    check(decoded("tuple<int, text>", sized(number(7, 4))).items[1].size == Value::null, "a tuple may be shorter");
    refuses([] { decoded("inet", "\x7f"); }, "The tape is broken: a record ends within a value; write it again.");
    refuses([] { decoded("int", "\x01\x02\x03\x04\x05"); }, "a value has more bytes than its type");
    refuses([] { decoded("list<int>", number(1u << 31, 4)); }, "fewer elements than it says");
}

// A file with this tape, which is read for a statement with a bigint and a text, and rows of the same.
const std::string& file(const std::string& tape) {
    static const std::string path = std::filesystem::temp_directory_path() / ("cqldyno-cpp-tape-" + std::to_string(getpid()));
    std::ofstream(path, std::ios::binary) << tape;
    return path;
}
void tapes() {
    const std::vector<Types> types = {{{type("bigint"), type("text")}, {type("bigint"), type("text")}}};
    const auto key = [](std::uint64_t value) { return sized(number(value, 8)); };
    const std::string in_pool = number(-3, 4) + number(2, 4) + number(4, 4);
    const std::string due = number(1, 1) + number(2, 4) + number(2, 4) + key(8) + number(-1, 4) + key(9) + in_pool;
    const auto ticket = [&](const std::string& end) { return sized(number(1, 1) + number(0, 2) + number(2, 4) + key(7) + in_pool + end); };
    const std::string begin = "CQLTAPE1" + sized("..pool.."), by_index = ticket(number(2, 1) + number(0, 4));
    const std::string whole = begin + ticket(number(1, 1) + due) + sized(number(0, 1) + due) + by_index;
    std::pmr::monotonic_buffer_resource memory;
    Tape tape(file(whole + ticket(number(0, 1))), types);
    const auto tickets = tape.next(2, memory);
    for (const Ticket& one : tickets) {
        check(one.count == 2 && one.values[0].integer == 7 && one.due->rows == 2, "a ticket has its values and rows");
        equal(std::string(text({one.values[1].bytes, 4})), "pool");
        check(one.due->cells[1].size == Value::null && one.due->cells[2].integer == 9, "an answer has its cells");
        check(one.due->places->find(text(bytes_of(number(9, 8))))->second == 1, "rows in any order are found by their first column");
        const auto cell = [&](std::size_t nth) { return shown(types[0].columns[nth % 2], one.due->bytes[nth]); };
        equal(cell(0) + cell(1) + cell(2) + cell(3), "8null9'pool'");
    }
    check(tape.next(1, memory)[0].due == nullptr, "a ticket may have no rows");
    refuses([&] { tape.next(1, memory); }, "The tape is broken: it ends before its last ticket; write it again.");
    const auto broken = [&](const std::string& text) {
        return [&types, &memory, text] { Tape(file(text), types).next(2, memory); };
    };
    for (std::size_t size = 0; size < whole.size(); ++size) refuses(broken(whole.substr(0, size)), "The tape is broken: ");
    refuses(broken("CQLTAPE2"), "cannot be read, or does not begin with CQLTAPE1");
    refuses(broken(begin + by_index), "it names an answer that did not come before");
    refuses(broken(begin + sized(number(1, 1) + number(1, 2) + number(0, 4))), "it names a statement that the job does not have");
    refuses(broken(begin + sized(number(1, 1) + number(0, 2) + number(1, 4) + key(7))), "1 values cannot be those of 2 markers or columns");
    const std::string narrow = number(0, 1) + number(1, 4) + number(1, 4) + key(8);
    refuses(broken(begin + ticket(number(1, 1) + narrow)), "an answer has 1 columns, and the job names 2");
    std::filesystem::remove(file(""));
    equal(shown(type("text"), bytes_of("ä" + std::string(40, 'x'))), "'?" + std::string(30, 'x') + "...'");
    equal(shown(type("blob"), bytes_of("\x0f\xa0")), "0x0fa0");
}

void histograms() {
    equal(histogram({5'000'000'000'000, 1, 2048}), "HISTEwAAAAkAAAAAAAAAAwAAAAAAAAABAAADRjC4oAA/8AAAAAAAAAEC+x8CleoDAg==");
}

}  // namespace

int main() {
    json();
    types();
    values();
    tapes();
    histograms();
    std::cerr << (failures == 0 ? "ok" : "failed") << "\n";
    return failures != 0;
}
