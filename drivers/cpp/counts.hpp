// What is counted in a window: latencies, answers and errors, and what they took of the machine.
#pragma once

#include "json.hpp"
#include "tape.hpp"

#include <chrono>
#include <filesystem>
#include <sys/resource.h>
#include <time.h>

using Nanoseconds = std::int64_t;
constexpr Nanoseconds second = 1'000'000'000;

// CLOCK_MONOTONIC.
inline Nanoseconds now() { return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1); }

// An HdrHistogram of three digits up to an hour, in its V2 form.
class Histogram {
public:
    void add(Nanoseconds value) {
        const auto kept = static_cast<std::uint64_t>(std::clamp<Nanoseconds>(value, 1, longest));
        // Buckets of 2,048 values, each counted by its upper 11 bits.
        const auto bucket = std::max(static_cast<int>(std::bit_width(kept)) - 11, 0);
        const auto at = (static_cast<std::size_t>(bucket) << 10) + (kept >> bucket);
        if (counts.empty()) counts.resize(std::size_t{33} << 10);
        ++counts[at];
    }
    void add(const Histogram& other) {
        counts.resize(std::max(counts.size(), other.counts.size()));
        for (std::size_t i = 0; i < other.counts.size(); ++i) counts[i] += other.counts[i];
    }
    std::string base64() const {
        std::string body, all;
        std::int64_t zeros = 0;
        const auto leb = [&](std::int64_t value) {
            auto left = static_cast<std::uint64_t>(value << 1 ^ value >> 63);
            for (; left > 127; left >>= 7) body += static_cast<char>(left | 128);
            body += static_cast<char>(left);
        };
        for (const auto count : counts) {
            if (count > 0 && zeros > 0) leb(-std::exchange(zeros, 0));
            if (count > 0) leb(static_cast<std::int64_t>(count));
            else ++zeros;
        }
        const auto put = [&](std::uint64_t value, int bytes) {
            while (bytes-- > 0) all += static_cast<char>(value >> 8 * bytes);
        };
        put(0x1C849313, 4), put(body.size(), 4), put(0, 4), put(3, 4), put(1, 8), put(longest, 8);
        put(std::bit_cast<std::uint64_t>(1.0), 8);
        all += body;
        std::string text;
        static constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        for (std::size_t i = 0; i < all.size(); i += 3) {
            std::uint32_t three = 0;
            for (std::size_t j = i; j < i + 3; ++j) three = three << 8 | (j < all.size() ? static_cast<cass_byte_t>(all[j]) : 0);
            for (std::size_t j = 0; j < 4; ++j) text += i + j > all.size() ? '=' : digits[three >> (18 - 6 * j) & 63];
        }
        return text;
    }

private:
    static constexpr Nanoseconds longest = 3600 * second;
    std::vector<std::uint64_t> counts;
};

// The counts of one thread, which are put together at the end.
struct Counts {
    static constexpr Nanoseconds late_after = 1'000'000;
    Histogram latency, response, lateness;
    std::vector<std::uint64_t> by_statement, per_second;
    std::map<std::string, std::pair<std::uint64_t, std::string>> errors;
    std::uint64_t answered = 0, failed = 0, late = 0;
    Nanoseconds latest = 0, last = 0;

    void error(const Failed& wrong, std::uint64_t count = 1) {
        failed += count;
        errors.try_emplace(wrong.kind, 0, wrong.message).first->second.first += count;
    }
    void add(const Counts& other) {
        latency.add(other.latency), response.add(other.response), lateness.add(other.lateness);
        const auto sum = [](auto& into, const auto& from) {
            into.resize(std::max(into.size(), from.size()));
            for (std::size_t i = 0; i < from.size(); ++i) into[i] += from[i];
        };
        sum(by_statement, other.by_statement), sum(per_second, other.per_second);
        for (const auto& [kind, of] : other.errors) error({kind, of.second}, of.first);
        answered += other.answered, late += other.late;
        latest = std::max(latest, other.latest), last = std::max(last, other.last);
    }
};

// Time and resource usage of the process at one moment.
struct Edge {
    Nanoseconds at;
    rusage used;

    static Edge begin() {
        Edge edge{};
        getrusage(RUSAGE_SELF, &edge.used);
        edge.at = now();
        return edge;
    }
    static Edge end() {
        Edge edge{now(), {}};
        getrusage(RUSAGE_SELF, &edge.used);
        return edge;
    }
    Object since(const Edge& begin) const {
        const auto time = [&](timeval rusage::*of) {
            return (used.*of).tv_sec * 1'000'000 + (used.*of).tv_usec - (begin.used.*of).tv_sec * 1'000'000 - (begin.used.*of).tv_usec;
        };
        Object told;
        const auto count = [&](long rusage::*of) { return used.*of - begin.used.*of; };
        told.put("type", "end").put("wall_ns", at - begin.at).put("at_ns", at);
        told.put("user_us", time(&rusage::ru_utime)).put("sys_us", time(&rusage::ru_stime));
        told.put("voluntary_switches", count(&rusage::ru_nvcsw)).put("involuntary_switches", count(&rusage::ru_nivcsw));
        return told.put("minor_faults", count(&rusage::ru_minflt)).put("major_faults", count(&rusage::ru_majflt));
    }
};

// Time and the CPU time of each thread at one moment; the process' own misses up to 4 ms of each.
struct Moment {
    Nanoseconds at = 0;
    std::map<std::string, Nanoseconds> cpu;

    static Moment current() {
        Moment moment;
        for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
            timespec used{};
            const auto name = task.path().filename().string();
            // As the kernel encodes the clock of a thread (CPUCLOCK_PERTHREAD and CPUCLOCK_SCHED).
            const auto clock = static_cast<clockid_t>(~static_cast<unsigned>(std::stoul(name)) << 3 | 6);
            if (clock_gettime(clock, &used) == 0) moment.cpu[name] = used.tv_sec * second + used.tv_nsec;
        }
        moment.at = now();
        return moment;
    }
    // CPU time since then; less than 0 if a thread is gone.
    Nanoseconds cpu_since(const Moment& begin) const {
        Nanoseconds sum = 0;
        for (const auto& [task, used] : cpu) sum += used;
        for (const auto& [task, used] : begin.cpu) {
            if (!cpu.contains(task)) return -1;
            sum -= used;
        }
        return sum;
    }
};
