// Any bytes as an answer of an HTTP server: taken in at once and byte by byte it is the same.
#include "llm/http_response.h"
#include "require.h"

namespace {

struct Seen {
  bool error = false, complete = false;
  std::string body;

  bool operator==(const Seen&) const = default;
};

Seen take(std::string_view bytes, std::size_t piece) {
  gp::llm::HttpResponse response;
  Seen seen;
  while (!seen.error && !bytes.empty()) {
    seen.error = !response.take(bytes.substr(0, piece));
    seen.body += response.take_body();
    bytes.remove_prefix(std::min(piece, bytes.size()));
  }
  seen.error = seen.error || !response.end();
  seen.complete = response.is_complete();
  return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Seen whole = take(bytes, size), pieces = take(bytes, 1);
  fuzz::require(whole.error == pieces.error, "an answer that is one only in pieces");
  fuzz::require(whole.error || whole == pieces, "an answer that differs in pieces");
  fuzz::require(whole.body.size() <= size, "a body larger than the answer");
  return 0;
}
