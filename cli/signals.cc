// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <atomic>
#include <csignal>

#include "commands.h"

namespace icebound::cli {
namespace {

constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGHUP};

// A signal handler can only reach globals; lock-free, so safe inside one.
std::atomic<Session*> g_session{nullptr};
std::atomic<bool> g_requested{false};

extern "C" void OnSignal(int signal) {
  g_requested = true;
  Session* session = g_session.load();
  if (session != nullptr) session->CancelAll();
  // A second signal means "now": the default action ends the process, and the next start removes its spill directory.
  std::signal(signal, SIG_DFL);
}

}  // namespace

CancelOnSignal::CancelOnSignal() {
  for (const int number : kSignals) {
    // What the caller had ignored (nohup, a background job of a script) stays ignored.
    if (std::signal(number, OnSignal) == SIG_IGN) std::signal(number, SIG_IGN);
  }
}

CancelOnSignal::~CancelOnSignal() { g_session = nullptr; }

void CancelOnSignal::Watch(std::shared_ptr<Session> session) {
  session_ = std::move(session);
  g_session = session_.get();
  if (g_requested) session_->CancelAll();  // it came while the session was opened
}

}  // namespace icebound::cli
