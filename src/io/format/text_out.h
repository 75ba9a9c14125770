// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/io/interfaces.h>
#include <arrow/status.h>

#include <string>
#include <string_view>

namespace icebound::io {

/// Where text goes, piece by piece.
class TextOut {
 public:
  virtual ~TextOut() = default;
  virtual arrow::Status Append(std::string_view text) = 0;
};

/// Text on its way to a stream, in pieces of about 64 KiB; what is larger goes straight through, so that memory stays small
/// whatever a cell holds.
class TextBuffer final : public TextOut {
 public:
  explicit TextBuffer(arrow::io::OutputStream* out) : out_(out) { text_.reserve(kFlushBytes); }

  arrow::Status Append(std::string_view text) override {
    if (text_.size() + text.size() > kFlushBytes) {
      ARROW_RETURN_NOT_OK(Flush());
      if (text.size() > kFlushBytes) return out_->Write(text.data(), static_cast<int64_t>(text.size()));
    }
    text_.append(text);
    return arrow::Status::OK();
  }
  arrow::Status Flush() {
    ARROW_RETURN_NOT_OK(out_->Write(text_.data(), static_cast<int64_t>(text_.size())));
    text_.clear();
    return arrow::Status::OK();
  }

 private:
  static constexpr size_t kFlushBytes = size_t{64} << 10;

  arrow::io::OutputStream* const out_;
  std::string text_;
};

/// Text collected in a string.
class TextString final : public TextOut {
 public:
  arrow::Status Append(std::string_view text) override {
    text_.append(text);
    return arrow::Status::OK();
  }
  void Clear() { text_.clear(); }
  std::string_view view() const { return text_; }

 private:
  std::string text_;
};

}  // namespace icebound::io
