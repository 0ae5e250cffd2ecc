#include "daemon/trace_answers.h"

#include <algorithm>

#include "daemon/status_json.h"

namespace gp::daemon {

bool TraceAnswers::begin(PeerId peer, u32 sequence) {
  if (std::any_of(answers_.begin(), answers_.end(),
                  [peer](const Answer& answer) { return answer.peer == peer; })) {
    return false;
  }
  answers_.push_back({peer, sequence, 0, trace_.end(), ""});
  post();
  return true;
}

void TraceAnswers::post() {
  if (!posted_) {
    posted_ = true;
    loop_.post([this] { go_on(); });
  }
}

void TraceAnswers::forget(PeerId peer) {
  std::erase_if(answers_, [peer](const Answer& answer) { return answer.peer == peer; });
}

void TraceAnswers::go_on() {
  posted_ = false;
  if (answers_.empty()) {
    return;  // who asked has gone
  }
  Answer& answer = answers_.front();
  write_part(answer);
  if (answer.next >= answer.end) {
    peers_->send_text(answer.peer, answer.text, answer.sequence);  // ends it
    answers_.pop_front();
  }
  if (!answers_.empty()) {
    post();
  }
}

void TraceAnswers::write_part(Answer& answer) {
  const u64 most = std::min<u64>(answer.end - answer.next, kEventsPerTurn);
  std::vector<sched::TraceEvent> events = trace_.since(answer.next, most);
  std::erase_if(events, [&](const auto& event) { return event.number >= answer.end; });
  answer.next = events.empty() ? answer.end : events.back().number + 1;
  answer.text += trace_json(events);
  if (answer.text.size() >= wire::kTextPerMessage) {
    const std::string_view text = answer.text;
    peers_->send_part(answer.peer, text.substr(0, wire::kTextPerMessage), answer.sequence);
    answer.text.erase(0, wire::kTextPerMessage);
  }
}

}  // namespace gp::daemon
