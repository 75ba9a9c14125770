// SPDX-License-Identifier: Apache-2.0
//
// From a catalog's name and properties to the catalog: by `type`, else by the scheme of `uri`, as PyIceberg infers it.
//
//   rest         uri http(s)://...: rest/rest_catalog.h
//   sql          uri sqlite:...
//   in-memory    a SQL catalog that lives as long as the object
//   hadoop       directories below `warehouse`; the name is Java's. `single-writer` = true: see metadata_store.h
//
// Types that are known and not built (hive, glue, dynamodb, bigquery, other Python classes) are kUnsupported.
#pragma once

#include <arrow/result.h>

#include <memory>
#include <string>

#include "iceberg/catalog/catalog.h"
#include "iceberg/catalog/catalog_context.h"

namespace icebound::iceberg {

arrow::Result<std::unique_ptr<Catalog>> MakeCatalog(std::string name, StringPairs properties, CatalogContext context);

}  // namespace icebound::iceberg
