// What a controller and the pause guard of one paused process say to each other: a SEQPACKET
// socket, one byte per message, and the descriptors the pause guard is started with.
#pragma once

namespace gp::pause_guard {

// Descriptors of the pause guard's process when it starts.
constexpr int kControlFd = 3;     // the socket
constexpr int kKfdFd = 4;         // the target's own /dev/kfd
constexpr int kTargetFd = 5;      // a pidfd of the target
constexpr int kControllerFd = 6;  // a pidfd of the controller: a child of it may keep the socket
constexpr int kDescriptors = 4;

constexpr char kReady = 'r';    // guardian: I watch
constexpr char kPausing = 'p';  // controller: the next thing I do is to pause the target
constexpr char kRunning = 'u';  // controller: it is unpaused

}  // namespace gp::pause_guard
