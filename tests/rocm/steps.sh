# The steps of tests/rocm/all. Each gets a suite and its root, runs in an empty folder that is
# removed afterwards, and returns 0, 1, or 77 if it cannot be done. Its last line goes into the
# summary and the table.

# on_gpu ROOT COMMAND...: in the root, on a virtual GPU of its own.
gpu=()
on_gpu() { "$build/bin/vgpu" run "${gpu[@]}" -- "$here/in-root" "$@"; }

skip() {
  echo "$1"
  exit 77
}

# A package may have been left out when the root was made.
needs() {
  local root=$1 package=$2 file=$3 reason
  [[ ! -e $root$file ]] || return 0
  reason=$(grep -m 1 "^$package: " "$root/.left-out") || reason="$package has no $file"
  skip "$reason"
}

# hipcc ROOT SOURCE PROGRAM [OPTION...]: compiles with the release's own compiler.
compile() {
  local root=$1 source=$2 program=$3
  shift 3
  mkdir -p "$(dirname "$program")"
  [[ ! $program -nt $source || ! $program -nt $root/.complete ]] || return 0
  "$here/in-root" "$root" hipcc -std=c++20 -O2 --offload-arch=gfx90a -Wall \
    -Wno-unused-command-line-argument -Wno-deprecated-declarations "$source" -o "$program" "$@"
}

directive() { sed -n "s|^// $2: *||p" "$1" | head -1; }

# What fails although it should not: docs/rocm.md has the reasons.
known_failures=("experimental ipc_handles" "experimental managed_memory")
is_known() { [[ " ${known_failures[*]/#/|}" == *"|$1 $2"* ]]; }

# judge SUITE NAME COMMAND...: counts what passes and tells what does not.
good=0 bad=0 known=0
judge() {
  local suite=$1 name=$2 status=0
  shift 2
  timeout 180 "$@" > output 2>&1 || status=$?
  if [[ $status -eq 0 || $status -eq 77 ]]; then
    good=$((good + 1))
    ! is_known "$suite" "$name" || echo "--- $name: passes, is in the list of known failures"
  elif is_known "$suite" "$name"; then
    known=$((known + 1))
    echo "--- $name: exit status $status, known"
  else
    bad=$((bad + 1))
    echo "--- $name: exit status $status"
    tail -20 output
  fi
}
verdict() {
  local rest=
  [[ $known -eq 0 ]] || rest=", $known known failures"
  echo "$good of $((good + bad + known)) $1$rest"
  [[ $bad -eq 0 && $good -gt 0 ]]
}

step_rocminfo() {
  gpu=()
  on_gpu "$2" rocminfo > output 2>&1 && grep -q 'Name: *gfx90a' output || { cat output; return 1; }
  echo "$(grep -m 1 'Runtime Version' output | tr -s ' '), gfx90a"
}

