// CQL types: their values are decoded beforehand, bound and read by libcassandra's call for the type, and compared.
#pragma once

#include <algorithm>
#include <bit>
#include <cassandra.h>
#include <iomanip>
#include <map>
#include <memory>
#include <memory_resource>
#include <sstream>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

// Why the job cannot go on: the step, and a full sentence.
struct Failed {
    std::string kind, message;
};
[[noreturn]] inline void broken(const std::string& what) { throw Failed{"job", "The tape is broken: " + what + "; write it again."}; }

// What libcassandra allocated, by the function that frees it.
template <class T, auto release> struct Released {
    void operator()(T* one) const { release(one); }
};
template <class T, auto release> using Owned = std::unique_ptr<T, Released<T, release>>;
using Collection = Owned<CassCollection, cass_collection_free>;
using Tuple = Owned<CassTuple, cass_tuple_free>;
using UserType = Owned<CassUserType, cass_user_type_free>;
using Iterator = Owned<CassIterator, cass_iterator_free>;

using Memory = std::pmr::memory_resource;
template <class T> T* room(Memory& memory, std::size_t count) {
    return static_cast<T*>(memory.allocate(std::max<std::size_t>(count, 1) * sizeof(T), alignof(T)));
}

// What an application would bind; what is longer lies in the memory of the turn.
struct Null {};
struct Unset {};
template <class Byte> struct Run {
    const Byte* data = nullptr;
    std::size_t size = 0;

    bool operator==(const Run& other) const { return size == other.size && std::equal(data, data + size, other.data); }
};
using Text = Run<char>;
using Blob = Run<cass_byte_t>;
struct Decimal {
    Blob varint;
    cass_int32_t scale = 0;

    bool operator==(const Decimal&) const = default;
};
struct Duration {
    cass_int32_t months = 0, days = 0;
    cass_int64_t nanoseconds = 0;

    bool operator==(const Duration&) const = default;
};
struct Value;
struct Items {
    const Value* first = nullptr;
    std::size_t count = 0;
};
// Those of 16 bytes or fewer are there themselves, because many of them are kept.
struct Value : std::variant<Null, Unset, cass_bool_t, cass_int8_t, cass_int16_t, cass_int32_t, cass_uint32_t, cass_int64_t, cass_float_t,
                            cass_double_t, Text, Blob, Duration, CassUuid, const CassInet*, const Decimal*, Items> {
    using variant::variant;
};
template <class T> const T& plain(const T& one) { return one; }
template <class T> const T& plain(const T* one) { return *one; }
template <class T> constexpr T nothing{};
inline bool operator==(const CassUuid& one, const CassUuid& other) {
    return one.time_and_version == other.time_and_version && one.clock_seq_and_node == other.clock_seq_and_node;
}
inline bool operator==(const CassInet& one, const CassInet& other) {
    return one.address_length == other.address_length && std::equal(one.address, one.address + one.address_length, other.address);
}

// A CQL type; a map has two below it, a tuple or user-defined type one for each field.
struct Type {
    // A value of the type, of no meaning but the C++ type.
    Value like;
    CassValueType kind = CASS_VALUE_TYPE_UNKNOWN;
    std::vector<Type> of = {};
    // libcassandra's description of one that has others below it, from what was prepared.
    const CassDataType* data = nullptr;

    bool is_fields() const { return kind == CASS_VALUE_TYPE_TUPLE || kind == CASS_VALUE_TYPE_UDT; }
    bool is_unordered() const { return kind == CASS_VALUE_TYPE_SET || kind == CASS_VALUE_TYPE_MAP; }
    bool has_user_type() const { return kind == CASS_VALUE_TYPE_UDT || std::ranges::any_of(of, &Type::has_user_type); }
    // That of the n-th item; keys and values of a map take turns.
    const Type& item(std::size_t nth) const { return of[is_fields() ? nth : nth % of.size()]; }

