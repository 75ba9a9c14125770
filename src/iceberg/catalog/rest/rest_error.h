// SPDX-License-Identifier: Apache-2.0
//
// What a REST catalog's answer means when it is no success:
//
//   status          kind                                    advice
//   400, 422        kInvalidInput                           the request is at fault
//   401, 419        kInvalidInput                           token, credential or keys are
//   403             kInvalidInput                           these credentials may not
//   404             kNotFound
//   405, 406, 501   kUnsupported                            by the server
//   409             the caller's (exists, conflict)
//   429             kIo                                     after several tries
//   other           kIo                                     500, 502, 503, 504 to a commit are the catalog's to look into
//
// A message has the method and the path, what the server says (ErrorModel, an OAuth error, or the type of what came instead),
// the status, and what to do; secrets that the server repeats are taken out.
#pragma once

#include <arrow/status.h>

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "iceberg/catalog/rest/http_client.h"

namespace icebound::iceberg {

/// What the server says: "NoSuchTableException: Table does not exist", or what it sent instead of words.
std::string ServerMessage(const HttpResponse& response, const std::vector<std::string>& secrets);

arrow::Status RestError(const HttpRequest& request, const HttpResponse& response, const std::vector<std::string>& secrets,
                        std::optional<ErrorKind> kind = std::nullopt);

/// A success that cannot be read. Says nothing of the body, which may be a secret.
arrow::Status BadAnswer(const HttpRequest& request, const HttpResponse& response, std::string_view what);

}  // namespace icebound::iceberg
