// The tape: tickets and the rows that are due, decoded before the window; and the check of the rows that come.
#pragma once

#include "types.hpp"

#include <fstream>
#include <unordered_map>

// How a statement is issued, by the first letter of the protocol's word.
enum class Operation : char { execute = 'e', batch = 'b', prepare = 'p', unprepared = 'u', connect = 'c' };

// A statement of the scenario, with the types of its markers and columns.
struct Query {
    std::string name, cql;
    Operation operation;
    bool is_logged;
    std::vector<Type> values, columns;
};

using Places = std::pmr::unordered_multimap<std::string_view, std::uint32_t>;

// The rows that are due.
struct Answer {
    enum Check : std::uint8_t { in_order, in_any_order, count_alone } check;
    std::uint32_t rows, columns;
    Cursor bytes;
    const Value* cells = nullptr;
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

class Tape {
public:
    Tape(const std::string& path, const std::vector<Query>& queries) : queries(queries), file(path, std::ios::binary) {
        char magic[8] = {};
        file.read(magic, sizeof magic);
        if (std::string_view(magic, sizeof magic) != "CQLTAPE1") broken(path + " cannot be read, or does not begin with CQLTAPE1");
        pool = record(kept).left;
    }

    // The next tickets, whose values lie in this memory.
    std::vector<Ticket> next(std::uint64_t count, Memory& memory) {
        std::vector<Ticket> tickets;
        for (tickets.reserve(count); tickets.size() < count;) {
            Cursor record = this->record(memory);
            if (record.number<std::uint8_t>() == 0) {
                // It is decoded when a ticket names it, because the types are those of the ticket's statement.
                pooled.push_back({record, nullptr, 0});
                continue;
            }
            Ticket ticket{.statement = record.number<std::uint16_t>(), .count = record.number<std::uint32_t>()};
            if (ticket.statement >= queries.size()) broken("it names a statement that the job does not have");
            const Query& query = queries[ticket.statement];
            ticket.values = cells(record, ticket.count, query.values, memory);
            const auto due = record.number<std::uint8_t>();
            if (due == 1) ticket.due = answer(record, query.columns, memory);
            if (due == 2) {
                const auto index = record.number<std::uint32_t>();
                if (index >= pooled.size()) broken("it names an answer that did not come before");
                auto& [bytes, decoded, statement] = pooled[index];
                if (decoded == nullptr) {
                    decoded = answer(bytes, query.columns, kept);
                    statement = ticket.statement;
                }
                if (statement != ticket.statement) broken("two statements have one answer");
                ticket.due = decoded;
            }
            tickets.push_back(ticket);
        }
        return tickets;
    }

private:
    Cursor record(Memory& memory) {
        const auto read = [&](Memory& into, std::size_t size) {
            char* const bytes = room<char>(into, size);
            if (!file.read(bytes, static_cast<std::streamsize>(size))) broken("it ends before its last ticket");
            return Cursor{{bytes, size}, pool};
        };
        const auto size = read(memory, 4).number<std::uint32_t>();
        // A pooled answer is due in later turns, too.
        return read(file.peek() == 0 ? kept : memory, size);
    }
    static const Value* cells(Cursor& from, std::size_t count, const std::vector<Type>& of, Memory& memory) {
        if (count > from.left.size() || (count > 0 && (of.empty() || count % of.size() != 0)))
            broken(std::to_string(count) + " values cannot be those of " + std::to_string(of.size()) + " markers or columns");
        auto* const all = room<Value>(memory, count);
        for (std::size_t i = 0; i < count; ++i) new (all + i) Value(from.value(of[i % of.size()], memory));
        return all;
    }
    static const Answer* answer(Cursor& from, const std::vector<Type>& of, Memory& memory) {
        auto* const due = new (room<Answer>(memory, 1))
            Answer{Answer::Check(from.number<std::uint8_t>()), from.number<std::uint32_t>(), from.number<std::uint32_t>(), from};
        if (due->check != Answer::count_alone && due->columns != of.size())
            broken("an answer has " + std::to_string(due->columns) + " columns, and the job names " + std::to_string(of.size()));
        const auto count = std::size_t{due->rows} * due->columns;
        due->cells = cells(from, count, of, memory);
        if (due->check == Answer::in_any_order) {
            auto* const places = new (room<Places>(memory, 1)) Places(due->rows, &memory);
            Cursor bytes = due->bytes;
            for (std::size_t i = 0; i < count; ++i)
                if (const auto cell = bytes.cell().second; i % due->columns == 0) places->emplace(cell, i / due->columns);
            due->places = places;
        }
        return due;
    }

