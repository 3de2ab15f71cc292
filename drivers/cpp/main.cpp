// The worker `cpp`: carries out one job of drivers/PROTOCOL.md.

#include "window.hpp"

#include <deque>
#include <sys/utsname.h>

namespace {

std::size_t threads() {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}));
}

Json hello(const Library& library, bool is_offline) {
    utsname system{};
    uname(&system);
    Json capabilities = {"request_timeout", "paging", "reprepare", "reconnect", "control_connection", "notices_close", "closes_sessions",
                         "credentials", "tls", "batch", "unprepared", "prepare", "connect"};
    if (is_offline) capabilities = {"offline", "batch", "unprepared", "prepare", "connect"};
    const Json caveats = {
        "Its one I/O thread issues the statements and checks the rows, in callbacks; the runtime changes nothing, and `io-threads` does.",
        "It always skips the result's metadata, so its answers to a SELECT are shorter.",
        "It waits up to 200 us for further requests before it writes, unless `coalescing` is set.",
        "It records the latency of every request in a histogram of its own, which cannot be switched off.",
        "It cannot compress.",
        "It sends what a bootstrapping node refuses (0x1002) to the next node, despite the retry policy.",
        "After a server error (code 0) it drops the connection and reconnects in about two seconds."};
    const Json libcassandra = {{"name", "libcassandra (" + library.name + ")"}, {"version", library.version}, {"origin", library.origin()}};
    const Json driver = {
        {"name", is_offline ? "cpp-noop" : "cpp"}, {"version", library.version}, {"variant", "lib=" + library.short_name() + "-" + library.version},
        {"libraries", Json::array({libcassandra})}, {"options", options()}, {"lacks_types", {"vector"}}, {"capabilities", capabilities},
        {"caveats", caveats}, {"most_in_flight", {{"default", queue_by_default}}}};
    return {{"type", "hello"}, {"protocol", 3}, {"turns", true}, {"tape", true}, {"language", "C++"}, {"driver", driver},
            {"machine", {{"host", system.nodename}, {"cores", std::thread::hardware_concurrency()}, {"kernel", system.release}}},
            {"build", {{"id", ""}, {"adapter", ADAPTER}, {"compiler", "g++ " __VERSION__}, {"profile", "release"}}},
            {"settings", settings_of(Json::object())}};
}

void require(const std::string& what, const Json& asked, const Json& known) {
    if (std::ranges::find(known, asked) == known.end())
        throw Failed{"job", "The " + what + " `" + asked.get<std::string>() + "` was asked for; cpp has " + joined(known) + "."};
}

// The statements of the job. Refuses what the worker cannot do, before it connects; `hello` tells the parent the values of options.
std::vector<Query> checked(const Json& job, const Library& library) {
    const Json& scenario = job.at("scenario");
    Json names;
    for (const Json& one : options()) names.push_back(one.at("name"));
    require("mode", job.at("mode"), {"measure", "connect"});
    require("way of submitting", scenario.value("submit", "slots"), {"slots", "sequential"});
    const Json own = job.value("options", Json::object());
    for (const auto& [name, value] : own.items()) require("option", name, names);
    if (const auto asked = option(job, "lib"); !asked.empty()) library.check_lies_at(asked);
    const Json &told = job.at("tape").at("statements"), &statements = scenario.at("statement");
    if (told.size() != statements.size()) throw Failed{"job", "The tape has other statements than the scenario; write it again."};
    std::vector<Query> queries;
    for (std::size_t nth = 0; nth < statements.size(); ++nth) {
        const Json& of = statements[nth];
        const auto operation = of.value("operation", "execute");
        require("operation", operation, {"execute", "batch", "prepare", "unprepared", "connect"});
        Query& one = queries.emplace_back(Query{of.at("name"), of.at("cql"), Operation(operation[0]), of.value("logged", false), {}, {}});
        for (const std::string name : told[nth].at("values")) one.values.push_back(Type::read(std::string_view(name)));
        for (const std::string name : told[nth].at("columns")) one.columns.push_back(Type::read(std::string_view(name)));
        if (one.operation == Operation::unprepared && std::ranges::any_of(one.values, &Type::has_user_type))
            throw Failed{"job", "The statement " + one.name + " binds a user-defined type, which libcassandra takes from what is prepared; prepare it."};
        if (one.operation == Operation::connect && job.contains("rate"))
            throw Failed{"job", "The statement " + one.name + " connects, for which cpp waits on a thread per slot; leave the rate out."};
    }
    return queries;
}

