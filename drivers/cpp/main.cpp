// The worker `cpp`: libcassandra with callbacks, each of which issues its slot's next statement.

#include "counts.hpp"
#include "driver.hpp"

#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <fcntl.h>
#include <functional>
#include <iostream>
#include <mutex>
#include <set>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <thread>

namespace {

constexpr std::uint64_t most_in_flight = 1 << 20;

// Both directions of the protocol. `due` is what the parent may say next.
class Link {
public:
    std::atomic<bool> stopped = false;

    // Takes standard output for itself; what a library prints goes to the log.
    Link() : output(fcntl(1, F_DUPFD_CLOEXEC, 3)) { dup2(2, 1); }

    void say(const Object& message, const char* next) {
        const std::lock_guard lock(mutex);
        due = next;
        put(message);
    }
    // The last message: the lock is kept, so that no other follows.
    [[noreturn]] void fail(const std::string& kind, const std::string& message) {
        mutex.lock();
        std::cerr << "cqldyno worker: " << message << std::endl;
        put(Object().put("type", "failed").put("kind", kind).put("message", message));
        _exit(1);
    }
    void progress(std::uint64_t issued) {
        const std::lock_guard lock(mutex);
        put(Object().put("type", "progress").put("issued", issued));
    }
    // Waits for what is due.
    Json hear() {
        std::unique_lock lock(mutex);
        arrived.wait(lock, [&] { return !inbox.empty(); });
        Json message = std::move(inbox.front());
        inbox.pop_front();
        return message;
    }

    static constexpr const char *nothing = "nothing until `ready`", *stop_alone = "nothing but `stop`", *over = "nothing";

    void listen() {
        for (std::string line; std::getline(std::cin, line);) {
            Json message;
            try {
                std::string_view left = line;
                message = Json::read(left);
            } catch (const std::exception& error) {
                fail("protocol", "A message of the worker protocol was expected: " + std::string(error.what()) + ".");
            }
            std::unique_lock lock(mutex);
            const auto& type = message["type"].text;
            if (type == "stop" && (due == stop_alone || due == "ack")) {
                // One that crosses `end` changes nothing.
                if (due == stop_alone) stopped = true;
                continue;
            }
            if (type != due) {
                const std::string was = due;
                lock.unlock();
                fail("protocol", "The parent said `" + type + "`, and " + was + " was due.");
            }
            due = type == "job" ? nothing : type == "go" ? stop_alone : over;
            inbox.push_back(std::move(message));
            arrived.notify_one();
        }
        const std::lock_guard lock(mutex);
        if (due != over) _exit(2);
    }

private:
    void put(const Object& message) {
        const std::string line = written(message) + "\n";
        for (std::size_t at = 0; at < line.size();) {
            const auto count = write(output, line.data() + at, line.size() - at);
            if (count <= 0) _exit(1);
            at += static_cast<std::size_t>(count);
        }
    }

    const int output;
    std::mutex mutex;
    std::condition_variable arrived;
    std::deque<Json> inbox;
    std::string due;
};

// How a statement is issued, by the first letter of the protocol's word.
enum class Operation : char { execute = 'e', batch = 'b', prepare = 'p', unprepared = 'u', connect = 'c' };

// A statement of the scenario.
struct Query {
    std::string name, cql;
    Operation operation;
    bool is_logged;
    Types types;

    bool has_rows() const { return operation != Operation::batch && operation != Operation::prepare; }
    bool binds_user_types() const {
        return std::ranges::any_of(types.values, [](const Type& type) { return type.has(CASS_VALUE_TYPE_UDT); });
    }
};

// A session with what was prepared on it; a statement without needs its text.
struct Connected {
    Session session;
    std::vector<Prepared> prepared;
};

struct Bench {
    Link& link;
    Json job;
    std::vector<Query> queries;
    Connected session;
    // 0 for libcassandra's own, which is no pages.
    int page_size = 0;
    // Without the driver: nothing is connected or sent, and each answer comes at once.
    const bool is_offline = std::string_view(program_invocation_short_name).ends_with("-noop");

