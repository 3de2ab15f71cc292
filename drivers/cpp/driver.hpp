// libcassandra: what it says of itself, its options and settings, and clusters.
#pragma once

#include "counts.hpp"
#include "types.hpp"

#include <arpa/inet.h>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
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

// Each as `hello` has it, in the order of these names.
inline Json options() {
    const char* const names[] = {"name", "values", "default", "about", "tried"};
    const std::vector<std::vector<const char*>> all = {
        {"lib", "PATH", "the one it was linked with", "The shared library libcassandra that it loads."},
        {"timestamps", "server|client", "server", "Leaves the time of a write to the server, or sends one of the client's own."},
        {"io-threads", "COUNT", "1", "Its I/O threads, which run the callbacks, too; each opens its own connections.", "2"},
        {"routing", "token-aware|round-robin", "token-aware", "Whether statements go to a replica of their key, or to each node in turn."},
        {"schema", "fetched|none", "fetched", "Whether it keeps the schema's metadata; without it there is no token-aware routing."},
        {"queue", "COUNT", "8192, or as many as are in flight", "Requests that its queue holds; a statement that finds it full fails."},
        {"nodelay", "on|off", "on", "Whether TCP_NODELAY is set on its connections, so that the kernel sends small requests at once."},
        {"heartbeat", "SECONDS", "30", "Time without a request after which it sends OPTIONS."},
        {"coalescing", "off|MICROSECONDS", "200", "How long it waits for further requests before it writes.", "50"},
        {"new-requests", "PERCENT", "50", "The part of an I/O thread's time for new requests; the rest is for answers.", "90"}};
    Json options;
    for (const auto& one : all) {
        Json& option = options.emplace_back();
        for (std::size_t i = 0; i < one.size(); ++i) option[names[i]] = one[i];
    }
    return options;
}
// What the contender's name sets; empty if it does not.
inline std::string option(const Json& job, const char* name) { return job.value("options", Json::object()).value(name, ""); }
// The same for a number, which the parent has checked.
inline unsigned option_number(const Json& job, const char* name, unsigned if_absent) {
    const auto value = option(job, name);
    return value.empty() ? if_absent : value == "off" ? 0 : static_cast<unsigned>(std::stoul(value));
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
    Text message;
    cass_future_error_message(future, &message.data, &message.size);
    return {kind_of(error), std::string(cass_error_desc(error)) + ": " + std::string(message.data, message.size)};
}

// The library that is loaded: it exports no version, but names itself in its STARTUP (native_protocol_v4.spec section 4.1.1). So it
// is made to connect to a listener here, which hangs up then.
struct Library {
    std::string path, name, version;

