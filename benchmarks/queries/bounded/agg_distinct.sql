-- SPDX-License-Identifier: Apache-2.0
-- Distinct values of a wide text.
SELECT count(DISTINCT l_comment) FROM lineitem
