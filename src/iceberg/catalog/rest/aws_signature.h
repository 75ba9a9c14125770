// SPDX-License-Identifier: Apache-2.0
//
// AWS's signature, version 4, of a request: a chain of HMACs over what the request is.
//
// libcurl can sign, but up to 8.x it signs a path as it stands, while every service but S3 expects the encoded path encoded
// once more: a namespace of two levels (%1F) or a warehouse that is an ARN would be refused.
#pragma once

#include <arrow/result.h>

#include <cstdint>
#include <string>

#include "iceberg/catalog/rest/http_client.h"

namespace icebound::iceberg {

struct AwsCredentials {
  std::string access_key_id;
  std::string secret_access_key;
  std::string session_token;  ///< may be empty
  std::string region;
  std::string service;  ///< "glue", "s3tables", "execute-api"
};

/// The headers that sign `request`, whose own headers are signed too.
arrow::Result<StringPairs> SignForAws(const HttpRequest& request, const AwsCredentials& credentials, int64_t now_seconds);

}  // namespace icebound::iceberg
