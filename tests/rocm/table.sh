# The table of docs/rocm.md: a line per step, a column per release.

# version ROOT PACKAGE: upstream's, of the package whose name begins so.
version() { sed -n "s/^$2[^_]*_\([0-9]*:\)\?\([0-9.]*[0-9]\).*/\2/p" "$1/.packages" | head -1; }

titles=(
  "rocminfo|rocminfo"
  "hip|our HIP programs, compiled by the release's hipcc"
  "hsa|our HSA programs"
  "agent|daemon, agent and mechanisms"
  "online_here|the same, with online work on ROCr 5.2.3"
  "offline_here|the same, with offline work on ROCr 5.2.3"
  "online_trixie|the same, with online work on trixie's ROCr"
  "online_experimental|the same, with online work on experimental's ROCr"
  "rocblas|rocBLAS, products against the CPU"
  "rocrand|rocRAND's own tests, in part"
  "rocprim|rocPRIM's own tests, in part"
  "miopen|MIOpen, a convolution forward and backward against the CPU"
  "ggml|ggml's test-backend-ops, in part"
  "language_model|a language model against the CPU (llama.cpp)"
)

print_table() {
  local suite title name line value folder
  line="| |"
  for suite in trixie sid experimental; do
    folder=$roots/$suite/root
    line+=" $suite"
    [[ ! -f $folder/.packages ]] || line+=": ROCr $(version "$folder" libhsa-runtime64-1),"
    [[ ! -f $folder/.packages ]] || line+=" HIP $(version "$folder" 'libamdhip64-[0-9]')"
    line+=" |"
  done
  echo "$line"
  echo "|---|---|---|---|"
  for title in "${titles[@]}"; do
    name=${title%%|*}
    line="| ${title#*|} |"
    for suite in trixie sid experimental; do
      value=$(cat "$roots/$suite.$name.result" 2> /dev/null)
      case ${value%%|*} in
        ok) line+=" ${value#*|} |" ;;
        FAILED) line+=" **failed**: ${value#*|} |" ;;
        skipped) line+=" skipped: ${value#*|} |" ;;
        *) line+=" |" ;;
      esac
    done
    echo "$line"
  done
}

# write_table FILE: replaces what stands between the markers.
write_table() {
  local begin='<!-- begin: make test-rocm -->' end='<!-- end: make test-rocm -->'
  if ! grep -qF "$begin" "$1" || ! grep -qF "$end" "$1"; then
    echo "$1: the markers of the table are missing: $begin, $end" >&2
    return 1
  fi
  {
    sed "/$begin/q" "$1"
    print_table
    sed -n "/$end/,\$p" "$1"
  } > "$1.new" && mv "$1.new" "$1"
}
