// SPDX-License-Identifier: Apache-2.0
//
// tests/interop holds the same kinds of input against PyIceberg itself.
#include "iceberg/catalog/pyiceberg_config.h"

#include <gmock/gmock.h>

#include <fstream>

#include "iceberg/catalog/catalog_testing.h"

namespace icebound::iceberg {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

class PyIcebergConfigTest : public testing::Test {
 protected:
  PyIcebergConfigTest() {
    for (const char* name : {"set", "home", "here"}) std::filesystem::create_directories(directory_ / name);
    around_.home_directory = directory_ / "home";
    around_.working_directory = directory_ / "here";
  }
  void Write(const std::string& where, const std::string& text) {
    std::ofstream(directory_ / (where + "/.pyiceberg.yaml")) << text;
  }
  PyIcebergConfig Load() {
    auto config = PyIcebergConfig::Load(around_);
    EXPECT_TRUE(config.ok()) << config.status().ToString();
    return config.ok() ? *config : PyIcebergConfig();
  }
  std::string Fault(const std::string& text) {
    Write("home", text);
    return PyIcebergConfig::Load(around_).status().message();
  }

  TemporaryDirectory directory_;
  ConfigSurroundings around_;
};

TEST_F(PyIcebergConfigTest, TheFirstFileCounts) {
  EXPECT_EQ(*Load().default_catalog_name(), "default");
  Write("here", "default-catalog: here\n");
  EXPECT_EQ(*Load().default_catalog_name(), "here");
  Write("home", "default-catalog: home\n");
  EXPECT_EQ(*Load().default_catalog_name(), "home");
  around_.environment = {{"PYICEBERG_HOME", directory_ / "set"}};
  EXPECT_EQ(*Load().default_catalog_name(), "home") << "there is none in the first";
  Write("set", "default-catalog: set\n");
  EXPECT_EQ(*Load().default_catalog_name(), "set");
  EXPECT_EQ(Load().file(), directory_ / "set/.pyiceberg.yaml");
}

TEST_F(PyIcebergConfigTest, ScalarsAreText) {
  Write("home",
        "Catalog:\n  Prod:\n    URI: sqlite:////x.db  # a comment\n    a: true\n    b: 010\n    c: ~\n    d: null\n    e:\n    "
        "f: 'q'\n");
  const PyIcebergConfig config = Load();
  EXPECT_THAT(*config.catalog_names(), ElementsAre("prod"));
  EXPECT_THAT(**config.CatalogProperties("PROD"),
              UnorderedElementsAre(Pair("uri", "sqlite:////x.db"), Pair("a", "true"), Pair("b", "010"), Pair("c", "~"),
                                   Pair("d", "null"), Pair("e", ""), Pair("f", "q")));
  EXPECT_FALSE(config.CatalogProperties("other")->has_value());
}

TEST_F(PyIcebergConfigTest, VariablesGoBeforeTheFile) {
  Write("home", "catalog:\n  prod:\n    uri: a\n    warehouse: w\n");
  around_.environment = {{"PYICEBERG_CATALOG__PROD__URI", "b"},
                         {"pyiceberg_catalog__prod__s3__access_key_id", "k"},
                         {"PYICEBERG_CATALOG__MY_OTHER__S3__A__B", "x"},
                         {"PYICEBERG_DEFAULT_CATALOG", "my-other"},
                         {"UNRELATED", "1"}};
  const PyIcebergConfig config = Load();
  EXPECT_THAT(**config.CatalogProperties("prod"),
              UnorderedElementsAre(Pair("uri", "b"), Pair("warehouse", "w"), Pair("s3.access-key-id", "k")));
  EXPECT_THAT(**config.CatalogProperties("my-other"), ElementsAre(Pair("s3.a.b", "x")));
  EXPECT_EQ(*config.default_catalog_name(), "my-other");
}

TEST_F(PyIcebergConfigTest, FaultsSayWhere) {
  EXPECT_THAT(Fault("a: 1\nb: [\n"), HasSubstr(".pyiceberg.yaml, line"));
  EXPECT_THAT(Fault("a: 1\na: 2\n"), HasSubstr("line 2: key 'a' stands here twice"));
  EXPECT_THAT(Fault("- a\n"), HasSubstr("names and values"));
  Write("home", "catalog: x\n");
  EXPECT_THAT(Load().CatalogProperties("x").status().message(), HasSubstr("'x'"));
  around_.environment = {{"PYICEBERG_CATALOG__PROD__URI", "b"}};
  EXPECT_THAT(PyIcebergConfig::Load(around_).status().message(), HasSubstr("PYICEBERG_CATALOG__PROD__URI"));
}

TEST(MergeProperties, EmptyValuesHideNothing) {
  EXPECT_THAT(MergeProperties({{"a", "1"}, {"b", "2"}}, {{"b", "3"}, {"a", ""}, {"c", ""}}),
              ElementsAre(Pair("a", "1"), Pair("b", "3"), Pair("c", "")));
}

}  // namespace
}  // namespace icebound::iceberg
