// TEST: copies of every kind and odd sizes by blit kernels move the right bytes
// ENV: HSA_ENABLE_SDMA=0
#include "copies.h"
int main() {
  check_copies();
  return pass("copies by blit kernels");
}
