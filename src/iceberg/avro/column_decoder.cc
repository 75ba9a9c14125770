// SPDX-License-Identifier: Apache-2.0
#include "iceberg/avro/column_decoder.h"

#include <arrow/array/util.h>
#include <arrow/buffer_builder.h>
#include <arrow/extension_type.h>
#include <arrow/util/key_value_metadata.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <limits>

#include "base/error.h"
#include "iceberg/avro/value_skip.h"

namespace icebound::iceberg::avro {

namespace {

/// The validity of a nested column; no bitmap when nothing is null.
class Validity {
 public:
  explicit Validity(arrow::MemoryPool* pool) : bits_(pool) {}
  arrow::Status Append(bool is_valid) { return bits_.Append(is_valid); }
  int64_t length() const { return bits_.length(); }
  arrow::Result<std::shared_ptr<arrow::Buffer>> Finish(int64_t* null_count) {
    *null_count = bits_.false_count();
    std::shared_ptr<arrow::Buffer> buffer;
    ARROW_RETURN_NOT_OK(bits_.Finish(&buffer));
    return *null_count == 0 ? nullptr : buffer;
  }

 private:
  arrow::TypedBufferBuilder<bool> bits_;
};

std::string PathText(const std::vector<std::string_view>& path) { return fmt::format("{}", fmt::join(path, ".")); }

/// Names the column in a failure.
arrow::Status InColumn(std::string_view name, const arrow::Status& status) {
  return WithContext(status, ErrorKind::kCorruptData, fmt::format("column {}", name));
}

class ConstantDecoder final : public ColumnDecoder {
 public:
  ConstantDecoder(std::shared_ptr<arrow::DataType> type, std::shared_ptr<arrow::Scalar> value, int64_t value_bytes,
                  DecoderContext* context)
      : type_(std::move(type)), value_(std::move(value)), value_bytes_(value_bytes), context_(context) {}

  arrow::Status Decode(BlockCursor*) override { return AppendNull(); }
  arrow::Status AppendNull() override {
    ++length_;
    context_->batch_bytes += value_bytes_;
    return arrow::Status::OK();
  }
  int64_t length() const override { return length_; }
  arrow::Result<std::shared_ptr<arrow::Array>> Finish() override {
    const int64_t length = std::exchange(length_, 0);
    if (value_ == nullptr) return arrow::MakeArrayOfNull(type_, length, context_->pool);
    return arrow::MakeArrayFromScalar(*value_, length, context_->pool);
  }

 private:
  const std::shared_ptr<arrow::DataType> type_;
  const std::shared_ptr<arrow::Scalar> value_;  // null for null
  const int64_t value_bytes_;
  DecoderContext* const context_;
  int64_t length_ = 0;
};

/// What the file says is always null.
class NullDecoder final : public ColumnDecoder {
 public:
  explicit NullDecoder(std::unique_ptr<ColumnDecoder> nulls) : nulls_(std::move(nulls)) {}
  arrow::Status Decode(BlockCursor*) override { return nulls_->AppendNull(); }
  arrow::Status AppendNull() override { return nulls_->AppendNull(); }
  int64_t length() const override { return nulls_->length(); }
  arrow::Result<std::shared_ptr<arrow::Array>> Finish() override { return nulls_->Finish(); }

 private:
  const std::unique_ptr<ColumnDecoder> nulls_;
};

class NullableDecoder final : public ColumnDecoder {
 public:
  NullableDecoder(const Node& stored, bool may_be_null, std::unique_ptr<ColumnDecoder> inner)
      : stored_(stored), may_be_null_(may_be_null), inner_(std::move(inner)) {}