# Programs of tests/hip that need no more than to be started, by the release's own compiler.
step_hip() {
  local suite=$1 root=$2 folder=$roots/$1.programs source sources name
  mapfile -t sources < <(grep -LE '^// (STATUS|OUTPUT|USES|HELPER|LABELS):' \
    "$repository"/tests/hip/*.hip)
  export -f compile directive
  export here root folder
  printf '%s\n' "${sources[@]}" | xargs -P "$(nproc)" -I {} bash -c '
    link=$(directive {} LINK)
    # In a library of its own since HIP 6, and no longer in libamdhip64 since 7.
    [[ ! -e $root/usr/lib/x86_64-linux-gnu/libhiprtc.so ]] || link=-lhiprtc
    compile "$root" {} "$folder/$(basename {} .hip)" $link'
  for source in "${sources[@]}"; do
    name=$(basename "$source" .hip)
    # shellcheck disable=SC2207,SC2046  # words
    gpu=($(directive "$source" RUN))
    # shellcheck disable=SC2046
    judge "$suite" "$name" env $(directive "$source" ENV) "$build/bin/vgpu" run "${gpu[@]}" -- \
      "$here/in-root" "$root" "$folder/$name"
  done
  verdict "programs of tests/hip"
}

# Built here, for this machine's ROCr: the interface is the same.
step_hsa() {
  local suite=$1 root=$2 source name
  for source in "$repository"/tests/hsa/*.cpp; do
    name=$(basename "$source" .cpp)
    # shellcheck disable=SC2207,SC2046  # words
    gpu=($(directive "$source" RUN))
    # shellcheck disable=SC2046
    judge "$suite" "$name" env $(directive "$source" ENV) "$build/bin/vgpu" run "${gpu[@]}" -- \
      "$here/in-root" "$root" "$build/hsa/$name"
  done
  verdict "programs of tests/hsa"
}

# agents OFFLINE ONLINE: the daemon, the agent and mechanisms with programs on these roots; the
# machine's own release has none.
agents() {
  GPREEMPT_TEST_ROCM_ROOT=$1 GPREEMPT_TEST_ROCM_ONLINE_ROOT=$2 timeout 300 \
    "$build/bin/vgpu" run --kfd 1.17 -- "$build/bin/release_tests" > output 2>&1 ||
    { tail -200 output; echo "$(grep -c '^\[  FAILED.* (' output) tests failed"; return 1; }
  echo "$(grep -c '^\[ *OK' output) tests, stopped and exact"
}
other() {
  [[ -n ${root[$1]:-} ]] || skip "no root of $1: ${why[$1]:-not selected}"
  echo "${root[$1]}"
}
step_agent() { agents "$2" "$2"; }
step_online_here() { agents "$2" ""; }
step_offline_here() { agents "" "$2"; }
step_online_experimental() {
  local second
  second=$(other experimental) || skip "$second"
  agents "$2" "$second"
}
step_online_trixie() {
  local second
  second=$(other trixie) || skip "$second"
  agents "$2" "$second"
}

# run_program ROOT PROGRAM: its verdict comes last, whatever the runtime says when it ends.
run_program() {
  local status=0
  gpu=()
  timeout 600 "$build/bin/vgpu" run -- "$here/in-root" "$@" > output 2>&1 || status=$?
  cat output
  grep -aE '^[0-9]+ of [0-9]+ ' output || echo "ended with status $status"
  return $status
}

step_rocblas() {
  needs "$2" librocblas-dev /usr/include/rocblas/rocblas.h
  compile "$2" "$here/rocblas_products.cpp" "$roots/$1.programs/rocblas_products" \
    -lrocblas -lamdhip64 || return 1
  run_program "$2" "$roots/$1.programs/rocblas_products"
}

# gtests ROOT FOLDER PROGRAM[:FILTER]...: a library's own tests.
gtests() {
  local root=$1 folder=$2 program filter status=0 ok=0
  shift 2
  gpu=()
  for program in "$@"; do
    filter=${program#*:}
    [[ $program == *:* ]] || filter='*'
    program=${program%%:*}
    status=0
    timeout 300 "$build/bin/vgpu" run -- "$here/in-root" "$root" "$folder/$program" \
      "--gtest_filter=$filter" > output 2>&1 || status=$?
    good=$((good + $(grep -c '^\[ *OK' output)))
    ok=$(grep -c '^\[  FAILED  \].*(' output)
    if [[ $status -ne 0 ]]; then
      bad=$((bad + (ok > 0 ? ok : 1)))
      echo "--- $program: exit status $status"
      grep -E '^\[  FAILED|Failure' output | head -20
      tail -10 output
    fi
  done
}

step_rocrand() {
  needs "$2" librocrand1-tests /usr/libexec/rocm/librocrand1-tests
  gtests "$2" /usr/libexec/rocm/librocrand1-tests test_cpp_utils test_uniform_distribution \
    test_normal_distribution test_log_normal_distribution test_poisson_distribution \
    test_rocrand_basic test_rocrand_config_dispatch test_rocrand_generate_uniform \
    test_rocrand_kernel_philox4x32_10 test_rocrand_kernel_xorwow test_rocrand_kernel_mtgp32 \
    test_rocrand_kernel_sobol32 test_rocrand_kernel_sobol64 test_rocrand_mtgp32_prng \
    test_rocrand_sobol32_qrng test_rocrand_scrambled_sobol64_qrng
  verdict "of rocRAND's tests"
}

step_rocprim() {
  needs "$2" librocprim-tests /usr/libexec/rocm/librocprim-tests
  gtests "$2" /usr/libexec/rocm/librocprim-tests test_basic test_arg_index_iterator \
    test_constant_iterator test_counting_iterator test_block_exchange test_block_load_store \
    test_block_run_length_decode 'test_block_scan:*/1.*' 'test_block_reduce:*/1.*' \
    'test_block_radix_sort:*/1.*' 'test_warp_reduce:*/1.*' 'test_warp_scan:*/1.*' \
    'test_warp_sort:*/1.*'
  verdict "of rocPRIM's tests"
}

# Debian's MIOpen compiles its kernels when they are used, in one case by a compiler that lies where
# the package was built, and with -isystem /usr/include, which hides clang's own headers from it.
step_miopen() {
  local library=$2/usr/lib/x86_64-linux-gnu/libMIOpen.so.1 compiler
  needs "$2" libmiopen-dev /usr/include/miopen/miopen.h
  compiler=$(grep -aom 1 '/build/reproducible-path/[^[:cntrl:]]*/clang-[0-9]*' "$library" | head -1)
  if [[ -n $compiler && ! -e $2$compiler ]]; then
    mkdir -p "$(dirname "$2$compiler")"
    ln -s "/usr/bin/$(basename "$compiler")" "$2$compiler"
  fi
  compile "$2" "$here/miopen_layer.cpp" "$roots/$1.programs/miopen_layer" -lMIOpen -lamdhip64 ||
    return 1
  HOME=$PWD CCC_OVERRIDE_OPTIONS='# X-isystem' run_program "$2" "$roots/$1.programs/miopen_layer"
}

# Operations of ggml, the library below llama.cpp, against its CPU backend.
step_ggml() {
  local folder=/usr/libexec/x86_64-linux-gnu/llama.cpp-tests part
  needs "$2" llama.cpp-tests $folder/test-backend-ops
  needs "$2" libggml0-backend-hip /usr/lib/x86_64-linux-gnu/ggml/backends0/libggml-hip.so
  gpu=(--vram 16G)
  for part in 'ADD type=f32.*nf=1' 'SOFT_MAX ne=.16,' 'ROPE ne_a=.128,32,2,1' 'GET_ROWS n=256' \
    'RMS_NORM ne=.(33|64),' 'FLASH_ATTN_EXT hsk=64,hsv=64,nh=4,.*kv=113,nb=1,.*type_KV=f16' \
    'MUL_MAT type_a=(f16|q4_0|q8_0|q4_K),type_b=f32,m=16,n=[1-3],k=256,bs=.1,1.,'; do
    ggml_operation "$2" $folder/test-backend-ops "${part%% *}" "${part#* }"
  done
  verdict "cases of seven operations"
}

# ggml_operation ROOT PROGRAM NAME PARAMETERS
ggml_operation() {
  local status=0
  timeout 300 "$build/bin/vgpu" run "${gpu[@]}" -- "$here/in-root" "$1" "$2" test -b ROCm0 \
    -o "$3" -p "$4" > output 2>&1 || status=$?
  echo "$3: $(grep -ac "^ *$3(.*OK" output) ok, exit status $status"
  good=$((good + $(grep -ac "^ *$3(.*OK" output)))
  [[ $status -eq 0 ]] || bad=$((bad + 1))
  [[ $status -eq 0 ]] || { grep -a FAIL output; tail -5 output; }
}

# One of random weights: a model that could be fetched is too large for the virtual GPU.
step_language_model() {
  local where
  needs "$2" llama.cpp-tools /usr/bin/llama-completion
  "$build/bin/gpreempt-tiny-model" model.gguf || return 1
  gpu=()
  for where in 0 99; do  # layers on the GPU
    timeout 300 "$build/bin/vgpu" run -- "$here/in-root" "$2" llama-completion -v -m model.gguf \
      -ngl $where -n 16 -s 1 --temp 0 -no-cnv -p "Once upon a time" > text.$where 2> error.$where ||
      { tail -20 error.$where; echo "llama-completion failed"; return 1; }
  done
  grep -q 'ROCm0' error.99 || { cat error.99; echo "the GPU was not used"; return 1; }
  cmp text.0 text.99 || { echo "the texts differ"; return 1; }
  echo "16 tokens, the same text"
}