    // Connects, and prepares the statements that `is_wanted` names.
    Connected connect(const std::function<bool(const Query&)>& is_wanted) const {
        if (is_offline) return {};
        Connected made{Session(cass_session_new()), {}};
        const Cluster cluster = cluster_of(job);
        const Future connecting(cass_session_connect(made.session.get(), cluster.get()));
        if (Failed wrong = outcome(connecting.get()); !wrong.kind.empty()) {
            static const std::set<std::string> at_connect = {"connection_lost", "request_timeout", "other"};
            throw Failed{at_connect.contains(wrong.kind) ? "connect" : wrong.kind, wrong.message};
        }
        for (const Query& query : queries) {
            made.prepared.emplace_back();
            if (!is_wanted(query)) continue;
            const Future preparing(cass_session_prepare_n(made.session.get(), query.cql.data(), query.cql.size()));
            if (const Failed wrong = outcome(preparing.get()); !wrong.kind.empty())
                throw Failed{"prepare", "The statement " + query.name + " (" + query.cql + ") could not be prepared: " + wrong.message};
            made.prepared.back().reset(cass_future_get_prepared(preparing.get()));
        }
        return made;
    }
    Statement bound(const Query& query, const CassPrepared* prepared, const Value* values) const {
        const auto& types = query.types.values;
        Statement statement(prepared ? cass_prepared_bind(prepared)
                                     : cass_statement_new_n(query.cql.data(), query.cql.size(), types.size()));
        if (page_size > 0 && !query.types.columns.empty()) cass_statement_set_paging_size(statement.get(), page_size);
        for (std::size_t at = 0; at < types.size(); ++at)
            if (const auto error = put(Marker{statement.get(), at}, types[at], values[at]); error != CASS_OK)
                throw Failed{"codec", "the value of marker " + std::to_string(at) + " was refused: " + cass_error_desc(error)};
        return statement;
    }
    // Issues a statement, or asks for the page after one.
    Future issued(const Connected& on, const Ticket& ticket, std::uint64_t number, const CassResult* after) const {
        const Query& query = queries[ticket.statement];
        if (query.operation == Operation::batch) {
            const auto kind = query.is_logged ? CASS_BATCH_TYPE_LOGGED : CASS_BATCH_TYPE_UNLOGGED;
            const Owned<CassBatch, cass_batch_free> batch(cass_batch_new(kind));
            for (std::size_t at = 0; at < ticket.count; at += query.types.values.size())
                cass_batch_add_statement(batch.get(), bound(query, on.prepared[ticket.statement].get(), ticket.values + at).get());
            return Future(cass_session_execute_batch(on.session.get(), batch.get()));
        }
        if (query.operation == Operation::prepare) {
            const auto unlike_others = std::to_string(getpid()) + " " + std::to_string(now()) + " " + std::to_string(number);
            const std::string text = query.cql + " /* " + unlike_others + " */";
            return Future(cass_session_prepare_n(on.session.get(), text.data(), text.size()));
        }
        const Statement statement = bound(query, on.prepared[ticket.statement].get(), ticket.values);
        if (after) cass_statement_set_paging_state(statement.get(), after);
        return Future(cass_session_execute(on.session.get(), statement.get()));
    }
};

// The tickets of the warm-up or of a turn.
class Window {
public:
    Counts counts;
    Edge begin{}, end{};

    Window(Bench& bench, std::vector<Ticket> of, std::uint64_t first, bool is_warm_up)
        : bench(bench), tickets(std::move(of)), first(first), is_warm_up(is_warm_up), rate(is_warm_up ? 0 : bench.job["rate"].number()),
          connects(!is_warm_up && bench.job["mode"].text == "connect"), slots(connects ? 1 : bench.job["concurrency"].number()) {
        static std::atomic<std::uint64_t> windows = 0;
        id = ++windows;
        const auto progress_ms = bench.job["progress_ms"].number();
        interval = progress_ms == 0 ? 3600 * second : static_cast<Nanoseconds>(std::max<std::uint64_t>(progress_ms, 500)) * 1'000'000;
        if (rate == 0 && !connects && tickets.size() >= 8 * slots.size()) edges = {2 * slots.size(), tickets.size() - 1};
        for (Slot& slot : slots) slot.window = this;
        bench.link.stopped = false;
    }