  arrow::Status Decode(BlockCursor* cursor) override {
    int64_t branch = 0;
    ARROW_RETURN_NOT_OK(cursor->ReadBranch(stored_.branches.size(), &branch));
    if (stored_.branches[static_cast<size_t>(branch)]->type != Type::kNull) return inner_->Decode(cursor);
    if (!may_be_null_) return MakeError(ErrorKind::kCorruptData, "null in a column that is required");
    return inner_->AppendNull();
  }
  arrow::Status AppendNull() override { return inner_->AppendNull(); }
  int64_t length() const override { return inner_->length(); }
  arrow::Result<std::shared_ptr<arrow::Array>> Finish() override { return inner_->Finish(); }

 private:
  const Node& stored_;
  const bool may_be_null_;
  const std::unique_ptr<ColumnDecoder> inner_;
};

class ExtensionDecoder final : public ColumnDecoder {
 public:
  ExtensionDecoder(std::shared_ptr<arrow::DataType> type, std::unique_ptr<ColumnDecoder> storage)
      : type_(std::move(type)), storage_(std::move(storage)) {}
  arrow::Status Decode(BlockCursor* cursor) override { return storage_->Decode(cursor); }
  arrow::Status AppendNull() override { return storage_->AppendNull(); }
  int64_t length() const override { return storage_->length(); }
  arrow::Result<std::shared_ptr<arrow::Array>> Finish() override {
    ARROW_ASSIGN_OR_RAISE(const auto storage, storage_->Finish());
    return arrow::ExtensionType::WrapArray(type_, storage);
  }

 private:
  const std::shared_ptr<arrow::DataType> type_;
  const std::unique_ptr<ColumnDecoder> storage_;
};

class StructDecoder final : public ColumnDecoder {
 public:
  StructDecoder(const Node& record, std::shared_ptr<arrow::DataType> type, std::vector<int> targets,
                std::vector<std::unique_ptr<ColumnDecoder>> children, std::vector<int> constants, DecoderContext* context)
      : record_(record),
        type_(std::move(type)),
        targets_(std::move(targets)),
        children_(std::move(children)),
        constants_(std::move(constants)),
        validity_(context->pool) {}

  arrow::Status Decode(BlockCursor* cursor) override {
    for (size_t i = 0; i < targets_.size(); ++i) {
      const Field& field = record_.fields[i];
      const arrow::Status status =
          targets_[i] < 0 ? SkipValue(*field.type, cursor) : children_[static_cast<size_t>(targets_[i])]->Decode(cursor);
      if (!status.ok()) [[unlikely]]
        return InColumn(field.name, status);
    }
    for (const int constant : constants_) ARROW_RETURN_NOT_OK(children_[static_cast<size_t>(constant)]->Decode(cursor));
    return validity_.Append(true);
  }
  arrow::Status AppendNull() override {
    for (const auto& child : children_) ARROW_RETURN_NOT_OK(child->AppendNull());
    return validity_.Append(false);
  }
  int64_t length() const override { return validity_.length(); }
  arrow::Result<std::shared_ptr<arrow::Array>> Finish() override {
    const int64_t length = validity_.length();
    int64_t nulls = 0;
    ARROW_ASSIGN_OR_RAISE(auto validity, validity_.Finish(&nulls));
    arrow::ArrayVector children;
    for (const auto& child : children_) {
      ARROW_ASSIGN_OR_RAISE(children.emplace_back(), child->Finish());
    }
    return std::make_shared<arrow::StructArray>(type_, length, children, std::move(validity), nulls);
  }

 private:
  const Node& record_;
  const std::shared_ptr<arrow::DataType> type_;
  const std::vector<int> targets_;  // for each field of the record: the child, or -1
  const std::vector<std::unique_ptr<ColumnDecoder>> children_;
  const std::vector<int> constants_;  // children that the record does not have
  Validity validity_;
};

/// Lists and maps. A map's items are a key and a value, which form a struct of their own.
template <typename Offset>
class ListDecoder final : public ColumnDecoder {
 public:
  ListDecoder(const Node& stored, std::shared_ptr<arrow::DataType> type, std::unique_ptr<ColumnDecoder> key,
              std::unique_ptr<ColumnDecoder> value, DecoderContext* context)
      : stored_(stored),
        type_(std::move(type)),
        key_(std::move(key)),
        value_(std::move(value)),
        offsets_(context->pool),
        validity_(context->pool),
        context_(context) {}

