// SPDX-License-Identifier: Apache-2.0
#include "iceberg/catalog/pyiceberg_config.h"

#include <pwd.h>
#include <unistd.h>
#include <yaml-cpp/yaml.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/error.h"

extern char** environ;

namespace icebound::iceberg {
namespace {

constexpr std::string_view kPrefix = "pyiceberg_";
constexpr int kNestingMax = 100;

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

void ReplaceAll(std::string* text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text->find(from, at)) != std::string::npos; at += to.size()) text->replace(at, from.size(), to);
}

/// YAML's words for null are text here. The parser has taken them for null; what was written is at the node's mark.
std::string NullText(const YAML::Node& node, const std::string& source) {
  const auto at = static_cast<size_t>(node.Mark().pos);
  for (const std::string_view word : {"~", "null", "Null", "NULL"}) {
    if (at > source.size() || !std::string_view(source).substr(at).starts_with(word)) continue;
    const size_t end = at + word.size();
    if (end >= source.size() || source[end] == '\n' || source[end] == '\r' || source[end] == ' ') return std::string(word);
  }
  return "";
}

class YamlReader {
 public:
  YamlReader(const std::string& file, const std::string& source) : file_(file), source_(source) {}

  arrow::Result<ConfigValue> Read(const YAML::Node& node, int depth) const {
    ConfigValue value;
    if (depth > kNestingMax) return Fault(node, fmt::format("more than {} levels", kNestingMax));
    if (node.IsNull()) {
      value.text = NullText(node, source_);
    } else if (node.IsScalar()) {
      value.text = node.Scalar();
    } else if (node.IsMap()) {
      value.is_map = true;
      for (const auto& member : node) {
        if (!member.first.IsScalar()) return Fault(member.first, "a key is no text");
        ARROW_ASSIGN_OR_RAISE(ConfigValue inner, Read(member.second, depth + 1));
        const auto [place, is_new] = value.members.emplace(Lower(member.first.Scalar()), std::move(inner));
        if (!is_new) return Fault(member.first, fmt::format("key '{}' stands here twice", member.first.Scalar()));
      }
    } else {
      return Fault(node, "lists are not used in this file");
    }
    return value;
  }

 private:
  arrow::Status Fault(const YAML::Node& node, std::string_view what) const {
    return MakeError(ErrorKind::kInvalidInput, "{}, line {}: {}", file_, node.Mark().line + 1, what);
  }

  const std::string& file_;
  const std::string& source_;
};

arrow::Result<ConfigValue> ReadFile(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  std::stringstream content;
  content << stream.rdbuf();
  // An empty file fails to put anything into the stream; what counts is that it could be read.
  if (!stream) return MakeError(ErrorKind::kIo, "cannot read {}", file);
  const std::string source = content.str();
  try {
    const YAML::Node root = YAML::Load(source);
    if (root.IsNull()) return ConfigValue{.is_map = true};
    if (!root.IsMap()) return MakeError(ErrorKind::kInvalidInput, "{} is not made of names and values", file);
    return YamlReader(file, source).Read(root, 0);
  } catch (const YAML::Exception& fault) {
    return MakeError(ErrorKind::kInvalidInput, "{}, line {}: {}", file, fault.mark.line + 1, fault.msg);
  }
}

/// The path that a variable's name stands for.
std::vector<std::string> SplitVariable(std::string key) {
  std::vector<std::string> path;
  while (path.size() < 2) {
    const size_t cut = key.find("__");
    if (cut == std::string::npos) break;
    path.push_back(key.substr(0, cut));
    key.erase(0, cut + 2);
  }
  path.push_back(std::move(key));
  for (std::string& part : path) {
    ReplaceAll(&part, "__", ".");
    ReplaceAll(&part, "_", "-");
  }
  return path;
}

arrow::Status SetVariable(const std::string& variable, const std::vector<std::string>& path, const std::string& text,
                          ConfigValue* root) {
  ConfigValue* place = root;
  for (size_t i = 0; i + 1 < path.size(); ++i) {
    const auto [member, is_new] = place->members.try_emplace(path[i], ConfigValue{.is_map = true});
    if (!member->second.is_map) {
      return MakeError(ErrorKind::kInvalidInput,
                       "environment variable {}: '{}' is a value in the configuration, and holds no others", variable, path[i]);
    }
    place = &member->second;
  }
  place->members[path.back()] = ConfigValue{.text = text};
  return arrow::Status::OK();
}

}  // namespace