    // Issues all tickets; the end is taken when the last answer comes.
    void run() {
        begin = Edge::begin();
        told_at = begin.at;
        std::vector<std::jthread> threads;
        if (bench.is_offline) threads.emplace_back([&] { answer_each(); });
        const auto has_own = [](const Query& one) { return one.operation == Operation::connect; };
        if (!bench.is_offline && (connects || std::ranges::any_of(bench.queries, has_own))) {
            left = slots.size();
            // A session can be neither made nor freed in a callback.
            for (Slot& slot : slots) threads.emplace_back([&] { wait_for_each(slot); });
        } else if (rate > 0) {
            pace();
        } else {
            left = slots.size();
            for (Slot& slot : slots) {
                slot.issued = now();
                advance(slot);
            }
        }
        std::unique_lock lock(mutex);
        while (!changed.wait_for(lock, std::chrono::nanoseconds(interval), [&] { return is_over; })) tell_progress();
        counts.by_statement.resize(bench.queries.size());
        for (const auto& one : all_counts) counts.add(one);
    }
    Object account() const {
        Object told = end.since(begin), steady;
        const auto cpu = steady_at[1].at == 0 ? -1 : steady_at[1].cpu_since(steady_at[0]);
        steady.put("wall_ns", steady_at[1].at - steady_at[0].at).put("cpu_ns", cpu).put("statements", edges[1] - edges[0]);
        return cpu < 0 ? told : told.put("steady", steady);
    }
    Object done(std::size_t threads) const {
        Object told, issued, errors, pace;
        for (std::size_t i = 0; i < bench.queries.size(); ++i) issued.put(bench.queries[i].name, counts.by_statement[i]);
        for (const auto& [kind, of] : counts.errors) errors.put(kind, Object().put("count", of.first).put("first", of.second));
        const auto answered = counts.answered;
        told.put("type", "done").put("issued", answered).put("answered", answered).put("verified", answered - counts.failed);
        told.put("issued_by_statement", issued).put("errors", errors).put("threads", threads).put("per_second", counts.per_second);
        told.put("histogram", counts.latency.base64());
        pace.put("rate", rate).put("lasted_ns", counts.last).put("late_after_ns", Counts::late_after).put("late", counts.late);
        pace.put("latest_ns", counts.latest).put("response", counts.response.base64()).put("lateness", counts.lateness.base64());
        return rate == 0 ? told : told.put("pace", pace);
    }

private:
    enum State { issuing, on_its_way, answered };
    struct Slot {
        Window* window = nullptr;
        const Ticket* ticket = nullptr;
        Nanoseconds intended = 0, issued = 0;
        std::atomic<State> state = issuing;
        Rows rows;
    };

    bool take(Slot& slot) {
        if (bench.link.stopped.load(std::memory_order_relaxed)) return false;
        const auto nth = next.fetch_add(1, std::memory_order_relaxed);
        if (edges[1] > 0 && (nth == edges[0] || nth == edges[1])) steady_at[nth == edges[1]] = Moment::current();
        if (nth >= tickets.size()) return false;
        slot.ticket = &tickets[nth];
        return true;
    }
    std::uint64_t number(const Slot& slot) const { return first + static_cast<std::uint64_t>(slot.ticket - tickets.data()); }