  arrow::Status Decode(BlockCursor* cursor) override {
    ARROW_RETURN_NOT_OK(AppendOffset());
    for (;;) {
      int64_t count = 0;
      ARROW_RETURN_NOT_OK(cursor->ReadItemCount(stored_.min_item_bytes(), &count));
      if (count == 0) return validity_.Append(true);
      if (count > std::numeric_limits<Offset>::max() - value_->length()) {
        return MakeError(ErrorKind::kUnsupported, "a batch of more than {} list elements", std::numeric_limits<Offset>::max());
      }
      for (int64_t i = 0; i < count; ++i) {
        if (key_ != nullptr) ARROW_RETURN_NOT_OK(key_->Decode(cursor));
        ARROW_RETURN_NOT_OK(value_->Decode(cursor));
      }
    }
  }
  arrow::Status AppendNull() override {
    ARROW_RETURN_NOT_OK(AppendOffset());
    return validity_.Append(false);
  }
  int64_t length() const override { return validity_.length(); }
  arrow::Result<std::shared_ptr<arrow::Array>> Finish() override {
    const int64_t length = validity_.length();
    ARROW_RETURN_NOT_OK(AppendOffset());
    ARROW_ASSIGN_OR_RAISE(auto offsets, offsets_.Finish());
    int64_t nulls = 0;
    ARROW_ASSIGN_OR_RAISE(auto validity, validity_.Finish(&nulls));
    ARROW_ASSIGN_OR_RAISE(auto items, value_->Finish());
    if (key_ != nullptr) {
      ARROW_ASSIGN_OR_RAISE(auto keys, key_->Finish());
      const auto& item_type = static_cast<const arrow::MapType&>(*type_).value_type();
      items = std::make_shared<arrow::StructArray>(item_type, items->length(), arrow::ArrayVector{keys, items});
    }
    return arrow::MakeArray(
        arrow::ArrayData::Make(type_, length, {std::move(validity), std::move(offsets)}, {items->data()}, nulls));
  }

 private:
  arrow::Status AppendOffset() {
    context_->batch_bytes += sizeof(Offset);
    return offsets_.Append(static_cast<Offset>(value_->length()));
  }

