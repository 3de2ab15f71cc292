// The job, and the session on which its statements are issued.
#pragma once

#include "driver.hpp"
#include "tape.hpp"

#include <errno.h>

// A session with what was prepared on it; a statement without needs its text.
struct Connected {
    Session session;
    std::vector<Prepared> prepared;
};

inline std::string joined(const Json& texts) {
    std::string all;
    for (const std::string text : texts) all += (all.empty() ? "" : ", ") + text;
    return all;
}

struct Bench {
    Json job;
    std::vector<Query> queries;
    Connected session;
    // 0 for libcassandra's own, which is no pages.
    int page_size = 0;
    // Without the driver: nothing is connected or sent, and each answer comes at once.
    const bool is_offline = std::string_view(program_invocation_short_name).ends_with("-noop");

    // Connects, and prepares one statement, or all that are to be prepared.
    Connected connect(const Query* only = nullptr) const {
        if (is_offline) return {};
        Connected made{Session(cass_session_new()), {}};
        const Cluster cluster = cluster_of(job);
        const Future connecting(cass_session_connect(made.session.get(), cluster.get()));
        if (const Failed wrong = outcome(connecting.get()); !wrong.kind.empty())
            throw Failed{wrong.kind == "bad_credentials" ? wrong.kind : "connect",
                         "cpp could not connect to " + joined(job.at("target")) + ": " + wrong.message};
        for (const Query& query : queries) {
            made.prepared.emplace_back();
            if (only ? only != &query : query.operation == Operation::unprepared) continue;
            const Future preparing(cass_session_prepare_n(made.session.get(), query.cql.data(), query.cql.size()));
            if (const Failed wrong = outcome(preparing.get()); !wrong.kind.empty())
                throw Failed{"prepare", "The statement " + query.name + " (" + query.cql + ") could not be prepared: " + wrong.message};
            made.prepared.back().reset(cass_future_get_prepared(preparing.get()));
        }
        return made;
    }
    // Issues a statement, or asks for the page after one.
    Future issued(const Connected& on, const Ticket& ticket, std::uint64_t number, const CassResult* after) const {
        const Query& query = queries[ticket.statement];
        const auto* const prepared = on.prepared[ticket.statement].get();
        if (query.operation == Operation::batch) {
            const auto kind = query.is_logged ? CASS_BATCH_TYPE_LOGGED : CASS_BATCH_TYPE_UNLOGGED;
            const Owned<CassBatch, cass_batch_free> batch(cass_batch_new(kind));
            for (std::size_t at = 0; at < ticket.count; at += query.values.size())
                cass_batch_add_statement(batch.get(), bound(query, prepared, ticket.values + at).get());
            return Future(cass_session_execute_batch(on.session.get(), batch.get()));
        }
        if (query.operation == Operation::prepare) {
            const auto unlike_others = std::to_string(getpid()) + " " + std::to_string(now()) + " " + std::to_string(number);
            const std::string text = query.cql + " /* " + unlike_others + " */";
            return Future(cass_session_prepare_n(on.session.get(), text.data(), text.size()));
        }
        const Statement statement = bound(query, prepared, ticket.values);
        if (after) cass_statement_set_paging_state(statement.get(), after);
        return Future(cass_session_execute(on.session.get(), statement.get()));
    }

private:
    Statement bound(const Query& query, const CassPrepared* prepared, const Value* values) const {
        Statement statement(prepared ? cass_prepared_bind(prepared)
                                     : cass_statement_new_n(query.cql.data(), query.cql.size(), query.values.size()));
        if (page_size > 0 && !query.columns.empty()) cass_statement_set_paging_size(statement.get(), page_size);
        for (std::size_t at = 0; at < query.values.size(); ++at)
            if (const auto error = put(statement.get(), at, query.values[at], values[at]); error != CASS_OK)
                throw Failed{"codec", "the value of marker " + std::to_string(at) + " was refused: " + cass_error_desc(error)};
        return statement;
    }
};
