// SPDX-License-Identifier: Apache-2.0
#include "iceberg/catalog/rest/http_client.h"

#include <gmock/gmock.h>

#include <chrono>
#include <ctime>

#include "iceberg/catalog/catalog_testing.h"
#include "iceberg/catalog/rest/http_testing.h"

namespace icebound::iceberg {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using Clock = std::chrono::steady_clock;

HttpOptions Quick() {
  HttpOptions options;
  options.backoff_ms = 1;
  options.retries_max = 3;
  return options;
}

std::unique_ptr<HttpClient> Client(HttpOptions options = Quick(), arrow::MemoryPool* pool = arrow::system_memory_pool()) {
  return std::move(*HttpClient::Make(std::move(options), pool));
}

HttpRequest Get(const std::string& url) { return {.method = "GET", .url = url, .may_be_repeated = true}; }
HttpRequest Post(const std::string& url) { return {.method = "POST", .url = url, .body = "{}"}; }

/// A script that gives one answer after the other, and the last one from then on.
ScriptedServer::Script InTurn(std::vector<std::string> answers) {
  return [answers, next = size_t{0}](const SeenRequest&) mutable { return answers[std::min(next++, answers.size() - 1)]; };
}

TEST(HttpClient, SendsAndReceives) {
  ScriptedServer server([](const SeenRequest&) { return Answer(200, R"({"a":1})", "ETag: \"x\"\r\n"); });
  const auto client = Client();
  HttpRequest request = Post(server.url() + "/p%1Fq/../r?x=%20");
  request.headers = {{"X-One", "1"}};
  request.body = std::string(3 << 20, 'b');
  const auto response = client->Send(request, nullptr);
  ASSERT_TRUE(response.ok()) << response.status().ToString();
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->text(), R"({"a":1})");
  EXPECT_EQ(response->etag, "\"x\"");
  EXPECT_EQ(response->content_type, "application/json");
  const SeenRequest seen = server.requests()[0];
  EXPECT_EQ(seen.line(), "POST /p%1Fq/../r?x=%20");
  EXPECT_EQ(seen.header("x-one"), "1");
  EXPECT_EQ(seen.header("expect"), "");
  EXPECT_EQ(seen.body, request.body);
}

TEST(HttpClient, RepeatsWhatMayBeRepeated) {
  ScriptedServer server(InTurn({Answer(503), kClose, Answer(502), Answer(200, "ok")}));
  const auto response = Client()->Send(Get(server.url() + "/x"), nullptr);
  ASSERT_TRUE(response.ok()) << response.status().ToString();
  EXPECT_EQ(response->text(), "ok");
  EXPECT_THAT(server.requests(), SizeIs(4));
}

TEST(HttpClient, GivesUpInTheEnd) {
  ScriptedServer server(InTurn({Answer(504)}));
  EXPECT_EQ(Client()->Send(Get(server.url() + "/x"), nullptr)->status, 504);
  EXPECT_THAT(server.requests(), SizeIs(4));
  ScriptedServer closing(InTurn({kClose}));
  const auto closed = Client()->Send(Get(closing.url() + "/x?secret=1"), nullptr);
  EXPECT_EQ(KindOf(closed.status()), ErrorKind::kIo);
  EXPECT_THAT(closed.status().message(), AllOf(HasSubstr("GET /x at"), HasSubstr("4 tries"), Not(HasSubstr("secret"))));
}

TEST(HttpClient, NeverRepeatsWhatMayNotBe) {
  for (const std::string& answer : {Answer(500), Answer(502), Answer(503, "", "Retry-After: 0\r\n"), Answer(504)}) {
    ScriptedServer server(InTurn({answer}));
    EXPECT_GE(Client()->Send(Post(server.url() + "/x"), nullptr)->status, 500);
    EXPECT_THAT(server.requests(), SizeIs(1));
  }
}

TEST(HttpClient, ALostAnswerIsUnknownEvenOnAConnectionThatWasUsedBefore) {
  ScriptedServer server([](const SeenRequest& request) { return request.method == "GET" ? Answer(200) : kClose; });
  const auto client = Client();
  ASSERT_TRUE(client->Send(Get(server.url() + "/warm"), nullptr).ok());
  const auto lost = client->Send(Post(server.url() + "/x"), nullptr);
  EXPECT_EQ(KindOf(lost.status()), ErrorKind::kCommitUnknown) << lost.status().ToString();
  EXPECT_THAT(server.lines(), ElementsAre("GET /warm", "POST /x"));
}

