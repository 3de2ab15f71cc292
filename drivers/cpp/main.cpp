// The worker `cpp`: carries out one job of drivers/PROTOCOL.md.

#include "window.hpp"

#include <sys/utsname.h>

namespace {

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

std::string joined(const std::vector<std::string>& all) {
    std::string text;
    for (const std::string& one : all) text += (text.empty() ? "" : ", ") + one;
    return text;
}
void require(const std::string& what, const std::string& asked, const std::vector<std::string>& known) {
    if (std::ranges::find(known, asked) == known.end())
        throw Failed{"job", "The " + what + " `" + asked + "` was asked for; cpp has " + joined(known) + "."};
}

// The statements of the job. Refuses what the worker cannot do, before it connects; `hello` tells the parent the values of options.
std::vector<Query> checked(const Json& job, const Library& library) {
    const auto& told = job["tape"]["statements"].items;
    const auto& statements = job["scenario"]["statement"].items;
    const Json& submit = job["scenario"]["submit"];
    std::vector<std::string> names;
    for (const Option& one : options) names.push_back(one.name);
    require("mode", job["mode"].text, {"measure", "connect"});
    require("way of submitting", submit ? submit.text : "slots", {"slots", "sequential"});
    for (const auto& [name, value] : job["options"].fields) require("option", name, names);
    if (const Json& asked = job["options"]["lib"]) library.check_lies_at(asked.text);
    if (!job["tape"]) throw Failed{"job", "The job has no tape, and cpp makes no keys and values itself; give it one."};
    if (told.size() != statements.size()) throw Failed{"job", "The tape has other statements than the scenario; write it again."};
    std::vector<Query> queries;
    for (std::size_t nth = 0; nth < statements.size(); ++nth) {
        const Json& of = statements[nth];
        Types types;
        for (const Json& name : told[nth]["values"].items) types.values.push_back(Type::read(name.text));
        for (const Json& name : told[nth]["columns"].items) types.columns.push_back(Type::read(name.text));
        const auto operation = of["operation"] ? of["operation"].text : "execute";
        require("operation", operation, {"execute", "batch", "prepare", "unprepared", "connect"});
        const Query& one = queries.emplace_back(Query{of["name"].text, of["cql"].text, Operation(operation[0]), of["logged"].text == "true", types});
        if (one.operation == Operation::unprepared && one.binds_user_types())
            throw Failed{"job", "The statement " + one.name + " binds a user-defined type, which libcassandra takes from what is prepared; prepare it."};
        if (one.operation == Operation::connect && job["rate"])
            throw Failed{"job", "The statement " + one.name + " connects, for which cpp waits on a thread per slot; leave the rate out."};
    }
    return queries;
}

// Connects and prepares, and takes the descriptions of types from what was prepared.
void connect(Bench& bench) {
    try {
        bench.session = bench.connect([](const Query& one) {
            return one.operation == Operation::execute || one.operation == Operation::batch || one.binds_user_types();
        });
    } catch (const Failed& failed) {
        if (failed.kind == "prepare") throw;
        std::vector<std::string> nodes;
        for (const Json& node : bench.job["target"].items) nodes.push_back(node.text);
        throw Failed{failed.kind == "bad_credentials" ? failed.kind : "connect", "cpp could not connect to " + joined(nodes) + ": " + failed.message};
    }
    for (std::size_t i = 0; i < bench.session.prepared.size(); ++i)
        for (std::size_t at = 0; bench.session.prepared[i] && at < bench.queries[i].types.values.size(); ++at)
            describe(bench.queries[i].types.values[at], cass_prepared_parameter_data_type(bench.session.prepared[i].get(), at));
}

void carry_out(Link& link, Bench& bench, const Library& library) {
    // Those of a trace stay, because answers may come after their end.
    static std::deque<Window> windows;
    bench.job = link.hear();
    const Json& job = bench.job;
    bench.queries = checked(job, library);
    if (job["settings"].text != "default") bench.page_size = static_cast<int>(job["page_size"].number());
    std::vector<Types> types;
    for (const Query& one : bench.queries) types.push_back(one.types);
    Tape tape(job["tape"]["path"].text, types);
    connect(bench);
    const auto warmup = job["warmup"].number(), turns = job["turns"].number(1), count = job["count"].number();
    Window& warming = windows.emplace_back(bench, link, tape, 0, warmup, true);
    if (warmup > 0) warming.run();
    for (const auto& [kind, of] : warming.errors)
        throw Failed{"warm_up", "The warm-up of " + std::to_string(warmup) + " statements ended with " + std::to_string(of.first) +
                                " errors of kind " + kind + ", the first: " + of.second};
    Object last;
    last.put("type", "ready").put("settings", settings_of(job)).put("threads", threads());
    if (const auto io = option_number(job, "io-threads", 1); io > 1) last.put("connections", io * job["connections"].number());
    for (std::uint64_t turn = 0; turn < turns; ++turn) {
        if (!windows.back().is_traced()) windows.pop_back();
        const auto first = count * turn / turns, next = count * (turn + 1) / turns;
        Window& window = windows.emplace_back(bench, link, tape, first, next - first, false);
        link.say(last, "go");
        const std::chrono::nanoseconds at(link.hear()["at_ns"].number());
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
