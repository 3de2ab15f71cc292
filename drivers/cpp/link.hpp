// Both directions of the worker protocol.
#pragma once

#include "counts.hpp"

#include <atomic>
#include <condition_variable>
#include <fcntl.h>
#include <iostream>
#include <mutex>
#include <unistd.h>

class Link {
public:
    std::atomic<bool> stopped = false;

    // Takes standard output for itself; what a library prints goes to the log.
    Link() : output(fdopen(fcntl(1, F_DUPFD_CLOEXEC, 3), "w")) { dup2(2, 1); }

    // Says it; with `next`, the parent may say that from then on: "end" if that is `stop` alone, "" after the last message.
    void say(const Json& message, const char* next = nullptr) {
        const std::lock_guard lock(mutex);
        if (next) due = next;
        put(message);
    }
    // The last message: the lock is kept, so that no other follows.
    [[noreturn]] void fail(const std::string& kind, const std::string& message) {
        mutex.lock();
        std::cerr << "cqldyno worker: " << message << std::endl;
        put({{"type", "failed"}, {"kind", kind}, {"message", message}});
        _exit(1);
    }
    // Waits for what is due.
    Json hear() {
        std::unique_lock lock(mutex);
        arrived.wait(lock, [&] { return !heard.is_null(); });
        return std::exchange(heard, nullptr);
    }
    void listen() {
        for (std::string line; std::getline(std::cin, line);) {
            Json message = Json::parse(line, nullptr, false);
            if (!message.is_object() || !message["type"].is_string())
                fail("protocol", "A message of the worker protocol was expected, and `" + line.substr(0, 80) + "` was found.");
            std::unique_lock lock(mutex);
            const std::string type = message["type"], was = due;
            if (type == "stop" && (due == "end" || due == "ack")) {
                // One that crosses `end` changes nothing.
                if (due == "end") stopped = true;
            } else if (type == due && type != "end") {
                due = type == "go" ? "end" : "nothing";
                heard = std::move(message);
                arrived.notify_one();
            } else {
                lock.unlock();
                fail("protocol", "The parent said `" + type + "`, and `" + was + "` was due.");
            }
        }
        const std::lock_guard lock(mutex);
        if (!due.empty()) _exit(2);
    }

private:
    void put(const Json& message) {
        std::fputs((message.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n").c_str(), output);
        if (std::fflush(output) != 0) _exit(1);
    }

    std::FILE* const output;
    std::mutex mutex;
    std::condition_variable arrived;
    Json heard;
    std::string due;
};
