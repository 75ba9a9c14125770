# SPDX-License-Identifier: Apache-2.0
"""The answers that the TPC-H specification prints for its qualification database (scale 1), where it prints few rows or for the first ones.

Money is printed with two decimals there, averages and ratios as well. tests/memory/test_tpch.py compares all rows of all queries with DuckDB.
"""

import csv
import decimal
import io
import sys

import pytest

import measure

sys.path.insert(0, str(measure.ROOT / "benchmarks" / "compare"))

import query_compare  # noqa: E402

# query: (rows in the whole answer, {column: value} of its first rows)
ANSWERS = {
    "q01": (4, [
        {"l_returnflag": "A", "l_linestatus": "F", "sum_qty": "37734107.00", "sum_base_price": "56586554400.73", "sum_disc_price": "53758257134.87",
         "sum_charge": "55909065222.83", "avg_qty": "25.52", "avg_price": "38273.13", "avg_disc": "0.05", "count_order": "1478493"},
        {"l_returnflag": "N", "l_linestatus": "F", "sum_qty": "991417.00", "count_order": "38854"}]),
    "q02": (100, [{"s_acctbal": "9938.53", "s_name": "Supplier#000005359", "n_name": "UNITED KINGDOM", "p_partkey": "185358", "p_mfgr": "Manufacturer#4"}]),
    "q03": (10, [{"l_orderkey": "2456423", "revenue": "406181.01", "o_orderdate": "1995-03-05", "o_shippriority": "0"}]),
    "q04": (5, [{"o_orderpriority": name, "order_count": count} for name, count in (
        ("1-URGENT", "10594"), ("2-HIGH", "10476"), ("3-MEDIUM", "10410"), ("4-NOT SPECIFIED", "10556"), ("5-LOW", "10487"))]),
    "q05": (5, [{"n_name": name, "revenue": revenue} for name, revenue in (
        ("INDONESIA", "55502041.17"), ("VIETNAM", "55295087.00"), ("CHINA", "53724494.26"), ("INDIA", "52035512.00"), ("JAPAN", "45410175.70"))]),
    "q06": (1, [{"revenue": "123141078.23"}]),
    "q07": (4, [{"supp_nation": "FRANCE", "cust_nation": "GERMANY", "l_year": "1995", "revenue": "54639732.73"},
                {"supp_nation": "FRANCE", "cust_nation": "GERMANY", "l_year": "1996", "revenue": "54633083.31"},
                {"supp_nation": "GERMANY", "cust_nation": "FRANCE", "l_year": "1995", "revenue": "52531746.67"},
                {"supp_nation": "GERMANY", "cust_nation": "FRANCE", "l_year": "1996", "revenue": "52520549.02"}]),
    "q08": (2, [{"o_year": "1995", "mkt_share": "0.03"}, {"o_year": "1996", "mkt_share": "0.04"}]),
    "q09": (175, [{"nation": "ALGERIA", "o_year": "1998", "sum_profit": "27136900.18"}]),
    "q10": (20, [{"c_custkey": "57040", "c_name": "Customer#000057040", "revenue": "734235.25", "c_acctbal": "632.87", "n_name": "JAPAN"}]),
    "q11": (1048, [{"ps_partkey": "129760", "value": "17538456.86"}]),
    "q12": (2, [{"l_shipmode": "MAIL", "high_line_count": "6202", "low_line_count": "9324"},
                {"l_shipmode": "SHIP", "high_line_count": "6200", "low_line_count": "9262"}]),
    "q13": (42, [{"c_count": "0", "custdist": "50005"}, {"c_count": "9", "custdist": "6641"}, {"c_count": "10", "custdist": "6532"}]),
    "q14": (1, [{"promo_revenue": "16.38"}]),
    "q15": (1, [{"s_suppkey": "8449", "s_name": "Supplier#000008449", "total_revenue": "1772627.21"}]),
    "q16": (18314, [{"p_brand": "Brand#41", "p_type": "MEDIUM BRUSHED TIN", "p_size": "3", "supplier_cnt": "28"}]),
    "q17": (1, [{"avg_yearly": "348406.05"}]),
    "q18": (57, [{"c_name": "Customer#000128120", "c_custkey": "128120", "o_orderkey": "4722021", "o_orderdate": "1994-04-07", "o_totalprice": "544089.09"}]),
    "q19": (1, [{"revenue": "3083843.06"}]),
    "q20": (186, [{"s_name": "Supplier#000000020"}]),
    "q21": (100, [{"s_name": "Supplier#000002829", "numwait": "20"}]),
    "q22": (7, [{"cntrycode": code, "numcust": count, "totacctbal": total} for code, count, total in (
        ("13", "888", "6737713.99"), ("17", "861", "6460573.72"), ("18", "964", "7236687.40"), ("23", "892", "6701457.95"),
        ("29", "948", "7158866.63"), ("30", "909", "6808436.13"), ("31", "922", "6806670.18"))]),
}


def printed(cell, expected):
    """The cell as the specification prints it: numbers rounded to the decimals that stand there."""
    if "." not in expected:
        return cell
    return str(decimal.Decimal(cell).quantize(decimal.Decimal(expected), decimal.ROUND_HALF_UP))


@pytest.mark.parametrize("name", ANSWERS)
def test_the_answer_is_the_one_of_the_specification(name, tmp_path):
    folder = measure.tpch(1, query_compare.TABLES)
    run, _ = query_compare.run_ours(query_compare.CASES[name].read_text(encoding="utf-8"), 64, folder, tmp_path)
    assert run.exit_code == 0, run.stderr
    rows = list(csv.DictReader(io.StringIO(run.stdout)))
    count, first = ANSWERS[name]
    assert len(rows) == count
    for row, expected in zip(rows, first):
        assert {column: printed(row[column], value) for column, value in expected.items()} == expected
