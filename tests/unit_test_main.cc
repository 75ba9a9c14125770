// SPDX-License-Identifier: Apache-2.0
//
// The main function of every unit test. A session wakes Arrow's compute kernels before anything runs; a test of one layer has no
// session, and a kernel looked up by one thread while another wakes them is not found.
#include <arrow/compute/initialize.h>
#include <gtest/gtest.h>

#include <iostream>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (const arrow::Status status = arrow::compute::Initialize(); !status.ok()) {
    std::cerr << status.ToString() << '\n';
    return 1;
  }
  return RUN_ALL_TESTS();
}
