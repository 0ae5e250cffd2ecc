// One connection: receives requests, answers them, until the peer hangs up or says nonsense.
#pragma once

#include "server/calls.h"

namespace vgpu::server {

// Returns when the connection is over. The caller owns the socket and closes it afterwards.
void serve_connection(Services& services, int socket);

}  // namespace vgpu::server
