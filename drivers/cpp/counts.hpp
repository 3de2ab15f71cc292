// Clocks, resource usage, and histograms.
#pragma once

#include <algorithm>
#include <bit>
#include <chrono>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <sys/resource.h>
#include <time.h>
#include <vector>

// Its fields keep their order.
using Json = nlohmann::ordered_json;
using Nanoseconds = std::int64_t;
constexpr Nanoseconds second = 1'000'000'000;

// CLOCK_MONOTONIC.
inline Nanoseconds now() { return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1); }

inline std::string base64(const std::string& all) {
    static constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    for (std::size_t i = 0; i < all.size(); i += 3) {
        std::uint32_t three = 0;
        for (std::size_t j = i; j < i + 3; ++j) three = three << 8 | (j < all.size() ? static_cast<std::uint8_t>(all[j]) : 0);
        for (std::size_t j = 0; j < 4; ++j) text += i + j > all.size() ? '=' : digits[three >> (18 - 6 * j) & 63];
    }
    return text;
}

// An HdrHistogram of three digits up to an hour, in its V2 form: counts in ZigZag LEB128, and for a run of zeros its length below zero.
inline std::string histogram(const std::vector<Nanoseconds>& values) {
    constexpr Nanoseconds longest = 3600 * second;
    std::map<std::int64_t, std::int64_t> counts;
    for (const auto value : values) {
        const auto kept = std::clamp<Nanoseconds>(value, 1, longest);
        // Buckets of 2,048 values, each counted by its upper 11 bits.
        const auto bucket = std::max(static_cast<int>(std::bit_width(static_cast<std::uint64_t>(kept))) - 11, 0);
        ++counts[(std::int64_t{bucket} << 10) + (kept >> bucket)];
    }
    std::string body, head;
    const auto leb = [&](std::int64_t value) {
        auto left = static_cast<std::uint64_t>(value << 1 ^ value >> 63);
        for (; left > 127; left >>= 7) body += static_cast<char>(left | 128);
        body += static_cast<char>(left);
    };
    std::int64_t next = 0;
    for (const auto& [at, count] : counts) {
        if (at > next) leb(next - at);
        leb(count);
        next = at + 1;
    }
    const auto put = [&](std::uint64_t value, int bytes) {
        while (bytes-- > 0) head += static_cast<char>(value >> 8 * bytes);
    };
    put(0x1C849313, 4), put(body.size(), 4), put(0, 4), put(3, 4), put(1, 8), put(longest, 8), put(std::bit_cast<std::uint64_t>(1.0), 8);
    return base64(head + body);
}

// Time and resource usage of the process. A span lasts from the `after` of its beginning to the `at` of its end.
struct Edge {
    Nanoseconds at = now(), after = 0;
    rusage used{};

    static Edge current() {
        Edge edge;
        getrusage(RUSAGE_SELF, &edge.used);
        edge.after = now();
        return edge;
    }
    Json since(const Edge& begin) const {
        const auto time = [&](timeval rusage::*of) {
            return ((used.*of).tv_sec - (begin.used.*of).tv_sec) * 1'000'000 + (used.*of).tv_usec - (begin.used.*of).tv_usec;
        };
        const auto count = [&](long rusage::*of) { return used.*of - begin.used.*of; };
        return {{"type", "end"}, {"wall_ns", at - begin.after}, {"at_ns", at}, {"user_us", time(&rusage::ru_utime)},
                {"sys_us", time(&rusage::ru_stime)}, {"voluntary_switches", count(&rusage::ru_nvcsw)},
                {"involuntary_switches", count(&rusage::ru_nivcsw)}, {"minor_faults", count(&rusage::ru_minflt)},
                {"major_faults", count(&rusage::ru_majflt)}};
    }
};

// Time and the CPU time of all threads at one moment; the process' own misses up to 4 ms of each.
struct Moment {
    Nanoseconds at = 0, cpu = 0;

    static Moment current() {
        Moment moment;
        for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
            timespec used{};
            // As the kernel encodes the clock of a thread (CPUCLOCK_PERTHREAD and CPUCLOCK_SCHED).
            const auto clock = static_cast<clockid_t>(~std::stoul(task.path().filename()) << 3 | 6);
            if (clock_gettime(clock, &used) == 0) moment.cpu += used.tv_sec * second + used.tv_nsec;
        }
        moment.at = now();
        return moment;
    }
};
