// SPDX-License-Identifier: Apache-2.0
#include "progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "standard_output.h"

namespace icebound::cli {
namespace {

/// A bar that appears at once only annoys: short statements end before this.
constexpr auto kFirstDraw = std::chrono::milliseconds(500);
constexpr auto kRedraw = std::chrono::milliseconds(100);

int TerminalWidth() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
}

std::string Bytes(int64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string Rows(int64_t rows) {
  if (rows >= 10'000'000) return fmt::format("{:.1f}M", static_cast<double>(rows) * 1e-6);
  if (rows >= 10'000) return fmt::format("{:.0f}k", static_cast<double>(rows) * 1e-3);
  return fmt::format("{}", rows);
}

}  // namespace

std::string ProgressText(const QueryMetrics& metrics, int width) {
  const bool reading = metrics.output_rows == 0;
  const int64_t total = metrics.input_rows_expected;
  const int64_t done = reading ? metrics.input_rows : metrics.output_rows;
  const double fraction = total > 0 ? std::min(1.0, static_cast<double>(done) / static_cast<double>(total)) : 0.0;
  std::string text = reading ? "reading " : "writing ";
  if (total > 0) {
    constexpr int kBarWidth = 20;
    const int filled = static_cast<int>(fraction * kBarWidth);
    text += fmt::format("[{:=<{}}{:<{}}] {:3.0f}% ", "", filled, "", kBarWidth - filled, fraction * 100);
  }
  text += Rows(done) + " rows";
  if (reading) text += ", " + Bytes(metrics.input_bytes);
  if (metrics.spilled_bytes > 0) text += ", spilled " + Bytes(metrics.spilled_bytes);
  text += fmt::format(", memory {}/{}", Bytes(metrics.reserved_bytes), Bytes(metrics.memory_limit_bytes));
  if (metrics.wall_seconds > 0) {
    text += fmt::format(", {}/s", Rows(static_cast<int64_t>(static_cast<double>(metrics.input_rows) / metrics.wall_seconds)));
    if (reading && fraction > 0.02) text += fmt::format(", {:.0f} s left", metrics.wall_seconds * (1 - fraction) / fraction);
  }
  if (static_cast<int>(text.size()) > width) text.resize(static_cast<size_t>(width));
  return text;
}

ProgressBar::ProgressBar(const Session& session, bool enabled) : session_(session) {
  if (enabled && isatty(STDERR_FILENO)) thread_ = std::thread([this] { Run(); });
}

void ProgressBar::Stop() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void ProgressBar::Run() {
  std::unique_lock lock(mutex_);
  if (wake_.wait_for(lock, kFirstDraw, [this] { return stopping_; })) return;
  while (!stopping_) {
    const std::string text = ProgressText(session_.metrics(), TerminalWidth() - 1);
    PrintMessage("\r\x1b[K" + text);
    wake_.wait_for(lock, kRedraw, [this] { return stopping_; });
  }
  PrintMessage("\r\x1b[K");
}

}  // namespace icebound::cli