    // The type that the parent names so.
    static Type read(std::string_view&& all) { return read(all); }
    // The one at the beginning of a name, from which that is taken.
    static Type read(std::string_view& left) {
        static const std::map<std::string_view, Type> known = {
            {"ascii", {Text()}}, {"bigint", {cass_int64_t()}}, {"blob", {Blob()}}, {"boolean", {cass_false}}, {"counter", {cass_int64_t()}},
            {"date", {cass_uint32_t()}}, {"decimal", {&nothing<Decimal>}}, {"double", {cass_double_t()}}, {"duration", {Duration()}},
            {"float", {cass_float_t()}}, {"inet", {&nothing<CassInet>}}, {"int", {cass_int32_t()}}, {"smallint", {cass_int16_t()}}, {"text", {Text()}},
            {"time", {cass_int64_t()}}, {"timestamp", {cass_int64_t()}}, {"timeuuid", {CassUuid()}}, {"tinyint", {cass_int8_t()}},
            {"uuid", {CassUuid()}}, {"varchar", {Text()}}, {"varint", {Blob()}}, {"list", {Items(), CASS_VALUE_TYPE_LIST}},
            {"set", {Items(), CASS_VALUE_TYPE_SET}}, {"map", {Items(), CASS_VALUE_TYPE_MAP}}, {"tuple", {Items(), CASS_VALUE_TYPE_TUPLE}},
            // A column that the scenario leaves null has no other type.
            {"udt", {Items(), CASS_VALUE_TYPE_UDT}}, {"null", {Blob()}}};
        const auto name = left.substr(0, left.find_first_of("<>,"));
        const auto found = known.find(name);
        const Failed unknown{"job", "The tape has the type `" + std::string(name) + "`, which this worker does not know; leave it out."};
        if (found == known.end()) throw unknown;
        Type type = found->second;
        left.remove_prefix(name.size());
        while (left.starts_with(type.of.empty() ? '<' : ',')) {
            left.remove_prefix(std::min(left.find_first_not_of("<, "), left.size()));
            type.of.push_back(read(left));
        }
        if (std::holds_alternative<Items>(type.like) == type.of.empty()) throw unknown;
        if (type.of.size() != (type.kind == CASS_VALUE_TYPE_MAP ? 2 : 1) && !type.of.empty() && !type.is_fields()) throw unknown;
        if (!type.of.empty()) {
            if (!left.starts_with('>')) throw unknown;
            left.remove_prefix(1);
        }
        return type;
    }
    // Takes over libcassandra's description, with those of the types below. They are copied, because they outlive what was prepared.
    void describe(const CassDataType* found) {
        if (found == nullptr || data != nullptr || of.empty()) return;
        data = cass_data_type_new_from_existing(found);
        for (std::size_t i = 0; i < of.size(); ++i) of[i].describe(cass_data_type_sub_data_type(data, i));
    }
};

// Takes big-endian numbers, bytes and values from the beginning.
struct Cursor {
    std::string_view left, pool = {};

    std::string_view take(std::size_t count) {
        if (left.size() < count) broken("a record ends within a value");
        const auto taken = left.substr(0, count);
        left.remove_prefix(count);
        return taken;
    }
    template <class T> T number() {
        std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t> value = 0;
        for (const char byte : take(sizeof(T))) value = value << 8 | static_cast<cass_uint8_t>(byte);
        if constexpr (std::is_floating_point_v<T>) return std::bit_cast<T>(value);
        else return static_cast<T>(value);
    }
    // A [vint] of the specification (native_protocol_v5.spec section 3).
    cass_int64_t vint() {
        const auto first = number<cass_uint8_t>();
        const auto more = static_cast<std::size_t>(std::countl_one(first));
        std::uint64_t value = more < 8 ? first & (0xFF >> more) : 0;
        for (const char byte : take(more)) value = value << 8 | static_cast<cass_uint8_t>(byte);
        return static_cast<cass_int64_t>(value >> 1 ^ -(value & 1));
    }
    // The size and the bytes of a cell, which may lie in the pool; null and not set have a size below 0 and no bytes.
    std::pair<std::int32_t, std::string_view> cell() {
        const auto size = number<std::int32_t>();
        if (size != -3) return {size, size < 0 ? std::string_view() : take(static_cast<std::size_t>(size))};
        Cursor window{pool};
        window.take(number<std::uint32_t>());
        return {0, window.take(number<std::uint32_t>())};
    }
    // The value of a cell, whose bytes must stay where they are.
    Value value(const Type& type, Memory& memory) {
        const auto [size, bytes] = cell();
        if (size < 0) return size == -2 ? Value(Unset()) : Value(Null());
        Value value = type.like;
        Cursor of{bytes};
        std::visit([&](auto& one) { of.decode(one, type, memory); }, value);
        if (!of.left.empty()) broken("a value has more bytes than its type");
        return value;
    }

private:
    template <class T> void decode(T& one, const Type& type, Memory& memory) {
        if constexpr (std::is_arithmetic_v<T>) one = number<T>();
        else if constexpr (std::is_same_v<T, cass_bool_t>) one = number<cass_uint8_t>() ? cass_true : cass_false;
        else if constexpr (std::is_same_v<T, Text>) one = run<char>(left.size());
        else if constexpr (std::is_same_v<T, Blob>) one = run<cass_byte_t>(left.size());
        else if constexpr (std::is_same_v<T, const Decimal*>) {
            const auto scale = number<cass_int32_t>();
            one = new (room<Decimal>(memory, 1)) Decimal{run<cass_byte_t>(left.size()), scale};
        } else if constexpr (std::is_same_v<T, Duration>) {
            one.months = static_cast<cass_int32_t>(vint());
            one.days = static_cast<cass_int32_t>(vint());
            one.nanoseconds = vint();
        } else if constexpr (std::is_same_v<T, CassUuid>) {
            // libcassandra has the parts of the time in another order (RFC 4122 section 4.1.2).
            const cass_uint64_t low = number<std::uint32_t>(), middle = number<std::uint16_t>(), high = number<std::uint16_t>();
            one = {high << 48 | middle << 32 | low, number<cass_uint64_t>()};
        } else if constexpr (std::is_same_v<T, const CassInet*>) {
            const auto address = run<cass_byte_t>(left.size() == 4 ? 4 : 16);
            one = new (room<CassInet>(memory, 1)) CassInet(address.size == 4 ? cass_inet_init_v4(address.data) : cass_inet_init_v6(address.data));
        } else if constexpr (std::is_same_v<T, Items>) {
            one.count = type.of.size() * (type.is_fields() ? 1 : number<std::uint32_t>());
            if (one.count > left.size() + type.of.size()) broken("a collection has fewer elements than it says");
            auto* const all = room<Value>(memory, one.count);
            // A tuple may have been written before it had its last fields.
            for (std::size_t i = 0; i < one.count; ++i)
                new (all + i) Value(type.is_fields() && left.empty() ? Value(Null()) : value(type.item(i), memory));
            one.first = all;
        }
    }
    template <class Byte> Run<Byte> run(std::size_t count) {
        const auto all = take(count);
        return {reinterpret_cast<const Byte*>(all.data()), all.size()};
    }
};

