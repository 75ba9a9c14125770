// SPDX-License-Identifier: Apache-2.0
#include "iceberg/catalog/rest/aws_signature.h"

#include <gmock/gmock.h>

namespace icebound::iceberg {
namespace {

constexpr int64_t kNow = 1767323045;  // 2026-01-02T03:04:05Z

AwsCredentials Credentials(const std::string& region, const std::string& service, const std::string& token = "") {
  return {"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", token, region, service};
}

// The signatures were made by botocore's SigV4Auth from the same requests.
TEST(AwsSignature, IsTheOneBotocoreMakes) {
  HttpRequest get;
  get.method = "GET";
  get.url = "https://glue.us-east-1.amazonaws.com/iceberg/v1/config?warehouse=123%3As3tablescatalog%2Fb";
  get.headers = {{"Content-Type", "application/json"}};
  const auto signed_get = *SignForAws(get, Credentials("us-east-1", "glue"), kNow);
  EXPECT_EQ(*FindValue(signed_get, "X-Amz-Date"), "20260102T030405Z");
  EXPECT_EQ(*FindValue(signed_get, "Authorization"),
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260102/us-east-1/glue/aws4_request, "
            "SignedHeaders=content-type;host;x-amz-content-sha256;x-amz-date, "
            "Signature=0d517c0bf0d8c44e74ff588a9df0d9cf98509763e2059b0c244618a0c1d4dc93");

  HttpRequest post;
  post.method = "POST";
  post.url =
      "https://s3tables.eu-west-1.amazonaws.com:8443/iceberg/v1/arn%3Aaws%3As3tables%3A1%2Fb/namespaces/a%1Fb%20c/tables"
      "?z=1&a=&pageToken=x%3D%2F";
  post.headers = {{"Content-Type", "application/json"}};
  post.body = R"({"name":"t"})";
  const auto signed_post = *SignForAws(post, Credentials("eu-west-1", "s3tables", "TOKEN/abc=="), kNow);
  EXPECT_EQ(*FindValue(signed_post, "X-Amz-Security-Token"), "TOKEN/abc==");
  EXPECT_EQ(*FindValue(signed_post, "Authorization"),
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260102/eu-west-1/s3tables/aws4_request, "
            "SignedHeaders=content-type;host;x-amz-content-sha256;x-amz-date;x-amz-security-token, "
            "Signature=025554abd96735ae4534ecde5b7b038a480971ff330097d384ef869168b755f6");
}

}  // namespace
}  // namespace icebound::iceberg
