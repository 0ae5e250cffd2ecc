#!/bin/bash
# The kernels of gpreempt-load are for every board of their target, and are what `gpreempt verify`
# takes them for. They can be looked at where they cannot run.
#   kernels.sh CLANG KERNELS.cl FOLDER      the code objects are FOLDER/kernels.TARGET.co
set -eu -o pipefail
clang=$1 source=$2 folder=$3
fail() {
  echo "FAILED: $target: $1"
  exit 1
}
# value KERNEL NAME: of that line of the kernel's descriptor.
value() {
  awk -v begin="$1" -v name=".amdhsa_$2" \
    '$1 == ".amdhsa_kernel" { here = $2 == begin } here && $1 == name { print $2 }' <<< "$assembly"
}
is() { [[ $(value "$1" "$2") == "${3}" ]] || fail "$1: $2 is '$(value "$1" "$2")', not $3"; }
at_most() { [[ $(value "$1" "$2") -le $3 ]] || fail "$1: $2 is $(value "$1" "$2"), more than $3"; }

seen=
for object in "$folder"/kernels.gfx*.co; do
  target=$(basename "$object" .co) target=${target#kernels.}
  seen+=" $target"
  # Version 4 of code objects, which ROCr 5.2 and 7.2 both load; XNACK and SRAM ECC as they may be:
  # a code object for one setting is refused by a GPU with the other (ELF header, LLVM's AMDGPUUsage).
  header=$(readelf -h "$object" 2> /dev/null)
  grep -qE 'ABI Version: +2' <<< "$header" || fail "not version 4"
  flags=$(sed -n 's/ *Flags: *\(0x[0-9a-f]*\).*/\1/p' <<< "$header")
  (((flags & 0x200) == 0 && (flags & 0x800) == 0)) || fail "for one setting of XNACK or SRAM ECC: $flags"

  wave=()
  [[ $target != gfx1* ]] || wave=(-mwavefrontsize64)
  assembly=$("$clang" -target amdgcn-amd-amdhsa "-mcpu=$target" "${wave[@]}" -x cl -cl-std=CL2.0 -O2 \
    -nogpulib -mcode-object-version=4 -S "$source" -o -)
  for kernel in small registers lds; do
    # No scratch, whose set-up is another on every generation (gfx942 has it from the hardware); the
    # arguments are the 48 bytes of kernel_arguments.h, and nothing hidden behind them.
    is $kernel private_segment_fixed_size 0
    is $kernel kernarg_size 48
    is $kernel user_sgpr_kernarg_segment_ptr 1
    is $kernel user_sgpr_dispatch_ptr 0
    is $kernel user_sgpr_queue_ptr 0
  done
  is small group_segment_fixed_size 0
  is registers group_segment_fixed_size 0
  is lds group_segment_fixed_size 65536  # all of a CU's, or all that a group may have

  case $target in gfx90a | gfx942 | gfx950)
    # 512 registers per SIMD: eight waves of `small` share it, four of `registers`.
    at_most small next_free_vgpr 64
    at_most registers next_free_vgpr 128
    (($(value registers next_free_vgpr) >= 96)) || fail "registers: its states are not in registers"
    for kernel in small registers lds; do is $kernel tg_split 0; done
    ;;
  esac
  case $target in gfx942 | gfx950)
    # The host reads these while the kernel runs: the store must leave the caches of the XCC (system
    # scope). Begin and progress, in each kernel.
    stores=$(grep -cE 'global_store_dword(x2)? .* sc0 sc1$' <<< "$assembly" || true)
    [[ $stores -eq 6 ]] || fail "$stores stores of system scope, not 6"
    ;;
  esac
done
[[ -n $seen ]] || { echo "no code objects in $folder"; exit 1; }
echo "looked at$seen"
