// The layers of a multi-layer perceptron on the GPU: one matrix product, tiled through LDS, with
// what a layer does to each element of the result.
//
// Every element is summed in the order of k by one thread, so a result has the same bits each time,
// however the work is cut into kernels, and whether or not it was preempted.
#pragma once

#include <hip/hip_runtime.h>

constexpr unsigned kTile = 16;

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

inline unsigned tiles_across(unsigned length) { return (length + kTile - 1) / kTile; }

// Each block makes one tile of the result: its tiles from `first_tile` on, counted row by row.
template <Then then>
__global__ void multiply(Matrix a, Matrix b, Matrix result, Matrix other, unsigned first_tile,
                         unsigned tiles_per_row) {
  __shared__ float tile_a[kTile][kTile], tile_b[kTile][kTile];
  const unsigned tile = first_tile + blockIdx.x;
  const unsigned row = tile / tiles_per_row * kTile + threadIdx.y;
  const unsigned column = tile % tiles_per_row * kTile + threadIdx.x;
  float sum = 0;
  for (unsigned t = 0; t < a.columns; t += kTile) {
    tile_a[threadIdx.y][threadIdx.x] = a.at(row, t + threadIdx.x);
    tile_b[threadIdx.y][threadIdx.x] = b.at(t + threadIdx.y, column);
    __syncthreads();
    for (unsigned k = 0; k < kTile; k++) {
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

// result = then(a x b), in up to `kernels` launches: a tile is the least that one can do.
template <Then then>
void launch_multiply(const Matrix& a, const Matrix& b, const Matrix& result, const Matrix& other,
                     unsigned kernels, hipStream_t stream) {
  const unsigned tiles_per_row = tiles_across(result.columns);
  const unsigned tiles = tiles_across(result.rows) * tiles_per_row;
  const unsigned tiles_each = (tiles + kernels - 1) / kernels;
  for (unsigned first = 0; first < tiles; first += tiles_each) {
    const unsigned count = tiles - first < tiles_each ? tiles - first : tiles_each;
    multiply<then>
        <<<count, dim3(kTile, kTile), 0, stream>>>(a, b, result, other, first, tiles_per_row);
  }
}