    const std::vector<Query>& queries;
    std::ifstream file;
    std::pmr::monotonic_buffer_resource kept;
    std::string_view pool;
    // Of each pooled answer its record, what it says, and whose it is.
    struct Pooled {
        Cursor record;
        const Answer* answer;
        std::uint16_t statement;
    };
    std::vector<Pooled> pooled;
};

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
        const auto is_due = [](std::size_t due, const std::string& of, std::size_t came) {
            return std::to_string(due) + " " + of + " were due, and " + std::to_string(came) + " came";
        };
        const std::size_t width = due ? columns->size() : 0, count = due ? due->rows : 0;
        const auto found = cass_result_column_count(page);
        if (due && found != width) return is_due(width, "columns", found);
        const Iterator rows(due ? cass_iterator_from_result(page) : nullptr);
        for (std::size_t nth = came; rows && cass_iterator_next(rows.get()) && nth < count; ++nth) {
            const CassRow* const row = cass_iterator_get_row(rows.get());
            const auto shown_at = [&](std::size_t at) { return shown((*columns)[at], bytes_of(cass_row_get_column(row, at))); };
            if (due->check == Answer::count_alone) {
                // It is read as the others are, whatever it is.
                for (std::size_t at = 0; at < width; ++at)
                    static_cast<void>(matches((*columns)[at], cass_row_get_column(row, at), (*columns)[at].like));
            } else if (due->check == Answer::in_any_order) {
                if (!place(row)) return "no row was due that begins with " + shown_at(0) + " and goes on as row " + std::to_string(nth);
            } else if (const auto at = first_other(row, nth); at < width) {
                Cursor bytes = due->bytes;
                for (std::size_t i = 0; i < nth * width + at; ++i) bytes.cell();
                return "in row " + std::to_string(nth) + ", column " + std::to_string(at) + ", " +
                       shown((*columns)[at], bytes.cell().second) + " was due, and " + shown_at(at) + " came";
            }
        }
        came += cass_result_row_count(page);
        return came == count || cass_result_has_more_pages(page) ? "" : is_due(count, "rows", came);
    }

private:
    static std::string_view bytes_of(const CassValue* came) {
        Blob bytes;
        static_cast<void>(read(came, bytes));
        return {reinterpret_cast<const char*>(bytes.data), bytes.size};
    }
    // The first column that is not as in this row of those that are due; the number of columns if there is none.
    std::size_t first_other(const CassRow* row, std::size_t place) const {
        const Value* const cells = due->cells + place * columns->size();
        std::size_t at = 0;
        while (at < columns->size() && matches((*columns)[at], cass_row_get_column(row, at), cells[at])) ++at;
        return at;
    }
    // Finds the row among those that are due and did not come yet.
    bool place(const CassRow* row) {
        const auto [begin, end] = due->places->equal_range(bytes_of(cass_row_get_column(row, 0)));
        const auto found = std::find_if(begin, end, [&](const auto& one) {
            return !used[one.second] && first_other(row, one.second) == columns->size();
        });
        if (found != end) used[found->second] = true;
        return found != end;
    }

    const std::vector<Type>* columns = nullptr;
    const Answer* due = nullptr;
    std::size_t came = 0;
    std::vector<bool> used;
};
