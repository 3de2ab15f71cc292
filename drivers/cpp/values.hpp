// Values in and rows out, through the typed calls of libcassandra.
#pragma once

#include "tape.hpp"

#include <memory>

// What libcassandra allocated, by the function that frees it.
template <class T, auto release> struct Released {
    void operator()(T* one) const { release(one); }
};
template <class T, auto release> using Owned = std::unique_ptr<T, Released<T, release>>;
using Collection = Owned<CassCollection, cass_collection_free>;
using Tuple = Owned<CassTuple, cass_tuple_free>;
using UserType = Owned<CassUserType, cass_user_type_free>;
using Iterator = Owned<CassIterator, cass_iterator_free>;

// What takes a value; the calls of libcassandra differ in the beginning of their names.
#define TAKES(Name, Handle, call, member, ...) \
    struct Name { \
        Handle* to; \
        member \
        CassError number(cass_bool_t v) const { return call##bool(__VA_ARGS__, v); } \
        CassError number(cass_int8_t v) const { return call##int8(__VA_ARGS__, v); } \
        CassError number(cass_int16_t v) const { return call##int16(__VA_ARGS__, v); } \
        CassError number(cass_int32_t v) const { return call##int32(__VA_ARGS__, v); } \
        CassError number(cass_uint32_t v) const { return call##uint32(__VA_ARGS__, v); } \
        CassError number(cass_int64_t v) const { return call##int64(__VA_ARGS__, v); } \
        CassError number(cass_float_t v) const { return call##float(__VA_ARGS__, v); } \
        CassError number(cass_double_t v) const { return call##double(__VA_ARGS__, v); } \
        CassError string(std::string_view v) const { return call##string_n(__VA_ARGS__, v.data(), v.size()); } \
        CassError bytes(const cass_byte_t* v, std::size_t size) const { return call##bytes(__VA_ARGS__, v, size); } \
        CassError uuid(CassUuid v) const { return call##uuid(__VA_ARGS__, v); } \
        CassError inet(CassInet v) const { return call##inet(__VA_ARGS__, v); } \
        CassError decimal(const cass_byte_t* v, std::size_t size, cass_int32_t scale) const { \
            return call##decimal(__VA_ARGS__, v, size, scale); \
        } \
        CassError duration(Duration v) const { return call##duration(__VA_ARGS__, v.months, v.days, v.nanoseconds); } \
        CassError collection(const CassCollection* v) const { return call##collection(__VA_ARGS__, v); } \
        CassError tuple(const CassTuple* v) const { return call##tuple(__VA_ARGS__, v); } \
        CassError user_type(const CassUserType* v) const { return call##user_type(__VA_ARGS__, v); } \
    };
TAKES(Marker, CassStatement, cass_statement_bind_, std::size_t at;, to, at)
TAKES(Element, CassCollection, cass_collection_append_, , to)
TAKES(TupleField, CassTuple, cass_tuple_set_, std::size_t at;, to, at)
TAKES(UserField, CassUserType, cass_user_type_set_, std::size_t at;, to, at)
#undef TAKES

inline CassError put_null(const Marker& into) { return cass_statement_bind_null(into.to, into.at); }
inline CassError put_null(const TupleField& into) { return cass_tuple_set_null(into.to, into.at); }
inline CassError put_null(const UserField& into) { return cass_user_type_set_null(into.to, into.at); }
// A collection holds no null.
inline CassError put_null(const Element&) { return CASS_ERROR_LIB_NULL_VALUE; }

template <class Into> CassError put(const Into& into, const Type& type, const Value& value) {
    // libcassandra sends a marker without a value as not set.
    if (value.size == Value::unset) return CASS_OK;
    if (value.size == Value::null) return put_null(into);
    const auto size = static_cast<std::size_t>(value.size);
    const auto each = [&](auto into_item) {
        for (std::size_t i = 0; i < size; ++i)
            if (const auto error = put(into_item(i), type.item(i), value.items[i]); error != CASS_OK) return error;
        return CASS_OK;
    };
    CassError error = CASS_OK;
    switch (type.kind) {
#define PUT(type, call, number_type, member) case CASS_VALUE_TYPE_##type: return into.number(static_cast<number_type>(value.member));
    NUMBERS(PUT)
    case CASS_VALUE_TYPE_BOOLEAN: return into.number(value.integer ? cass_true : cass_false);
    case CASS_VALUE_TYPE_UUID: case CASS_VALUE_TYPE_TIMEUUID: return into.uuid(*value.uuid);
    case CASS_VALUE_TYPE_INET: return into.inet(*value.inet);
    case CASS_VALUE_TYPE_DURATION: return into.duration(*value.duration);
    case CASS_VALUE_TYPE_DECIMAL: return into.decimal(value.bytes, size, value.scale);
    case CASS_VALUE_TYPE_TEXT: case CASS_VALUE_TYPE_ASCII: return into.string(text({value.bytes, size}));
    case CASS_VALUE_TYPE_LIST: case CASS_VALUE_TYPE_SET: case CASS_VALUE_TYPE_MAP: {
        const Collection all(type.data ? cass_collection_new_from_data_type(type.data, size)
                                       : cass_collection_new(static_cast<CassCollectionType>(type.kind), size));
        error = each([&](std::size_t) { return Element{all.get()}; });
        return error == CASS_OK ? into.collection(all.get()) : error;
    }
    case CASS_VALUE_TYPE_TUPLE: {
        const Tuple all(type.data ? cass_tuple_new_from_data_type(type.data) : cass_tuple_new(size));
        error = each([&](std::size_t i) { return TupleField{all.get(), i}; });
        return error == CASS_OK ? into.tuple(all.get()) : error;
    }
    case CASS_VALUE_TYPE_UDT: {
        const UserType all(cass_user_type_new_from_data_type(type.data));
        if (!all) return CASS_ERROR_LIB_INVALID_VALUE_TYPE;
        error = each([&](std::size_t i) { return UserField{all.get(), i}; });
        return error == CASS_OK ? into.user_type(all.get()) : error;
    }
    default: return into.bytes(value.bytes, size);
    }
}

// Gives the type libcassandra's description, and its items theirs. They are copied, because they outlive what was prepared.
inline void describe(Type& type, const CassDataType* data) {
    if (data == nullptr || type.data != nullptr || type.of.empty()) return;
    type.data = cass_data_type_new_from_existing(data);
    for (std::size_t i = 0; i < type.of.size(); ++i) describe(type.of[i], cass_data_type_sub_data_type(type.data, i));
}

inline bool operator==(const CassUuid& one, const CassUuid& other) {
    return one.time_and_version == other.time_and_version && one.clock_seq_and_node == other.clock_seq_and_node;
}
inline bool operator==(const CassInet& one, const CassInet& other) {
    return one.address_length == other.address_length && std::memcmp(one.address, other.address, one.address_length) == 0;
}
inline bool matches(const Type& type, const CassValue* came, const Value& due);

template <class T, class Due> bool equals(CassError (*get)(const CassValue*, T*), const CassValue* came, Due due) {
    T value{};
    return get(came, &value) == CASS_OK && static_cast<Due>(value) == due;
}

// Compares elements or fields; those of a set or map in any order.
inline bool items_match(const Type& type, const CassValue* came, const Value& due) {
    const bool is_map = type.kind == CASS_VALUE_TYPE_MAP, is_udt = type.kind == CASS_VALUE_TYPE_UDT;
    const Iterator items(is_map ? cass_iterator_from_map(came)
                         : is_udt ? cass_iterator_fields_from_user_type(came)
                         : type.is_fields() ? cass_iterator_from_tuple(came) : cass_iterator_from_collection(came));
    if (!items) return false;
    const std::size_t width = is_map ? 2 : 1, count = static_cast<std::size_t>(due.size) / width;
    std::vector<bool> used;
    std::size_t nth = 0;
    for (; cass_iterator_next(items.get()); ++nth) {
        const auto* const one = is_map ? cass_iterator_get_map_key(items.get())
                                : is_udt ? cass_iterator_get_user_type_field_value(items.get()) : cass_iterator_get_value(items.get());
        const auto is = [&](std::size_t at) {
            return matches(type.item(at * width), one, due.items[at * width]) &&
                   (!is_map || matches(type.of[1], cass_iterator_get_map_value(items.get()), due.items[at * width + 1]));
        };
        if (nth == count) return false;
        if (used.empty() && is(nth)) continue;
        if (!type.is_unordered()) return false;
        if (used.empty()) {
            used.resize(nth, true);
            used.resize(count, false);
        }
        std::size_t at = 0;
        while (at < count && (used[at] || !is(at))) ++at;
        if (at == count) return false;
        used[at] = true;
    }
    return nth == count;
}

// Reads a value by the call for its type, and compares. The calls refuse null and other types.
inline bool matches(const Type& type, const CassValue* came, const Value& due) {
    if (due.size == Value::null) return cass_value_is_null(came) == cass_true;
    const cass_byte_t* bytes = nullptr;
    std::size_t size = 0;
    const Bytes same(due.bytes, static_cast<std::size_t>(due.size));
    switch (type.kind) {
#define MATCHES(type, call, number_type, member) case CASS_VALUE_TYPE_##type: return equals(cass_value_get_##call, came, due.member);
    NUMBERS(MATCHES)
    case CASS_VALUE_TYPE_BOOLEAN: return equals(cass_value_get_bool, came, due.integer);
    case CASS_VALUE_TYPE_UUID: case CASS_VALUE_TYPE_TIMEUUID: return equals(cass_value_get_uuid, came, *due.uuid);
    case CASS_VALUE_TYPE_INET: return equals(cass_value_get_inet, came, *due.inet);
    case CASS_VALUE_TYPE_DURATION: {
        Duration value;
        return cass_value_get_duration(came, &value.months, &value.days, &value.nanoseconds) == CASS_OK && value == *due.duration;
    }
    case CASS_VALUE_TYPE_DECIMAL: {
        cass_int32_t scale;
        return cass_value_get_decimal(came, &bytes, &size, &scale) == CASS_OK && scale == due.scale && text({bytes, size}) == text(same);
    }
    case CASS_VALUE_TYPE_TEXT: case CASS_VALUE_TYPE_ASCII: {
        const char* characters = nullptr;
        return cass_value_get_string(came, &characters, &size) == CASS_OK && std::string_view(characters, size) == text(same);
    }
    case CASS_VALUE_TYPE_LIST: case CASS_VALUE_TYPE_SET: case CASS_VALUE_TYPE_MAP: case CASS_VALUE_TYPE_TUPLE: case CASS_VALUE_TYPE_UDT:
        return items_match(type, came, due);
    default: return cass_value_get_bytes(came, &bytes, &size) == CASS_OK && text({bytes, size}) == text(same);
    }
}

// A value for a message: a number or text as it is, and others by their bytes.
inline std::string shown(const Type& type, Bytes bytes) {
    constexpr std::size_t longest = 32;
    if (bytes.data() == nullptr) return "null";
    if (type.kind == CASS_VALUE_TYPE_BIGINT && bytes.size() == 8) return std::to_string(Cursor{bytes}.number<cass_int64_t>());
    if (type.kind == CASS_VALUE_TYPE_INT && bytes.size() == 4) return std::to_string(Cursor{bytes}.number<cass_int32_t>());
    const bool is_text = type.kind == CASS_VALUE_TYPE_TEXT || type.kind == CASS_VALUE_TYPE_ASCII;
    std::string all = is_text ? "'" : "0x";
    for (const auto byte : bytes.first(std::min(bytes.size(), longest))) {
        if (is_text && byte < 0x80) all += static_cast<char>(byte);
        else if (is_text) all += byte < 0xC0 ? "" : "?";
        else (all += "0123456789abcdef"[byte >> 4]) += "0123456789abcdef"[byte & 15];
    }
    return all + (bytes.size() > longest ? "..." : "") + (is_text ? "'" : "");
}
inline Bytes bytes_of(const CassValue* came) {
    const cass_byte_t* bytes = nullptr;
    std::size_t size = 0;
    return cass_value_get_bytes(came, &bytes, &size) == CASS_OK ? Bytes(bytes, size) : Bytes();
}

// The rows of one answer, as they come page by page.
class Rows {
public:
    void begin(const std::vector<Type>& types, const Answer* answer) {
        columns = &types;
        due = answer;
        came = 0;
        if (due && due->check == Answer::in_any_order) used.assign(due->rows, false);
    }
    // What is wrong with a page; empty if nothing is.
    std::string take(const CassResult* page) {
        const auto width = due ? columns->size() : 0;
        if (!due) came += static_cast<std::uint32_t>(cass_result_row_count(page));
        else if (const auto found = cass_result_column_count(page); found != width)
            return std::to_string(width) + " columns were due, and " + std::to_string(found) + " came";
        const Iterator rows(due ? cass_iterator_from_result(page) : nullptr);
        for (; rows && cass_iterator_next(rows.get()); ++came) {
            const CassRow* const row = cass_iterator_get_row(rows.get());
            const auto shown_at = [&](std::size_t at) { return shown((*columns)[at], bytes_of(cass_row_get_column(row, at))); };
            if (due->check == Answer::count_alone) {
                alignas(Duration) static constexpr cass_byte_t zeros[sizeof(CassInet)] = {};
                Value any;
                any.bytes = zeros;
                // It is read as the others are, whatever it is.
                for (std::size_t at = 0; at < width; ++at) static_cast<void>(matches((*columns)[at], cass_row_get_column(row, at), any));
            } else if (came >= due->rows) {
                return std::to_string(due->rows) + " rows were due, and more came";
            } else if (due->check == Answer::in_any_order) {
                if (!place(row)) return "no row was due that begins with " + shown_at(0) + " and goes on as row " + std::to_string(came);
            } else if (const auto at = first_other(row, came); at < width) {
                return "in row " + std::to_string(came) + ", column " + std::to_string(at) + ", " +
                       shown((*columns)[at], due->bytes[came * width + at]) + " was due, and " + shown_at(at) + " came";
            }
        }
        return {};
    }
    std::string finish() const {
        const auto rows = due ? due->rows : 0;
        return came == rows ? "" : std::to_string(rows) + " rows were due, and " + std::to_string(came) + " came";
    }

private:
    // The first column that is not as in this row of those that are due; the number of columns if there is none.
    std::size_t first_other(const CassRow* row, std::size_t place) const {
        const Value* const cells = due->cells + place * columns->size();
        std::size_t at = 0;
        while (at < columns->size() && matches((*columns)[at], cass_row_get_column(row, at), cells[at])) ++at;
        return at;
    }
    // Finds the row among those that are due and did not come yet.
    bool place(const CassRow* row) {
        const auto [begin, end] = due->places->equal_range(text(bytes_of(cass_row_get_column(row, 0))));
        const auto found = std::find_if(begin, end, [&](const auto& one) {
            return !used[one.second] && first_other(row, one.second) == columns->size();
        });
        if (found != end) used[found->second] = true;
        return found != end;
    }

    const std::vector<Type>* columns = nullptr;
    const Answer* due = nullptr;
    std::uint32_t came = 0;
    std::vector<bool> used;
};