arrow::Result<ConfigSurroundings> ConfigSurroundings::OfThisProcess() {
  ConfigSurroundings result;
  const char* home = nullptr;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    result.environment.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    if (text.substr(0, equals) == "HOME") home = *entry + equals + 1;
  }
  if (home != nullptr) {
    result.home_directory = home;
  } else if (const passwd* user = getpwuid(getuid()); user != nullptr) {
    result.home_directory = user->pw_dir;
  }
  std::error_code error;
  result.working_directory = std::filesystem::current_path(error).string();
  if (error) return MakeError(ErrorKind::kIo, "the working directory is gone: {}", error.message());
  return result;
}

arrow::Result<PyIcebergConfig> PyIcebergConfig::Load(const ConfigSurroundings& surroundings) {
  PyIcebergConfig config;
  config.root_.is_map = true;
  const std::string* home = FindValue(surroundings.environment, "PYICEBERG_HOME");
  for (const std::string& directory :
       {home == nullptr ? std::string() : *home, surroundings.home_directory, surroundings.working_directory}) {
    if (directory.empty()) continue;
    const std::string file = (std::filesystem::path(directory) / ".pyiceberg.yaml").string();
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(file, ignored)) continue;
    if (std::filesystem::file_size(file, ignored) == 0) continue;
    ARROW_ASSIGN_OR_RAISE(ConfigValue root, ReadFile(file));
    if (root.members.empty()) continue;
    config.root_ = std::move(root);
    config.file_ = file;
    break;
  }
  for (const auto& [variable, text] : surroundings.environment) {
    const std::string lower = Lower(variable);
    if (!lower.starts_with(kPrefix)) continue;
    ARROW_RETURN_NOT_OK(SetVariable(variable, SplitVariable(lower.substr(kPrefix.size())), text, &config.root_));
  }
  return config;
}

arrow::Result<std::string> PyIcebergConfig::default_catalog_name() const {
  const auto found = root_.members.find("default-catalog");
  if (found == root_.members.end()) return "default";
  if (found->second.is_map) return MakeError(ErrorKind::kInvalidInput, "default-catalog is no name in PyIceberg's configuration");
  return found->second.text.empty() ? "default" : found->second.text;
}

arrow::Result<const ConfigValue*> PyIcebergConfig::Catalogs() const {
  const auto found = root_.members.find("catalog");
  if (found == root_.members.end()) return nullptr;
  if (found->second.is_map) return &found->second;
  return MakeError(ErrorKind::kInvalidInput, "'catalog' in PyIceberg's configuration holds no catalogs, but '{}'",
                   found->second.text);
}

arrow::Result<std::vector<std::string>> PyIcebergConfig::catalog_names() const {
  ARROW_ASSIGN_OR_RAISE(const ConfigValue* catalogs, Catalogs());
  std::vector<std::string> names;
  if (catalogs == nullptr) return names;
  for (const auto& [name, value] : catalogs->members) names.push_back(name);
  return names;
}

arrow::Result<std::optional<StringPairs>> PyIcebergConfig::CatalogProperties(std::string_view name) const {
  ARROW_ASSIGN_OR_RAISE(const ConfigValue* catalogs, Catalogs());
  if (catalogs == nullptr) return std::nullopt;
  const auto found = catalogs->members.find(Lower(name));
  if (found == catalogs->members.end()) return std::nullopt;
  if (!found->second.is_map) {
    return MakeError(ErrorKind::kInvalidInput, "catalog {} in PyIceberg's configuration has no properties, but is '{}'", name,
                     found->second.text);
  }
  StringPairs properties;
  for (const auto& [key, value] : found->second.members) {
    if (value.is_map) {
      return MakeError(ErrorKind::kInvalidInput, "property {} of catalog {} in PyIceberg's configuration is no text", key, name);
    }
    properties.emplace_back(key, value.text);
  }
  return properties;
}

StringPairs MergeProperties(StringPairs under, const StringPairs& over) {
  for (const auto& [key, value] : over) {
    bool found = false;
    for (auto& [under_key, under_value] : under) {
      if (under_key != key) continue;
      found = true;
      if (!value.empty()) under_value = value;
    }
    if (!found) under.emplace_back(key, value);
  }
  return under;
}

}  // namespace icebound::iceberg
