#include "demo/cpu_meter.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace gp::demo {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::optional<u64> number_of(std::string_view text) {
  u64 value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value)
                                                                  : std::nullopt;
}

// All processes that there are now.
std::vector<pid_t> all_pids() {
  std::vector<pid_t> pids;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc", error), end; !error && entry != end;
       entry.increment(error)) {
    if (const auto pid = number_of(entry->path().filename().native())) {
      pids.push_back(static_cast<pid_t>(*pid));
    }
  }
  return pids;
}

std::map<pid_t, ProcessTime> all_process_times() {
  std::map<pid_t, ProcessTime> all;
  for (const pid_t pid : all_pids()) {
    if (const auto time = process_time(pid)) {
      all[pid] = *time;
    }
  }
  return all;
}

// The server of the virtual GPU that we run on: vgpud --dir DIRECTORY ...
std::optional<pid_t> find_virtual_gpu() {
  const char* directory = std::getenv("GPREEMPT_VGPU_DIR");
  if (directory == nullptr) {
    return std::nullopt;
  }
  using namespace std::string_literals;
  const std::string wanted = "\0--dir\0"s + directory + "\0"s;
  for (const pid_t pid : all_pids()) {
    if (text_of(fmt::format("/proc/{}/cmdline", pid)).find(wanted) != std::string::npos) {
      return pid;
    }
  }
  return std::nullopt;
}

double seconds_of(u64 ticks) {
  return static_cast<double>(ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

}  // namespace

// cpuN user nice system idle iowait irq softirq steal ...; what follows is part of user and nice.
std::optional<BusyTime> parse_busy_time(const std::string& stat, const cpu_set_t& of) {
  BusyTime busy;
  std::istringstream lines(stat);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    const auto cpu = name.starts_with("cpu") ? number_of(name.substr(3)) : std::nullopt;
    if (!cpu || *cpu >= CPU_SETSIZE || !CPU_ISSET(*cpu, &of)) {
      continue;
    }
    u64 user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0;
    if (!(words >> user >> nice >> system >> idle >> iowait >> irq >> softirq >> steal)) {
      return std::nullopt;
    }
    ++busy.cpus;
    busy.ticks += user + nice + system + irq + softirq + steal;
  }
  return busy.cpus > 0 ? std::optional(busy) : std::nullopt;
}

// PID (NAME) STATE PPID ...; the name may hold anything. utime, stime, cutime and cstime are the
// words 14 to 17 (proc(5)).
std::optional<ProcessTime> parse_process_time(std::string_view stat) {
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string_view::npos) {
    return std::nullopt;
  }
  std::istringstream rest{std::string(stat.substr(name_end + 1))};
  ProcessTime time;
  std::string word;
  for (int number = 3; number <= 17; ++number) {
    if (!(rest >> word)) {
      return std::nullopt;
    }
    if (number == 4 || number >= 14) {
      const auto value = number_of(word);
      if (!value) {
        return std::nullopt;
      }
      number == 4 ? void(time.parent = static_cast<pid_t>(*value))
                  : void((number <= 15 ? time.own_ticks : time.ended_ticks) += *value);
    }
  }
  return time;
}

std::optional<ProcessTime> process_time(pid_t pid) {
  return parse_process_time(text_of(fmt::format("/proc/{}/stat", pid)));
}

// some avg10=0.00 avg60=0.00 avg300=0.00 total=375772043
std::optional<u64> parse_waiting_us(const std::string& pressure) {
  std::istringstream words(pressure.substr(0, pressure.find('\n')));
  std::string word;
  if (!(words >> word) || word != "some") {
    return std::nullopt;
  }
  while (words >> word) {
    if (word.starts_with("total=")) {
      return number_of(std::string_view(word).substr(6));
    }
  }
  return std::nullopt;
}

u64 ticks_of_trees(const std::map<pid_t, ProcessTime>& all, const std::vector<pid_t>& roots) {
  std::multimap<pid_t, pid_t> children;
  for (const auto& [pid, time] : all) {
    children.emplace(time.parent, pid);
  }
  std::vector<pid_t> waiting = roots, seen;
  u64 ticks = 0;
  while (!waiting.empty()) {
    const pid_t pid = waiting.back();
    waiting.pop_back();
    const auto found = all.find(pid);
    if (found == all.end() || std::ranges::count(seen, pid) != 0) {
      continue;
    }
    seen.push_back(pid);
    ticks += found->second.own_ticks + found->second.ended_ticks;
    const auto [first, last] = children.equal_range(pid);
    std::transform(first, last, std::back_inserter(waiting),
                   [](const auto& child) { return child.second; });
  }
  return ticks;
}

CpuMeter::CpuMeter(std::optional<pid_t> daemon) : roots_{::getpid()} {
  for (const auto& pid : {find_virtual_gpu(), daemon}) {
    if (pid) {
      roots_.push_back(*pid);
    }
  }
  begin_ = look(roots_);
}

CpuMeter::Reading CpuMeter::look(const std::vector<pid_t>& roots) {
  cpu_set_t ours;
  CPU_ZERO(&ours);
  Reading reading;
  reading.time = std::chrono::steady_clock::now();
  if (::sched_getaffinity(0, sizeof ours, &ours) == 0) {
    reading.busy = parse_busy_time(text_of("/proc/stat"), ours);
  }
  reading.our_ticks = ticks_of_trees(all_process_times(), roots);
  reading.waiting_us = parse_waiting_us(text_of("/proc/pressure/cpu"));
  return reading;
}

std::optional<report::OtherPrograms> CpuMeter::read() const {
  const Reading end = look(roots_);
  if (!begin_.busy || !end.busy || begin_.busy->cpus != end.busy->cpus) {
    return std::nullopt;
  }
  const auto grown = [](u64 from, u64 to) { return to > from ? to - from : 0; };
  const u64 busy = grown(begin_.busy->ticks, end.busy->ticks);
  const u64 ours = grown(begin_.our_ticks, end.our_ticks);
  report::OtherPrograms others;
  others.cpu_s = seconds_of(grown(ours, busy));
  others.elapsed_s = std::chrono::duration<double>(end.time - begin_.time).count();
  others.cpus = end.busy->cpus;
  if (begin_.waiting_us && end.waiting_us) {
    others.waiting_s = static_cast<double>(grown(*begin_.waiting_us, *end.waiting_us)) / 1e6;
  }
  return others;
}

}  // namespace gp::demo
