// The tickets of the warm-up or of a turn, issued by slots: chains of callbacks, each of which issues its slot's next statement.
#pragma once

#include "counts.hpp"
#include "link.hpp"
#include "session.hpp"

#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <sys/prctl.h>
#include <thread>

class Window {
public:
    // Of each kind how many, and the first one's message.
    std::map<std::string, std::pair<std::uint64_t, std::string>> errors;

    Window(Bench& bench, Link& link, Tape& tape, std::uint64_t first, std::uint64_t count, bool is_warm_up)
        : bench(bench), link(link), tickets(tape.next(count, memory)), first(first), is_warm_up(is_warm_up),
          rate(is_warm_up ? 0 : bench.job["rate"].number()), connects(!is_warm_up && bench.job["mode"].text == "connect"),
          slots(connects || bench.job["scenario"]["submit"].text == "sequential" ? 1 : bench.job["concurrency"].number()) {
        const auto milliseconds = [&](const Json& json) { return static_cast<Nanoseconds>(json.number()) * 1'000'000; };
        const auto progress = milliseconds(bench.job["progress_ms"]);
        interval = progress == 0 ? 3600 * second : std::max(progress, second / 2);
        if (is_traced()) patience = milliseconds(bench.job["trace"]["patience_ms"]);
        if (rate == 0 && !connects && count >= 8 * slots.size()) edges = {2 * slots.size(), count - 1};
        for (Slot& slot : slots) slot.window = this;
        link.stopped = false;
    }
    // With a trace, answers may come after the window has ended.
    bool is_traced() const { return !is_warm_up && bench.job["trace"]; }

    // Issues all tickets; the end is taken when the last answer comes, or when the patience ends.
    void run() {
        begin = Edge::current();
        told_at = begin.after;
        std::vector<std::jthread> threads;
        if (bench.is_offline) threads.emplace_back([&] { answer_each(); });
        const auto has_own = [](const Query& one) { return one.operation == Operation::connect; };
        // At a rate the pacer is one that may leave.
        left = rate > 0 ? 1 : slots.size();
        if (!bench.is_offline && (connects || std::ranges::any_of(bench.queries, has_own))) {
            left = slots.size();
            // A session can be neither made nor freed in a callback.
            for (Slot& slot : slots) threads.emplace_back([&] { wait_for_each(slot); });
        } else if (rate > 0) {
            pace();
        } else {
            for (Slot& slot : slots) advance(slot, now());
        }
        std::unique_lock lock(mutex);
        while (!is_over && is_patient()) {
            changed.wait_for(lock, std::chrono::nanoseconds(patience < 0 ? interval : std::min(interval, longest_sleep)));
            tell_progress();
        }
        close();
    }
    Object account() const {
        Object told = end.since(begin), steady;
        const auto cpu = steady_at[1].at == 0 ? -1 : steady_at[1].cpu_since(steady_at[0]);
        steady.put("wall_ns", steady_at[1].at - steady_at[0].at).put("cpu_ns", cpu).put("statements", edges[1] - edges[0]);
        return cpu < 0 ? told : told.put("steady", steady);
    }
    std::uint64_t issued() const { return std::min<std::uint64_t>(next, tickets.size()); }
    Object done(std::size_t threads) const {
        std::vector<std::uint64_t> by_statement(bench.queries.size()), per_second, right;
        std::vector<std::vector<std::uint64_t>> failed, unanswered;
        std::vector<Nanoseconds> latency, response, lateness;
        std::uint64_t count = 0;
        Nanoseconds last = begin.after;
        for (std::uint64_t nth = 0; nth < issued(); ++nth) {
            const Ticket& one = tickets[nth];
            ++by_statement[one.statement];
            if (one.came == 0 || one.has_failed) add_to(one.came == 0 ? unanswered : failed, first + nth);
            if (one.came == 0) continue;
            count += one.has_failed;
            latency.push_back(one.came - one.issued);
            add_one(per_second, (one.came - begin.after) / second);
            if (!one.has_failed) add_one(right, (one.came - begin.after) / (second / 100));
            response.push_back(one.came - intended(nth));
            lateness.push_back(one.issued - intended(nth));
            last = std::max(last, one.came);
        }
        Object told, by_name, by_kind, pace, trace;
        for (std::size_t i = 0; i < bench.queries.size(); ++i) by_name.put(bench.queries[i].name, by_statement[i]);
        for (const auto& [kind, of] : errors) by_kind.put(kind, Object().put("count", of.first).put("first", of.second));
        told.put("type", "done").put("issued", issued()).put("answered", latency.size()).put("verified", latency.size() - count);
        told.put("issued_by_statement", by_name).put("errors", by_kind).put("threads", threads).put("per_second", per_second);
        told.put("histogram", histogram(latency));
        if (rate > 0) {
            const auto late = std::ranges::count_if(lateness, [](Nanoseconds one) { return one > late_after; });
            const auto latest = lateness.empty() ? 0 : std::max<Nanoseconds>(*std::ranges::max_element(lateness), 0);
            pace.put("rate", rate).put("lasted_ns", last - begin.after).put("late_after_ns", late_after).put("late", late);
            pace.put("latest_ns", latest).put("response", histogram(response)).put("lateness", histogram(lateness));
            told.put("pace", pace);
        }
        trace.put("failed", failed).put("unanswered", unanswered).put("answers_per_10ms", right);
        return is_traced() ? told.put("trace", trace) : told;
    }

private:
    static constexpr Nanoseconds late_after = 1'000'000, shortest_sleep = 50'000, longest_sleep = 100'000'000;
    enum State { issuing, on_its_way, answered };
    struct Slot {
        Window* window = nullptr;
        Ticket* ticket = nullptr;
        std::atomic<State> state = issuing;
        Rows rows;
    };

