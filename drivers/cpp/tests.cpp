// Tests without a server: what is read, and the sentences for what cannot be.
#include "counts.hpp"
#include "tape.hpp"

#include <deque>
#include <functional>
#include <iostream>
#include <unistd.h>

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
Type type(std::string_view name) { return Type::read(name); }
Value decoded(const std::string& name, const std::string& bytes) {
    static std::pmr::monotonic_buffer_resource memory;
    static std::deque<std::string> kept;
    return Cursor{kept.emplace_back(sized(bytes))}.value(type(name), memory);
}
template <class T> T as(const std::string& name, const std::string& bytes) { return std::get<T>(decoded(name, bytes)); }

void types() {
    const Type nested = type("map<text, list<tuple<int, udt<text, uuid>>>>");
    const Type& inner = nested.of[1].of[0].of[1];
    check(std::holds_alternative<CassUuid>(inner.of[1].like) && inner.kind == CASS_VALUE_TYPE_UDT && nested.has_user_type(), "types are nested");
    check(type("null").kind == CASS_VALUE_TYPE_UNKNOWN, "a column that is always null has a type");
    refuses([] { type("list<vector<float, 3>>"); }, "The tape has the type `vector`, which this worker does not know; leave it out.");
    for (const char* name : {"list", "int<text>", "list<", "list<int", "tuple<int,>", "map<int>", "list<int, int>", ""}) refuses([&] { type(name); }, "The tape has the type `");
}

void values() {
    check(as<cass_int8_t>("tinyint", "\xff") == -1 && as<cass_int32_t>("int", number(-5, 4)) == -5, "numbers have signs");
    check(as<cass_uint32_t>("date", number(1U << 31, 4)) == 1U << 31, "a date counts from 2^31 days before 1970");
    check(as<double>("double", number(0xBFF8000000000000, 8)) == -1.5 && as<float>("float", number(0x3FC00000, 4)) == 1.5F, "floats are read");
    char text[CASS_UUID_STRING_LENGTH];
    cass_uuid_string(as<CassUuid>("uuid", number(0x0011223344556677, 8) + number(0x8899aabbccddeeff, 8)), text);
    equal(text, "00112233-4455-6677-8899-aabbccddeeff");
    check(as<Duration>("duration", "\x01\x04\xbf\xff") == Duration{-1, 2, -8192}, "a duration has vints");
    const auto decimal = *as<const Decimal*>("decimal", number(3, 4) + "\x01\x02");
    check(decimal.scale == 3 && decimal.varint.size == 2, "a decimal has its scale first");
    check(as<const CassInet*>("inet", "\x7f\x01\x02\x03")->address_length == 4, "an address of IPv4 has four bytes");
    const auto tuple = as<Items>("tuple<int, text>", sized(number(7, 4)));
    check(tuple.count == 2 && std::holds_alternative<Null>(tuple.first[1]), "a tuple may be shorter");
    check(sizeof(Value) == 24, "a value is small");
    check(as<Items>("tuple<int>", "").count == 1 && as<Items>("map<int, int>", number(0, 4)).count == 0, "there may be no items");
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
    const std::vector<Type> types = {type("bigint"), type("text")};
    const Query select = {"select", "SELECT ...", Operation::execute, false, types, types};
    const std::vector<Query> queries = {select, select};
    const auto key = [](std::uint64_t value) { return sized(number(value, 8)); };
    const std::string in_pool = number(-3, 4) + number(2, 4) + number(4, 4);
    const std::string due = number(1, 1) + number(2, 4) + number(2, 4) + key(8) + number(-1, 4) + key(9) + in_pool;
    const auto ticket = [&](const std::string& end) { return sized(number(1, 1) + number(0, 2) + number(2, 4) + key(7) + in_pool + end); };
    const std::string begin = "CQLTAPE1" + sized("..pool.."), by_index = ticket(number(2, 1) + number(0, 4));
    const std::string whole = begin + ticket(number(1, 1) + due) + sized(number(0, 1) + due) + by_index;
    std::pmr::monotonic_buffer_resource memory;
    Tape tape(file(whole + ticket(number(0, 1))), queries);
    const auto tickets = tape.next(2, memory);
    for (const Ticket& one : tickets) {
        check(one.count == 2 && std::get<cass_int64_t>(one.values[0]) == 7 && one.due->rows == 2, "a ticket has its values and rows");
        const auto text = std::get<Text>(one.values[1]);
        equal(std::string(text.data, text.size), "pool");
        check(std::holds_alternative<Null>(one.due->cells[1]) && std::get<cass_int64_t>(one.due->cells[2]) == 9, "an answer has its cells");
        const auto nine = number(9, 8);
        check(one.due->places->find(nine)->second == 1, "rows in any order are found by their first column");
        Cursor bytes = one.due->bytes;
        const auto cell = [&](std::size_t nth) { return shown(types[nth % 2], bytes.cell().second); };
        std::string all;
        for (std::size_t nth = 0; nth < 4; ++nth) all += cell(nth);
        equal(all, "8null9'pool'");
    }
    check(tape.next(1, memory)[0].due == nullptr, "a ticket may have no rows");
    refuses([&] { tape.next(1, memory); }, "The tape is broken: it ends before its last ticket; write it again.");
    const auto broken = [&](const std::string& text) {
        return [&queries, &memory, text] { Tape(file(text), queries).next(2, memory); };
    };
    for (std::size_t size = 0; size < whole.size(); ++size) refuses(broken(whole.substr(0, size)), "The tape is broken: ");
    refuses(broken("CQLTAPE2"), "cannot be read, or does not begin with CQLTAPE1");
    refuses(broken(begin + by_index), "it names an answer that did not come before");
    const auto of_another = sized(number(1, 1) + number(1, 2) + number(0, 4) + number(2, 1) + number(0, 4));
    refuses(broken(begin + sized(number(0, 1) + due) + by_index + of_another), "two statements have one answer");
    refuses(broken(begin + sized(number(1, 1) + number(2, 2) + number(0, 4))), "it names a statement that the job does not have");
    refuses(broken(begin + sized(number(1, 1) + number(0, 2) + number(1, 4) + key(7))), "1 values cannot be those of 2 markers or columns");
    const std::string narrow = number(0, 1) + number(1, 4) + number(1, 4) + key(8);
    refuses(broken(begin + ticket(number(1, 1) + narrow)), "an answer has 1 columns, and the job names 2");
    std::filesystem::remove(file(""));
    equal(shown(type("text"), "ä" + std::string(40, 'x')), "'??" + std::string(30, 'x') + "...'");
    equal(shown(type("blob"), "\x0f\xa0"), "0x0fa0");
}

void histograms() {
    equal(histogram({5'000'000'000'000, 1, 2048}), "HISTEwAAAAkAAAAAAAAAAwAAAAAAAAABAAADRjC4oAA/8AAAAAAAAAEC+x8CleoDAg==");
}

}  // namespace

int main() {
    types();
    values();
    tapes();
    histograms();
    std::cerr << (failures == 0 ? "ok" : "failed") << "\n";
    return failures != 0;
}
