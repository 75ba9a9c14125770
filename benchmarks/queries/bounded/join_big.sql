-- SPDX-License-Identifier: Apache-2.0
-- Every line with its order.
SELECT count(*), sum(l_extendedprice), max(o_comment) FROM lineitem JOIN orders ON l_orderkey = o_orderkey
