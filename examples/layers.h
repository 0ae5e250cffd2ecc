// The layers of a multi-layer perceptron on the GPU: one matrix product, tiled through LDS, with
// what a layer does to each element of the result.
//
// Every element is summed in the order of k by one thread, so a result has the same bits each time,
// however the work is cut into kernels, and whether or not it was preempted.
#pragma once

#include <algorithm>

#include "hip_call.h"

// A matrix, or its transpose, in memory.
struct Matrix {
  float* data;
  unsigned rows, columns;
  unsigned row_stride, column_stride;

  static Matrix of(float* data, unsigned rows, unsigned columns) {
    return {data, rows, columns, columns, 1};
  }
  Matrix transposed() const { return {data, columns, rows, column_stride, row_stride}; }
  __device__ float at(unsigned row, unsigned column) const {
    return row < rows && column < columns ? data[row * row_stride + column * column_stride] : 0.0f;
  }
};

enum class Then {
  nothing,
  relu,                // max(x, 0)
  minus_other,         // the error against a target
  where_other_is_set,  // the derivative of relu: x where the other matrix is above 0
};

template <unsigned tile>
__host__ __device__ unsigned tiles_across(unsigned length) {
  return (length + tile - 1) / tile;
}

// One tile of the result, by a block of as many threads.
template <Then then, unsigned tile>
__device__ void multiply_tile(const Matrix& a, const Matrix& b, const Matrix& result,
                              const Matrix& other, unsigned tile_row, unsigned tile_column) {
  __shared__ float tile_a[tile][tile], tile_b[tile][tile];
  const unsigned row = tile_row * tile + threadIdx.y;
  const unsigned column = tile_column * tile + threadIdx.x;
  float sum = 0;
  for (unsigned t = 0; t < a.columns; t += tile) {
    tile_a[threadIdx.y][threadIdx.x] = a.at(row, t + threadIdx.x);
    tile_b[threadIdx.y][threadIdx.x] = b.at(t + threadIdx.y, column);
    __syncthreads();
    for (unsigned k = 0; k < tile; k++) {
      sum = fmaf(tile_a[threadIdx.y][k], tile_b[k][threadIdx.x], sum);
    }
    __syncthreads();
  }
  if (row >= result.rows || column >= result.columns) {
    return;
  }
  if constexpr (then == Then::relu) {
    sum = fmaxf(sum, 0.0f);
  } else if constexpr (then == Then::minus_other) {
    sum -= other.at(row, column);
  } else if constexpr (then == Then::where_other_is_set) {
    sum = other.at(row, column) > 0.0f ? sum : 0.0f;
  }
  result.data[row * result.row_stride + column * result.column_stride] = sum;
}

// Makes `tiles` tiles of the result from `first_tile` on, counted row by row. Blocks stay until all
// is done, as in the persistent kernels of fast libraries: whoever shares the GPU waits for the
// kernel, not for a block.
template <Then then, unsigned tile>
__global__ void multiply(Matrix a, Matrix b, Matrix result, Matrix other, unsigned first_tile,
                         unsigned tiles) {
  const unsigned tiles_per_row = tiles_across<tile>(result.columns);
  for (unsigned i = blockIdx.x; i < tiles; i += gridDim.x) {
    const unsigned number = first_tile + i;
    multiply_tile<then, tile>(a, b, result, other, number / tiles_per_row, number % tiles_per_row);
  }
}

// As many blocks as the GPU has room for.
inline unsigned blocks_at_once(unsigned threads) {
  static const hipDeviceProp_t properties = [] {
    hipDeviceProp_t first;
    HIP(hipGetDeviceProperties(&first, 0));
    return first;
  }();
  const auto per_cu = static_cast<unsigned>(properties.maxThreadsPerMultiProcessor) / threads;
  return static_cast<unsigned>(properties.multiProcessorCount) * per_cu;
}

// result = then(a x b), in up to `kernels` launches: a tile is the least that one can do. Tiles of
// 32 are the largest that a block has threads for: two blocks fill a CU, and nobody else fits in.
template <Then then, unsigned tile>
void launch_multiply(const Matrix& a, const Matrix& b, const Matrix& result, const Matrix& other,
                     unsigned kernels, hipStream_t stream) {
  const unsigned tiles = tiles_across<tile>(result.rows) * tiles_across<tile>(result.columns);
  const unsigned tiles_each = (tiles + kernels - 1) / kernels;
  for (unsigned first = 0; first < tiles; first += tiles_each) {
    const unsigned count = std::min(tiles_each, tiles - first);
    const unsigned blocks = std::min(count, blocks_at_once(tile * tile));
    multiply<then, tile>
        <<<blocks, dim3(tile, tile), 0, stream>>>(a, b, result, other, first, count);
  }
}
