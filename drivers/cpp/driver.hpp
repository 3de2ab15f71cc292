// libcassandra: what it says of itself, its settings, and sessions.
#pragma once

#include "json.hpp"
#include "values.hpp"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <filesystem>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

using Cluster = Owned<CassCluster, cass_cluster_free>;
using Session = Owned<CassSession, cass_session_free>;
using Future = Owned<CassFuture, cass_future_free>;
using Statement = Owned<CassStatement, cass_statement_free>;
using Prepared = Owned<const CassPrepared, cass_prepared_free>;
using Result = Owned<const CassResult, cass_result_free>;

// Requests that libcassandra's queue holds by default.
constexpr unsigned queue_by_default = 8192;

struct Option {
    const char *name, *values, *by_default, *about, *tried = "";
};
inline const std::vector<Option> options = {
    {"lib", "PATH", "the one it was linked with", "The shared library libcassandra that it loads."},
    {"timestamps", "server|client", "server", "Leaves the time of a write to the server, or sends one of the client's own."},
    {"io-threads", "COUNT", "1", "Its I/O threads, which run the callbacks, too; each opens its own connections.", "2"},
    {"routing", "token-aware|round-robin", "token-aware", "Whether statements go to a replica of their key, or to each node in turn."},
    {"schema", "fetched|none", "fetched", "Whether it keeps the schema's metadata; without it there is no token-aware routing."},
    {"queue", "COUNT", "8192, or as many as are in flight", "Requests that its queue holds; a statement that finds it full fails."},
    {"nodelay", "on|off", "on", "Whether TCP_NODELAY is set on its connections, so that the kernel sends small requests at once."},
    {"heartbeat", "SECONDS", "30", "Time without a request after which it sends OPTIONS."},
    {"coalescing", "off|MICROSECONDS", "200", "How long it waits for further requests before it writes.", "50"},
    {"new-requests", "PERCENT", "50", "The part of an I/O thread's time for new requests; the rest is for answers.", "90"},
};
inline std::string written(const Option& one) {
    Object object;
    object.put("name", one.name).put("values", one.values).put("default", one.by_default).put("about", one.about);
    return written(*one.tried ? object.put("tried", one.tried) : object);
}

// An option that is a number; refused unless it is one from 1 on.
inline unsigned option_number(const Json& job, const std::string& name, unsigned if_absent) {
    const auto& value = job["options"][name].text;
    if (value.empty() || value == "off") return value.empty() ? if_absent : 0;
    if (value.size() > 9 || value.find_first_not_of("0123456789") != value.npos || std::stoul(value) == 0)
        throw Failed{"job", "cpp's option `" + name + "` was set to `" + value + "`; it takes a whole number from 1 to 999999999."};
    return static_cast<unsigned>(std::stoul(value));
}

// An error by the protocol's name for its kind.
inline std::string kind_of(CassError error) {
#define SERVER(name, kind) {CASS_ERROR_SERVER_##name, kind}
#define LIBRARY(name, kind) {CASS_ERROR_LIB_##name, kind}
    static const std::map<CassError, std::string> kinds = {
        SERVER(BAD_CREDENTIALS, "bad_credentials"), SERVER(PROTOCOL_ERROR, "protocol"), LIBRARY(UNEXPECTED_RESPONSE, "protocol"),
        SERVER(UNAVAILABLE, "unavailable"), SERVER(OVERLOADED, "overloaded"), SERVER(IS_BOOTSTRAPPING, "bootstrapping"),
        SERVER(WRITE_TIMEOUT, "server_timeout"), SERVER(READ_TIMEOUT, "server_timeout"), SERVER(SYNTAX_ERROR, "syntax"),
        SERVER(UNAUTHORIZED, "unauthorized"), SERVER(INVALID_QUERY, "invalid"), SERVER(ALREADY_EXISTS, "already_exists"),
        SERVER(UNPREPARED, "unprepared"), LIBRARY(REQUEST_TIMED_OUT, "request_timeout"), LIBRARY(REQUEST_QUEUE_FULL, "queue_full"),
        LIBRARY(NO_STREAMS, "queue_full"), LIBRARY(NO_HOSTS_AVAILABLE, "connection_lost"), LIBRARY(WRITE_ERROR, "connection_lost"),
        LIBRARY(UNABLE_TO_CONNECT, "connection_lost"), LIBRARY(UNABLE_TO_CLOSE, "connection_lost"), LIBRARY(MESSAGE_ENCODE, "codec"),
        LIBRARY(INDEX_OUT_OF_BOUNDS, "codec"), LIBRARY(INVALID_ITEM_COUNT, "codec"), LIBRARY(INVALID_VALUE_TYPE, "codec"),
        LIBRARY(NULL_VALUE, "codec"), LIBRARY(PARAMETER_UNSET, "codec"), LIBRARY(INVALID_DATA, "codec"), LIBRARY(NOT_ENOUGH_DATA, "codec")};
#undef SERVER
#undef LIBRARY
    const auto found = kinds.find(error);
    return found != kinds.end() ? found->second : error >> 24 == CASS_ERROR_SOURCE_SERVER ? "server" : "other";
}
// What became of a future: kind and message are empty if it succeeded. Waits for it.
inline Failed outcome(CassFuture* future) {
    const auto error = cass_future_error_code(future);
    if (error == CASS_OK) return {};
    const char* message = nullptr;
    std::size_t size = 0;
    cass_future_error_message(future, &message, &size);
    return {kind_of(error), std::string(cass_error_desc(error)) + ": " + std::string(message, size)};
}