    // Issues a slot's tickets until one is on its way. An answer that comes at once is a turn of this loop, or the stack would grow.
    void advance(Slot& slot) {
        while (take(slot)) {
            slot.state = issuing;
            issue(slot);
            if (slot.state.exchange(on_its_way) != answered) return;
        }
        leave();
    }
    void issue(Slot& slot) {
        slot.rows.begin(bench.queries[slot.ticket->statement].types.columns, slot.ticket->due);
        ask(slot, nullptr);
    }
    void ask(Slot& slot, const CassResult* after) {
        if (bench.is_offline) {
            const std::lock_guard lock(mutex);
            asked.push_back(&slot);
            if (asked.size() == 1) is_asked.notify_one();
            return;
        }
        try {
            cass_future_set_callback(bench.issued(bench.session, *slot.ticket, number(slot), after).get(), on_answer, &slot);
        } catch (const Failed& wrong) {
            settle(slot, now(), wrong);
        }
    }
    // Runs on the I/O thread of libcassandra, or at once on that of the caller if the answer is there already.
    static void on_answer(CassFuture* future, void* data) {
        Slot& slot = *static_cast<Slot*>(data);
        const auto came = now();
        Result page;
        const Failed wrong = slot.window->wrong_in(slot, future, page);
        if (page) slot.window->ask(slot, page.get());
        else slot.window->settle(slot, came, wrong);
    }
    // What is wrong with an answer; `page` is set if another page follows.
    Failed wrong_in(Slot& slot, CassFuture* future, Result& page) {
        const Query& query = bench.queries[slot.ticket->statement];
        const auto named = [&](Failed wrong) {
            return Failed{wrong.kind, "ticket " + std::to_string(number(slot)) + ", " + query.name + ": " + wrong.message};
        };
        if (const Failed wrong = outcome(future); !wrong.kind.empty()) return named(wrong);
        const Prepared freed(query.operation == Operation::prepare ? cass_future_get_prepared(future) : nullptr);
        if (!query.has_rows()) return {};
        Result came(cass_future_get_result(future));
        std::string wrong = slot.rows.take(came.get());
        if (wrong.empty() && cass_result_has_more_pages(came.get())) page = std::move(came);
        else if (wrong.empty()) wrong = slot.rows.finish();
        return wrong.empty() ? Failed{} : named({"wrong_row", wrong});
    }
    void settle(Slot& slot, Nanoseconds came, const Failed& wrong) {
        record(slot, came, wrong);
        // The next statement starts when the answer came.
        slot.issued = came;
        if (rate > 0) {
            {
                const std::lock_guard lock(mutex);
                free.push_back(&slot);
                changed.notify_all();
            }
            leave();
        } else if (slot.state.exchange(answered) != issuing) {
            advance(slot);
        }
    }
    // Stands for the I/O thread.
    void answer_each() {
        for (std::vector<Slot*> answered;; answered.clear()) {
            std::unique_lock lock(mutex);
            is_asked.wait(lock, [&] { return is_over || !asked.empty(); });
            answered.swap(asked);
            lock.unlock();
            if (answered.empty()) return;
            for (Slot* const slot : answered) settle(*slot, now(), {});
        }
    }
    // A slot that waits for each answer, on a thread of its own.
    void wait_for_each(Slot& slot) {
        while (take(slot)) {
            const Query& query = bench.queries[slot.ticket->statement];
            slot.issued = now();
            Nanoseconds came = 0;
            Failed wrong;
            try {
                Connected own;
                const bool is_own = connects || query.operation == Operation::connect;
                const auto is_wanted = [&](const Query& one) { return connects ? one.operation != Operation::unprepared : &one == &query; };
                if (is_own) own = bench.connect(is_wanted);
                slot.rows.begin(query.types.columns, slot.ticket->due);
                Result page;
                do {
                    const Future future = bench.issued(is_own ? own : bench.session, *slot.ticket, number(slot), page.get());
                    cass_future_wait(future.get());
                    came = now();
                    page.reset();
                    wrong = wrong_in(slot, future.get(), page);
                } while (page);
            } catch (const Failed& failed) {
                came = now();
                wrong = failed;
            }
            record(slot, came, wrong);
        }
        leave();
    }
    // Starts each ticket at its time, on this thread.
    void pace() {
        constexpr Nanoseconds shortest = 50'000, longest = 100'000'000;
        // A sleep ends when it is to, not up to 50 us later.
        prctl(PR_SET_TIMERSLACK, 1);
        left = 1;
        for (Slot& slot : slots) free.push_back(&slot);
        while (next < tickets.size() && !bench.link.stopped) {
            const auto nth = next.load();
            // Without more bits than 64.
            const auto intended = begin.at + static_cast<Nanoseconds>(nth / rate * second + nth % rate * second / rate);
            if (now() - told_at > interval) tell_progress();
            if (const auto early = intended - now(); early > 0) {
                std::this_thread::sleep_for(std::chrono::nanoseconds(std::clamp(early, shortest, longest)));
                continue;
            }
            std::unique_lock lock(mutex);
            if (!changed.wait_for(lock, std::chrono::nanoseconds(longest), [&] { return !free.empty(); })) continue;
            Slot& slot = *free.back();
            free.pop_back();
            lock.unlock();
            if (!take(slot)) break;
            ++left;
            slot.intended = intended;
            slot.issued = now();
            issue(slot);
        }
        leave();
    }
    void leave() {
        if (left.fetch_sub(1) != 1) return;
        end = Edge::end();
        const std::lock_guard lock(mutex);
        is_over = true;
        changed.notify_all();
        is_asked.notify_all();
    }
    void record(const Slot& slot, Nanoseconds came, const Failed& wrong) {
        thread_local Counts* own = nullptr;
        thread_local std::uint64_t of = 0;
        if (of != id) {
            const std::lock_guard lock(mutex);
            own = &all_counts.emplace_back();
            own->by_statement.resize(bench.queries.size());
            of = id;
        }
        ++own->answered;
        ++own->by_statement[slot.ticket->statement];
        own->latency.add(came - slot.issued);
        const auto at = static_cast<std::size_t>(std::max<Nanoseconds>(came - begin.at, 0) / second);
        if (own->per_second.size() <= at) own->per_second.resize(at + 1);
        ++own->per_second[at];
        if (rate > 0) {
            const auto lateness = slot.issued - slot.intended;
            own->response.add(came - slot.intended);
            own->lateness.add(lateness);
            own->late += lateness > Counts::late_after;
            own->latest = std::max(own->latest, lateness);
            own->last = std::max(own->last, came - begin.at);
        }
        if (wrong.kind.empty()) return;
        own->error(wrong);
        if (is_warm_up) bench.link.stopped = true;
    }
    void tell_progress() {
        told_at = now();
        bench.link.progress(std::min<std::uint64_t>(next, tickets.size()));
    }

