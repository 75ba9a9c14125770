// SPDX-License-Identifier: Apache-2.0
//
// Runs a fuzz entry (LLVMFuzzerTestOneInput, as libFuzzer calls it) without libFuzzer: mutates good inputs (FuzzSeeds) for some
// seconds. Nothing guides it, so the seeds should reach everything. The seed of the random numbers is printed: give it to repeat.
//
//   avro_fuzz [SECONDS [SEED]]        avro_fuzz FILE...   runs the entry over files (with libFuzzer: the same)
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

/// Good inputs, of the file that defines the entry.
std::vector<std::string> FuzzSeeds();

/// What a text format is made of, of a file that has such pieces: put between others, or in the place of a value after a colon.
__attribute__((weak)) std::vector<std::string> FuzzPieces();

namespace {

void Run(const std::string& input) { LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size()); }

/// A number as formats store it: small, at an edge, or anything.
std::string RandomPiece(std::mt19937_64& random) {
  static const std::vector<std::string> edges = {std::string("\0\0\0\0", 4),
                                                 "\xff\xff\xff\xff",
                                                 "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01",
                                                 "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
                                                 "\x7f",
                                                 "\x80",
                                                 std::string("\x01\0\0\0\0\0\0\x80", 8),
                                                 "\xfe\xff\xff\xff\x0f"};
  if (random() % 2 == 0) return edges[random() % edges.size()];
  std::string piece(1 + random() % 8, '\0');
  for (char& c : piece) c = static_cast<char>(random());
  return piece;
}

void MutateText(std::mt19937_64& random, std::string* input) {
  static const std::vector<std::string> pieces = FuzzPieces();
  const std::string& piece = pieces[random() % pieces.size()];
  const size_t at = random() % input->size();
  const size_t colon = input->find(':', at);
  if (random() % 4 == 0 || colon == std::string::npos) {
    input->insert(at, piece);
    return;
  }
  input->replace(colon + 1, input->find_first_of(",}]", colon) - colon - 1, piece);
}

void Mutate(const std::vector<std::string>& seeds, std::mt19937_64& random, std::string* input) {
  if (input->empty()) *input = "x";
  if (FuzzPieces != nullptr && random() % 4 != 0) return MutateText(random, input);
  const size_t at = random() % input->size();
  switch (random() % 7) {
    case 0:
      (*input)[at] = static_cast<char>((*input)[at] ^ (1 << random() % 8));
      break;
    case 1:
      (*input)[at] = static_cast<char>(random());
      break;
    case 2:
      input->resize(at);
      break;
    case 3:
      input->erase(at, 1 + random() % 16);
      break;
    case 4:
      input->insert(at, RandomPiece(random));
      break;
    case 5: {
      const std::string piece = RandomPiece(random);
      input->replace(at, piece.size(), piece);
      break;
    }
    default: {
      // The tail of another input.
      const std::string& other = seeds[random() % seeds.size()];
      if (!other.empty()) input->replace(at, std::string::npos, other, random() % other.size(), std::string::npos);
      break;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 3;
  if (argc > 1 && seconds == 0) {
    for (int i = 1; i < argc; ++i) {
      std::ifstream file(argv[i], std::ios::binary);
      Run(std::string(std::istreambuf_iterator<char>(file), {}));
    }
    return 0;
  }
  const uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : std::random_device()();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  std::mt19937_64 random(seed);
  const std::vector<std::string> seeds = FuzzSeeds();
  for (const std::string& input : seeds) Run(input);
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  int64_t runs = 0;
  for (; std::chrono::steady_clock::now() < end; ++runs) {
    std::string input = seeds[random() % seeds.size()];
    for (uint64_t i = 0, count = 1 + random() % 4; i < count; ++i) Mutate(seeds, random, &input);
    Run(input);
  }
  std::printf("%lld runs\n", static_cast<long long>(runs));
  return 0;
}
