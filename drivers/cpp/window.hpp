// The tickets of the warm-up or of a turn, issued by slots: chains of callbacks, each of which issues its slot's next statement.
#pragma once

#include "link.hpp"
#include "session.hpp"

#include <array>
#include <sys/prctl.h>
#include <thread>

class Window {
public:
    // Of each kind how many, and the first one's message.
    std::map<std::string, std::pair<std::uint64_t, std::string>> errors;

    Window(Bench& bench, Link& link, Tape& tape, std::uint64_t first, std::uint64_t count, bool is_warm_up)
        : bench(bench), link(link), tickets(tape.next(count, memory)), first(first), is_warm_up(is_warm_up),
          connects(!is_warm_up && bench.job.at("mode") == "connect"), rate(is_warm_up || connects ? 0 : bench.job.value("rate", 0UL)),
          slots(connects || bench.job.at("scenario").value("submit", "") == "sequential" ? 1 : bench.job.at("concurrency").get<std::size_t>()) {
        const Nanoseconds millisecond = second / 1000, progress = bench.job.value("progress_ms", 0L) * millisecond;
        interval = progress == 0 ? 3600 * second : std::max(progress, second / 2);
        if (is_traced()) patience = bench.job.at("trace").value("patience_ms", 0L) * millisecond;
        const auto has_own = [](const Query& one) { return one.operation == Operation::connect; };
        has_threads = !bench.is_offline && (connects || std::ranges::any_of(bench.queries, has_own));
        if (rate == 0 && !has_threads && count >= 8 * slots.size()) edges = {2 * slots.size(), count - 1};
        for (Slot& slot : slots) slot.window = this;
        link.stopped = false;
    }
    // With a trace, answers may come after the window has ended.
    bool is_traced() const { return !is_warm_up && bench.job.contains("trace"); }

    // Issues all tickets; the end is taken when the last answer comes, or when the patience ends.
    void run() {
        begin = Edge::current();
        told_at = begin.after;
        // At a rate the pacer is one that may leave.
        left = rate > 0 ? 1 : slots.size();
        std::vector<std::jthread> threads;
        if (rate > 0) {
            pace();
        } else {
            for (Slot& slot : slots) {
                if (has_threads) threads.emplace_back([&] { connect_each(slot); });
                else advance(slot, now());
            }
        }
        std::unique_lock lock(mutex);
        while (!is_over && is_patient()) {
            changed.wait_for(lock, std::chrono::nanoseconds(patience < 0 ? interval : std::min(interval, longest_sleep)));
            tell_progress();
        }
        close();
    }
    Json account() const {
        Json told = end.since(begin);
        const auto& [from, to] = steady_at;
        if (to.at > 0) told["steady"] = {{"wall_ns", to.at - from.at}, {"cpu_ns", to.cpu - from.cpu}, {"statements", edges[1] - edges[0]}};
        return told;
    }
    Json done(std::size_t threads) const {
        std::vector<std::uint64_t> by_statement(bench.queries.size()), per_second, right;
        Runs failed, unanswered;
        std::vector<Nanoseconds> latency, response, lateness;
        Nanoseconds last = begin.after;
        for (std::uint64_t nth = 0; nth < issued(); ++nth) {
            const Ticket& one = tickets[nth];
            ++by_statement[one.statement];
            if (one.came == 0 || one.has_failed) add_to(one.came == 0 ? unanswered : failed, first + nth);
            if (one.came == 0) continue;
            if (!one.has_failed) add_one(right, (one.came - begin.after) / (second / 100));
            add_one(per_second, (one.came - begin.after) / second);
            latency.push_back(one.came - one.issued);
            response.push_back(one.came - intended(nth));
            lateness.push_back(one.issued - intended(nth));
            last = std::max(last, one.came);
        }
        std::uint64_t verified = latency.size();
        Json by_name = Json::object(), by_kind = Json::object();
        for (std::size_t i = 0; i < by_statement.size(); ++i) by_name[bench.queries[i].name] = by_statement[i];
        for (const auto& [kind, of] : errors) {
            by_kind[kind] = {{"count", of.first}, {"first", of.second}};
            verified -= of.first;
        }
        Json told = {{"type", "done"}, {"issued", issued()}, {"answered", latency.size()}, {"verified", verified},
                     {"issued_by_statement", by_name}, {"errors", by_kind}, {"threads", threads}, {"per_second", per_second},
                     {"histogram", histogram(latency)}};
        if (rate > 0) {
            const auto late = std::ranges::count_if(lateness, [](Nanoseconds one) { return one > late_after; });
            const auto latest = lateness.empty() ? 0 : std::max<Nanoseconds>(*std::ranges::max_element(lateness), 0);
            told["pace"] = {{"rate", rate}, {"lasted_ns", last - begin.after}, {"late_after_ns", late_after}, {"late", late},
                            {"latest_ns", latest}, {"response", histogram(response)}, {"lateness", histogram(lateness)}};
        }
        if (is_traced()) told["trace"] = {{"failed", failed}, {"unanswered", unanswered}, {"answers_per_10ms", right}};
        return told;
    }

private:
    static constexpr Nanoseconds late_after = 1'000'000, shortest_sleep = 50'000, longest_sleep = 100'000'000;
    enum State { issuing, on_its_way, answered };
    struct Slot {
        Window* window = nullptr;
        Ticket* ticket = nullptr;
        const Connected* on = nullptr;
        std::atomic<State> state = issuing;
        Rows rows;
    };
    // Of consecutive tickets: the first one, and how many.
    using Runs = std::vector<std::array<std::uint64_t, 2>>;