    static Library loaded() {
        const auto unknown = [](const std::string& why) { return Failed{"describe", "libcassandra's version is unknown: " + why + "."}; };
        Dl_info found{};
        dladdr(reinterpret_cast<void*>(cass_session_new), &found);
        const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        // Connections that it accepts have the limit, too.
        constexpr timeval limit{2, 0};
        setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        sockaddr_in address{};
        socklen_t size = sizeof address;
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        auto* const bound = reinterpret_cast<sockaddr*>(&address);
        if (bind(listener, bound, size) != 0 || listen(listener, 1) != 0 || getsockname(listener, bound, &size) != 0)
            throw unknown("no loopback socket can be opened (" + std::string(std::strerror(errno)) + ")");
        const Cluster cluster(cass_cluster_new());
        cass_cluster_set_contact_points(cluster.get(), "127.0.0.1");
        cass_cluster_set_port(cluster.get(), ntohs(address.sin_port));
        cass_cluster_set_protocol_version(cluster.get(), 4);
        const Session session(cass_session_new());
        const Future connecting(cass_session_connect(session.get(), cluster.get()));
        const int connection = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
        char said[4096] = {};
        recv(connection, said, sizeof said, 0);
        // To OPTIONS the answer is SUPPORTED, with none.
        const char supported[] = {'\x84', 0, said[2], said[3], 6, 0, 0, 0, 2, 0, 0};
        send(connection, supported, sizeof supported, MSG_NOSIGNAL);
        const auto count = recv(connection, said, sizeof said, 0);
        close(connection);
        close(listener);
        cass_future_wait(connecting.get());
        const std::string_view startup(said, static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
        const auto named = [&](const std::string& key) {
            const auto at = startup.find(key);
            if (at == startup.npos) throw unknown(found.dli_fname + std::string(" sent no STARTUP with it to a loopback socket"));
            Cursor value{startup.substr(at + key.size())};
            return std::string(value.take(value.number<std::uint16_t>()));
        };
        return {found.dli_fname, named("DRIVER_NAME"), named("DRIVER_VERSION")};
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
};

// What it makes of the settings of a job.
inline Json settings_of(const Json& job) {
    const bool by_default = job.value("settings", "") == "default";
    const auto datacenter = job.contains("datacenter") ? " in " + job.value("datacenter", "") : "";
    const auto threads = option_number(job, "io-threads", 1), each = by_default ? 1 : job.value("connections", 1U);
    const auto limit = job.value("request_timeout_ms", 0U);
    const auto schema = option(job, "schema"), timestamps = option(job, "timestamps");
    const bool in_turn = option(job, "routing") == "round-robin" || schema == "none";
    Json all;
    const auto set = [&](const char* name, const std::string& value, bool as_asked = true) {
        all.push_back({{"name", name}, {"value", value}, {"as_asked", as_asked}});
    };
    set("protocol version", by_default ? "negotiated by libcassandra" : "v4");
    set("consistency", by_default ? "LOCAL_ONE" : job.value("consistency", "LOCAL_ONE"));
    set("compression", "none");
    set("retries", by_default ? "libcassandra's default policy" : "none");
    set("speculative execution", "none");
    if (in_turn) set("routing", schema == "none" ? "round robin, because it keeps no schema" : "round robin", datacenter.empty());
    else set("routing", "token-aware" + datacenter);
    set("connections", std::to_string(each * threads) + " per node" +
        (threads > 1 ? ": " + std::to_string(each) + " for each of " + std::to_string(threads) + " I/O threads" : ""));
    set("page size", by_default ? "no paging" : std::to_string(job.value("page_size", 5000)));
    const auto time = limit % 1000 == 0 ? std::to_string(limit / 1000) + "s" : std::to_string(limit) + "ms";
    set("request timeout", by_default ? "12s" : limit == 0 ? "none" : time);
    set("timestamps", !timestamps.empty() ? timestamps : by_default ? "client" : "server");
    set("serial consistency", "none");
    return all;
}

// TLS by OpenSSL; with a CA, certificate and address of a node are verified.
inline void encrypt(CassCluster* cluster, const Json& tls) {
    const Owned<CassSsl, cass_ssl_free> ssl(cass_ssl_new());
    // Hands over a PEM file.
    const auto take = [](const std::string& path, auto into) {
        std::ifstream file(path);
        const std::string all(std::istreambuf_iterator<char>(file), {});
        if (all.empty()) throw Failed{"connect", path + " cannot be read, or is empty; name a PEM file."};
        if (const CassError error = into(all); error != CASS_OK)
            throw Failed{"connect", "libcassandra did not take " + path + ": " + cass_error_desc(error) + "."};
    };
    const int verified = CASS_SSL_VERIFY_PEER_CERT | CASS_SSL_VERIFY_PEER_IDENTITY;
    cass_ssl_set_verify_flags(ssl.get(), tls.contains("ca") ? verified : CASS_SSL_VERIFY_NONE);
    if (tls.contains("ca")) take(tls.at("ca"), [&](const std::string& all) {
        // It takes one certificate at a time.
        static constexpr std::string_view last = "-----END CERTIFICATE-----";
        CassError error = CASS_OK;
        for (std::size_t from = 0, end; error == CASS_OK && (end = all.find(last, from)) != all.npos; from = end)
            error = cass_ssl_add_trusted_cert_n(ssl.get(), all.data() + from, (end += last.size()) - from);
        return error;
    });
    if (tls.contains("client")) {
        take(tls.at("client").at("certificate"), [&](const std::string& all) { return cass_ssl_set_cert(ssl.get(), all.c_str()); });
        take(tls.at("client").at("key"), [&](const std::string& all) { return cass_ssl_set_private_key(ssl.get(), all.c_str(), ""); });
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
    for (const std::string node : job.at("target")) {
        const auto colon = node.rfind(':');
        if (!port.empty() && node.substr(colon + 1) != port)
            throw Failed{"connect", "libcassandra takes one port for all nodes, and " + node + " has another."};
        port = node.substr(colon + 1);
        hosts += hosts.empty() ? "" : ",";
        hosts += node[0] == '[' ? node.substr(1, colon - 2) : node.substr(0, colon);
    }
    check(cass_cluster_set_contact_points(cluster, hosts.c_str()), "addresses");
    check(cass_cluster_set_port(cluster, std::stoi(port)), "port");
    if (const auto login = job.value("credentials", Json::object()); !login.empty())
        cass_cluster_set_credentials(cluster, login.value("user", "").c_str(), login.value("password", "").c_str());
    if (job.contains("tls")) encrypt(cluster, job.at("tls"));
    auto timestamps = option(job, "timestamps");
    if (job.at("settings") != "default") {
        check(cass_cluster_set_protocol_version(cluster, 4), "protocol version");
        // It opens so many connections for each I/O thread.
        check(cass_cluster_set_num_threads_io(cluster, 1), "number of I/O threads");
        check(cass_cluster_set_core_connections_per_host(cluster, job.at("connections")), "number of connections");
        check(cass_cluster_set_queue_size_io(cluster, std::max(job.at("concurrency").get<unsigned>(), queue_by_default)), "queue");
        const Owned<CassRetryPolicy, cass_retry_policy_free> no_retries(cass_retry_policy_fallthrough_new());
        cass_cluster_set_retry_policy(cluster, no_retries.get());
        cass_cluster_set_token_aware_routing(cluster, cass_true);
        if (const auto own = job.value("datacenter", ""); !own.empty())
            check(cass_cluster_set_load_balance_dc_aware(cluster, own.c_str(), 0, cass_false), "datacenter");
        // 0 is no limit.
        cass_cluster_set_request_timeout(cluster, job.value("request_timeout_ms", 0U));
        cass_cluster_set_tcp_keepalive(cluster, cass_false, 0);
        for (int one = CASS_CONSISTENCY_ANY; one <= CASS_CONSISTENCY_LOCAL_ONE; ++one) {
            const auto consistency = static_cast<CassConsistency>(one);
            if (job.at("consistency") == cass_consistency_string(consistency))
                check(cass_cluster_set_consistency(cluster, consistency), "consistency");
        }
        if (timestamps.empty()) timestamps = "server";
    }
    if (!timestamps.empty()) {
        const auto make = timestamps == "client" ? cass_timestamp_gen_monotonic_new : cass_timestamp_gen_server_side_new;
        const Owned<CassTimestampGen, cass_timestamp_gen_free> made(make());
        cass_cluster_set_timestamp_gen(cluster, made.get());
    }
    // Calls `set` with the option's number if there is one.
    const auto with = [&](const char* name, auto set) {
        if (!option(job, name).empty()) check(set(option_number(job, name, 0)), std::string("option ") + name);
    };
    with("io-threads", [&](unsigned count) { return cass_cluster_set_num_threads_io(cluster, count); });
    with("queue", [&](unsigned count) { return cass_cluster_set_queue_size_io(cluster, count); });
    with("coalescing", [&](unsigned time) { return cass_cluster_set_coalesce_delay(cluster, time); });
    with("new-requests", [&](unsigned ratio) { return cass_cluster_set_new_request_ratio(cluster, static_cast<cass_int32_t>(ratio)); });
    if (const auto own = option_number(job, "heartbeat", 0)) cass_cluster_set_connection_heartbeat_interval(cluster, own);
    if (option(job, "nodelay") == "off") cass_cluster_set_tcp_nodelay(cluster, cass_false);
    if (option(job, "schema") == "none") cass_cluster_set_use_schema(cluster, cass_false);
    if (option(job, "routing") == "round-robin") {
        cass_cluster_set_token_aware_routing(cluster, cass_false);
        cass_cluster_set_load_balance_round_robin(cluster);
    }
    return owned;
}
