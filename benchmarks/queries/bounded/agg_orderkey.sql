-- SPDX-License-Identifier: Apache-2.0
-- A group for each of the orders: two of three groups have more than one row.
SELECT count(*), sum(s), max(m)
FROM (SELECT l_orderkey, sum(l_extendedprice) AS s, max(l_comment) AS m FROM lineitem GROUP BY l_orderkey) AS t
