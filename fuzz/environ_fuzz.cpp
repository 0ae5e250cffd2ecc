// Any bytes as /proc/<pid>/environ, stat, status and cmdline.
#include "discover/classify.h"
#include "discover/process_files.h"
#include "require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gp::discover;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  parse_stat(text);
  parse_status(text);
  for (const char c : printable_command(text)) {
    fuzz::require(static_cast<unsigned char>(c) >= ' ' && c != 0x7f, "an unprintable command");
  }
  if (const auto value = find_variable(text, "AMD_QUEUE_TAG")) {
    fuzz::require(
        value->data() >= text.data() && value->data() + value->size() < text.data() + text.size(),
        "a value outside the text");
  }
  Process process;
  std::vector<std::string> warnings;
  classify(process, {}, text, text, warnings);
  return 0;
}