void carry_out(Link& link, Bench& bench, const Library& library) {
    // Those of a trace stay, because answers may come after their end.
    static std::deque<Window> windows;
    const Json& job = bench.job = link.hear();
    bench.queries = checked(job, library);
    if (job.value("settings", "") != "default") bench.page_size = job.value("page_size", 0);
    if (!job.contains("tape"))
        throw Failed{"job", "The job has no tape, and cpp makes no keys and values itself; give it one."};
    Tape tape(job.at("tape").at("path"), bench.queries);
    bench.session = bench.connect();
    for (std::size_t i = 0; i < bench.session.prepared.size(); ++i)
        for (std::size_t at = 0; bench.session.prepared[i] && at < bench.queries[i].values.size(); ++at)
            bench.queries[i].values[at].describe(cass_prepared_parameter_data_type(bench.session.prepared[i].get(), at));
    const auto warmup = job.value("warmup", 0UL), turns = job.value("turns", 1UL), count = job.value("count", 0UL);
    Window& warming = windows.emplace_back(bench, link, tape, 0, warmup, true);
    if (warmup > 0) warming.run();
    for (const auto& [kind, of] : warming.errors)
        throw Failed{"warm_up", "The warm-up of " + std::to_string(warmup) + " statements ended with " + std::to_string(of.first) +
                                " errors of kind " + kind + ", the first: " + of.second};
    Json last = {{"type", "ready"}, {"settings", settings_of(job)}, {"threads", threads()}};
    if (const auto io = option_number(job, "io-threads", 1); io > 1) last["connections"] = io * (job.at("settings") == "default" ? 1 : job.value("connections", 1U));
    for (std::uint64_t turn = 0; turn < turns; ++turn) {
        if (!windows.back().is_traced()) windows.pop_back();
        const auto first = count * turn / turns, next = count * (turn + 1) / turns;
        Window& window = windows.emplace_back(bench, link, tape, first, next - first, false);
        link.say(last, "go");
        const std::chrono::nanoseconds at(link.hear().value("at_ns", Nanoseconds{0}));
        std::this_thread::sleep_until(std::chrono::steady_clock::time_point(at));
        window.run();
        const auto running = threads();
        link.say(window.account(), "ack");
        link.hear();
        last = window.done(running);
    }
    link.say(last, "");
}

}  // namespace

int main() {
    static Link link;
    static Bench bench;
    // The log is off, because each connection to Cassandra writes a warning.
    const char* const level = std::getenv("CQLDYNO_LIBCASSANDRA_LOG");
    cass_log_set_level(CASS_LOG_DISABLED);
    for (int i = CASS_LOG_CRITICAL; level && i < CASS_LOG_LAST_ENTRY; ++i)
        if (const auto one = static_cast<CassLogLevel>(i); cass_log_level_string(one) == std::string_view(level)) cass_log_set_level(one);
    try {
        const Library library = Library::loaded();
        link.say(hello(library, bench.is_offline), "job");
        std::thread([] { link.listen(); }).detach();
        carry_out(link, bench, library);
    } catch (const Failed& failed) {
        link.fail(failed.kind, failed.message);
    } catch (const std::exception& error) {
        link.fail("job", "The job cannot be carried out: " + std::string(error.what()) + ".");
    }
    // What libcassandra still does ends with the process.
    std::cout.flush();
    _exit(0);
}
