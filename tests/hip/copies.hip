// TEST: copies of every kind and odd sizes by SDMA move the right bytes
// ENV: HSA_ENABLE_SDMA=1
// SANITIZE:
#include "copies.h"
int main() {
  check_copies();
  return pass("copies by SDMA");
}