TEST(HttpClient, ConnectionsAreUsedAgain) {
  ScriptedServer server([](const SeenRequest&) { return Answer(200); });
  const auto client = Client();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(client->Send(Get(server.url() + "/x"), nullptr).ok());
  EXPECT_EQ(server.requests()[2].connection, 1);
}

TEST(HttpClient, WaitsAsLongAsItIsTold) {
  const std::time_t date = std::time(nullptr) + 2;
  char text[64];
  std::strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", std::gmtime(&date));
  for (const std::string& header : {std::string("Retry-After: 1\r\n"), fmt::format("retry-after: {}\r\n", text)}) {
    ScriptedServer server(InTurn({Answer(429, "", header), Answer(200)}));
    const auto begin = Clock::now();
    EXPECT_EQ(Client()->Send(Post(server.url() + "/x"), nullptr)->status, 200) << "a refusal is no lost answer";
    EXPECT_GE(Clock::now() - begin, std::chrono::milliseconds(900));
    EXPECT_THAT(server.requests(), SizeIs(2));
  }
  ScriptedServer server(InTurn({Answer(429, "", "Retry-After: 86400\r\n")}));
  EXPECT_EQ(Client()->Send(Get(server.url() + "/x"), nullptr)->status, 429);
  EXPECT_THAT(server.requests(), SizeIs(1));
}

