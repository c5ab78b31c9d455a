// How an aggregator connects to an agent.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/security/credentials.h>

#include <functional>
#include <memory>
#include <string>

namespace gpuscaler {

struct AgentConnection {
  // Asked at each attempt, so that a new certificate is used from then on; without any: no TLS.
  std::function<std::shared_ptr<grpc::ChannelCredentials>()> credentials;
  std::string server_name;  // that the agent's certificate bears; empty: its address
};

// One for each attempt: gRPC's own delays between attempts are none of ours.
std::shared_ptr<grpc::Channel> ConnectToAgent(const AgentConnection& connection,
                                              const std::string& address);

}  // namespace gpuscaler
