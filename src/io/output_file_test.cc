// SPDX-License-Identifier: Apache-2.0
#include "io/output_file.h"

#include <arrow/filesystem/mockfs.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "base/injection.h"
#include "io/output_testing.h"
#include "io/parquet_testing.h"

namespace icebound::io {
namespace {

using testing::Directory;
using testing::FileContent;
using testing::Names;
using testing::PutFile;
using Strings = std::vector<std::string>;

arrow::Status WriteText(OutputFile* file, std::string_view text) {
  return file->Write(text.data(), static_cast<int64_t>(text.size()));
}

TEST(LocalOutputFile, IsInvisibleUntilFinish) {
  Directory directory;
  auto file = OutputFile::CreateLocal(directory / "out.bin").ValueOrDie();
  ASSERT_STATUS_OK(WriteText(file.get(), "hello "));
  ASSERT_STATUS_OK(WriteText(file.get(), "world"));
  EXPECT_EQ(file->bytes_written(), 11);
  EXPECT_FALSE(std::filesystem::exists(directory / "out.bin"));
  ASSERT_STATUS_OK(file->Finish());
  EXPECT_EQ(Names(directory.path()), Strings{"out.bin"});
  EXPECT_EQ(FileContent(directory / "out.bin"), "hello world");
}

TEST(LocalOutputFile, AbortAndDestructionLeaveNothing) {
  Directory directory;
  auto file = OutputFile::CreateLocal(directory / "out.bin").ValueOrDie();
  ASSERT_STATUS_OK(WriteText(file.get(), "hello"));
  file->Abort();
  file->Abort();
  EXPECT_TRUE(Names(directory.path()).empty());
  file = OutputFile::CreateLocal(directory / "out.bin").ValueOrDie();
  ASSERT_STATUS_OK(WriteText(file.get(), "hello"));
  file.reset();
  EXPECT_TRUE(Names(directory.path()).empty());
}

TEST(LocalOutputFile, ReplacesAnExistingFileOnlyAtFinishAndKeepsItsMode) {
  Directory directory;
  PutFile(directory / "out.bin", "old");
  ASSERT_EQ(chmod((directory / "out.bin").c_str(), 0640), 0);
  auto file = OutputFile::CreateLocal(directory / "out.bin").ValueOrDie();
  ASSERT_STATUS_OK(WriteText(file.get(), "new"));
  EXPECT_EQ(FileContent(directory / "out.bin"), "old");
  file->Abort();
  EXPECT_EQ(FileContent(directory / "out.bin"), "old");
  file = OutputFile::CreateLocal(directory / "out.bin").ValueOrDie();
  ASSERT_STATUS_OK(WriteText(file.get(), "new"));
  ASSERT_STATUS_OK(file->Finish());
  EXPECT_EQ(FileContent(directory / "out.bin"), "new");
  struct stat info;
  ASSERT_EQ(stat((directory / "out.bin").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
}

TEST(LocalOutputFile, NewFilesObeyTheUmask) {
  Directory directory;
  const mode_t before = umask(027);
  auto file = OutputFile::CreateLocal(directory / "out.bin").ValueOrDie();
  ASSERT_STATUS_OK(file->Finish());
  umask(before);
  struct stat info;
  ASSERT_EQ(stat((directory / "out.bin").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
}

TEST(LocalOutputFile, FollowsASymbolicLink) {
  Directory directory;
  PutFile(directory / "target.bin", "old");
  ASSERT_EQ(symlink("target.bin", (directory / "link.bin").c_str()), 0);
  auto file = OutputFile::CreateLocal(directory / "link.bin").ValueOrDie();
  ASSERT_STATUS_OK(WriteText(file.get(), "new"));
  ASSERT_STATUS_OK(file->Finish());
  EXPECT_TRUE(std::filesystem::is_symlink(directory / "link.bin"));
  EXPECT_EQ(FileContent(directory / "target.bin"), "new");
}

TEST(LocalOutputFile, RelativePathsAndLongNames) {
  Directory directory;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(directory.path());
  const std::string name(250, 'n');
  auto file = OutputFile::CreateLocal(name).ValueOrDie();
  std::filesystem::current_path(before);  // the target was resolved when it was named
  ASSERT_STATUS_OK(file->Finish());
  EXPECT_EQ(Names(directory.path()), Strings{name});
}

TEST(LocalOutputFile, RefusesBadTargets) {
  Directory directory;
  std::filesystem::create_directory(directory / "folder");
  PutFile(directory / "plain", "x");
  PutFile(directory / "read-only.bin", "x");
  ASSERT_EQ(chmod((directory / "read-only.bin").c_str(), 0444), 0);
  const auto create = [&](const std::string& path) { return OutputFile::CreateLocal(path).status(); };
  ASSERT_FAILS(ErrorKind::kInvalidInput, "it is a folder", create(directory / "folder"));
  ASSERT_FAILS(ErrorKind::kInvalidInput, "it is a folder", create(directory / "new/"));
  ASSERT_FAILS(ErrorKind::kInvalidInput, "read-only", create(directory / "read-only.bin"));
  ASSERT_FAILS(ErrorKind::kNotFound, "does not exist", create(directory / "missing/out.bin"));
  ASSERT_FAILS(ErrorKind::kInvalidInput, "not a folder", create(directory / "plain/out.bin"));
  ASSERT_FAILS(ErrorKind::kInvalidInput, "empty", create(""));
  ASSERT_FAILS(ErrorKind::kInvalidInput, "zero byte", create(std::string("a\0b", 3)));
  EXPECT_EQ(FileContent(directory / "read-only.bin"), "x");
  EXPECT_EQ(Names(directory.path()), (Strings{"folder", "plain", "read-only.bin"}));
}

TEST(LocalOutputFile, RefusesAClosedFolder) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  Directory directory;
  std::filesystem::create_directory(directory / "closed");
  ASSERT_EQ(chmod((directory / "closed").c_str(), 0555), 0);
  ASSERT_FAILS(ErrorKind::kIo, "Permission denied", OutputFile::CreateLocal(directory / "closed/out.bin").status());
}

TEST(LocalOutputFile, WritesToADeviceDirectly) {
  auto file = OutputFile::CreateLocal("/dev/null").ValueOrDie();
  ASSERT_STATUS_OK(WriteText(file.get(), "gone"));
  ASSERT_STATUS_OK(file->Finish());
  file = OutputFile::CreateLocal("/dev/full").ValueOrDie();
  ASSERT_FAILS(ErrorKind::kDiskLimit, "/dev/full", WriteText(file.get(), "too much"));
  file->Abort();
  EXPECT_TRUE(std::filesystem::exists("/dev/full"));
}

TEST(LocalOutputFile, WritesToAFifo) {
  Directory directory;
  ASSERT_EQ(mkfifo((directory / "pipe").c_str(), 0600), 0);
  std::string read;
  std::thread reader([&] { read = FileContent(directory / "pipe"); });
  auto file = OutputFile::CreateLocal(directory / "pipe").ValueOrDie();
  ASSERT_STATUS_OK(WriteText(file.get(), "through"));
  ASSERT_STATUS_OK(file->Finish());
  reader.join();
  EXPECT_EQ(read, "through");
}

TEST(LocalOutputFile, FailuresLeaveTheOldFileAndNothingElse) {
  Directory directory;
  PutFile(directory / "out.bin", "old");
  for (const char* point : {"output.create", "output.write", "output.sync", "output.rename"}) {
    ScopedInjection failure(point, ScopedInjection::FailOnHit(1, MakeError(ErrorKind::kDiskLimit, "injected at {}", point)));
    const arrow::Status status = [&]() -> arrow::Status {
      ARROW_ASSIGN_OR_RAISE(auto file, OutputFile::CreateLocal(directory / "out.bin"));
      ARROW_RETURN_NOT_OK(WriteText(file.get(), "new"));
      return file->Finish();
    }();
    ASSERT_FAILS(ErrorKind::kDiskLimit, point, status);
    EXPECT_EQ(Names(directory.path()), Strings{"out.bin"}) << point;
    EXPECT_EQ(FileContent(directory / "out.bin"), "old") << point;
  }
}

TEST(LocalOutputDirectory, AppearsWhole) {
  Directory directory;
  auto output = OutputDirectory::CreateLocal(directory / "parts").ValueOrDie();
  for (const char* name : {"a", "b"}) {
    OutputFile* file = output->Create(name).ValueOrDie();
    ASSERT_STATUS_OK(WriteText(file, name));
    ASSERT_STATUS_OK(output->Seal(file));
  }
  OutputFile* open = output->Create("c").ValueOrDie();
  ASSERT_STATUS_OK(WriteText(open, "c"));
  EXPECT_FALSE(std::filesystem::exists(directory / "parts"));
  ASSERT_STATUS_OK(output->Finish());
  EXPECT_EQ(Names(directory.path()), Strings{"parts"});
  EXPECT_EQ(Names(directory / "parts"), (Strings{"a", "b", "c"}));
  EXPECT_EQ(FileContent(directory / "parts/b"), "b");
}

TEST(LocalOutputDirectory, MayBeAnEmptyFolderButNothingElse) {
  Directory directory;
  std::filesystem::create_directory(directory / "empty");
  auto output = OutputDirectory::CreateLocal(directory / "empty/").ValueOrDie();
  OutputFile* file = output->Create("a").ValueOrDie();
  ASSERT_STATUS_OK(WriteText(file, "a"));
  ASSERT_STATUS_OK(output->Finish());
  EXPECT_EQ(Names(directory / "empty"), Strings{"a"});
  PutFile(directory / "file", "x");
  ASSERT_FAILS(ErrorKind::kInvalidInput, "not empty", OutputDirectory::CreateLocal(directory / "empty").status());
  ASSERT_FAILS(ErrorKind::kInvalidInput, "not a folder", OutputDirectory::CreateLocal(directory / "file").status());
  ASSERT_FAILS(ErrorKind::kNotFound, "does not exist", OutputDirectory::CreateLocal(directory / "missing/parts").status());
}

TEST(LocalOutputDirectory, FailuresLeaveNothing) {
  Directory directory;
  for (const char* point : {"output.write", "output.sync", "output.rename"}) {
    ScopedInjection failure(point, ScopedInjection::FailFromHit(1, MakeError(ErrorKind::kDiskLimit, "injected at {}", point)));
    const arrow::Status status = [&]() -> arrow::Status {
      ARROW_ASSIGN_OR_RAISE(auto output, OutputDirectory::CreateLocal(directory / "parts"));
      ARROW_ASSIGN_OR_RAISE(OutputFile * file, output->Create("a"));
      ARROW_RETURN_NOT_OK(WriteText(file, "a"));
      ARROW_RETURN_NOT_OK(output->Seal(file));
      return output->Finish();
    }();
    ASSERT_FAILS(ErrorKind::kDiskLimit, point, status);
    EXPECT_TRUE(Names(directory.path()).empty()) << point;
  }
}

TEST(RemoteOutput, FilesAndDirectories) {
  auto store = std::make_shared<arrow::fs::internal::MockFileSystem>(arrow::fs::kNoTime);
  ASSERT_STATUS_OK(store->CreateDir("bucket"));
  auto file = OutputFile::CreateRemote(store, "bucket/a", "mock://bucket/a").ValueOrDie();
  ASSERT_STATUS_OK(WriteText(file.get(), "hello"));
  ASSERT_STATUS_OK(file->Finish());
  file->Abort();                                       // nothing left to abort
  ASSERT_STATUS_OK(store->CreateDir("bucket/parts"));  // this store, unlike object stores, has folders
  ASSERT_STATUS_OK(store->CreateDir("bucket/other"));
  auto directory = OutputDirectory::CreateRemote(store, "bucket/parts", "mock://bucket/parts").ValueOrDie();
  for (const char* name : {"0", "1"}) {
    OutputFile* part = directory->Create(name).ValueOrDie();
    ASSERT_STATUS_OK(WriteText(part, name));
    ASSERT_STATUS_OK(directory->Seal(part));
  }
  ASSERT_STATUS_OK(directory->Finish());
  EXPECT_EQ(store->AllFiles().size(), 3u);
  ASSERT_FAILS(ErrorKind::kInvalidInput, "mock://bucket/parts",
               OutputDirectory::CreateRemote(store, "bucket/parts", "mock://bucket/parts").status());
  auto aborted = OutputDirectory::CreateRemote(store, "bucket/other", "mock://bucket/other").ValueOrDie();
  OutputFile* part = aborted->Create("0").ValueOrDie();
  ASSERT_STATUS_OK(aborted->Seal(part));
  aborted->Abort();
  EXPECT_EQ(store->AllFiles().size(), 3u);
}

}  // namespace
}  // namespace icebound::io