TEST(HttpClient, ReadsRetryAfter) {
  const int64_t now = 784111777;  // Sun, 06 Nov 1994 08:49:37 GMT
  EXPECT_EQ(**RetryAfterMs("120", now), 120'000);
  EXPECT_EQ(**RetryAfterMs("Sun, 06 Nov 1994 08:50:37 GMT", now), 60'000);
  EXPECT_EQ(**RetryAfterMs("Sun, 06 Nov 1994 08:00:00 GMT", now), 0);
  EXPECT_FALSE(*RetryAfterMs("soon", now));
  EXPECT_FALSE(*RetryAfterMs("-5", now));
  EXPECT_FALSE(*RetryAfterMs("", now));
}

TEST(HttpClient, AServerThatHangsEndsInAnError) {
  ScriptedServer server(InTurn({kHang}));
  HttpOptions idle = Quick();
  idle.idle_timeout_ms = 1000;
  const auto read = Client(idle)->Send(Get(server.url() + "/x"), nullptr);
  EXPECT_EQ(KindOf(read.status()), ErrorKind::kIo);
  EXPECT_THAT(read.status().message(), AllOf(HasSubstr("GET /x"), HasSubstr("rest.client.socket-timeout-ms")));
  HttpOptions total = Quick();
  total.total_timeout_ms = 500;
  EXPECT_EQ(KindOf(Client(total)->Send(Get(server.url() + "/x"), nullptr).status()), ErrorKind::kIo);
  EXPECT_EQ(KindOf(Client(total)->Send(Post(server.url() + "/x"), nullptr).status()), ErrorKind::kCommitUnknown);
  EXPECT_THAT(server.requests(), SizeIs(3));
}

TEST(HttpClient, AnAnswerThatIsCutShortIsNone) {
  const std::string cut = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"half\":";
  ScriptedServer server(InTurn({cut}));
  EXPECT_EQ(KindOf(Client()->Send(Get(server.url() + "/x"), nullptr).status()), ErrorKind::kIo);
  EXPECT_EQ(KindOf(Client()->Send(Post(server.url() + "/x"), nullptr).status()), ErrorKind::kCommitUnknown);
}

TEST(HttpClient, NoServerIsNothingSent) {
  int port;
  {
    ScriptedServer gone([](const SeenRequest&) { return Answer(200); });
    port = gone.port();
  }
  for (const bool may_be_repeated : {true, false}) {
    HttpRequest request = Post(fmt::format("http://user:password@127.0.0.1:{}/x", port));
    request.may_be_repeated = may_be_repeated;
    const auto none = Client()->Send(request, nullptr);
    EXPECT_EQ(KindOf(none.status()), ErrorKind::kIo);
    EXPECT_THAT(none.status().message(),
                AllOf(HasSubstr(fmt::format("at http://127.0.0.1:{}", port)), HasSubstr("4 tries"), Not(HasSubstr("password"))));
  }
  EXPECT_EQ(KindOf(Client()->Send(Get("ftp://127.0.0.1/x"), nullptr).status()), ErrorKind::kIo);
  EXPECT_EQ(KindOf(Client()->Send(Get("not a url"), nullptr).status()), ErrorKind::kIo);
}

TEST(HttpClient, BodiesAreBounded) {
  const std::string large(1 << 20, 'x');
  ScriptedServer server(InTurn({Answer(200, large)}));
  HttpOptions options = Quick();
  options.body_bytes_max = (1 << 20) - 1;
  const auto refused = Client(options)->Send(Get(server.url() + "/x"), nullptr);
  EXPECT_EQ(KindOf(refused.status()), ErrorKind::kCorruptData);
  EXPECT_THAT(refused.status().message(), HasSubstr("GET /x"));
  options.body_bytes_max = 1 << 20;
  EXPECT_EQ(Client(options)->Send(Get(server.url() + "/x"), nullptr)->text(), large);
  arrow::CappedMemoryPool small(arrow::system_memory_pool(), 256 << 10);
  EXPECT_EQ(KindOf(Client(Quick(), &small)->Send(Get(server.url() + "/x"), nullptr).status()), ErrorKind::kMemoryLimit);
  EXPECT_EQ(KindOf(Client(Quick(), &small)->Send(Post(server.url() + "/x"), nullptr).status()), ErrorKind::kCommitUnknown);
  EXPECT_EQ(small.bytes_allocated(), 0);
}

TEST(HttpClient, FollowsRedirectsToTheSameServerOnly) {
  ScriptedServer other([](const SeenRequest&) { return Answer(200); });
  ScriptedServer server([&](const SeenRequest& request) {
    if (request.target == "/here") return Answer(307, "", "Location: /there?q=1\r\n");
    if (request.target == "/loop") return Answer(302, "", "Location: /loop\r\n");
    if (request.target == "/away") return Answer(308, "", "Location: " + other.url() + "/x\r\n");
    return Answer(200, "there");
  });
  const auto client = Client();
  EXPECT_EQ(client->Send(Get(server.url() + "/here"), nullptr)->text(), "there");
  for (const HttpRequest& request : {Get(server.url() + "/loop"), Get(server.url() + "/away"), Post(server.url() + "/here")}) {
    const auto refused = client->Send(request, nullptr);
    EXPECT_EQ(KindOf(refused.status()), ErrorKind::kIo) << request.url;
    EXPECT_THAT(refused.status().message(), HasSubstr("redirected to"));
  }
  EXPECT_THAT(other.requests(), SizeIs(0));
}

TEST(HttpClient, OptionsComeFromProperties) {
  const auto options = HttpOptions::FromProperties({{"rest.client.connection-timeout-ms", "7"},
                                                    {"rest.client.socket-timeout-ms", "8"},
                                                    {"rest.client.request-timeout-ms", "9"},
                                                    {"rest.client.max-retries", "0"},
                                                    {"ssl.cabundle", "/ca.pem"}});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->connect_timeout_ms, 7);
  EXPECT_EQ(options->idle_timeout_ms, 8);
  EXPECT_EQ(options->total_timeout_ms, 9);
  EXPECT_EQ(options->retries_max, 0);
  EXPECT_EQ(options->ca_bundle, "/ca.pem");
  const auto wrong = HttpOptions::FromProperties({{"rest.client.socket-timeout-ms", "8s"}});
  EXPECT_EQ(KindOf(wrong.status()), ErrorKind::kInvalidInput);
  EXPECT_THAT(wrong.status().message(), HasSubstr("rest.client.socket-timeout-ms"));
}

TEST(HttpClient, TakesUrlsApart) {
  EXPECT_EQ(PathOfUrl("http://u:p@h:1/v1/x?q=/y"), "/v1/x");
  EXPECT_EQ(PathOfUrl("http://h"), "/");
  EXPECT_EQ(OriginOfUrl("https://u:p@h:1/v1/x?q=@y"), "https://h:1");
  EXPECT_EQ(EncodeUrl("a b/c\x1f.~é"), "a%20b%2Fc%1F.~%C3%A9");
}

}  // namespace
}  // namespace icebound::iceberg
