// The native counterparts of the kernels in compute.hip: same arithmetic, same tiling, two threads.
#pragma once

// Each of `threads` threads runs `waves` times 64 lanes through `rounds` of x = x * a + b. Returns
// a value that depends on all results, so that nothing is optimized away.
float native_fma(unsigned threads, unsigned waves, unsigned rounds, float a, float b);

// c = a * b, n x n, in tiles of 16 x 16, the rows of tiles split among `threads` threads.
void native_matmul(unsigned threads, const float* a, const float* b, float* c, unsigned n);
