// SPDX-License-Identifier: Apache-2.0
#include "bridge/unified_partition.h"

#include <arrow/api.h>
#include <arrow/builder.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace icebound::bridge {
namespace {

using iceberg::Literal;
using iceberg::PartitionField;
using iceberg::PartitionSpec;
using iceberg::TableMetadata;
using iceberg::Transform;
using iceberg::TransformKind;
using iceberg::TypeId;

PartitionField FieldOf(int32_t source_id, int32_t field_id, std::string name, Transform transform) {
  return {.source_ids = {source_id}, .field_id = field_id, .name = std::move(name), .transform = transform};
}

TableMetadata Metadata(std::vector<PartitionSpec> specs) {
  using iceberg::Field;
  using iceberg::Type;
  TableMetadata metadata;
  metadata.schemas = {iceberg::Schema::Make(0, Type::Struct({Field{.id = 1, .name = "k", .type = Type::Of(TypeId::kLong)},
                                                             Field{.id = 2, .name = "d", .type = Type::Of(TypeId::kDate)},
                                                             Field{.id = 3, .name = "u", .type = Type::Of(TypeId::kUuid)}}))
                          .ValueOrDie()};
  metadata.partition_specs = std::move(specs);
  metadata.default_spec_id = metadata.partition_specs.back().spec_id;
  return metadata;
}

std::string Appended(const UnifiedPartition& unified, int32_t spec_id, std::vector<Literal> values) {
  auto builder = arrow::MakeBuilder(unified.type()).ValueOrDie();
  iceberg::DataFile file;
  file.file_path = "x.parquet";
  file.spec_id = spec_id;
  file.partition = std::move(values);
  const arrow::Status status = unified.Append(file, static_cast<arrow::StructBuilder*>(builder.get()));
  if (!status.ok()) return status.message();
  return builder->Finish().ValueOrDie()->GetScalar(0).ValueOrDie()->ToString();
}

TEST(UnifiedPartition, HasTheFieldsOfAllSpecsByTheirIds) {
  const Transform identity;
  const TableMetadata metadata =
      Metadata({{.spec_id = 0, .fields = {}},
                {.spec_id = 1, .fields = {FieldOf(1, 1000, "k", identity)}},
                {.spec_id = 2, .fields = {FieldOf(2, 1001, "d", identity), FieldOf(1, 1000, "k", identity)}}});
  const UnifiedPartition unified(metadata);
  EXPECT_EQ(unified.type()->ToString(), "struct<k: int64, d: date32[day]>");
  EXPECT_EQ(Appended(unified, 0, {}), "{k:int64 = null, d:date32[day] = null}");
  EXPECT_EQ(Appended(unified, 1, {int64_t{7}}), "{k:int64 = 7, d:date32[day] = null}");
  EXPECT_EQ(Appended(unified, 2, {int32_t{1}, int64_t{8}}), "{k:int64 = 8, d:date32[day] = 1970-01-02}");
  EXPECT_EQ(Appended(unified, 2, {Literal(), int64_t{8}}), "{k:int64 = 8, d:date32[day] = null}");
  EXPECT_NE(Appended(unified, 5, {}).find("x.parquet has partition spec 5"), std::string::npos);
}

TEST(UnifiedPartition, KeepsWhatADroppedFieldWas) {
  const TableMetadata metadata =
      Metadata({{.spec_id = 0, .fields = {FieldOf(1, 1000, "b", *Transform::Bucket(4))}},
                {.spec_id = 1, .fields = {FieldOf(1, 1000, "b", Transform::Of(TransformKind::kVoid))}}});
  const UnifiedPartition unified(metadata);
  EXPECT_EQ(Appended(unified, 0, {int32_t{3}}), "{b:int32 = 3}");
  EXPECT_EQ(Appended(unified, 1, {Literal()}), "{b:int32 = null}");
}

TEST(UnifiedPartition, TellsFieldsOfOneNameApart) {
  const TableMetadata metadata = Metadata({{.spec_id = 0, .fields = {FieldOf(1, 1000, "p", *Transform::Bucket(4))}},
                                           {.spec_id = 1, .fields = {FieldOf(2, 1001, "p", Transform())}}});
  EXPECT_EQ(UnifiedPartition(metadata).type()->ToString(), "struct<p_1000: int32, p_1001: date32[day]>");
}

TEST(UnifiedPartition, ShowsUuidsAsText) {
  const TableMetadata metadata = Metadata({{.spec_id = 0, .fields = {FieldOf(3, 1000, "u", Transform())}}});
  EXPECT_EQ(Appended(UnifiedPartition(metadata), 0, {std::string("\0\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17", 16)}),
            "{u:string = 00010203-0405-0607-0809-0a0b0c0d0e0f}");
}

TEST(UnifiedPartition, IsEmptyWithoutFields) { EXPECT_TRUE(UnifiedPartition(Metadata({{.spec_id = 0, .fields = {}}})).empty()); }

}  // namespace
}  // namespace icebound::bridge