    static void add_one(std::vector<std::uint64_t>& series, Nanoseconds at) {
        const auto place = static_cast<std::size_t>(std::max<Nanoseconds>(at, 0));
        if (series.size() <= place) series.resize(place + 1);
        ++series[place];
    }
    // Runs of consecutive tickets: the first one, and how many.
    static void add_to(std::vector<std::vector<std::uint64_t>>& runs, std::uint64_t ticket) {
        if (!runs.empty() && runs.back()[0] + runs.back()[1] == ticket) ++runs.back()[1];
        else runs.push_back({ticket, 1});
    }
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

    // Issues a slot's tickets until one is on its way. An answer that comes at once is a turn of this loop, or the stack would grow.
    void advance(Slot& slot, Nanoseconds at) {
        while (take(slot, at)) {
            slot.state = issuing;
            issue(slot);
            if (slot.state.exchange(on_its_way) != answered) return;
            at = slot.ticket->came;
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
        const auto named = [&](const Failed& wrong) {
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
    // Notes an answer; false if it came after the patience.
    bool note(const Slot& slot, Nanoseconds came, const Failed& wrong) {
        std::unique_lock lock(mutex, std::defer_lock);
        const bool has_failed = !wrong.kind.empty();
        if (has_failed || patience >= 0) lock.lock();
        if (lock && is_over) return false;
        slot.ticket->came = came;
        slot.ticket->has_failed = has_failed;
        if (has_failed) ++errors.try_emplace(wrong.kind, 0, wrong.message).first->second.first;
        if (has_failed && is_warm_up) link.stopped = true;
        return true;
    }
    void settle(Slot& slot, Nanoseconds came, const Failed& wrong) {
        if (!note(slot, came, wrong)) return;
        if (rate > 0) {
            std::unique_lock lock(mutex);
            free.push_back(&slot);
            changed.notify_all();
            lock.unlock();
            leave();
        } else if (slot.state.exchange(answered) != issuing) {
            // The next statement starts when the answer came.
            advance(slot, came);
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
        while (take(slot, now())) {
            const Query& query = bench.queries[slot.ticket->statement];
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
            note(slot, came, wrong);
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
            issue(slot);
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
        is_asked.notify_all();
    }
    void tell_progress() {
        if (is_over || now() - told_at < interval) return;
        told_at = now();
        link.progress(issued());
    }

    Bench& bench;
    Link& link;
    std::pmr::monotonic_buffer_resource memory;
    std::vector<Ticket> tickets;
    const std::uint64_t first;
    const bool is_warm_up;
    const std::uint64_t rate;
    const bool connects;
    std::vector<Slot> slots;
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
    // What is to be answered without the driver.
    std::vector<Slot*> asked;
    std::condition_variable is_asked;
};
