// The tape: types, values and tickets, decoded before they are bound.
#pragma once

#include <algorithm>
#include <bit>
#include <cassandra.h>
#include <cstring>
#include <fstream>
#include <map>
#include <memory_resource>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

// Why the job cannot go on: the step, and a full sentence.
struct Failed {
    std::string kind, message;
};
[[noreturn]] inline void broken(const std::string& what) { throw Failed{"job", "The tape is broken: " + what + "; write it again."}; }

using Bytes = std::span<const cass_byte_t>;
using Memory = std::pmr::memory_resource;
template <class T> T* room(Memory& memory, std::size_t count) {
    return static_cast<T*>(memory.allocate(std::max<std::size_t>(count, 1) * sizeof(T), alignof(T)));
}
template <class T> const T* kept(Memory& memory, const T& value) { return new (room<T>(memory, 1)) T(value); }

// A CQL type; a map has two below it, a tuple or user-defined type one for each field.
struct Type {
    CassValueType kind = CASS_VALUE_TYPE_UNKNOWN;
    std::vector<Type> of;
    // libcassandra's description of one that has others below it, from what was prepared.
    const CassDataType* data = nullptr;

    bool is_fields() const { return kind == CASS_VALUE_TYPE_TUPLE || kind == CASS_VALUE_TYPE_UDT; }
    bool is_unordered() const { return kind == CASS_VALUE_TYPE_SET || kind == CASS_VALUE_TYPE_MAP; }
    bool has(CassValueType other) const {
        return kind == other || std::any_of(of.begin(), of.end(), [&](const Type& one) { return one.has(other); });
    }
    // That of the n-th item; keys and values of a map take turns.
    const Type& item(std::size_t nth) const { return of[is_fields() ? nth : nth % of.size()]; }

    // The type that the parent names so.
    static Type read(std::string_view all) {
        std::string_view left = all;
        const Type type = next(left);
        if (!left.empty() || type.has(CASS_VALUE_TYPE_UNKNOWN))
            throw Failed{"job", "The tape has the type `" + std::string(all) + "`, which this worker does not know; leave it out."};
        return type;
    }

private:
    // The type at the beginning of `left`; an unknown one if there is none.
    static Type next(std::string_view& left) {
#define NAMED(constant, code, name, java) {name, constant},
        // A column that the scenario leaves null has no other type.
        static const std::map<std::string_view, CassValueType> known = {
            CASS_VALUE_TYPE_MAPPING(NAMED){"udt", CASS_VALUE_TYPE_UDT}, {"null", CASS_VALUE_TYPE_CUSTOM}};
#undef NAMED
        const auto name = left.substr(0, left.find_first_of("<>,"));
        const auto found = known.find(name);
        left.remove_prefix(name.size());
        Type type{name.empty() || found == known.end() ? CASS_VALUE_TYPE_UNKNOWN : found->second, {}};
        while (!left.empty() && left.front() == (type.of.empty() ? '<' : ',')) {
            left.remove_prefix(std::min(left.find_first_not_of("<, "), left.size()));
            type.of.push_back(next(left));
        }
        const std::size_t count = type.of.size();
        const bool is_closed = count == 0 || (!left.empty() && left.front() == '>');
        const bool is_list = type.kind == CASS_VALUE_TYPE_LIST || type.kind == CASS_VALUE_TYPE_SET;
        const bool fits = type.is_fields() ? count > 0 : count == (type.kind == CASS_VALUE_TYPE_MAP ? 2 : is_list ? 1 : 0);
        if (!fits || !is_closed) type.kind = CASS_VALUE_TYPE_UNKNOWN;
        else if (count > 0) left.remove_prefix(1);
        return type;
    }
};

struct Duration {
    cass_int32_t months, days;
    cass_int64_t nanoseconds;

    bool operator==(const Duration&) const = default;
};

// Numbers: the end of libcassandra's name for the type, and of its names for calls; the type in C; the member of a value.
#define NUMBERS(EACH) \
    EACH(BIGINT, int64, cass_int64_t, integer) EACH(COUNTER, int64, cass_int64_t, integer) EACH(TIMESTAMP, int64, cass_int64_t, integer) \
    EACH(TIME, int64, cass_int64_t, integer) EACH(INT, int32, cass_int32_t, integer) EACH(SMALL_INT, int16, cass_int16_t, integer) \
    EACH(TINY_INT, int8, cass_int8_t, integer) EACH(DATE, uint32, cass_uint32_t, integer) EACH(DOUBLE, double, cass_double_t, real) \
    EACH(FLOAT, float, cass_float_t, single)

// What an application would bind. What is longer than a number lies in the memory of the turn.
struct Value {
    enum : std::int32_t { null = -1, unset = -2 };
    // Of bytes or items; or that there is no value.
    std::int32_t size = 0;
    // Of a decimal, whose bytes are its varint.
    std::int32_t scale = 0;
    union {
        cass_int64_t integer = 0;
        double real;
        float single;
        const cass_byte_t* bytes;
        const CassUuid* uuid;
        const CassInet* inet;
        const Duration* duration;
        const Value* items;
    };

