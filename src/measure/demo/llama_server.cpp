#include "demo/llama_server.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "base/files.h"
#include "llm/ask.h"
#include "llm/gguf.h"
#include "llm/tiny_model.h"

namespace gp::demo {
namespace {

namespace fs = std::filesystem;

constexpr char kInstall[] =
    "install llama.cpp with its HIP backend (Debian sid: llama.cpp-tools libggml0-backend-hip), "
    "or name one: --llama-server PATH; on Debian 12 `make demo-llm` fetches one";

bool is_program(const fs::path& path) {
  std::error_code code;
  return fs::is_regular_file(path, code) && ::access(path.c_str(), X_OK) == 0;
}

// What it says when it is asked something. It says it on one of the two.
Result<std::vector<std::string>> answer_to(const std::string& program, const char* question,
                                           const ScratchDirectory& scratch, const Waiter& waiter) {
  Command command;
  command.name = "llama-server";
  command.words = {program, question};
  command.error_file = scratch.file(fmt::format("llama-server{}.log", question));
  command.end_signal = SIGKILL;
  Child child = TRY(Child::start(std::move(command)));
  const Status ended = waiter.wait(
      "llama-server to say what it is", {&child}, [&] { return child.status().has_value(); },
      std::chrono::minutes(1));
  if (!ended) {
    Error error = ended.error();
    error.hint = error.code == EINTR ? "" : kInstall;
    return error;
  }
  std::vector<std::string> lines = child.lines();
  std::istringstream said(
      TRY(read_file(scratch.file(fmt::format("llama-server{}.log", question)))));
  for (std::string line; std::getline(said, line);) {
    lines.push_back(line);
  }
  return lines;
}

Result<std::string> make_model(const ScratchDirectory& scratch) {
  const std::string path = scratch.file("tiny.gguf");
  TRY(write_file(path, TRY(llm::gguf_of({}))));
  return path;
}

}  // namespace

Result<std::string> find_llama_server(const std::string& named) {
  constexpr char kName[] = "llama-server";
  std::error_code code;
  if (!named.empty()) {
    return is_program(named) ? Result<std::string>(fs::absolute(named, code).string())
                             : Error{ENOENT, fmt::format("{} is no program", named), kInstall};
  }
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (const fs::path candidate = fs::path(folder) / kName; is_program(candidate)) {
      return fs::absolute(candidate, code).string();
    }
  }
  return Error{ENOENT, "no llama-server is installed", kInstall};
}

Result<LlamaServer> examine_llama_server(const std::string& program, const std::string& model,
                                         const ScratchDirectory& scratch, const Waiter& waiter) {
  constexpr std::string_view kVersion = "version: ";
  LlamaServer server;
  server.program = program;
  for (const std::string& line : TRY(answer_to(program, "--version", scratch, waiter))) {
    if (line.starts_with(kVersion)) {
      server.version = line.substr(kVersion.size());
    }
  }
  const auto devices = TRY(answer_to(program, "--list-devices", scratch, waiter));
  if (std::ranges::none_of(devices, [](const std::string& line) {
        return line.find("ROCm0:") != std::string::npos;
      })) {
    return Error{ENOTSUP, fmt::format("{} finds no AMD GPU: it would compute on the CPU", program),
                 fmt::format("is its HIP backend there? {}", kInstall)};
  }
  server.model = model.empty() ? TRY(make_model(scratch)) : model;
  return server;
}

std::vector<std::string> words_of(const LlamaServer& server, const std::string& socket) {
  // The first GPU is also the trainer's. A model may look back much farther than questions and
  // answers are long, and would have memory for all of it.
  std::vector<std::string> words = {server.program};
  const auto add = [&](const char* option, const std::string& value) {
    words.insert(words.end(), {option, value});
  };
  add("--model", server.model);
  add("--host", socket);
  add("--device", "ROCm0");
  add("--gpu-layers", "999");
  add("--parallel", "1");
  add("--ctx-size", "512");
  return words;
}

std::map<std::string, std::string> environment_for(bool virtual_gpu) {
  // It need not try what fits, nor keep prompts for later.
  std::map<std::string, std::string> settings = {{"LLAMA_ARG_FIT", "off"},
                                                 {"LLAMA_ARG_CACHE_RAM", "0"}};
  if (virtual_gpu) {
    // A thread for each CPU, which waits for work by polling, would take from the virtual GPU the
    // CPUs that it is made of.
    settings["LLAMA_ARG_THREADS"] = "1";
  }
  return settings;
}

Status wait_until_ready(const LlamaServer& server, Child& child, const std::string& socket,
                        const std::vector<Child*>& beside, const Waiter& waiter) {
  std::vector<Child*> all = beside;
  all.push_back(&child);
  bool ready = false;
  const Status waited = waiter.wait(
      "llama-server to be ready", all,
      [&] { return (ready = llm::is_ready(socket)) || child.status().has_value(); },
      server.patience);
  if (waited && ready) {
    return ok();
  }
  Error error = waited ? child.failure() : waited.error();
  if (error.code == ETIMEDOUT) {
    error.what += fmt::format("; {}", child.failure().what);
  }
  if (error.code != EINTR && error.hint.empty()) {
    error.hint = fmt::format("can it load the model {}?", server.model);
  }
  return error;
}

}  // namespace gp::demo