// The calls that bind a value in a statement, tuple, user-defined type or collection.
#define BINDS(T, call, ...) \
    inline CassError bind(CassStatement* into, std::size_t at, T v) { return cass_statement_bind_##call(into, at, __VA_ARGS__); } \
    inline CassError bind(CassTuple* into, std::size_t at, T v) { return cass_tuple_set_##call(into, at, __VA_ARGS__); } \
    inline CassError bind(CassUserType* into, std::size_t at, T v) { return cass_user_type_set_##call(into, at, __VA_ARGS__); } \
    inline CassError bind(CassCollection* into, std::size_t, T v) { return cass_collection_append_##call(into, __VA_ARGS__); }
// And the call that reads it.
#define VALUES(T, call) \
    BINDS(T, call, v) \
    inline CassError read(const CassValue* from, T& v) { return cass_value_get_##call(from, &v); }
VALUES(cass_bool_t, bool) VALUES(cass_int8_t, int8) VALUES(cass_int16_t, int16) VALUES(cass_int32_t, int32)
VALUES(cass_uint32_t, uint32) VALUES(cass_int64_t, int64) VALUES(cass_float_t, float) VALUES(cass_double_t, double)
VALUES(CassUuid, uuid) VALUES(CassInet, inet)
BINDS(Text, string_n, v.data, v.size)
BINDS(Blob, bytes, v.data, v.size)
BINDS(Decimal, decimal, v.varint.data, v.varint.size, v.scale)
BINDS(Duration, duration, v.months, v.days, v.nanoseconds)
BINDS(const CassCollection*, collection, v) BINDS(const CassTuple*, tuple, v) BINDS(const CassUserType*, user_type, v)
#undef BINDS
#undef VALUES
inline CassError read(const CassValue* from, Text& v) { return cass_value_get_string(from, &v.data, &v.size); }
inline CassError read(const CassValue* from, Blob& v) { return cass_value_get_bytes(from, &v.data, &v.size); }
inline CassError read(const CassValue* from, Decimal& v) { return cass_value_get_decimal(from, &v.varint.data, &v.varint.size, &v.scale); }
inline CassError read(const CassValue* from, Duration& v) { return cass_value_get_duration(from, &v.months, &v.days, &v.nanoseconds); }
inline CassError bind(CassStatement* into, std::size_t at, Null) { return cass_statement_bind_null(into, at); }
inline CassError bind(CassTuple* into, std::size_t at, Null) { return cass_tuple_set_null(into, at); }
inline CassError bind(CassUserType* into, std::size_t at, Null) { return cass_user_type_set_null(into, at); }
// A collection holds no null.
inline CassError bind(CassCollection*, std::size_t, Null) { return CASS_ERROR_LIB_NULL_VALUE; }
// libcassandra sends a marker without a value as not set.
template <class Into> CassError bind(Into*, std::size_t, Unset) { return CASS_OK; }

template <class Into> CassError put(Into* into, std::size_t at, const Type& type, const Value& value) {
    return std::visit([&]<class T>(const T& one) {
        if constexpr (!std::is_same_v<T, Items>) {
            return bind(into, at, plain(one));
        } else {
            const auto filled = [&](const auto& all) {
                CassError error = all ? CASS_OK : CASS_ERROR_LIB_INVALID_VALUE_TYPE;
                for (std::size_t i = 0; i < one.count && error == CASS_OK; ++i) error = put(all.get(), i, type.item(i), one.first[i]);
                return error == CASS_OK ? bind(into, at, all.get()) : error;
            };
            const auto* const data = type.data;
            const auto kind = static_cast<CassCollectionType>(type.kind);
            if (type.kind == CASS_VALUE_TYPE_UDT) return filled(UserType(cass_user_type_new_from_data_type(data)));
            if (type.is_fields()) return filled(Tuple(data ? cass_tuple_new_from_data_type(data) : cass_tuple_new(one.count)));
            return filled(Collection(data ? cass_collection_new_from_data_type(data, one.count) : cass_collection_new(kind, one.count)));
        }
    }, value);
}

inline bool items_match(const Type& type, const CassValue* came, const Items& due);
// Reads a value by the call for its type, and compares. The calls refuse null and other types.
inline bool matches(const Type& type, const CassValue* came, const Value& due) {
    return std::visit([&]<class T>(const T& one) {
        if constexpr (std::is_empty_v<T>) {
            return cass_value_is_null(came) == cass_true;
        } else if constexpr (std::is_same_v<T, Items>) {
            return items_match(type, came, one);
        } else {
            std::remove_cvref_t<decltype(plain(one))> value{};
            return read(came, value) == CASS_OK && value == plain(one);
        }
    }, due);
}
// Compares elements or fields; those of a set or map in any order.
inline bool items_match(const Type& type, const CassValue* came, const Items& due) {
    const bool is_map = type.kind == CASS_VALUE_TYPE_MAP, is_udt = type.kind == CASS_VALUE_TYPE_UDT;
    const Iterator items(is_map ? cass_iterator_from_map(came)
                         : is_udt ? cass_iterator_fields_from_user_type(came)
                         : type.is_fields() ? cass_iterator_from_tuple(came) : cass_iterator_from_collection(came));
    if (!items) return false;
    const std::size_t width = is_map ? 2 : 1, count = due.count / width;
    std::vector<bool> used;
    std::size_t nth = 0;
    for (; cass_iterator_next(items.get()); ++nth) {
        const auto* const one = is_map ? cass_iterator_get_map_key(items.get())
                                : is_udt ? cass_iterator_get_user_type_field_value(items.get()) : cass_iterator_get_value(items.get());
        const auto is = [&](std::size_t at) {
            return at < count && matches(type.item(at * width), one, due.first[at * width]) &&
                   (!is_map || matches(type.item(1), cass_iterator_get_map_value(items.get()), due.first[at * width + 1]));
        };
        if (used.empty() && is(nth)) continue;
        if (used.empty()) used.resize(nth, true);
        used.resize(count, false);
        std::size_t at = 0;
        while (at < count && (used[at] || !is(at))) ++at;
        if (at == count || !type.is_unordered()) return false;
        used[at] = true;
    }
    return nth == count;
}

// A value for a message: a number or text as it is, and others by their bytes.
inline std::string shown(const Type& type, std::string_view bytes) {
    constexpr std::size_t longest = 32;
    if (bytes.data() == nullptr) return "null";
    const auto number = std::visit([&]<class T>(const T&) -> std::string {
        if constexpr (std::is_arithmetic_v<T>) return bytes.size() == sizeof(T) ? std::to_string(Cursor{bytes}.number<T>()) : "";
        else return {};
    }, type.like);
    if (!number.empty()) return number;
    const bool is_text = std::holds_alternative<Text>(type.like);
    std::ostringstream all;
    all << (is_text ? "'" : "0x") << std::hex << std::setfill('0');
    for (const char byte : bytes.substr(0, longest)) {
        // What is not ASCII may be cut.
        if (is_text) all << (byte < ' ' ? '?' : byte);
        else all << std::setw(2) << int{static_cast<cass_uint8_t>(byte)};
    }
    return all.str() + (bytes.size() > longest ? "..." : "") + (is_text ? "'" : "");
}
