// SPDX-License-Identifier: Apache-2.0
#include "io/file_listing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "io/parquet_testing.h"

namespace icebound::io {
namespace {

using testing::Directory;
using ::testing::ElementsAre;
using testing::Engine;
using ::testing::HasSubstr;

class FileListingTest : public ::testing::Test {
 protected:
  void Touch(const std::string& name, const std::string& content = "x") {
    std::filesystem::create_directories(std::filesystem::path(directory_ / name).parent_path());
    std::ofstream(directory_ / name) << content;
  }
  arrow::Result<std::vector<std::string>> List(const std::string& pattern) {
    ARROW_ASSIGN_OR_RAISE(const Location location, engine_.file_systems->Resolve(directory_ / pattern));
    ARROW_ASSIGN_OR_RAISE(const FileListing listing, FileListing::List(location, {".parquet"}, consumer_.get()));
    std::vector<std::string> names;
    for (int64_t i = 0; i < listing.size(); ++i) names.push_back(listing.path(i).substr(directory_.path().size() + 1));
    return names;
  }
  std::vector<std::string> Names(const std::string& pattern) {
    auto names = List(pattern);
    EXPECT_TRUE(names.ok()) << names.status().ToString();
    return names.ValueOr({});
  }

  Directory directory_;
  Engine engine_;
  std::unique_ptr<memory::MemoryConsumer> consumer_ = engine_.ledger->AddConsumer("listing");
};

TEST(GlobPattern, MatchesNames) {
  const auto matches = [](std::string_view pattern, std::string_view name) { return MatchesPattern(pattern, name); };
  EXPECT_TRUE(matches("*.parquet", "a.parquet"));
  EXPECT_TRUE(matches("*.parquet", ".parquet"));
  EXPECT_FALSE(matches("*.parquet", "a.parquet.tmp"));
  EXPECT_TRUE(matches("a?c", "abc"));
  EXPECT_FALSE(matches("a?c", "ac"));
  EXPECT_TRUE(matches("[a-c]1", "b1"));
  EXPECT_FALSE(matches("[a-c]1", "d1"));
  EXPECT_TRUE(matches("[!a-c]1", "d1"));
  EXPECT_FALSE(matches("[!a-c]1", "a1"));
  EXPECT_TRUE(matches("[]x]", "]"));
  EXPECT_TRUE(matches("[*]", "*"));
  EXPECT_FALSE(matches("[*]", "a"));
  EXPECT_TRUE(matches("[a", "[a"));
  EXPECT_TRUE(matches("*a*b*c*", "xxaxxbxxcxx"));
  EXPECT_FALSE(matches("*a*b*c*", "xxaxxcxxbxx"));
  EXPECT_TRUE(matches("**", "anything"));
  EXPECT_TRUE(matches("", ""));
  EXPECT_FALSE(matches("", "a"));
  // Would take exponential time in a matcher that tries every way.
  EXPECT_FALSE(matches("*a*a*a*a*a*a*a*a*a*a*a*a*b", std::string(200, 'a')));
}

TEST(GlobPattern, ExpandsBraces) {
  EXPECT_THAT(ExpandBraces("a").ValueOrDie(), ElementsAre("a"));
  EXPECT_THAT(ExpandBraces("{b,a}.x").ValueOrDie(), ElementsAre("a.x", "b.x"));
  EXPECT_THAT(ExpandBraces("{a,b}{1,2}").ValueOrDie(), ElementsAre("a1", "a2", "b1", "b2"));
  EXPECT_THAT(ExpandBraces("{a,{b,c}d}").ValueOrDie(), ElementsAre("a", "bd", "cd"));
  EXPECT_THAT(ExpandBraces("{a").ValueOrDie(), ElementsAre("{a"));
  EXPECT_THAT(ExpandBraces("x{}y").ValueOrDie(), ElementsAre("xy"));
  std::string bomb;
  for (int i = 0; i < 20; ++i) bomb += "{a,b,c}";
  EXPECT_EQ(GetErrorKind(ExpandBraces(bomb).status()), ErrorKind::kInvalidInput);
}

TEST_F(FileListingTest, AFileIsItself) {
  Touch("a.txt", "12345");
  EXPECT_THAT(Names("a.txt"), ElementsAre("a.txt"));
  const Location location = engine_.file_systems->Resolve(directory_ / "a.txt").ValueOrDie();
  const FileListing listing = FileListing::List(location, {".parquet"}, consumer_.get()).ValueOrDie();
  EXPECT_EQ(listing.version(0).size_bytes, 5);
  EXPECT_GT(listing.version(0).modified_ns, 0);
  EXPECT_EQ(listing.total_bytes(), 5);
}

TEST_F(FileListingTest, ANameWithPatternCharactersThatExistsIsItself) {
  Touch("a[1]*.parquet");
  Touch("a1x.parquet");
  EXPECT_THAT(Names("a[1]*.parquet"), ElementsAre("a[1]*.parquet"));
  EXPECT_THAT(Names("a[1]?.parquet"), ElementsAre("a1x.parquet"));
}

TEST_F(FileListingTest, ADirectoryIsItsParquetFilesAtAnyDepth) {
  Touch("d/b.parquet");
  Touch("d/a.parquet");
  Touch("d/x/y/c.parquet");
  Touch("d/year=2024/d.parquet");
  Touch("d/_day=1/e.parquet");
  Touch("d/_SUCCESS");
  Touch("d/notes.txt");
  Touch("d/_temporary/t.parquet");
  Touch("d/_hidden.parquet");
  Touch("d/.hidden.parquet");
  Touch("d/.dir/t.parquet");
  EXPECT_THAT(Names("d"),
              ElementsAre("d/_day=1/e.parquet", "d/a.parquet", "d/b.parquet", "d/x/y/c.parquet", "d/year=2024/d.parquet"));
  EXPECT_THAT(Names("d/"),
              ElementsAre("d/_day=1/e.parquet", "d/a.parquet", "d/b.parquet", "d/x/y/c.parquet", "d/year=2024/d.parquet"));
}

TEST_F(FileListingTest, PatternsMatchNamesAndDirectories) {
  Touch("a1.parquet");
  Touch("a2.parquet");
  Touch("b1.parquet");
  Touch("x/a1.parquet");
  Touch("x/z/a1.parquet");
  Touch("y/a1.parquet");
  Touch("_h.parquet");
  EXPECT_THAT(Names("*.parquet"), ElementsAre("a1.parquet", "a2.parquet", "b1.parquet"));
  EXPECT_THAT(Names("a?.parquet"), ElementsAre("a1.parquet", "a2.parquet"));
  EXPECT_THAT(Names("{a,b}1.parquet"), ElementsAre("a1.parquet", "b1.parquet"));
  EXPECT_THAT(Names("*/a1.parquet"), ElementsAre("x/a1.parquet", "y/a1.parquet"));
  EXPECT_THAT(Names("{x,y,nothing}/*.parquet"), ElementsAre("x/a1.parquet", "y/a1.parquet"));
  EXPECT_THAT(Names("**/a1.parquet"), ElementsAre("a1.parquet", "x/a1.parquet", "x/z/a1.parquet", "y/a1.parquet"));
  EXPECT_THAT(Names("**/z/*"), ElementsAre("x/z/a1.parquet"));
  EXPECT_THAT(Names("x/**"), ElementsAre("x/a1.parquet", "x/z/a1.parquet"));
  EXPECT_THAT(Names("_*.parquet"), ElementsAre("_h.parquet"));
  EXPECT_THAT(Names("{a1,a?}.parquet"), ElementsAre("a1.parquet", "a2.parquet"));  // found twice, listed once
}

TEST_F(FileListingTest, NothingFoundNamesWhatWasAskedFor) {
  Touch("d/readme.txt");
  for (const std::string& pattern : {std::string("missing.parquet"), std::string("*.parquet"), std::string("d"),
                                     std::string("none/*.parquet"), std::string("d/readme.txt/x")}) {
    const auto names = List(pattern);
    ASSERT_FALSE(names.ok()) << pattern;
    EXPECT_EQ(GetErrorKind(names.status()), ErrorKind::kNotFound) << names.status().ToString();
    EXPECT_THAT(names.status().message(), HasSubstr(directory_ / pattern));
  }
}

TEST_F(FileListingTest, LinksInACircleAreNotFollowed) {
  Touch("d/a.parquet");
  Touch("other.parquet");
  std::filesystem::create_directory_symlink(directory_ / "d", directory_ / "d/loop");
  std::filesystem::create_directory_symlink(directory_.path(), directory_ / "d/up");
  EXPECT_THAT(Names("d"), ElementsAre("d/a.parquet", "d/up/other.parquet"));
  EXPECT_THAT(Names("d/**/*.parquet"), ElementsAre("d/a.parquet"));
}

TEST_F(FileListingTest, ManyNamesAreKeptCompactlyAndCharged) {
  for (int i = 0; i < 3000; ++i) Touch(fmt::format("many/{:06}.parquet", i));
  const Location location = engine_.file_systems->Resolve(directory_ / "many").ValueOrDie();
  const FileListing listing = FileListing::List(location, {".parquet"}, consumer_.get()).ValueOrDie();
  EXPECT_EQ(listing.size(), 3000);
  EXPECT_EQ(listing.path(1234), directory_ / "many/001234.parquet");
  EXPECT_GT(consumer_->reserved_bytes(), 3000 * 60);
  EXPECT_LT(consumer_->reserved_bytes(), 3000 * 250);
}

TEST(FileSystems, TellPathsFromUris) {
  EXPECT_EQ(SchemeOf("s3://bucket/key"), "s3");
  EXPECT_EQ(SchemeOf("S3A://bucket/key"), "s3a");
  EXPECT_EQ(SchemeOf("file:///x"), "file");
  EXPECT_EQ(SchemeOf("file:/x"), "file");
  EXPECT_EQ(SchemeOf("/a/b"), "");
  EXPECT_EQ(SchemeOf("a:b"), "");
  EXPECT_EQ(SchemeOf("c:/x"), "");
  EXPECT_EQ(SchemeOf("data/x://y"), "");
  EXPECT_EQ(SchemeOf(""), "");
}

TEST(FileSystems, ResolveLocalNames) {
  Engine engine;
  const auto resolve = [&](const std::string& text) { return engine.file_systems->Resolve(text); };
  EXPECT_EQ(resolve("a/b%20c.parquet")->path, "a/b%20c.parquet");
  EXPECT_EQ(resolve("file:///a/b%20c.parquet")->path, "/a/b c.parquet");
  EXPECT_EQ(resolve("file:/a/b")->path, "/a/b");
  EXPECT_EQ(resolve("file://localhost/a/b")->path, "/a/b");
  EXPECT_TRUE(resolve("/a")->is_local);
  EXPECT_EQ(GetErrorKind(resolve("file://elsewhere/a").status()), ErrorKind::kInvalidInput);
  EXPECT_EQ(GetErrorKind(resolve("").status()), ErrorKind::kInvalidInput);
  EXPECT_EQ(GetErrorKind(resolve("http://x/y").status()), ErrorKind::kUnsupported);
  EXPECT_EQ(GetErrorKind(resolve("s3://").status()), ErrorKind::kInvalidInput);
}

TEST(FileSystems, UnknownStoragePropertiesAreNotIgnored) {
  Engine engine(64, 1, {{"s3.endpoint", "http://127.0.0.1:1"}, {"s3.acess-key-id", "typo"}});
  const auto location = engine.file_systems->Resolve("s3://bucket/key");
  EXPECT_EQ(GetErrorKind(location.status()), ErrorKind::kUnsupported);
  EXPECT_THAT(location.status().message(), HasSubstr("s3.acess-key-id"));
  Engine half(64, 1, {{"s3.access-key-id", "only"}});
  EXPECT_EQ(GetErrorKind(half.file_systems->Resolve("s3://bucket/key").status()), ErrorKind::kInvalidInput);
}

TEST(FileSystems, CloudNamesBecomeBucketAndKey) {
  Engine engine(
      64, 1, {{"s3.endpoint", "http://127.0.0.1:1"}, {"adls.account-key", "a2V5"}, {"gcs.service.host", "http://127.0.0.1:1"}});
  const Location s3 = engine.file_systems->Resolve("s3a://bucket/a/b?c#d.parquet").ValueOrDie();
  EXPECT_EQ(s3.path, "bucket/a/b?c#d.parquet");
  EXPECT_EQ(s3.prefix, "s3a://");
  EXPECT_EQ(s3.file_system->type_name(), "s3");
  const Location azure = engine.file_systems->Resolve("abfss://container@account.dfs.core.windows.net/a/b").ValueOrDie();
  EXPECT_EQ(azure.path, "container/a/b");
  EXPECT_EQ(azure.file_system->type_name(), "abfs");
  const Location google = engine.file_systems->Resolve("gs://bucket/a").ValueOrDie();
  EXPECT_EQ(google.path, "bucket/a");
  EXPECT_EQ(google.file_system->type_name(), "gcs");
}

}  // namespace
}  // namespace icebound::io
