-- SPDX-License-Identifier: Apache-2.0
-- The shape of equality deletes: half of the rows are struck out by their keys.
SELECT count(*), sum(l_extendedprice)
FROM lineitem AS l
WHERE NOT EXISTS (
    SELECT 1
    FROM (SELECT l_orderkey AS k, l_linenumber AS n FROM lineitem WHERE l_suppkey % 2 = 0) AS d
    WHERE d.k = l.l_orderkey AND d.n = l.l_linenumber)
