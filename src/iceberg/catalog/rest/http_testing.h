// SPDX-License-Identifier: Apache-2.0
//
// For tests: an HTTP server on a port of this machine whose answers are scripted.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>

namespace icebound::iceberg {

struct SeenRequest {
  std::string method;
  std::string target;  ///< path and query as they came
  std::string head;    ///< everything before the body
  std::string body;
  int connection = 0;

  std::string line() const { return method + " " + target; }
  /// The value of a header; empty when there is none.
  std::string header(const std::string& name) const {
    std::string lower = head;
    for (char& c : lower) c = static_cast<char>(std::tolower(c));
    const size_t at = lower.find("\r\n" + name + ":");
    if (at == std::string::npos) return "";
    size_t begin = at + name.size() + 3;
    while (begin < head.size() && head[begin] == ' ') ++begin;
    return head.substr(begin, head.find("\r\n", begin) - begin);
  }
};

/// The bytes of an answer.
inline std::string Answer(int status, const std::string& body = "", const std::string& headers = "",
                          const std::string& content_type = "application/json") {
  return fmt::format("HTTP/1.1 {} X\r\nContent-Type: {}\r\nContent-Length: {}\r\n{}\r\n{}", status, content_type, body.size(),
                     headers, body);
}
inline std::string ErrorAnswer(int status, const std::string& type, const std::string& message, const std::string& headers = "") {
  return Answer(status, fmt::format(R"({{"error": {{"message": "{}", "type": "{}", "code": {}}}}})", message, type, status),
                headers);
}
/// Instead of an answer.
inline const std::string kHang = "hang";
inline const std::string kClose = "close";

class ScriptedServer {
 public:
  using Script = std::function<std::string(const SeenRequest&)>;

  explicit ScriptedServer(Script script) : script_(std::move(script)) {
    listener_ = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    socklen_t size = sizeof(address);
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    EXPECT_EQ(listen(listener_, 16), 0);
    acceptor_ = std::thread([this] { Accept(); });
  }
  ~ScriptedServer() {
    stopping_ = true;
    acceptor_.join();
    for (std::thread& thread : connections_) thread.join();
    close(listener_);
  }

  std::string url() const { return fmt::format("http://127.0.0.1:{}", port_); }
  int port() const { return port_; }
  std::vector<SeenRequest> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  std::vector<std::string> lines() const {
    std::vector<std::string> lines;
    for (const SeenRequest& request : requests()) lines.push_back(request.line());
    return lines;
  }

 private:
  bool Readable(int fd) const {
    while (!stopping_) {
      pollfd waited{fd, POLLIN, 0};
      if (poll(&waited, 1, 20) > 0) return true;
    }
    return false;
  }

  void Accept() {
    for (int number = 1; Readable(listener_); ++number) {
      const int fd = accept(listener_, nullptr, nullptr);
      connections_.emplace_back([this, fd, number] {
        Serve(fd, number);
        close(fd);
      });
    }
  }

  void Serve(int fd, int number) {
    std::string bytes;
    while (true) {
      SeenRequest request;
      request.connection = number;
      size_t head_end;
      while ((head_end = bytes.find("\r\n\r\n")) == std::string::npos) {
        if (!Receive(fd, &bytes)) return;
      }
      request.head = bytes.substr(0, head_end + 2);
      bytes.erase(0, head_end + 4);
      const std::string length = request.header("content-length");
      const size_t body_bytes = length.empty() ? 0 : std::stoul(length);
      while (bytes.size() < body_bytes) {
        if (!Receive(fd, &bytes)) return;
      }
      request.body = bytes.substr(0, body_bytes);
      bytes.erase(0, body_bytes);
      const size_t space = request.head.find(' ');
      request.method = request.head.substr(0, space);
      request.target = request.head.substr(space + 1, request.head.find(' ', space + 1) - space - 1);
      std::string answer;
      {
        const std::lock_guard lock(mutex_);
        requests_.push_back(request);
        answer = script_(request);
      }
      if (answer == kHang) {
        char byte;
        while (!stopping_) {
          pollfd waited{fd, POLLIN, 0};
          if (poll(&waited, 1, 20) > 0 && recv(fd, &byte, 1, 0) <= 0) return;
        }
      }
      if (answer == kClose || answer == kHang) return;
      // An answer that says more than it holds ends with its connection.
      const size_t body = answer.find("\r\n\r\n");
      const size_t said = answer.find("Content-Length: ");
      const bool whole = request.method == "HEAD" || (body != std::string::npos && said != std::string::npos &&
                                                      std::stoul(answer.substr(said + 16)) == answer.size() - body - 4);
      if (request.method == "HEAD") answer.resize(body + 4);
      for (size_t sent = 0; sent < answer.size();) {
        const ssize_t now = send(fd, answer.data() + sent, answer.size() - sent, MSG_NOSIGNAL);
        if (now <= 0) return;
        sent += static_cast<size_t>(now);
      }
      if (!whole) return;
    }
  }

  bool Receive(int fd, std::string* bytes) const {
    char buffer[4096];
    if (!Readable(fd)) return false;
    const ssize_t got = recv(fd, buffer, sizeof(buffer), 0);
    if (got <= 0) return false;
    bytes->append(buffer, static_cast<size_t>(got));
    return true;
  }

  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> stopping_ = false;
  mutable std::mutex mutex_;
  Script script_;                      // guarded by mutex_
  std::vector<SeenRequest> requests_;  // guarded by mutex_
  std::vector<std::thread> connections_;
  std::thread acceptor_;
};

}  // namespace icebound::iceberg
