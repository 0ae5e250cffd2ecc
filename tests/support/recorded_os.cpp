#include "support/recorded_os.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

namespace gp {
namespace {

template <class T>
Result<T> note(Result<T> answer, std::map<std::string, Recording::Answer<T>, std::less<>>& answers,
               const std::string& path) {
  answers[path] =
      answer ? Recording::Answer<T>{*answer, 0} : Recording::Answer<T>{T{}, answer.error().code};
  return answer;
}

template <class T>
Result<T> replay(const std::map<std::string, Recording::Answer<T>, std::less<>>& answers,
                 const char* action, const std::string& path) {
  const auto found = answers.find(path);
  const int code = found != answers.end() ? found->second.code : ENOENT;
  if (code != 0) {
    return Error{code, fmt::format("{} {}", action, path), ""};
  }
  return found->second.value;
}

std::string_view parent_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view{} : path.substr(0, slash);
}

bool is_below(std::string_view path, std::string_view directory) {
  return path.starts_with(directory) &&
         (path.size() == directory.size() || path[directory.size()] == '/');
}

// One answer: "kind code path-bytes value-bytes\n", the two texts, a newline.
void append(std::string& text, char kind, int code, std::string_view path, std::string_view value) {
  text += fmt::format("{} {} {} {}\n{}{}\n", kind, code, path.size(), value.size(), path, value);
}

std::string status_text(const Os::FileStatus& status) {
  return fmt::format("{} {} {} {} {} {}", status.mode, status.uid, status.gid, status.device,
                     status.inode, status.is_sysfs ? 1 : 0);
}

bool parse_status(const std::string& text, Os::FileStatus& status) {
  unsigned long long device = 0, inode = 0;
  int is_sysfs = 0;
  const int fields = std::sscanf(text.c_str(), "%u %u %u %llu %llu %d", &status.mode, &status.uid,
                                 &status.gid, &device, &inode, &is_sysfs);
  status.device = device;
  status.inode = inode;
  status.is_sysfs = is_sysfs != 0;
  return fields == 6;
}

std::vector<std::string> split_names(std::string_view text) {
  std::vector<std::string> names;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('/'), text.size());
    names.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return names;
}

bool load_answer(Recording& recording, char kind, int code, const std::string& path,
                 std::string_view value) {
  switch (kind) {
    case 'f': recording.files[path] = {std::string(value), code}; return true;
    case 'l': recording.links[path] = {std::string(value), code}; return true;
    case 'd': recording.directories[path] = {split_names(value), code}; return true;
    case 's': {
      Os::FileStatus status;
      const bool understood = parse_status(std::string(value), status);
      recording.statuses[path] = {status, code};
      return understood;
    }
    default: return false;
  }
}

}  // namespace

void Recording::add_directory(const std::string& path) {
  directories.try_emplace(path);
  const std::string_view parent = parent_of(path);
  if (parent.empty()) {
    return;
  }
  add_directory(std::string(parent));
  auto& names = directories.find(parent)->second.value;
  const std::string name = path.substr(parent.size() + 1);
  const auto place = std::lower_bound(names.begin(), names.end(), name, name_before);
  if (place == names.end() || *place != name) {
    names.insert(place, name);
  }
}

void Recording::add_file(const std::string& path, std::string text) {
  add_directory(path);  // for the listing of its parent
  directories.erase(path);
  files[path] = {std::move(text), 0};
}

void Recording::remove(const std::string& path) {
  const auto erase_below = [&](auto& answers) {
    std::erase_if(answers, [&](const auto& entry) { return is_below(entry.first, path); });
  };
  erase_below(files);
  erase_below(directories);
  erase_below(links);
  erase_below(statuses);
  const auto parent = directories.find(parent_of(path));
  if (parent != directories.end()) {
    std::erase(parent->second.value, path.substr(parent->first.size() + 1));
  }
}

std::string Recording::save() const {
  std::string text;
  for (const auto& [path, answer] : files) {
    append(text, 'f', answer.code, path, answer.value);
  }
  for (const auto& [path, answer] : directories) {
    append(text, 'd', answer.code, path, fmt::format("{}", fmt::join(answer.value, "/")));
  }
  for (const auto& [path, answer] : links) {
    append(text, 'l', answer.code, path, answer.value);
  }
  for (const auto& [path, answer] : statuses) {
    append(text, 's', answer.code, path, status_text(answer.value));
  }
  return text;
}

Result<Recording> Recording::load(std::string_view text) {
  Recording recording;
  while (!text.empty()) {
    const std::string head(text.substr(0, text.find('\n')));
    char kind = 0;
    int code = 0;
    std::size_t path_size = 0, value_size = 0;
    const int fields =
        std::sscanf(head.c_str(), "%c %d %zu %zu", &kind, &code, &path_size, &value_size);
    text.remove_prefix(std::min(head.size() + 1, text.size()));
    if (fields != 4 || path_size > text.size() || value_size >= text.size() - path_size ||
        !load_answer(recording, kind, code, std::string(text.substr(0, path_size)),
                     text.substr(path_size, value_size))) {
      return Error{EBADMSG, "load a recording", ""};
    }
    text.remove_prefix(path_size + value_size + 1);
  }
  return recording;
}

Result<std::string> RecordingOs::read_file(const std::string& path) {
  return note(below_.read_file(path), recording_.files, path);
}
Result<std::vector<std::string>> RecordingOs::list_directory(const std::string& path) {
  return note(below_.list_directory(path), recording_.directories, path);
}
Result<std::string> RecordingOs::read_link(const std::string& path) {
  return note(below_.read_link(path), recording_.links, path);
}
Result<Os::FileStatus> RecordingOs::status(const std::string& path) {
  return note(below_.status(path), recording_.statuses, path);
}
Result<UniqueFd> RecordingOs::open(const std::string& path, int flags) {
  return below_.open(path, flags);
}

Result<std::string> ReplayingOs::read_file(const std::string& path) {
  return replay(recording_.files, "read", path);
}
Result<std::vector<std::string>> ReplayingOs::list_directory(const std::string& path) {
  return replay(recording_.directories, "list", path);
}
Result<std::string> ReplayingOs::read_link(const std::string& path) {
  return replay(recording_.links, "read link", path);
}
Result<Os::FileStatus> ReplayingOs::status(const std::string& path) {
  return replay(recording_.statuses, "look at", path);
}
Result<UniqueFd> ReplayingOs::open(const std::string& path, int /*flags*/) {
  return Error{ENOTSUP, fmt::format("open {} of a recording", path), ""};
}

}  // namespace gp
