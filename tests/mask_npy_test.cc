// Masks from .npy bytes: versions, types, orders, and every way a file can be wrong.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>

#include "sparsejit/mask_files.h"
#include "support/expect_error.h"

namespace sparsejit::test {
namespace {

std::string little_endian(uint64_t value, size_t bytes) {
  std::string text;
  for (size_t i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

std::string npy(const std::string& header, const std::string& data, int version = 1) {
  return "\x93NUMPY" + std::string{static_cast<char>(version), '\0'} +
         little_endian(header.size(), version == 1 ? 2 : 4) + header + data;
}

std::string array(const std::string& type, const std::string& shape, const std::string& data,
                  bool fortran = false) {
  return npy("{'descr': '" + type + "', 'fortran_order': " + (fortran ? "True" : "False") +
                 ", 'shape': " + shape + ", }   \n",
             data);
}

std::string float_bytes(std::initializer_list<float> values) {
  std::string text;
  for (const float value : values) text += little_endian(std::bit_cast<uint32_t>(value), 4);
  return text;
}

void expect_rejected(const std::string& bytes, std::initializer_list<std::string> fragments) {
  expect_error([&] { parse_npy_mask(bytes, "bad.npy"); }, fragments);
  expect_error([&] { parse_npy_mask(bytes, "bad.npy"); }, {"bad.npy: "});
}

const std::string kBits("\1\0\1\0\1\0", 6);  // 2x3: [1 0 1] [0 1 0]
const Mask kMask = Mask::from_smtx("2, 3, 3\n0 2 3\n0 2 1\n");

TEST(MaskNpy, ReadsBooleans) { EXPECT_EQ(parse_npy_mask(array("|b1", "(2, 3)", kBits)), kMask); }

TEST(MaskNpy, ReadsEveryFormatVersion) {
  const std::string header = "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }\n";
  for (const int version : {1, 2, 3}) {
    EXPECT_EQ(parse_npy_mask(npy(header, kBits, version)), kMask);
  }
}

TEST(MaskNpy, ReadsHeadersInAnyOrderAndSpacing) {
  EXPECT_EQ(parse_npy_mask(npy("{\"shape\":(2,3,),'descr':'|u1','fortran_order':False}", kBits)),
            kMask);
  EXPECT_EQ(parse_npy_mask(npy(
                "{ 'fortran_order' : False , 'shape' : ( 2 , 3 ) , 'descr' : '|u1' , } ", kBits)),
            kMask);
}

TEST(MaskNpy, ReadsIntegersOfEverySizeAndByteOrder) {
  for (const std::string order : {"<", ">"}) {
    for (const std::string kind : {"i", "u"}) {
      for (const size_t bytes : {1, 2, 4, 8}) {
        std::string data;
        // The largest byte, the smallest and one between: none may be overlooked.
        for (size_t i = 0; i < 6; ++i) {
          std::string element(bytes, '\0');
          if (kBits[i] != 0) element[i * 7 % bytes] = '\x80';
          data += element;
        }
        EXPECT_EQ(parse_npy_mask(array(order + kind + std::to_string(bytes), "(2, 3)", data)),
                  kMask);
      }
    }
  }
}

TEST(MaskNpy, FloatsAreStoredUnlessTheyEqualZero) {
  const std::string floats = float_bytes({1e-45F, -0.0F, NAN, 0.0F, -2.0F, 0.0F});
  EXPECT_EQ(parse_npy_mask(array("<f4", "(2, 3)", floats)), kMask);
  const std::string big(
      "\0\0\0\1"
      "\x80\0\0\0"
      "\x7F\xC0\0\0"
      "\0\0\0\0"
      "\xC0\0\0\0"
      "\0\0\0\0",
      24);
  EXPECT_EQ(parse_npy_mask(array(">f4", "(2, 3)", big)), kMask);
  const std::string halves("\1\0\0\x80\0\x7E\0\0\0\xC0\0\0", 12);
  EXPECT_EQ(parse_npy_mask(array("<f2", "(2, 3)", halves)), kMask);
  std::string doubles;
  for (const double value : {5e-324, -0.0, 1.0, 0.0, -1.0, 0.0}) {
    doubles += little_endian(std::bit_cast<uint64_t>(value), 8);
  }
  EXPECT_EQ(parse_npy_mask(array("<f8", "(2, 3)", doubles)), kMask);
}

TEST(MaskNpy, FortranOrderIsTransposedBack) {
  EXPECT_EQ(parse_npy_mask(array("|b1", "(2, 3)", std::string("\1\0\0\1\1\0", 6), true)), kMask);
}

// Entry (o, i, h, w) alone is set, at its place in either order.
TEST(MaskNpy, FourDimensionsAreAConvolution) {
  constexpr MaskShape kShape{2, 3, 4, 5};
  for (int64_t at = 0; at < 120; ++at) {
    const int64_t w = at % 5, h = at / 5 % 4, i = at / 20 % 3, o = at / 60;
    std::vector<uint8_t> dense(120, 0);
    dense[static_cast<size_t>(at)] = 1;
    const Mask expected = Mask::from_dense(dense, kShape);
    std::string c_order(120, '\0'), fortran_order(120, '\0');
    c_order[static_cast<size_t>(at)] = 1;
    fortran_order[static_cast<size_t>(o + 2 * (i + 3 * (h + 4 * w)))] = 1;
    EXPECT_EQ(parse_npy_mask(array("|b1", "(2, 3, 4, 5)", c_order)), expected);
    EXPECT_EQ(parse_npy_mask(array("|b1", "(2, 3, 4, 5)", fortran_order, true)), expected);
  }
}

TEST(MaskNpy, AcceptsArraysWithoutElements) {
  EXPECT_EQ(parse_npy_mask(array("<f4", "(0, 7)", "")), Mask::random({0, 7}, 0, 1));
  EXPECT_EQ(parse_npy_mask(array("<f4", "(3, 0)", "")), Mask::random({3, 0}, 0, 1));
  EXPECT_EQ(parse_npy_mask(array("<f4", "(3, 2, 0, 4)", "")), Mask::random({3, 2, 0, 4}, 0, 1));
}

TEST(MaskNpy, EveryPrefixIsRejected) {
  const std::string bytes = array("|b1", "(2, 3)", kBits);
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_THROW(parse_npy_mask(bytes.substr(0, length)), Error) << length;
  }
}

TEST(MaskNpy, RejectsOtherFiles) {
  expect_rejected("", {"\"\"", "NUMPY"});
  expect_rejected("PK\3\4 archive", {"\"PK\\x03\\x04 a\"", "\\x93NUMPY"});
  expect_rejected(npy("{}", "", 4), {"4.0", "3.0"});
  expect_rejected(npy("{}", "", 0), {"0.0"});
}

TEST(MaskNpy, RejectsHeadersThatAreNotTheThreeKeys) {
  expect_rejected(npy("{}", ""), {"descr"});
  expect_rejected(npy("{'descr': '<f4', 'shape': (2, 3)}", ""), {"without fortran_order"});
  expect_rejected(npy("{'descr': '<f4', 'descr': '<f4'}", ""), {"\"descr\"", "once"});
  expect_rejected(npy("{'names': 1}", ""), {"\"names\""});
  expect_rejected(npy("{'descr': [('a', '<f4')]}", ""), {"[('a'", "a string"});
  expect_rejected(npy("{'descr: 3", ""), {"a string that ends"});
  expect_rejected(npy("{'fortran_order': 1}", ""), {"\"1}\"", "True or False"});
  expect_rejected(npy("{'shape': (2, x)}", ""), {"\"x)}\"", "dimension"});
  expect_rejected(npy("{'shape': (2 3)}", ""), {"\"3)}\"", "\")\""});
  expect_rejected(npy("{'shape': (99999999999999999999, 3)}", ""), {"9999999", "dimension"});
  expect_rejected(npy("{} junk", ""), {"junk", "end"});
  expect_rejected(npy(std::string("\0\n{", 3), ""), {"\\x00\\x0a"});
}

TEST(MaskNpy, RejectsTypesWithoutZero) {
  for (const std::string type : {"<c8", "|O", "<U3", "|S1", "<M8", "<f1", "<f16", "|f4", "|i2",
                                 "=f4", "f4", "", "<b2", "<i3"}) {
    expect_rejected(array(type, "(1, 1)", std::string(16, '\0')), {"descr \"" + type + "\""});
  }
}

TEST(MaskNpy, RejectsOtherDimensions) {
  expect_rejected(array("|b1", "()", "1"), {"shape ()", "2 or 4"});
  expect_rejected(array("|b1", "(6,)", kBits), {"shape (6)", "2 or 4"});
  expect_rejected(array("|b1", "(1, 2, 3)", kBits), {"shape (1, 2, 3)"});
  expect_rejected(array("|b1", "(1, 1, 1, 2, 3)", kBits), {"shape (1, 1, 1, 2, 3)"});
  expect_rejected(array("|b1", "(-2, -3)", kBits), {"-2x-3"});
  expect_rejected(array("|b1", "(2, 4294967299)", kBits), {"4294967299"});
}

TEST(MaskNpy, RejectsDataThatDoesNotFillTheShape) {
  expect_rejected(array("|b1", "(2, 3)", kBits + '\0'), {"7 bytes", "2x3", "6"});
  expect_rejected(array("<f4", "(2, 3)", kBits), {"6 bytes", "6 elements of 4"});
  expect_rejected(array("<f4", "(2, 3)", std::string(25, '\0')), {"25 bytes"});
}

TEST(MaskNpy, HugeShapesAreRejectedWithoutAllocating) {
  expect_rejected(array("<f8", "(2147483647, 2147483647)", ""), {"2147483647 rows", "65536"});
  expect_rejected(array("<f8", "(2147483647, 0)", ""), {"2147483647 rows"});
  expect_rejected(array("<f8", "(65536, 2147483647)", ""), {"0 bytes", "65536x2147483647"});
  expect_rejected("\x93NUMPY\2" + std::string("\0\xFF\xFF\xFF\xFF{}", 7),
                  {"4294967295", "2 follow"});
}

TEST(MaskNpy, LoadsAFile) {
  const std::string path = ::testing::TempDir() + "sparsejit_mask_npy_test.npy";
  std::ofstream(path, std::ios::binary) << array("|b1", "(2, 3)", kBits);
  EXPECT_EQ(load_npy_mask(path), kMask);
  std::remove(path.c_str());
  expect_error([&] { load_npy_mask(path); }, {path, "No such file"});
}

}  // namespace
}  // namespace sparsejit::test