    static Value none(std::int32_t size) {
        Value value;
        value.size = size;
        return value;
    }
};

// Takes big-endian numbers and bytes from the beginning.
struct Cursor {
    Bytes left;

    Bytes take(std::size_t count) {
        if (left.size() < count) broken("a record ends within a value");
        const Bytes taken = left.first(count);
        left = left.subspan(count);
        return taken;
    }
    template <class T> T number() {
        std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t> value = 0;
        for (const auto byte : take(sizeof(T))) value = value << 8 | byte;
        if constexpr (std::is_floating_point_v<T>) return std::bit_cast<T>(value);
        else return static_cast<T>(value);
    }
    // A [vint] of the specification (native_protocol_v5.spec section 3).
    cass_int64_t vint() {
        const auto first = number<std::uint8_t>();
        const auto more = static_cast<std::size_t>(std::countl_one(first));
        std::uint64_t value = more < 8 ? first & (0xFF >> more) : 0;
        for (const auto byte : take(more)) value = value << 8 | byte;
        return static_cast<cass_int64_t>(value >> 1 ^ -(value & 1));
    }
};

// The value of these bytes, which must stay where they are.
inline Value decoded(const Type& type, Bytes from, Memory& memory) {
    Cursor bytes{from};
    Value value;
    const auto rest = [&] {
        value.size = static_cast<std::int32_t>(bytes.left.size());
        value.bytes = bytes.take(bytes.left.size()).data();
    };
    const auto items = [&](std::size_t count) {
        if (count > from.size()) broken("a collection has fewer elements than it says");
        Value* const all = room<Value>(memory, count);
        for (std::size_t i = 0; i < count; ++i) {
            // A tuple may have been written before it had its last fields.
            const auto size = type.is_fields() && bytes.left.empty() ? -1 : bytes.number<std::int32_t>();
            all[i] = size < 0 ? Value::none(Value::null) : decoded(type.item(i), bytes.take(static_cast<std::size_t>(size)), memory);
        }
        value.size = static_cast<std::int32_t>(count);
        value.items = all;
    };
    switch (type.kind) {
#define DECODED(type, call, number_type, member) case CASS_VALUE_TYPE_##type: value.member = bytes.number<number_type>(); break;
    NUMBERS(DECODED)
    case CASS_VALUE_TYPE_BOOLEAN: value.integer = bytes.number<cass_uint8_t>() != 0; break;
    case CASS_VALUE_TYPE_UUID: case CASS_VALUE_TYPE_TIMEUUID: {
        // libcassandra has the parts of the time in another order (RFC 4122 section 4.1.2).
        const cass_uint64_t low = bytes.number<std::uint32_t>(), middle = bytes.number<std::uint16_t>();
        const auto time = cass_uint64_t{bytes.number<std::uint16_t>()} << 48 | middle << 32 | low;
        value.uuid = kept(memory, CassUuid{time, bytes.number<cass_uint64_t>()});
        break;
    }
    case CASS_VALUE_TYPE_INET: {
        const auto* const address = bytes.take(from.size() == 4 ? 4 : 16).data();
        value.inet = kept(memory, from.size() == 4 ? cass_inet_init_v4(address) : cass_inet_init_v6(address));
        break;
    }
    case CASS_VALUE_TYPE_DURATION: {
        const auto months = bytes.vint(), days = bytes.vint();
        value.duration = kept(memory, Duration{static_cast<cass_int32_t>(months), static_cast<cass_int32_t>(days), bytes.vint()});
        break;
    }
    case CASS_VALUE_TYPE_DECIMAL:
        value.scale = bytes.number<cass_int32_t>();
        rest();
        break;
    case CASS_VALUE_TYPE_TUPLE: case CASS_VALUE_TYPE_UDT: items(type.of.size()); break;
    case CASS_VALUE_TYPE_LIST: case CASS_VALUE_TYPE_SET: case CASS_VALUE_TYPE_MAP:
        items(bytes.number<std::uint32_t>() * type.of.size());
        break;
    default: rest();
    }
    if (!bytes.left.empty()) broken("a value has more bytes than its type");
    return value;
}

