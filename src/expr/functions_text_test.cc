// SPDX-License-Identifier: Apache-2.0
//
// Expected values are PostgreSQL's, except where a comment says otherwise.
#include <arrow/testing/gtest_util.h>

#include <random>
#include <string>

#include "expr/like_pattern.h"
#include "expr/test_cases.h"

namespace icebound::expr {
namespace {

TEST(Text, Length) {
  CheckCases({
      {"(length 'héllo')", "5"},
      {"(length '')", "0"},
      {"(length bytea'\\x0102')", "2"},
      {"(char_length '日本語')", "3"},
      {"(octet_length 'héllo')", "6"},
      {"(bit_length 'abc')", "24"},
  });
}

TEST(Text, Case) {
  CheckCases({
      {"(lower 'HÉLLO World')", "héllo world"},
      {"(upper 'héllo')", "HÉLLO"},
      {"(initcap 'hello wORLD 2nd foo-bar')", "Hello World 2nd Foo-Bar"},
      {"(initcap 'élan vital')", "Élan Vital"},
  });
}

TEST(Text, Parts) {
  CheckCases({
      {"(substring 'Thomas' 2 3)", "hom"},
      {"(substring 'Thomas' 3)", "omas"},
      {"(substring 'Thomas' -1 3)", "T"},
      {"(substring 'Thomas' 0 3)", "Th"},
      {"(substring 'Thomas' 5 100)", "as"},
      {"(substring 'Thomas' 10 2)", ""},
      {"(substring 'Thomas' 2 -1)", "error: negative substring length not allowed"},
      {"(substring 'Thomas' -5)", "Thomas"},
      {"(substring 'héllo' 2 2)", "él"},
      {"(substring '日本語' 2 1)", "本"},
      {"(substring 'abc' 1 2147483647)", "abc"},
      {"(substr 'alphabet' 3 2)", "ph"},
      {"(substring bytea'\\x01020304' 2 2)", "\\x0203"},
      {"(left 'abcde' 2)", "ab"},
      {"(left 'abcde' -2)", "abc"},
      {"(left 'abcde' 10)", "abcde"},
      {"(left 'abcde' -10)", ""},
      {"(left 'héllo' 2)", "hé"},
      {"(right 'abcde' 2)", "de"},
      {"(right 'abcde' -2)", "cde"},
      {"(right 'héllo' -2)", "llo"},
      {"(right 'abcde' 0)", ""},
      {"(split_part 'abc~@~def~@~ghi' '~@~' 2)", "def"},
      {"(split_part 'abc,def,ghi' ',' -1)", "ghi"},
      {"(split_part 'abc,def,ghi' ',' -2)", "def"},
      {"(split_part 'abc,def,ghi' ',' -4)", ""},
      {"(split_part 'abc,def,ghi' ',' 4)", ""},
      {"(split_part 'abc' '' 1)", "abc"},
      {"(split_part 'abc' '' 2)", ""},
      {"(split_part 'abc,def' ',' 0)", "error: field position must not be zero"},
  });
}

TEST(Text, Searching) {
  CheckCases({
      {"(position 'high' 'ig')", "2"},
      {"(strpos 'high' 'ig')", "2"},
      {"(strpos 'high' '')", "1"},
      {"(strpos 'high' 'x')", "0"},
      {"(strpos 'héllo' 'l')", "3"},
      {"(starts_with 'alphabet' 'alph')", "true"},
      {"(starts_with 'alphabet' '')", "true"},
      {"(starts_with 'a' 'ab')", "false"},
  });
}

TEST(Text, Editing) {
  CheckCases({
      {"(replace 'abcdefabcdef' 'cd' 'XX')", "abXXefabXXef"},
      {"(replace 'aaa' 'a' '')", ""},
      {"(replace 'aaa' '' 'x')", "aaa"},
      {"(replace 'héé' 'é' 'e')", "hee"},
      {"(translate '12345' '143' 'ax')", "a2x5"},
      {"(translate 'héllo' 'é' 'e')", "hello"},
      {"(translate 'abc' '' 'x')", "abc"},
      {"(reverse 'abcde')", "edcba"},
      {"(reverse 'héé')", "ééh"},
      {"(repeat 'Pg' 4)", "PgPgPgPg"},
      {"(repeat 'Pg' 0)", ""},
      {"(repeat 'Pg' -1)", ""},
      {"(repeat '' 1000000000)", ""},
      {"(lpad 'hi' 5 'xy')", "xyxhi"},
      {"(lpad 'hi' 5)", "   hi"},
      {"(lpad 'hello' 2 'xy')", "he"},
      {"(lpad 'hi' -1 'x')", ""},
      {"(lpad 'hi' 5 '')", "hi"},
      {"(lpad 'hé' 4 'éa')", "éahé"},
      {"(rpad 'hi' 5 'xy')", "hixyx"},
      {"(rpad 'hi' 5)", "hi   "},
      {"(rpad 'hello' 2)", "he"},
      {"(overlay 'Txxxxas' 'hom' 2 4)", "Thomas"},
      {"(overlay 'abcdef' 'XY' 3)", "abXYef"},
      {"(overlay 'abcdef' 'XY' 10)", "abcdefXY"},
      {"(overlay 'abcdef' 'XY' 1 0)", "XYabcdef"},
      {"(overlay 'abcdef' 'XY' 0)", "error: negative substring length not allowed"},
      {"(overlay 'abcdef' 'XY' 3 -1)", "abXYbcdef"},
      {"(overlay 'héllo' 'E' 2 1)", "hEllo"},
  });
}

TEST(Text, Trimming) {
  CheckCases({
      {"(btrim 'xyxtrimyyx' 'xyz')", "trim"},
      {"(btrim '  trim  ')", "trim"},
      {"(ltrim 'zzzytest' 'xyz')", "test"},
      {"(rtrim 'testxxzx' 'xyz')", "test"},
      {"(ltrim '  a ')", "a "},
      {"(rtrim ' a  ')", " a"},
      {"(btrim 'ééaéé' 'é')", "a"},
      {"(btrim 'aaa' 'a')", ""},
      {"(btrim 'abc' '')", "abc"},
      {"(btrim '	tab	')", "	tab	"},
  });
}

TEST(Text, Joining) {
  CheckCases({
      {"(concat 'abc' 2 null 22)", "abc222"},
      {"(concat true false)", "tf"},
      {"(concat null)", ""},
      {"(concat 'a' 1.50 2e0 date'2020-01-01')", "a1.5022020-01-01"},
      {"(concat_ws ',' 'abc' 2 null 22)", "abc,2,22"},
      {"(concat_ws ',' null 'x')", "x"},
      {"(concat_ws null 'a' 'b')", "NULL"},
      {"(concat_ws ',' 'a')", "a"},
      {"(|| 'Post' 'greSQL')", "PostgreSQL"},
      {"(|| 'Value: ' 42)", "Value: 42"},
      {"(|| 42 ' is')", "42 is"},
      {"(|| true '!')", "true!"},
      {"(|| 'a' null)", "NULL"},
      {"(|| 1 2)", "error: operator does not exist: integer || integer"},
      {"(|| bytea'\\x01' bytea'\\x02')", "\\x0102"},
      {"(|| 'a' 1.50)", "a1.50"},
      {"(|| date'2020-01-01' '')", "2020-01-01"},
  });
}

TEST(Text, CodesAndEncodings) {
  CheckCases({
      {"(ascii 'x')", "120"},
      {"(ascii '')", "0"},
      {"(ascii 'é')", "233"},
      {"(ascii '日')", "26085"},
      {"(ascii '😀')", "128512"},
      {"(chr 65)", "A"},
      {"(chr 233)", "é"},
      {"(chr 128512)", "😀"},
      {"(chr 0)", "error: null character not permitted"},
      {"(chr -1)", "error: character number must be positive"},
      {"(chr 1114112)", "error: requested character too large for encoding: 1114112"},
      {"(chr 55296)", "error: requested character not valid for encoding: 55296"},
      {"(to_hex 2147483647)", "7fffffff"},
      {"(to_hex -1)", "ffffffff"},
      {"(to_hex bigint'-1')", "ffffffffffffffff"},
      {"(to_hex 0)", "0"},
      {"(md5 'abc')", "900150983cd24fb0d6963f7d28e17f72"},
      {"(md5 '')", "d41d8cd98f00b204e9800998ecf8427e"},
      {"(md5 'The quick brown fox jumps over the lazy dog and then some more text to fill a block')",
       "56f361b3491c1975d36d386af572c75c"},
      {"(md5 bytea'\\x616263')", "900150983cd24fb0d6963f7d28e17f72"},
      {"(quote_literal 'O''Reilly')", "'O''Reilly'"},
      {"(quote_literal 'back\\slash')", "E'back\\\\slash'"},
      {"(encode bytea'\\x0123' 'hex')", "0123"},
      {"(encode bytea'abc' 'base64')", "YWJj"},
      {"(encode bytea'ab' 'base64')", "YWI="},
      {"(encode bytea'' 'base64')", ""},
      {"(encode bytea'0123456789012345678901234567890123456789012345678901234567890123456789' 'base64')",
       "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2\nNzg5MDEyMzQ1Njc4OQ=="},
      {"(encode bytea'abc' 'foo')", "error: unrecognized encoding: \"foo\""},
      {"(decode '0123' 'hex')", "\\x0123"},
      {"(decode 'YWJj' 'base64')", "\\x616263"},
      {"(decode 'YWI=' 'base64')", "\\x6162"},
      {"(decode 'YW' 'base64')", "error: invalid base64 end sequence"},
      {"(decode 'Y*' 'base64')", "error: invalid symbol \"*\" found while decoding base64 sequence"},
      {"(decode '012' 'hex')", "error: invalid hexadecimal data: odd number of digits"},
      {"(decode '01zz' 'hex')", "error: invalid hexadecimal digit: \"z\""},
  });
}

// Texts of two letters, so that pieces are nearly everywhere, against a search byte by byte.
TEST(Text, LikeFindsWhatASearchFinds) {
  std::mt19937_64 random(1);
  const auto letters = [&](size_t count) {
    std::string text;
    for (size_t i = 0; i < count; ++i) text.push_back(random() % 8 == 0 ? 'b' : 'a');
    return text;
  };
  for (int trial = 0; trial < 3000; ++trial) {
    const std::string text = letters(random() % 80);
    std::string pattern = "%";
    size_t at = 0;
    for (size_t pieces = 1 + random() % 3; pieces > 0; --pieces) {
      const std::string piece = letters(1 + random() % (random() % 8 == 0 ? 30 : 5));
      pattern += piece + "%";
      if (at == std::string::npos) continue;
      at = text.find(piece, at);
      if (at != std::string::npos) at += piece.size();
    }
    ASSERT_OK_AND_ASSIGN(const LikeMatcher matcher, LikeMatcher::Make(pattern, ""));
    EXPECT_EQ(matcher.Matches(text), at != std::string::npos) << text << " LIKE " << pattern;
  }
}

TEST(Text, Like) {
  CheckCases({
      {"(like 'abc' 'abc')", "true"},
      {"(like 'abc' 'a%')", "true"},
      {"(like 'abc' '_b_')", "true"},
      {"(like 'abc' 'c')", "false"},
      {"(like 'abc' '%c')", "true"},
      {"(like 'abc' '%b%')", "true"},
      {"(like 'abc' '%')", "true"},
      {"(like '' '%')", "true"},
      {"(like '' '')", "true"},
      {"(like 'abc' '')", "false"},
      {"(like 'abcabc' '%b%b%')", "true"},
      {"(like 'abcabc' 'a%c_bc')", "true"},
      {"(like 'abcabc' 'a%a%a')", "false"},
      {"(like 'héllo' 'h_llo')", "true"},
      {"(like 'héllo' '%é%')", "true"},
      {"(like '日本語' '__語')", "true"},
      {"(like '日本語' '%_語')", "true"},
      {"(like '日本語' '_本%')", "true"},
      {"(like 'a%c' 'a\\%c')", "true"},
      {"(like 'abc' 'a\\%c')", "false"},
      {"(like 'a_c' 'a!_c' '!')", "true"},
      {"(like 'abc' 'a!_c' '!')", "false"},
      {"(like 'a\\c' 'a\\c' '')", "true"},
      // PostgreSQL raises this only for texts that match up to the escape.
      {"(like 'abc' 'abc\\')", "error: LIKE pattern must not end with escape character"},
      {"(like 'abc' 'a' 'xx')", "error: invalid escape string"},
      {"(like 'a%b' 'a%%b' '%')", "true"},
      {"(like 'ab' 'a%b%')", "true"},
      {"(like 'aab' 'a%ab')", "true"},
      {"(like 'ab' 'ab%ab')", "false"},
      {"(like 'a\nb' 'a%b')", "true"},
      {"(like null 'a')", "NULL"},
      {"(like 'a' null)", "NULL"},
      {"(not_like 'abc' 'a%')", "false"},
      {"(not_like 'abc' 'b%')", "true"},
      {"(ilike 'ABC' 'a%')", "true"},
      {"(ilike 'HÉLLO' 'h_llo')", "true"},
      {"(ilike 'HÉLLO' 'hé%')", "true"},
      {"(not_ilike 'ABC' 'abc')", "false"},
      {"(ilike 'a%c' 'A\\%C')", "true"},
  });
}

TEST(Text, RegularExpressions) {
  CheckCases({
      {"(~ 'thomas' 't.*ma')", "true"},
      {"(~ 'thomas' '^t.*s$')", "true"},
      {"(~ 'thomas' 'T.*ma')", "false"},
      {"(~* 'thomas' 'T.*ma')", "true"},
      {"(!~ 'thomas' 't.*max')", "true"},
      {"(!~* 'thomas' 'T.*MA')", "false"},
      {"(~ 'abc' '(')", "error: invalid regular expression: missing )"},
      {"(~ 'a\nb' 'a.b')", "true"},
      {"(~ 'abc' '[[:alpha:]]{3}')", "true"},
      {"(~ 'a1' '\\d')", "true"},
      {"(regexp_like 'Hello' 'hello' 'i')", "true"},
      {"(regexp_replace 'Thomas' '.[mN]a.' 'M')", "ThM"},
      {"(regexp_replace 'foobarbaz' 'b..' 'X')", "fooXbaz"},
      {"(regexp_replace 'foobarbaz' 'b..' 'X' 'g')", "fooXX"},
      {"(regexp_replace 'foobarbaz' 'b(..)' 'X\\1Y' 'g')", "fooXarYXazY"},
      {"(regexp_replace 'foobarbaz' 'b(..)' '[\\&]' 'g')", "foo[bar][baz]"},
      {"(regexp_replace 'abc' 'B' 'x' 'i')", "axc"},
      {"(regexp_replace 'abc' 'b' '\\\\')", "a\\c"},
      {"(regexp_replace 'abc' 'b' '\\x')", "a\\xc"},
      {"(regexp_replace 'abc' 'b' 'x' 'z')", "error: invalid regular expression option: \"z\""},
      {"(regexp_replace 'aaa' '' '-')", "-aaa"},
      {"(regexp_replace 'abc' '(' 'x')", "error: invalid regular expression: missing )"},
  });
}

}  // namespace
}  // namespace icebound::expr