    Bench& bench;
    const std::vector<Ticket> tickets;
    const std::uint64_t first;
    const bool is_warm_up;
    const std::uint64_t rate;
    const bool connects;
    std::vector<Slot> slots;
    std::uint64_t id = 0;
    Nanoseconds interval = 0, told_at = 0;
    // The tickets between which all slots are at work, if there are enough, and when they were taken.
    std::array<std::uint64_t, 2> edges{};
    std::array<Moment, 2> steady_at;
    alignas(64) std::atomic<std::uint64_t> next = 0;
    // Slots at work; with a rate, statements on their way and the pacer.
    alignas(64) std::atomic<std::uint64_t> left = 0;
    std::mutex mutex;
    std::condition_variable changed;
    bool is_over = false;
    std::vector<Slot*> free;
    // What is to be answered without the driver.
    std::vector<Slot*> asked;
    std::condition_variable is_asked;
    std::deque<Counts> all_counts;
};

std::size_t threads() {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}));
}

Object hello(const Library& library, bool is_offline) {
    utsname system{};
    uname(&system);
    Object told, driver, libcassandra, machine, build;
    libcassandra.put("name", "libcassandra (" + library.name + ")").put("version", library.version).put("origin", library.origin());
    driver.put("name", is_offline ? "cpp-noop" : "cpp").put("version", library.version);
    driver.put("variant", "lib=" + library.short_name() + "-" + library.version);
    driver.put("libraries", std::vector{libcassandra}).put("options", options).put("lacks_types", std::vector<std::string>{"vector"});
    std::vector<std::string> capabilities = {"request_timeout", "paging", "reprepare", "reconnect", "control_connection", "notices_close",
        "closes_sessions", "credentials", "tls", "batch", "unprepared", "prepare", "connect"};
    if (is_offline) capabilities = {"offline", "batch", "unprepared", "prepare", "connect"};
    driver.put("capabilities", capabilities);
    driver.put("caveats", std::vector<std::string>{
        "Its one I/O thread issues the statements and checks the rows, in callbacks; the runtime changes nothing, and `io-threads` does.",
        "It always skips the result's metadata, so its answers to a SELECT are shorter.",
        "It waits up to 200 us for further requests before it writes, unless `coalescing` is set.",
        "It records the latency of every request in a histogram of its own, which cannot be switched off.",
        "It cannot compress.",
        "It sends what a bootstrapping node refuses (0x1002) to the next node, despite the retry policy.",
        "After a server error (code 0) it drops the connection and reconnects in about two seconds."});
    driver.put("most_in_flight", Object().put("default", queue_by_default));
    machine.put("host", system.nodename).put("cores", std::thread::hardware_concurrency()).put("kernel", system.release);
    build.put("id", "").put("adapter", ADAPTER).put("compiler", "g++ " __VERSION__).put("profile", "release");
    told.put("type", "hello").put("protocol", 3).put("turns", true).put("tape", true).put("language", "C++").put("machine", machine);
    return told.put("driver", driver).put("settings", settings_of({})).put("build", build);
}