// The library that is loaded: it exports no version, but names itself in its STARTUP (native_protocol_v4.spec section 4.1.1). So it
// is made to connect to a listener here, which refuses it.
struct Library {
    std::string path, name, version;

    static Library loaded() {
        const auto unknown = [](const std::string& why) { return Failed{"describe", "libcassandra's version is unknown: " + why + "."}; };
        Library library;
        Dl_info found{};
        if (dladdr(reinterpret_cast<void*>(cass_session_new), &found) != 0 && found.dli_fname) library.path = found.dli_fname;
        const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        socklen_t size = sizeof address;
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        auto* const bound = reinterpret_cast<sockaddr*>(&address);
        if (listener < 0 || bind(listener, bound, size) != 0 || listen(listener, 8) != 0 || getsockname(listener, bound, &size) != 0)
            throw unknown("no loopback socket can be opened (" + std::string(std::strerror(errno)) + ")");
        const Cluster cluster(cass_cluster_new());
        cass_cluster_set_contact_points(cluster.get(), "127.0.0.1");
        cass_cluster_set_port(cluster.get(), ntohs(address.sin_port));
        cass_cluster_set_protocol_version(cluster.get(), 4);
        cass_cluster_set_connect_timeout(cluster.get(), 2000);
        const Session session(cass_session_new());
        const Future connecting(cass_session_connect(session.get(), cluster.get()));
        pollfd waiting{listener, POLLIN, 0};
        std::string said;
        while (said.empty() && poll(&waiting, 1, 2000) == 1) said = startup(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
        close(listener);
        cass_future_wait(connecting.get());
        library.name = option(said, "DRIVER_NAME");
        library.version = option(said, "DRIVER_VERSION");
        if (library.version.empty()) throw unknown(library.path + " sent no STARTUP with it to a loopback socket");
        return library;
    }
    // `scylla` or `datastax`.
    std::string short_name() const {
        std::string word = name.substr(0, name.find(' '));
        std::ranges::transform(word, word.begin(), [](unsigned char one) { return std::tolower(one); });
        return word;
    }
    // Relative if it came with the worker, because a published result must not show its machine's folders.
    std::string origin() const {
        const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
        const auto relative = std::filesystem::weakly_canonical(path).lexically_relative(folder);
        return relative.empty() || *relative.begin() == ".." ? path : relative.string();
    }
    // The parent had the loader look there first.
    void check_lies_at(const std::filesystem::path& asked) const {
        std::error_code ignored;
        for (const auto& one : {asked, asked / "libcassandra.so", asked / "libcassandra.so.2"})
            if (std::filesystem::is_regular_file(one, ignored) && std::filesystem::equivalent(one, path, ignored)) return;
        const auto found = "lib=" + asked.string() + " was asked for, and this process has loaded " + path;
        throw Failed{"job", found + "; name libcassandra.so or its folder."};
    }

private:
    // The body of the STARTUP of this connection; empty if it sends none.
    static std::string startup(int connection) {
        constexpr std::size_t longest = 65536;
        constexpr timeval limit{2, 0};
        setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        std::string body;
        for (cass_byte_t head[9]; body.empty() && recv(connection, head, sizeof head, MSG_WAITALL) == sizeof head;) {
            body.resize(Cursor{Bytes(head).subspan(5)}.number<std::uint32_t>() % longest);
            if (!body.empty() && recv(connection, body.data(), body.size(), MSG_WAITALL) != static_cast<ssize_t>(body.size())) body.clear();
            // SUPPORTED, with no options.
            if (const cass_byte_t supported[] = {0x84, 0, head[2], head[3], 6, 0, 0, 0, 2, 0, 0}; body.empty())
                static_cast<void>(send(connection, supported, sizeof supported, MSG_NOSIGNAL));
        }
        close(connection);
        return body;
    }
    static std::string option(const std::string& startup, const std::string& key) {
        const auto at = startup.find(key) + key.size();
        if (at < key.size() || at + 2 > startup.size()) return {};
        const auto byte = [&](std::size_t place) { return static_cast<std::size_t>(static_cast<cass_byte_t>(startup[place])); };
        return startup.substr(at + 2, byte(at) << 8 | byte(at + 1));
    }
};

// What it makes of the settings of a job.
inline std::vector<Object> settings_of(const Json& job) {
    const auto own = [&](const char* name) { return job["options"][name].text; };
    const bool by_default = job["settings"].text == "default";
    const auto datacenter = job["datacenter"] ? " in " + job["datacenter"].text : "";
    const auto threads = option_number(job, "io-threads", 1);
    const auto each = by_default ? 1 : job["connections"].number(1);
    const auto limit = job["request_timeout_ms"].number();
    const bool in_turn = own("routing") == "round-robin" || own("schema") == "none";
    std::vector<Object> all;
    const auto set = [&](const char* name, const std::string& value, bool as_asked = true) {
        all.push_back(Object().put("name", name).put("value", value).put("as_asked", as_asked));
    };
    set("protocol version", by_default ? "negotiated by libcassandra" : "v4");
    set("consistency", by_default ? "LOCAL_ONE" : job["consistency"] ? job["consistency"].text : "LOCAL_ONE");
    set("compression", "none");
    set("retries", by_default ? "libcassandra's default policy" : "none");
    set("speculative execution", "none");
    if (in_turn) set("routing", own("schema") == "none" ? "round robin, because it keeps no schema" : "round robin", datacenter.empty());
    else set("routing", "token-aware" + datacenter);
    set("connections", std::to_string(each * threads) + " per node" +
        (threads > 1 ? ": " + std::to_string(each) + " for each of " + std::to_string(threads) + " I/O threads" : ""));
    set("page size", by_default ? "no paging" : std::to_string(job["page_size"].number(5000)));
    const auto time = limit % 1000 == 0 ? std::to_string(limit / 1000) + "s" : std::to_string(limit) + "ms";
    set("request timeout", by_default ? "12s" : limit == 0 ? "none" : time);
    set("timestamps", !own("timestamps").empty() ? own("timestamps") : by_default ? "client" : "server");
    set("serial consistency", "none");
    return all;
}

inline std::string read_file(const std::string& path) {
    std::ifstream file(path);
    const std::string all(std::istreambuf_iterator<char>(file), {});
    if (all.empty()) throw Failed{"connect", path + " cannot be read, or is empty; name a PEM file."};
    return all;
}

// TLS by OpenSSL; with a CA, certificate and address of a node are verified.
inline void encrypt(CassCluster* cluster, const Json& tls) {
    const Owned<CassSsl, cass_ssl_free> ssl(cass_ssl_new());
    const auto check = [](CassError error, const std::string& path) {
        if (error != CASS_OK) throw Failed{"connect", "libcassandra did not take " + path + ": " + cass_error_desc(error) + "."};
    };
    cass_ssl_set_verify_flags(ssl.get(), tls["ca"] ? CASS_SSL_VERIFY_PEER_CERT | CASS_SSL_VERIFY_PEER_IDENTITY : CASS_SSL_VERIFY_NONE);
    if (tls["ca"]) {
        // It takes one certificate at a time.
        static constexpr std::string_view last = "-----END CERTIFICATE-----";
        const std::string all = read_file(tls["ca"].text);
        for (std::size_t from = 0, end; (end = all.find(last, from)) != all.npos; from = end)
            check(cass_ssl_add_trusted_cert_n(ssl.get(), all.data() + from, (end += last.size()) - from), tls["ca"].text);
    }
    if (const Json& client = tls["client"]) {
        check(cass_ssl_set_cert(ssl.get(), read_file(client["certificate"].text).c_str()), client["certificate"].text);
        check(cass_ssl_set_private_key(ssl.get(), read_file(client["key"].text).c_str(), ""), client["key"].text);
    }
    cass_cluster_set_ssl(cluster, ssl.get());
}

inline Cluster cluster_of(const Json& job) {
    Cluster owned(cass_cluster_new());
    auto* const cluster = owned.get();
    const auto check = [](CassError error, const std::string& what) {
        if (error != CASS_OK) throw Failed{"connect", "libcassandra refused the " + what + ": " + cass_error_desc(error) + "."};
    };
    std::string hosts, port;
    for (const auto& node : job["target"].items) {
        const auto colon = node.text.rfind(':');
        if (!port.empty() && node.text.substr(colon + 1) != port)
            throw Failed{"connect", "libcassandra takes one port for all nodes, and " + node.text + " has another."};
        port = node.text.substr(colon + 1);
        hosts += (hosts.empty() ? "" : ",") + (node.text[0] == '[' ? node.text.substr(1, colon - 2) : node.text.substr(0, colon));
    }
    check(cass_cluster_set_contact_points(cluster, hosts.c_str()), "addresses");
    check(cass_cluster_set_port(cluster, std::atoi(port.c_str())), "port");
    if (const Json& login = job["credentials"])
        cass_cluster_set_credentials(cluster, login["user"].text.c_str(), login["password"].text.c_str());
    if (job["tls"]) encrypt(cluster, job["tls"]);
    auto timestamps = job["options"]["timestamps"].text;
    if (job["settings"].text != "default") {
        check(cass_cluster_set_protocol_version(cluster, 4), "protocol version");
        // It opens so many connections for each I/O thread.
        check(cass_cluster_set_num_threads_io(cluster, 1), "number of I/O threads");
        const auto number = [&](const char* name) { return static_cast<unsigned>(job[name].number()); };
        check(cass_cluster_set_core_connections_per_host(cluster, number("connections")), "number of connections");
        check(cass_cluster_set_queue_size_io(cluster, std::max(number("concurrency"), queue_by_default)), "queue");
        const Owned<CassRetryPolicy, cass_retry_policy_free> no_retries(cass_retry_policy_fallthrough_new());
        cass_cluster_set_retry_policy(cluster, no_retries.get());
        cass_cluster_set_token_aware_routing(cluster, cass_true);
        if (const Json& own = job["datacenter"])
            check(cass_cluster_set_load_balance_dc_aware(cluster, own.text.c_str(), 0, cass_false), "datacenter");
        // 0 is no limit.
        cass_cluster_set_request_timeout(cluster, number("request_timeout_ms"));
        cass_cluster_set_tcp_keepalive(cluster, cass_false, 0);
        for (int one = CASS_CONSISTENCY_ANY; one <= CASS_CONSISTENCY_LOCAL_ONE; ++one) {
            const auto consistency = static_cast<CassConsistency>(one);
            if (job["consistency"].text == cass_consistency_string(consistency))
                check(cass_cluster_set_consistency(cluster, consistency), "consistency");
        }
        if (timestamps.empty()) timestamps = "server";
    }
    if (!timestamps.empty()) {
        const auto make = timestamps == "client" ? cass_timestamp_gen_monotonic_new : cass_timestamp_gen_server_side_new;
        const Owned<CassTimestampGen, cass_timestamp_gen_free> made(make());
        cass_cluster_set_timestamp_gen(cluster, made.get());
    }
    const Json& own = job["options"];
    if (own["io-threads"]) check(cass_cluster_set_num_threads_io(cluster, option_number(job, "io-threads", 1)), "number of I/O threads");
    if (own["queue"]) check(cass_cluster_set_queue_size_io(cluster, option_number(job, "queue", 1)), "queue");
    if (own["heartbeat"]) cass_cluster_set_connection_heartbeat_interval(cluster, option_number(job, "heartbeat", 30));
    if (own["coalescing"]) check(cass_cluster_set_coalesce_delay(cluster, option_number(job, "coalescing", 200)), "coalescing");
    const auto ratio = static_cast<cass_int32_t>(option_number(job, "new-requests", 50));
    if (own["new-requests"]) check(cass_cluster_set_new_request_ratio(cluster, ratio), "part for new requests");
    if (own["nodelay"]) cass_cluster_set_tcp_nodelay(cluster, own["nodelay"].text == "on" ? cass_true : cass_false);
    if (own["schema"]) cass_cluster_set_use_schema(cluster, own["schema"].text == "fetched" ? cass_true : cass_false);
    if (own["routing"].text == "round-robin") {
        cass_cluster_set_token_aware_routing(cluster, cass_false);
        cass_cluster_set_load_balance_round_robin(cluster);
    }
    return owned;
}
