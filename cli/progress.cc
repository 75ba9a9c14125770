// SPDX-License-Identifier: Apache-2.0
#include "progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

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

std::string Duration(double seconds) {
  const auto whole = static_cast<int64_t>(seconds + 0.5);
  if (whole >= 3600) return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
  if (whole >= 100) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} s", whole);
}

}  // namespace

std::string ProgressLine::Text(const QueryMetrics& metrics, int width) {
  const bool input_is_left = metrics.input_rows < metrics.input_rows_expected || metrics.input_rows_expected == 0;
  const Phase phase = metrics.output_rows > 0 && (!input_is_left || metrics.output_rows_expected > 0) ? Phase::kWriting
                      : input_is_left                                                                 ? Phase::kReading
                                                                                                      : Phase::kWorking;
  const int64_t done = phase == Phase::kWriting ? metrics.output_rows : metrics.input_rows;
  if (phase != phase_) {
    phase_ = phase;
    began_seconds_ = metrics.wall_seconds;
    began_rows_ = phase == Phase::kWriting ? 0 : done;
  }
  const int64_t total = phase == Phase::kWriting ? metrics.output_rows_expected : metrics.input_rows_expected;
  const double seconds = metrics.wall_seconds - began_seconds_;
  const double rate = seconds > 0 ? static_cast<double>(done - began_rows_) / seconds : 0;

  const auto fits = [width](const std::string& text) { return static_cast<int>(text.size()) <= width; };
  std::string text = phase == Phase::kReading ? "reading" : phase == Phase::kWorking ? "working" : "writing";
  const size_t bar_at = text.size();
  const double fraction = total > 0 ? std::min(1.0, static_cast<double>(done) / static_cast<double>(total)) : 0;
  if (total > 0) text += fmt::format(" {:3.0f}%", fraction * 100);
  std::string separator = " ";
  const auto add = [&](const std::string& field) {
    if (!fits(text + separator + field)) return;
    text += separator + field;
    separator = ", ";
  };
  if (phase != Phase::kWorking && rate > 0) {
    add(Rows(static_cast<int64_t>(rate)) + " rows/s");
    // Early on the rate says little.
    const bool settled = seconds > 1 && done - began_rows_ > total / 50;
    if (total > done && settled) add(Duration(static_cast<double>(total - done) / rate) + " left");
  }
  constexpr int kBarWidth = 20;
  const int filled = static_cast<int>(fraction * kBarWidth);
  const std::string bar = fmt::format(" [{:=<{}}{:<{}}]", "", filled, "", kBarWidth - filled);
  if (total > 0 && fits(text + bar)) text.insert(bar_at, bar);
  add(fmt::format("memory {}/{}", Bytes(metrics.reserved_bytes), Bytes(metrics.memory_limit_bytes)));
  if (metrics.spilled_bytes > 0) add("spilled " + Bytes(metrics.spilled_bytes));
  add(Rows(done) + " rows");
  if (phase == Phase::kReading) add("read " + Bytes(metrics.input_bytes));
  text.resize(std::min(text.size(), static_cast<size_t>(std::max(width, 0))));
  return text;
}

ProgressBar::ProgressBar(Counters counters, bool enabled) : counters_(std::move(counters)) {
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
  ProgressLine line;
  while (!stopping_) {
    PrintMessage("\r\x1b[K" + line.Text(counters_(), TerminalWidth() - 1));
    wake_.wait_for(lock, kRedraw, [this] { return stopping_; });
  }
  PrintMessage("\r\x1b[K");
}

}  // namespace icebound::cli