// Refuses what the worker cannot do, before it connects.
void check(const Bench& bench, const Library& library) {
    const Json& job = bench.job;
    const auto refuse = [](bool is_wrong, const std::string& sentence) {
        if (is_wrong) throw Failed{"job", sentence};
    };
    const auto& mode = job["mode"].text;
    refuse(mode != "measure" && mode != "connect", "The mode `" + mode + "` was asked for; cpp has measure and connect.");
    const auto in_flight = job["concurrency"].number();
    refuse(in_flight < 1 || in_flight > most_in_flight,
           "A concurrency of " + std::to_string(in_flight) + " was asked for; ask for 1 to " + std::to_string(most_in_flight) + ".");
    refuse(job["rate"] && job["rate"].number() == 0, "A rate of 0 statements per second was asked for; ask for at least 1.");
    refuse(job["connections"].number() == 0, "0 connections per node were asked for; ask for at least 1.");
    refuse(job["target"].items.empty() && !bench.is_offline, "No address of a cluster was given; give at least one.");
    refuse(job["turns"].number(1) == 0, "0 turns were asked for; ask for at least 1.");
    refuse(!job["tape"], "The job has no tape, and cpp makes no keys and values itself; give it one.");
    const auto& submit = job["scenario"]["submit"].text;
    refuse(!submit.empty() && submit != "slots" && submit != "sequential",
           "Statements were to be submitted as `" + submit + "`; cpp has slots and sequential.");
    for (const auto& [name, value] : job["options"].fields) {
        std::string names;
        for (const Option& one : options) names += (names.empty() ? "" : ", ") + std::string(one.name);
        const auto known = std::ranges::find_if(options, [&](const Option& one) { return one.name == name; });
        refuse(known == options.end(), "cpp has no option `" + name + "`: it has " + names + ".");
        const std::string values = "|" + std::string(known->values) + "|";
        const bool is_word = values.find("|" + value.text + "|") != values.npos;
        const bool takes_any = std::ranges::any_of(values, [](unsigned char one) { return std::isupper(one); });
        refuse(!is_word && !takes_any, "cpp's option `" + name + "` was set to `" + value.text + "`; it takes " + known->values + ".");
        if (!is_word && name != "lib") option_number(job, name, 1);
        if (name == "lib") library.check_lies_at(value.text);
    }
    for (const Query& one : bench.queries)
        refuse(one.operation == Operation::unprepared && one.binds_user_types(),
               "The statement " + one.name + " binds a user-defined type, which libcassandra takes from what is prepared; prepare it.");
}

void describe_types(Bench& bench) {
    for (std::size_t i = 0; i < bench.session.prepared.size(); ++i)
        for (std::size_t at = 0; bench.session.prepared[i] && at < bench.queries[i].types.values.size(); ++at)
            describe(bench.queries[i].types.values[at], cass_prepared_parameter_data_type(bench.session.prepared[i].get(), at));
}

