// Any text as gpreemptd.toml: a configuration, or an error that says where.
#include "config/config.h"
#include "require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto config = gp::config::parse(text, "fuzz.toml");
  if (!config) {
    fuzz::require(config.error().code == EINVAL, "an error that is not about the text");
    fuzz::require(config.error().message().find("fuzz.toml") != std::string::npos,
                  "an error that does not say where");
    return 0;
  }
  fuzz::require(config->settings.policy != nullptr, "no policy");
  fuzz::require(config->settings.lease_ns > 0 && config->settings.lease_ns <= 60'000'000'000,
                "a lease that does not end");
  return 0;
}