    static void add_one(std::vector<std::uint64_t>& series, Nanoseconds at) {
        const auto place = static_cast<std::size_t>(std::max<Nanoseconds>(at, 0));
        if (series.size() <= place) series.resize(place + 1);
        ++series[place];
    }
    static void add_to(Runs& runs, std::uint64_t ticket) {
        if (!runs.empty() && runs.back()[0] + runs.back()[1] == ticket) ++runs.back()[1];
        else runs.push_back({ticket, 1});
    }
    std::uint64_t issued() const { return std::min<std::uint64_t>(next, tickets.size()); }
    // When a ticket is to start at the rate, without more bits than 64.
    Nanoseconds intended(std::uint64_t nth) const {
        return rate == 0 ? 0 : begin.after + static_cast<Nanoseconds>(nth / rate * second + nth % rate * second / rate);
    }
    // Whether answers are waited for: with a trace until so long after the last start, or after a stop.
    bool is_patient() {
        if (patience < 0) return true;
        if (link.stopped && stopped_at == 0) stopped_at = now();
        const auto last = intended(tickets.size() - 1);
        return now() < (stopped_at > 0 ? std::min(stopped_at, last) : last) + patience;
    }
    bool take(Slot& slot, Nanoseconds at) {
        if (link.stopped.load(std::memory_order_relaxed)) return false;
        const auto nth = next.fetch_add(1, std::memory_order_relaxed);
        if (edges[1] > 0 && (nth == edges[0] || nth == edges[1])) steady_at[nth == edges[1]] = Moment::current();
        if (nth >= tickets.size()) return false;
        slot.ticket = &tickets[nth];
        slot.ticket->issued = at;
        return true;
    }
    std::uint64_t number(const Slot& slot) const { return first + static_cast<std::uint64_t>(slot.ticket - tickets.data()); }
    const Query& query(const Slot& slot) const { return bench.queries[slot.ticket->statement]; }

