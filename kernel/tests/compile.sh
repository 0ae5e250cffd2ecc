# Compiles the tests into one static program. Sourced by scripts of this folder, which have set $here
# (this folder) and $cache (fetch-source).

# compile_tests PROGRAM: objects are kept in the cache; one is compiled again if its source or any
# header is newer.
compile_tests() {
  local folder=$cache/tree/tests source object objects=()
  mkdir -p "$folder"
  for source in "$here"/conformance/*.cpp "$here"/sim/*.cpp; do
    object=$folder/$(basename "${source%.cpp}").o
    objects+=("$object")
    if [[ ! -e $object || -n $(find "$source" "$here" "$cache/tree/uapi" -newer "$object" \
      \( -path "$source" -o -name '*.h' \)) ]]; then
      nice -n 10 g++ -std=c++20 -O1 -Wall -Wextra -Werror -I"$here/conformance" -I"$here/sim" \
        -I"$here/sim/shim" -I"$cache/tree/uapi" -c "$source" -o "$object"
    fi
  done
  nice -n 10 g++ -static "${objects[@]}" -o "$1"
}