void carry_out(Bench& bench, const Library& library) {
    Link& link = bench.link;
    bench.job = link.hear();
    const Json& job = bench.job;
    std::vector<Types> types;
    static const std::set<std::string> known = {"execute", "batch", "prepare", "unprepared", "connect"};
    for (const Json& of : job["scenario"]["statement"].items) {
        const auto& told = job["tape"]["statements"].items;
        if (types.size() == told.size()) throw Failed{"job", "The tape has other statements than the scenario; write it again."};
        const Json& named = told[types.size()];
        Types& one = types.emplace_back();
        for (const Json& name : named["values"].items) one.values.push_back(Type::read(name.text));
        for (const Json& name : named["columns"].items) one.columns.push_back(Type::read(name.text));
        const auto operation = of["operation"] ? of["operation"].text : "execute";
        if (!known.contains(operation))
            throw Failed{"job", "The statement " + of["name"].text + " is issued as `" + operation + "`, which cpp lacks; use another operation."};
        bench.queries.push_back({of["name"].text, of["cql"].text, static_cast<Operation>(operation[0]), of["logged"].text == "true", one});
    }
    check(bench, library);
    if (job["settings"].text != "default") bench.page_size = static_cast<int>(job["page_size"].number());
    Tape tape(job["tape"]["path"].text, types);
    try {
        bench.session = bench.connect([](const Query& one) {
            return one.operation == Operation::execute || one.operation == Operation::batch || one.binds_user_types();
        });
    } catch (const Failed& failed) {
        if (failed.kind == "prepare") throw;
        std::string nodes;
        for (const Json& node : job["target"].items) nodes += (nodes.empty() ? "" : ", ") + node.text;
        const auto kind = failed.kind == "bad_credentials" ? failed.kind : "connect";
        throw Failed{kind, "cpp could not connect to " + nodes + ": " + failed.message};
    }
    describe_types(bench);
    {
        std::pmr::monotonic_buffer_resource memory;
        const auto count = job["warmup"].number();
        Window warm_up(bench, tape.next(count, memory), 0, true);
        if (count > 0) warm_up.run();
        const auto ended = "The warm-up ended after " + std::to_string(warm_up.counts.answered) + " of " + std::to_string(count) + " statements";
        for (const auto& [kind, of] : warm_up.counts.errors)
            throw Failed{"warm_up", ended + " with " + std::to_string(of.first) + " errors of kind " + kind + ", the first: " + of.second};
    }
    Object last;
    last.put("type", "ready").put("settings", settings_of(job)).put("threads", threads());
    if (const auto io = option_number(job, "io-threads", 1); io > 1) last.put("connections", io * job["connections"].number());
    const auto turns = job["turns"].number(1), count = job["count"].number();
    for (std::uint64_t turn = 0; turn < turns; ++turn) {
        std::pmr::monotonic_buffer_resource memory;
        const auto first = count * turn / turns;
        Window window(bench, tape.next(count * (turn + 1) / turns - first, memory), first, false);
        link.say(last, "go");
        const Json go = link.hear();
        const std::chrono::nanoseconds at(go["at_ns"].number());
        std::this_thread::sleep_until(std::chrono::steady_clock::time_point(at));
        window.run();
        const auto running = threads();
        link.say(window.account(), "ack");
        link.hear();
        last = window.done(running);
    }
    link.say(last, Link::over);
}

}  // namespace

int main() {
    static Link link;
    // The log is off, because each connection to Cassandra writes a warning.
    const char* const level = std::getenv("CQLDYNO_LIBCASSANDRA_LOG");
    cass_log_set_level(CASS_LOG_DISABLED);
    for (int i = CASS_LOG_CRITICAL; level && i < CASS_LOG_LAST_ENTRY; ++i)
        if (const auto one = static_cast<CassLogLevel>(i); cass_log_level_string(one) == std::string_view(level)) cass_log_set_level(one);
    try {
        const Library library = Library::loaded();
        Bench bench{link, {}, {}, {}};
        link.say(hello(library, bench.is_offline), "job");
        std::thread([] { link.listen(); }).detach();
        carry_out(bench, library);
    } catch (const Failed& failed) {
        link.fail(failed.kind, failed.message);
    } catch (const std::exception& error) {
        link.fail("job", "The job cannot be carried out: " + std::string(error.what()) + ".");
    }
    // What libcassandra still does ends with the process.
    std::cout.flush();
    _exit(0);
}