    // Issues a slot's tickets until one is on its way. An answer that comes at once is a turn of this loop, or the stack would grow.
    void advance(Slot& slot, Nanoseconds at) {
        while (take(slot, at)) {
            slot.state = issuing;
            issue(slot, bench.session);
            if (slot.state.exchange(on_its_way) != answered) return;
            at = slot.ticket->came;
        }
        leave();
    }
    void issue(Slot& slot, const Connected& on) {
        slot.on = &on;
        slot.rows.begin(query(slot).columns, slot.ticket->due);
        ask(slot, nullptr);
    }
    void ask(Slot& slot, const CassResult* after) {
        if (bench.is_offline) return settle(slot, now(), {});
        try {
            cass_future_set_callback(bench.issued(*slot.on, *slot.ticket, number(slot), after).get(), on_answer, &slot);
        } catch (const Failed& wrong) {
            settle(slot, now(), wrong);
        }
    }
    // Runs on the I/O thread of libcassandra, or at once on that of the caller if the answer is there already.
    static void on_answer(CassFuture* future, void* data) {
        const auto came = now();
        Slot& slot = *static_cast<Slot*>(data);
        Window& window = *slot.window;
        const Query& query = window.query(slot);
        Failed wrong = outcome(future);
        if (wrong.kind.empty() && query.operation == Operation::prepare) {
            const Prepared freed(cass_future_get_prepared(future));
        } else if (wrong.kind.empty()) {
            const Result page(cass_future_get_result(future));
            wrong.message = slot.rows.take(page.get());
            if (wrong.message.empty() && cass_result_has_more_pages(page.get())) return window.ask(slot, page.get());
            wrong.kind = wrong.message.empty() ? "" : "wrong_row";
        }
        if (!wrong.kind.empty()) wrong.message = "ticket " + std::to_string(window.number(slot)) + ", " + query.name + ": " + wrong.message;
        window.settle(slot, came, wrong);
    }
    // Notes an answer, unless it came after the patience, and lets the slot go on.
    void settle(Slot& slot, Nanoseconds came, const Failed& wrong) {
        std::unique_lock lock(mutex, std::defer_lock);
        const bool has_failed = !wrong.kind.empty();
        if (has_failed || patience >= 0 || rate > 0) lock.lock();
        if (lock && is_over) return;
        slot.ticket->came = came;
        slot.ticket->has_failed = has_failed;
        if (has_failed) ++errors.try_emplace(wrong.kind, 0, wrong.message).first->second.first;
        if (has_failed && is_warm_up) link.stopped = true;
        if (rate > 0) {
            free.push_back(&slot);
            changed.notify_all();
            lock.unlock();
            return leave();
        }
        if (lock) lock.unlock();
        // The next statement starts when the answer came.
        if (slot.state.exchange(answered) != issuing) advance(slot, came);
        else if (has_threads) slot.state.notify_one();
    }
    // A slot on a thread of its own, because a session can be neither made nor freed in a callback.
    void connect_each(Slot& slot) {
        while (take(slot, now())) {
            slot.state = issuing;
            const Query& own = query(slot);
            const bool is_own = connects || own.operation == Operation::connect;
            try {
                const Connected made = is_own ? bench.connect(connects ? nullptr : &own) : Connected();
                issue(slot, is_own ? made : bench.session);
                slot.state.wait(issuing);
            } catch (const Failed& wrong) {
                settle(slot, now(), wrong);
            }
        }
        leave();
    }
    // Starts each ticket at its time, on this thread.
    void pace() {
        // A sleep ends when it is to, not up to 50 us later.
        prctl(PR_SET_TIMERSLACK, 1);
        for (Slot& slot : slots) free.push_back(&slot);
        while (next < tickets.size() && !link.stopped && is_patient()) {
            tell_progress();
            if (const auto early = intended(next) - now(); early > 0) {
                std::this_thread::sleep_for(std::chrono::nanoseconds(std::clamp(early, shortest_sleep, longest_sleep)));
                continue;
            }
            std::unique_lock lock(mutex);
            if (!changed.wait_for(lock, std::chrono::nanoseconds(longest_sleep), [&] { return !free.empty(); })) continue;
            Slot& slot = *free.back();
            free.pop_back();
            lock.unlock();
            if (!take(slot, now())) break;
            ++left;
            issue(slot, bench.session);
        }
        leave();
    }
    void leave() {
        if (left.fetch_sub(1) != 1) return;
        const Edge edge = Edge::current();
        const std::lock_guard lock(mutex);
        if (!is_over) end = edge;
        close();
    }
    // With the lock: nothing that comes from now on counts.
    void close() {
        if (end.after == 0) end = Edge::current();
        is_over = true;
        changed.notify_all();
    }
    void tell_progress() {
        if (is_over || now() - told_at < interval) return;
        told_at = now();
        link.say({{"type", "progress"}, {"issued", issued()}});
    }

    Bench& bench;
    Link& link;
    std::pmr::monotonic_buffer_resource memory;
    std::vector<Ticket> tickets;
    const std::uint64_t first;
    const bool is_warm_up, connects;
    const std::uint64_t rate;
    std::vector<Slot> slots;
    bool has_threads = false;
    Edge begin, end;
    Nanoseconds interval = 0, told_at = 0, stopped_at = 0, patience = -1;
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
};
