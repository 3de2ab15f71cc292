// Both directions of the worker protocol.
#pragma once

#include "json.hpp"
#include "tape.hpp"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <fcntl.h>
#include <iostream>
#include <mutex>
#include <unistd.h>

class Link {
public:
    std::atomic<bool> stopped = false;

    // Takes standard output for itself; what a library prints goes to the log.
    Link() : output(fcntl(1, F_DUPFD_CLOEXEC, 3)) { dup2(2, 1); }

    // Says it; from then on the parent may say what is due: "end" if that is `stop` alone, "" after the last message.
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
            const std::string type = message["type"].text, was = due;
            if (type == "stop" && (due == "end" || due == "ack")) {
                // One that crosses `end` changes nothing.
                if (due == "end") stopped = true;
            } else if (type == due && type != "end") {
                due = type == "go" ? "end" : "nothing";
                inbox.push_back(std::move(message));
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
