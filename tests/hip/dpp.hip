// TEST: DPP moves (shifts, rotations, mirrors, broadcasts, masks) pick the lanes the manual names
#include "check.h"

// update_dpp(old, source, control, row_mask, bank_mask, bound_control): the control values of GFX9.
template <int kControl, int kRowMask = 0xf, int kBankMask = 0xf, bool kBound = false>
__device__ u32 move(u32 old, u32 source) {
  return static_cast<u32>(__builtin_amdgcn_update_dpp(
      static_cast<int>(old), static_cast<int>(source), kControl, kRowMask, kBankMask, kBound));
}

__global__ void moves(u32* out) {
  const u32 lane = threadIdx.x, source = 1000 + lane, old = lane;
  u32* mine = out + lane * 16;
  mine[0] = move<0x1b>(old, source);                    // quad_perm:[3,2,1,0]
  mine[1] = move<0x101>(old, source);                   // row_shl:1
  mine[2] = move<0x113>(old, source);                   // row_shr:3
  mine[3] = move<0x125>(old, source);                   // row_ror:5
  mine[4] = move<0x130>(old, source);                   // wave_shl:1
  mine[5] = move<0x134>(old, source);                   // wave_rol:1
  mine[6] = move<0x138>(old, source);                   // wave_shr:1
  mine[7] = move<0x13c>(old, source);                   // wave_ror:1
  mine[8] = move<0x140>(old, source);                   // row_mirror
  mine[9] = move<0x141>(old, source);                   // row_half_mirror
  mine[10] = move<0x142>(old, source);                  // row_bcast:15
  mine[11] = move<0x143>(old, source);                  // row_bcast:31
  mine[12] = move<0x118, 0xf, 0xf, true>(old, source);  // row_shr:8 bound_ctrl:0
  mine[13] = move<0x111, 0xa>(old, source);             // row_shr:1 row_mask:0xa
  mine[14] = move<0x111, 0xf, 0xc>(old, source);        // row_shr:1 bank_mask:0xc
  mine[15] =
      static_cast<u32>(__builtin_amdgcn_ds_swizzle(static_cast<int>(source), 0x401f));  // xor 16
}

// The lane DPP reads from, or -1 where the row or wave ends.
static int source_lane(int test, int lane) {
  const int row = lane & ~15, in_row = lane & 15;
  switch (test) {
    case 0: return (lane & ~3) | (3 - (lane & 3));
    case 1: return in_row + 1 > 15 ? -1 : lane + 1;
    case 2: return in_row - 3 < 0 ? -1 : lane - 3;
    case 3: return row | ((in_row - 5) & 15);
    case 4: return lane + 1 > 63 ? -1 : lane + 1;
    case 5: return (lane + 1) & 63;
    case 6: return lane - 1 < 0 ? -1 : lane - 1;
    case 7: return (lane - 1) & 63;
    case 8: return row | (15 - in_row);
    case 9: return (lane & ~7) | (7 - (lane & 7));
    case 10: return lane < 16 ? -1 : row - 1;
    case 11: return lane < 32 ? -1 : 31;
    case 12: return in_row - 8 < 0 ? -1 : lane - 8;
    case 15: return lane ^ 16;
    default: return in_row - 1 < 0 ? -1 : lane - 1;
  }
}

int main() {
  DeviceArray<u32> out(64 * 16);
  moves<<<1, 64>>>(out);
  finish();
  const auto got = out.read();
  for (int lane = 0; lane < 64; lane++) {
    for (int test = 0; test < 16; test++) {
      const int from = source_lane(test, lane);
      u32 want = from < 0 ? static_cast<u32>(lane) : 1000u + static_cast<u32>(from);
      if (test == 12 && from < 0)
        want = 0;
      if (test == 13 && (0xa >> (lane / 16) & 1) == 0)
        want = static_cast<u32>(lane);
      if (test == 14 && (0xc >> (lane % 16 / 4) & 1) == 0)
        want = static_cast<u32>(lane);
      EXPECT(got[lane * 16 + test] == want, "move %d of lane %d is %u, expected %u", test, lane,
             got[lane * 16 + test], want);
    }
  }
  return pass("DPP");
}
