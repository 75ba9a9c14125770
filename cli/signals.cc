// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <csignal>

#include "commands.h"

namespace icebound::cli {
namespace {

// A signal handler can only reach globals; lock-free, so safe inside one.
std::atomic<Session*> g_session{nullptr};
std::atomic<bool> g_requested{false};

extern "C" void OnSignal(int signal) {
  g_requested = true;
  Session* session = g_session.load();
  if (session != nullptr) session->Cancel();
  // A second signal means "now": the default action ends the process, and the next start removes its spill directory.
  std::signal(signal, SIG_DFL);
}

}  // namespace

CancelOnSignal::CancelOnSignal(Session* session) {
  g_requested = false;
  g_session = session;
  std::signal(SIGINT, OnSignal);
  std::signal(SIGTERM, OnSignal);
}

CancelOnSignal::~CancelOnSignal() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  g_session = nullptr;
}

bool CancelOnSignal::requested() const { return g_requested; }

}  // namespace icebound::cli
