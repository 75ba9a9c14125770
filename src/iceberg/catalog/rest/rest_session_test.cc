// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "iceberg/catalog/rest/rest_testing.h"

namespace icebound::iceberg {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

const std::string kNoNamespaces = Answer(200, R"({"namespaces": []})");
const std::string kToken = "/v1/oauth/tokens";

std::string TokenAnswer(const std::string& token, const std::string& expires_in = "3600") {
  return Answer(200, fmt::format(R"({{"access_token": "{}", "token_type": "bearer", "expires_in": {}}})", token, expires_in));
}

/// Sets variables of the environment while it lives.
class ScopedVariables {
 public:
  explicit ScopedVariables(const StringPairs& variables) : variables_(variables) {
    for (const auto& [name, value] : variables_) setenv(name.c_str(), value.c_str(), 1);
  }
  ~ScopedVariables() {
    for (const auto& [name, value] : variables_) unsetenv(name.c_str());
  }

 private:
  const StringPairs variables_;
};

TEST(RestSession, MergesDefaultsOwnPropertiesAndOverridesInThisOrder) {
  ScriptedCatalog catalog({{"GET /v1/config", {Answer(200, R"({"defaults": {"a": "default", "b": "default", "c": "default"},
                                                              "overrides": {"c": "override", "prefix": "p%2Fq/r"}})")}},
                           {"GET /v1/p%2Fq/r/namespaces", {kNoNamespaces}}});
  const auto rest = catalog.MustOpen({{"b", "own"}, {"c", "own"}, {"warehouse", "s3://w/&x"}});
  EXPECT_EQ(*FindValue(rest->properties(), "a"), "default");
  EXPECT_EQ(*FindValue(rest->properties(), "b"), "own");
  EXPECT_EQ(*FindValue(rest->properties(), "c"), "override");
  ASSERT_TRUE(rest->ListNamespaces({}).ok());
  EXPECT_THAT(catalog.lines(), ElementsAre("GET /v1/config?warehouse=s3%3A%2F%2Fw%2F%26x", "GET /v1/p%2Fq/r/namespaces"));
}

TEST(RestSession, ConfigurationMayNameAnotherServer) {
  ScriptedCatalog other({{"GET /base/v1/namespaces", {kNoNamespaces}}});
  ScriptedCatalog first(
      {{"GET /v1/config", {Answer(200, R"({"overrides": {"uri": ")" + other.server().url() + R"(/base/"}})")}}});
  ASSERT_TRUE(first.MustOpen()->ListNamespaces({}).ok());
  EXPECT_THAT(other.lines(), ElementsAre("GET /base/v1/namespaces"));
}

TEST(RestSession, EndpointsThatAreNotListedAreNotAskedFor) {
  ScriptedCatalog catalog({{"GET /v1/config", {Answer(200, R"({"endpoints": ["GET /v1/{prefix}/namespaces"]})")}},
                           {"GET /v1/namespaces", {kNoNamespaces}}});
  const auto rest = catalog.MustOpen();
  EXPECT_TRUE(rest->ListNamespaces({}).ok());
  const arrow::Status refused = rest->RenameTable({{"a"}, "t"}, {{"a"}, "u"});
  EXPECT_EQ(KindOf(refused), ErrorKind::kUnsupported);
  EXPECT_THAT(refused.message(), HasSubstr("POST /v1/{prefix}/tables/rename"));
  EXPECT_THAT(catalog.lines(), SizeIs(2));
}

TEST(RestSession, SendsHeaders) {
  ScriptedCatalog catalog({});
  catalog.MustOpen({{"header.X-Project", "p1"}, {"header.x-iceberg-access-delegation", "remote-signing"}});
  const SeenRequest seen = catalog.last();
  EXPECT_EQ(seen.header("x-project"), "p1");
  EXPECT_EQ(seen.header("x-iceberg-access-delegation"), "remote-signing");
  EXPECT_THAT(seen.header("user-agent"), HasSubstr("icebound/"));
  EXPECT_EQ(seen.header("authorization"), "");
  catalog.MustOpen();
  EXPECT_EQ(catalog.last().header("x-iceberg-access-delegation"), "vended-credentials");
  EXPECT_EQ(KindOf(catalog.Open({{"header.X", "a\r\nY: b"}}).status()), ErrorKind::kInvalidInput);
}

TEST(RestSession, ATokenIsSentAsItIs) {
  ScriptedCatalog catalog({{"GET /v1/namespaces", {ErrorAnswer(401, "NotAuthorizedException", "no such token: s3cret-token")}}});
  const auto rest = catalog.MustOpen({{"token", "s3cret-token"}});
  EXPECT_EQ(catalog.last().header("authorization"), "Bearer s3cret-token");
  const arrow::Status refused = rest->ListNamespaces({}).status();
  EXPECT_EQ(KindOf(refused), ErrorKind::kInvalidInput);
  EXPECT_THAT(refused.message(), AllOf(HasSubstr("GET /v1/namespaces"), HasSubstr("401"), HasSubstr("token"),
                                       HasSubstr("NotAuthorizedException: no such token: ***"), Not(HasSubstr("s3cret"))));
  EXPECT_EQ(catalog.count("GET /v1/namespaces"), 1);
}

TEST(RestSession, ClientCredentialsBecomeATokenOnce) {
  ScriptedCatalog catalog({{"POST " + kToken, {TokenAnswer("tok-1")}}, {"GET /v1/namespaces", {kNoNamespaces}}});
  const auto rest = catalog.MustOpen({{"credential", "me:s3cr et&"}, {"scope", "s1 s2"}, {"audience", "a"}, {"token", "old"}});
  ASSERT_TRUE(rest->ListNamespaces({}).ok());
  EXPECT_THAT(catalog.lines(), ElementsAre("POST " + kToken, "GET /v1/config", "GET /v1/namespaces"));
  const auto requests = catalog.server().requests();
  EXPECT_EQ(requests[0].body, "grant_type=client_credentials&client_id=me&client_secret=s3cr%20et%26&scope=s1%20s2&audience=a");
  EXPECT_EQ(requests[0].header("content-type"), "application/x-www-form-urlencoded");
  EXPECT_EQ(requests[2].header("authorization"), "Bearer tok-1");
}

TEST(RestSession, TheTokenServerMayBeAnother) {
  ScriptedCatalog identity({{"POST /token", {TokenAnswer("tok", "\"3600\"")}}});
  ScriptedCatalog catalog({});
  catalog.MustOpen({{"credential", "only-secret"}, {"oauth2-server-uri", identity.server().url() + "/token"}});
  EXPECT_EQ(identity.last().body, "grant_type=client_credentials&client_secret=only-secret&scope=catalog");
  EXPECT_EQ(catalog.last().header("authorization"), "Bearer tok");
}

TEST(RestSession, ATokenIsRenewedBeforeItExpiresAndOnceWhenRefused) {
  ScriptedCatalog dying({{"POST " + kToken, {TokenAnswer("tok-1", "0"), TokenAnswer("tok-2", "0"), TokenAnswer("tok-3")}},
                         {"GET /v1/namespaces", {kNoNamespaces}}});
  const auto rest = dying.MustOpen({{"credential", "a:b-secret"}});
  ASSERT_TRUE(rest->ListNamespaces({}).ok());
  EXPECT_EQ(dying.last().header("authorization"), "Bearer tok-2");
  ASSERT_TRUE(rest->ListNamespaces({}).ok());
  ASSERT_TRUE(rest->ListNamespaces({}).ok());
  EXPECT_EQ(dying.last().header("authorization"), "Bearer tok-3");
  EXPECT_EQ(dying.count("POST"), 3);

  for (const int status : {401, 419}) {
    ScriptedCatalog refusing({{"POST " + kToken, {TokenAnswer("tok-1"), TokenAnswer("tok-2")}},
                              {"POST /v1/tables/rename", {ErrorAnswer(status, "Expired", "too old"), Answer(204)}}});
    EXPECT_TRUE(refusing.MustOpen({{"credential", "a:b-secret"}})->RenameTable({{"a"}, "t"}, {{"a"}, "u"}).ok());
    EXPECT_EQ(refusing.last().header("authorization"), "Bearer tok-2");
  }
  ScriptedCatalog never({{"POST " + kToken, {TokenAnswer("tok-1")}}, {"GET /v1/namespaces", {ErrorAnswer(401, "No", "no")}}});
  EXPECT_EQ(KindOf(never.MustOpen({{"credential", "a:b-secret"}})->ListNamespaces({}).status()), ErrorKind::kInvalidInput);
  EXPECT_EQ(never.count("GET /v1/namespaces"), 2);
}

TEST(RestSession, WrongCredentialsAreSaidWithoutThem) {
  for (const std::string& answer :
       {Answer(401, R"({"error": "invalid_client", "error_description": "wrong secret b-secret"})"),
        Answer(400, R"({"error": "invalid_scope"})"), Answer(200, R"({"token": "b-secret"})"), Answer(200, "b-secret")}) {
    ScriptedCatalog catalog({{"POST " + kToken, {answer}}});
    const arrow::Status refused = catalog.Open({{"credential", "a:b-secret"}}).status();
    EXPECT_FALSE(refused.ok());
    EXPECT_THAT(refused.message(), AllOf(HasSubstr(kToken), Not(HasSubstr("b-secret")))) << refused.ToString();
  }
}

TEST(RestSession, SignsForAws) {
  ScriptedCatalog catalog({});
  const StringPairs sigv4 = {{"rest.sigv4-enabled", "true"}, {"rest.signing-name", "glue"}, {"rest.signing-region", "eu-west-1"}};
  EXPECT_EQ(KindOf(catalog.Open(sigv4).status()), ErrorKind::kInvalidInput) << "no keys";
  {
    const ScopedVariables keys({{"AWS_ACCESS_KEY_ID", "AKENV"}, {"AWS_SECRET_ACCESS_KEY", "s"}, {"AWS_SESSION_TOKEN", "tok"}});
    catalog.MustOpen(sigv4);
  }
  EXPECT_THAT(catalog.last().header("authorization"),
              AllOf(HasSubstr("Credential=AKENV/"), HasSubstr("/eu-west-1/glue/aws4_request"), HasSubstr("user-agent")));
  EXPECT_EQ(catalog.last().header("x-amz-security-token"), "tok");
  StringPairs with_keys = sigv4;
  with_keys.insert(with_keys.end(), {{"client.access-key-id", "AKPROP"}, {"client.secret-access-key", "s"}, {"token", "bearer"}});
  catalog.MustOpen(with_keys);
  EXPECT_THAT(catalog.last().header("authorization"), HasSubstr("Credential=AKPROP/"));
  EXPECT_EQ(catalog.last().header("original-authorization"), "Bearer bearer");
}

TEST(RestSession, OtherWaysToProveWhoWeAreAreRefused) {
  ScriptedCatalog catalog({});
  EXPECT_EQ(KindOf(catalog.Open({{"auth.type", "google"}}).status()), ErrorKind::kUnsupported);
  EXPECT_EQ(KindOf(catalog.Open({{"rest.auth.type", "basic"}}).status()), ErrorKind::kUnsupported);
  EXPECT_THAT(catalog.lines(), SizeIs(0));
}

TEST(RestSession, AnAnswerThatIsNoConfigurationIsSaid) {
  const std::string html = Answer(200, "<html>Welcome</html>", "", "text/html");
  for (const std::string& answer : {html, Answer(200, "{\"defaults\": "), Answer(200, "[]"), Answer(200, ""),
                                    Answer(200, R"({"defaults": {"a": 1}})"), Answer(200, R"({"endpoints": [1]})")}) {
    ScriptedCatalog catalog({{"GET /v1/config", {answer}}});
    const arrow::Status refused = catalog.Open().status();
    EXPECT_EQ(KindOf(refused), ErrorKind::kCorruptData) << refused.ToString();
    EXPECT_THAT(refused.message(), AllOf(HasSubstr("GET /v1/config"), HasSubstr("catalog test"), HasSubstr("uri")));
  }
  ScriptedCatalog page({{"GET /v1/config", {Answer(404, "<html>Not here</html>", "", "text/html")}}});
  const arrow::Status not_found = page.Open().status();
  EXPECT_EQ(KindOf(not_found), ErrorKind::kNotFound);
  EXPECT_THAT(not_found.message(), AllOf(HasSubstr("text/html"), HasSubstr("404")));
  EXPECT_EQ(KindOf(RestCatalog::Open("t", {{"uri", "s3://x"}}, LocalContext()).status()), ErrorKind::kInvalidInput);
}

TEST(RestSession, EveryStatusHasItsKind) {
  const std::vector<std::pair<int, ErrorKind>> kinds = {{400, ErrorKind::kInvalidInput}, {401, ErrorKind::kInvalidInput},
                                                        {403, ErrorKind::kInvalidInput}, {404, ErrorKind::kNotFound},
                                                        {406, ErrorKind::kUnsupported},  {419, ErrorKind::kInvalidInput},
                                                        {422, ErrorKind::kInvalidInput}, {429, ErrorKind::kIo},
                                                        {500, ErrorKind::kIo},           {501, ErrorKind::kUnsupported},
                                                        {502, ErrorKind::kIo},           {503, ErrorKind::kIo},
                                                        {504, ErrorKind::kIo},           {507, ErrorKind::kIo}};
  for (const auto& [status, kind] : kinds) {
    ScriptedCatalog catalog(
        {{"GET /v1/namespaces/a", {ErrorAnswer(status, "SomeException", "what happened", "Retry-After: 0\r\n")}}});
    const arrow::Status failed = catalog.MustOpen()->NamespaceProperties({"a"}).status();
    EXPECT_EQ(KindOf(failed), kind) << failed.ToString();
    EXPECT_THAT(failed.message(), AllOf(HasSubstr("GET /v1/namespaces/a"), HasSubstr("SomeException: what happened"),
                                        HasSubstr(std::to_string(status))));
    const bool is_repeated = status == 429 || (status >= 502 && status <= 504);
    EXPECT_EQ(catalog.count("GET /v1/namespaces/a"), is_repeated ? 2 : 1) << status;
  }
}

TEST(RestSession, MemoryIsReservedWhileACatalogIsOpen) {
  ScriptedCatalog catalog({});
  const auto memory = std::make_shared<CountedMemory>();
  {
    const auto rest = *catalog.Open({}, memory);
    EXPECT_GE(memory->held_bytes(), int64_t{9} << 20);
  }
  EXPECT_EQ(memory->held_bytes(), 0);
  memory->set_limit_bytes(1 << 20);
  EXPECT_EQ(KindOf(catalog.Open({}, memory).status()), ErrorKind::kMemoryLimit);
}

}  // namespace
}  // namespace icebound::iceberg