  const Node& stored_;
  const std::shared_ptr<arrow::DataType> type_;
  const std::unique_ptr<ColumnDecoder> key_;  // null for lists
  const std::unique_ptr<ColumnDecoder> value_;
  arrow::TypedBufferBuilder<Offset> offsets_;
  Validity validity_;
  DecoderContext* const context_;
};

using DecoderPtr = std::unique_ptr<ColumnDecoder>;

arrow::Result<DecoderPtr> MakeInner(const Node& stored, const std::shared_ptr<arrow::DataType>& wanted,
                                    std::vector<std::string_view>* path, DecoderContext* context);

arrow::Status DoesNotFit(const Node& stored, const arrow::DataType& wanted, const std::vector<std::string_view>& path) {
  return MakeError(ErrorKind::kUnsupported, "column {}: the file has {}, which cannot be read as {}", PathText(path),
                   ToString(stored), wanted.ToString());
}

arrow::Result<DecoderPtr> MakeStruct(const Node& stored, const std::shared_ptr<arrow::DataType>& wanted,
                                     std::vector<std::string_view>* path, DecoderContext* context) {
  if (wanted->id() != arrow::Type::STRUCT) return DoesNotFit(stored, *wanted, *path);
  std::vector<int> targets = MatchFields(stored, wanted->fields(), path, *context);
  std::vector<DecoderPtr> children(static_cast<size_t>(wanted->num_fields()));
  for (size_t i = 0; i < targets.size(); ++i) {
    if (targets[i] < 0) continue;
    path->push_back(stored.fields[i].name);
    ARROW_ASSIGN_OR_RAISE(children[static_cast<size_t>(targets[i])],
                          MakeColumnDecoder(*stored.fields[i].type, *wanted->field(targets[i]), path, context));
    path->pop_back();
  }
  std::vector<int> constants;
  for (int i = 0; i < wanted->num_fields(); ++i) {
    if (children[static_cast<size_t>(i)] != nullptr) continue;
    constants.push_back(i);
    ARROW_ASSIGN_OR_RAISE(children[static_cast<size_t>(i)], MakeConstantDecoder(*wanted->field(i), context));
  }
  return std::make_unique<StructDecoder>(stored, wanted, std::move(targets), std::move(children), std::move(constants), context);
}

arrow::Result<DecoderPtr> MakeBelow(std::string_view name, const Node& stored, const arrow::Field& wanted,
                                    std::vector<std::string_view>* path, DecoderContext* context) {
  path->push_back(name);
  ARROW_ASSIGN_OR_RAISE(auto decoder, MakeColumnDecoder(stored, wanted, path, context));
  path->pop_back();
  return decoder;
}

arrow::Result<DecoderPtr> MakeCollection(const Node& stored, const std::shared_ptr<arrow::DataType>& wanted,
                                         std::vector<std::string_view>* path, DecoderContext* context) {
  static const Node kKeys = [] {
    Node node;
    node.type = Type::kString;
    return node;
  }();
  const bool is_map = stored.type == Type::kMap || stored.logical == LogicalType::kMap;
  if (wanted->id() == arrow::Type::MAP && is_map) {
    const auto& map = static_cast<const arrow::MapType&>(*wanted);
    const bool has_records = stored.type == Type::kArray;
    const Node& key_type = has_records ? *stored.element->fields[0].type : kKeys;
    const Node& value_type = has_records ? *stored.element->fields[1].type : *stored.element;
    ARROW_ASSIGN_OR_RAISE(auto key, MakeBelow("key", key_type, *map.key_field(), path, context));
    ARROW_ASSIGN_OR_RAISE(auto value, MakeBelow("value", value_type, *map.item_field(), path, context));
    return std::make_unique<ListDecoder<int32_t>>(stored, wanted, std::move(key), std::move(value), context);
  }
  if (stored.type == Type::kArray && (wanted->id() == arrow::Type::LIST || wanted->id() == arrow::Type::LARGE_LIST)) {
    ARROW_ASSIGN_OR_RAISE(auto value, MakeBelow("element", *stored.element, *wanted->field(0), path, context));
    if (wanted->id() == arrow::Type::LIST) {
      return std::make_unique<ListDecoder<int32_t>>(stored, wanted, nullptr, std::move(value), context);
    }
    return std::make_unique<ListDecoder<int64_t>>(stored, wanted, nullptr, std::move(value), context);
  }
  return DoesNotFit(stored, *wanted, *path);
}

arrow::Result<DecoderPtr> MakeInner(const Node& stored, const std::shared_ptr<arrow::DataType>& wanted,
                                    std::vector<std::string_view>* path, DecoderContext* context) {
  if (wanted->id() == arrow::Type::EXTENSION) {
    const auto& storage = static_cast<const arrow::ExtensionType&>(*wanted).storage_type();
    ARROW_ASSIGN_OR_RAISE(auto inner, MakeInner(stored, storage, path, context));
    return std::make_unique<ExtensionDecoder>(wanted, std::move(inner));
  }
  switch (stored.type) {
    case Type::kRecord:
      return MakeStruct(stored, wanted, path, context);
    case Type::kArray:
    case Type::kMap:
      return MakeCollection(stored, wanted, path, context);
    default:
      break;
  }
  ARROW_ASSIGN_OR_RAISE(auto leaf, MakeLeafDecoder(stored, wanted, context));
  if (leaf == nullptr) return DoesNotFit(stored, *wanted, *path);
  return leaf;
}

/// What a value of this type takes in a batch, roughly.
int64_t ValueBytes(const arrow::Scalar& value) {
  if (arrow::is_base_binary_like(value.type->id())) {
    const auto& buffer = static_cast<const arrow::BaseBinaryScalar&>(value).value;
    return 4 + (buffer == nullptr ? 0 : buffer->size());
  }
  return 16;
}

}  // namespace

int32_t FieldIdOf(const arrow::Field& field) {
  if (!field.HasMetadata()) return kNoId;
  const auto text = field.metadata()->Get("PARQUET:field_id");
  if (!text.ok()) return kNoId;
  int32_t id = kNoId;
  const auto parsed = std::from_chars(text->data(), text->data() + text->size(), id);
  return parsed.ec == std::errc() ? id : kNoId;
}

std::vector<int> MatchFields(const Node& record, const arrow::FieldVector& wanted, std::vector<std::string_view>* path,
                             const DecoderContext& context) {
  std::map<int32_t, int> by_id;
  std::map<std::string_view, int> by_name;  // fields of a variant have no ids
  for (size_t i = 0; i < wanted.size(); ++i) {
    const int32_t id = FieldIdOf(*wanted[i]);
    if (id != kNoId) {
      by_id.emplace(id, static_cast<int>(i));
    } else {
      by_name.emplace(wanted[i]->name(), static_cast<int>(i));
    }
  }
  std::vector<int> targets;
  std::vector<bool> taken(wanted.size());
  for (const Field& field : record.fields) {
    int32_t id = field.id;
    if (id == kNoId && *context.ids_by_name) {
      path->push_back(field.original_name.empty() ? field.name : field.original_name);
      id = (*context.ids_by_name)(*path).value_or(kNoId);
      path->pop_back();
    }
    int target = -1;
    if (const auto it = by_id.find(id); id != kNoId && it != by_id.end()) target = it->second;
    if (const auto it = by_name.find(field.name); id == kNoId && it != by_name.end()) target = it->second;
    if (target >= 0 && taken[static_cast<size_t>(target)]) target = -1;
    if (target >= 0) taken[static_cast<size_t>(target)] = true;
    targets.push_back(target);
  }
  return targets;
}

arrow::Result<DecoderPtr> MakeConstantDecoder(const arrow::Field& wanted, DecoderContext* context) {
  std::shared_ptr<arrow::Scalar> value;
  if (const auto it = context->defaults->find(FieldIdOf(wanted)); it != context->defaults->end()) value = it->second;
  if (value != nullptr && !value->type->Equals(wanted.type())) {
    return MakeError(ErrorKind::kInternal, "the default of column {} is {}, not {}", wanted.name(), value->type->ToString(),
                     wanted.type()->ToString());
  }
  const int64_t bytes = value == nullptr ? 1 : ValueBytes(*value);
  return std::make_unique<ConstantDecoder>(wanted.type(), std::move(value), bytes, context);
}

arrow::Result<DecoderPtr> MakeColumnDecoder(const Node& stored, const arrow::Field& wanted, std::vector<std::string_view>* path,
                                            DecoderContext* context) {
  const Node* type = stored.NonNull();
  if (type == nullptr) {
    // Nothing but null, or several types.
    return DoesNotFit(stored, *wanted.type(), *path);
  }
  if (type->type == Type::kNull) {
    return std::make_unique<NullDecoder>(std::make_unique<ConstantDecoder>(wanted.type(), nullptr, 1, context));
  }
  ARROW_ASSIGN_OR_RAISE(auto inner, MakeInner(*type, wanted.type(), path, context));
  if (stored.type != Type::kUnion) return inner;
  return std::make_unique<NullableDecoder>(stored, wanted.nullable(), std::move(inner));
}

}  // namespace icebound::iceberg::avro
