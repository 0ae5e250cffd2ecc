#include "native.h"

#include <cstring>
#include <thread>
#include <vector>

namespace {

constexpr unsigned kLanes = 64, kTile = 16;

// A wave's worth of lanes in registers: the compiler keeps x in eight vectors of eight.
float fma_wave(unsigned rounds, float start, float a, float b) {
  float x[kLanes];
  for (unsigned lane = 0; lane < kLanes; lane++) x[lane] = start + static_cast<float>(lane);
  for (unsigned round = 0; round < rounds; round++) {
    for (unsigned lane = 0; lane < kLanes; lane++) x[lane] = x[lane] * a + b;
  }
  float sum = 0;
  for (unsigned lane = 0; lane < kLanes; lane++) sum += x[lane];
  return sum;
}

using Row = float[kTile];
using Vector = float __attribute__((vector_size(kTile * sizeof(float))));

// sum += a * tile: a row of the result stays in vector registers. Spelled as a vector, because g++
// 12 vectorizes the loop over k instead, which is ten times slower.
void multiply_row(const Row& a, const Row* tile, Row& sum) {
  Vector total;
  std::memcpy(&total, sum, sizeof(total));
  for (unsigned k = 0; k < kTile; k++) {
    Vector row;
    std::memcpy(&row, tile[k], sizeof(row));
    total += a[k] * row;
  }
  std::memcpy(sum, &total, sizeof(total));
}

void matmul_tile(const float* a, const float* b, float* c, unsigned n, unsigned row,
                 unsigned column) {
  Row sum[kTile] = {};
  for (unsigned t = 0; t < n; t += kTile) {
    Row tile_a[kTile], tile_b[kTile];
    for (unsigned i = 0; i < kTile; i++) {
      std::memcpy(tile_a[i], &a[(row + i) * n + t], sizeof(Row));
      std::memcpy(tile_b[i], &b[(t + i) * n + column], sizeof(Row));
    }
    for (unsigned i = 0; i < kTile; i++) multiply_row(tile_a[i], tile_b, sum[i]);
  }
  for (unsigned i = 0; i < kTile; i++) {
    std::memcpy(&c[(row + i) * n + column], sum[i], sizeof(Row));
  }
}

template <typename Body>
void on_threads(unsigned threads, Body body) {
  std::vector<std::thread> all;
  for (unsigned t = 0; t < threads; t++) all.emplace_back([=] { body(t); });
  for (std::thread& thread : all) thread.join();
}

}  // namespace

float native_fma(unsigned threads, unsigned waves, unsigned rounds, float a, float b) {
  std::vector<float> sums(threads * 16);  // a cache line each
  on_threads(threads, [&sums, waves, rounds, a, b](unsigned t) {
    float sum = 0;
    for (unsigned wave = 0; wave < waves; wave++) {
      sum += fma_wave(rounds, static_cast<float>(t * waves + wave), a, b);
    }
    sums[t * 16] = sum;
  });
  float sum = 0;
  for (unsigned t = 0; t < threads; t++) sum += sums[t * 16];
  return sum;
}

void native_matmul(unsigned threads, const float* a, const float* b, float* c, unsigned n) {
  on_threads(threads, [=](unsigned t) {
    for (unsigned row = t * kTile; row < n; row += threads * kTile) {
      for (unsigned column = 0; column < n; column += kTile) matmul_tile(a, b, c, n, row, column);
    }
  });
}
