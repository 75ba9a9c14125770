// SPDX-License-Identifier: Apache-2.0
#include "expr/functions.h"

namespace icebound::expr {

FunctionRegistry::FunctionRegistry() {
  RegisterArithmetic(this);
  RegisterComparison(this);
  RegisterLogic(this);
  RegisterIn(this);
  RegisterPatterns(this);
  RegisterText(this);
  RegisterTextEditing(this);
  RegisterNumbers(this);
  RegisterConditional(this);
  RegisterIntervalArithmetic(this);
  RegisterDateTime(this);
  RegisterDateTimeFields(this);
  RegisterFormat(this);
  RegisterNested(this);
}

const FunctionRegistry& FunctionRegistry::Get() {
  static const FunctionRegistry* const registry = new FunctionRegistry();  // Never destroyed: expressions point into it.
  return *registry;
}

const FunctionFamily* FunctionRegistry::Find(std::string_view name) const {
  const auto found = families_.find(name);
  return found == families_.end() ? nullptr : &found->second;
}

std::vector<std::string_view> FunctionRegistry::Names() const {
  std::vector<std::string_view> names;
  names.reserve(families_.size());
  for (const auto& [name, family] : families_) names.push_back(name);
  return names;
}

void FunctionRegistry::Add(Function function) {
  functions_.push_back(std::move(function));
  const Function& added = functions_.back();
  FunctionFamily& family = families_[added.name];
  family.name = added.name;
  family.overloads.push_back(&added);
}

void FunctionRegistry::AddAlias(std::string_view alias, std::string_view name) {
  FunctionFamily family = families_.at(name);
  family.name = alias;
  families_[alias] = std::move(family);
}

void FunctionRegistry::SetResolver(std::string_view name, Resolver resolver) {
  families_[name].name = name;
  families_[name].resolver = resolver;
}

void FunctionRegistry::AddRewriter(std::string_view name, Rewriter rewriter) {
  families_[name].name = name;
  families_[name].rewriter = rewriter;
}

}  // namespace icebound::expr