using Places = std::pmr::unordered_multimap<std::string_view, std::uint32_t>;
inline std::string_view text(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// The rows that are due, and the bytes that each cell was decoded from.
struct Answer {
    enum Check : std::uint8_t { in_order, in_any_order, count_alone } check;
    std::uint32_t rows, columns;
    const Value* cells = nullptr;
    const Bytes* bytes = nullptr;
    // For rows in any order: which they are, by the bytes of their first column.
    const Places* places = nullptr;
};

// Without `due` no rows may come. The rest is what became of it: without an answer `came` is 0.
struct Ticket {
    std::uint16_t statement;
    bool has_failed = false;
    std::uint32_t count;
    const Value* values = nullptr;
    const Answer* due = nullptr;
    std::int64_t issued = 0, came = 0;
};

// The types of a statement's markers and columns.
struct Types {
    std::vector<Type> values, columns;
};

class Tape {
public:
    Tape(const std::string& path, const std::vector<Types>& types) : types(types), file(path, std::ios::binary) {
        char magic[8] = {};
        file.read(magic, sizeof magic);
        if (std::string_view(magic, sizeof magic) != "CQLTAPE1") broken(path + " cannot be read, or does not begin with CQLTAPE1");
        pool = record(pooled);
    }

    // The next tickets, whose values lie in this memory.
    std::vector<Ticket> next(std::uint64_t count, Memory& memory) {
        std::vector<Ticket> tickets;
        for (tickets.reserve(count); tickets.size() < count;) {
            Cursor record{this->record(memory)};
            if (record.number<std::uint8_t>() == 0) {
                // It is decoded when a ticket names it, because the types are those of the ticket's statement.
                answers.push_back({{room<cass_byte_t>(pooled, record.left.size()), record.left.size()}, nullptr, 0});
                std::memcpy(const_cast<cass_byte_t*>(answers.back().bytes.data()), record.left.data(), record.left.size());
                continue;
            }
            Ticket ticket{.statement = record.number<std::uint16_t>(), .count = record.number<std::uint32_t>()};
            if (ticket.statement >= types.size()) broken("it names a statement that the job does not have");
            const auto& [markers, columns] = types[ticket.statement];
            ticket.values = cells(record, ticket.count, markers, memory, nullptr);
            const auto due = record.number<std::uint8_t>();
            if (due == 1) ticket.due = answer(record, columns, memory);
            if (due == 2) ticket.due = pooled_answer(record.number<std::uint32_t>(), ticket.statement);
            tickets.push_back(ticket);
        }
        return tickets;
    }

private:
    struct Pooled {
        Bytes bytes;
        const Answer* answer;
        std::uint16_t statement;
    };

    Bytes record(Memory& memory) {
        cass_byte_t head[4];
        const auto read = [&](cass_byte_t* into, std::uint32_t size) {
            if (!file.read(reinterpret_cast<char*>(into), size)) broken("it ends before its last ticket");
            return Bytes(into, size);
        };
        const auto size = Cursor{read(head, sizeof head)}.number<std::uint32_t>();
        return read(room<cass_byte_t>(memory, size), size);
    }
    const Value* cells(Cursor& from, std::size_t count, const std::vector<Type>& of, Memory& memory, Bytes* bytes) {
        constexpr std::int32_t in_pool = -3;
        if (count > from.left.size() || (count > 0 && (of.empty() || count % of.size() != 0)))
            broken(std::to_string(count) + " values cannot be those of " + std::to_string(of.size()) + " markers or columns");
        Value* const all = room<Value>(memory, count);
        for (std::size_t i = 0; i < count; ++i) {
            const auto size = from.number<std::int32_t>();
            Cursor window{pool};
            if (size == in_pool) window.take(from.number<std::uint32_t>());
            Bytes cell;
            if (size >= 0) cell = from.take(static_cast<std::uint32_t>(size));
            if (size == in_pool) cell = window.take(from.number<std::uint32_t>());
            all[i] = cell.data() ? decoded(of[i % of.size()], cell, memory) : Value::none(size);
            if (bytes) bytes[i] = cell;
        }
        return all;
    }
    const Answer* answer(Cursor& from, const std::vector<Type>& of, Memory& memory) {
        Answer due{Answer::Check(from.number<std::uint8_t>()), from.number<std::uint32_t>(), from.number<std::uint32_t>()};
        if (due.check == Answer::count_alone) return kept(memory, due);
        if (due.columns != of.size())
            broken("an answer has " + std::to_string(due.columns) + " columns, and the job names " + std::to_string(of.size()));
        const auto count = std::size_t{due.rows} * due.columns;
        Bytes* const bytes = room<Bytes>(memory, std::min(count, from.left.size()));
        due.cells = cells(from, count, of, memory, bytes);
        due.bytes = bytes;
        if (due.check == Answer::in_any_order) {
            auto* const places = new (room<Places>(memory, 1)) Places(due.rows, &memory);
            for (std::uint32_t row = 0; row < due.rows; ++row) places->emplace(text(bytes[row * due.columns]), row);
            due.places = places;
        }
        return kept(memory, due);
    }
    const Answer* pooled_answer(std::uint32_t index, std::uint16_t statement) {
        if (index >= answers.size()) broken("it names an answer that did not come before");
        Pooled& of = answers[index];
        Cursor from{of.bytes};
        if (of.answer == nullptr || of.statement != statement) of = {of.bytes, answer(from, types[statement].columns, pooled), statement};
        return of.answer;
    }

    const std::vector<Types>& types;
    std::ifstream file;
    std::pmr::monotonic_buffer_resource pooled;
    Bytes pool;
    std::vector<Pooled> answers;
};
