-- SPDX-License-Identifier: Apache-2.0
-- A wide build side as large as the probe side.
SELECT count(*), max(b.l_comment)
FROM lineitem AS a JOIN lineitem AS b ON a.l_orderkey = b.l_orderkey AND a.l_linenumber = b.l_linenumber
