#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "stretto/base/bytes.h"
#include "stretto/base/descriptor.h"
#include "stretto/fabric/cluster/network/carrier.h"
#include "stretto/fabric/cluster/tcp/address.h"

namespace stretto::fabric::cluster::network {

/// Carries frames by TCP.
///
/// Each process listens at one port. Who dials says whom it means, and sends frames once the other has answered that it
/// is the one (tcp/address.h): addresses of private networks may lead to other hosts, and are tried one after the
/// other. Where both ends dial, the connection has two sockets, and each end sends on its own. A dead peer is an ended
/// stream; a vanished host is noticed by the keep-alive of an idle connection (16 s) or, with data under way, when the
/// kernel gives up sending it.
class TcpCarrier final : public Carrier {
 public:
  /// Uses the interface of that name, or all if it is empty. Throws Error(not_supported) where it has no address,
  /// Error(io).
  TcpCarrier(FrameSink& sink, const std::string& interface);
  ~TcpCarrier() override;

  std::vector<std::byte> address() const override { return encode(own_); }
  void expect(std::size_t processes) override { expected_ = processes; }
  Connection* connect(ConstByteSpan address, ConnectionOwner& owner) override;
  void close(Connection* connection) override;
  bool try_send(Connection* to, ConstByteSpan header, ConstByteSpan data) override;
  bool send(Connection* to, ConstByteSpan header, ConstByteSpan data, Sending& sending) override;
  bool progress() override;
  int descriptor() const noexcept override { return events_.number(); }
  bool arm(Alarm alarm) override;
  void disarm() noexcept override { armed_.store(false, std::memory_order_relaxed); }
  bool let_flow() override;
  bool flush() override;
  std::vector<std::string> networks(Connection* connection) const override;

 private:
  struct Socket;
  struct Link;

  // Meeting others, and parting from them (tcp_meeting.cc).
  void dial_next(Link& link, const std::string& failure);
  void advance_dial(Socket& socket);
  void answer_callers();
  void answer(Descriptor caller);
  void greet(Socket& socket, ConstByteSpan& arrived);
  bool greet_caller(Socket& socket);
  bool greet_called(Socket& socket);
  void use(Link& link, Socket& socket);
  void note_met(Link& link);
  void set_clock(time_t seconds);
  void give_up_on_the_silent();
  void end(Socket& socket, const std::string& why);
  void drop(Socket& socket);
  void fail(Link& link, const std::string& why);

  // Moving data, and hearing of them (tcp_carrier.cc).
  void drain(Link& link);
  void hand_over(Link& link);
  void return_to_usual();
  void hear_all();
  Socket& add(Socket fresh);
  bool watch(const Descriptor& descriptor, std::uint32_t what, void* tag);
  void stop_watching(const Descriptor& descriptor);
  void choose_unwatched();
  bool watch_again();
  bool advance_unwatched();
  void queue(Socket& socket);
  bool look();
  bool note(std::uint32_t happened, void* tag);
  bool progress_watched();
  bool advance(Socket& socket);
  bool receive(Socket& socket);
  ByteSpan place_in(Socket& socket);
  void take(Socket& socket, std::size_t in_place, std::size_t bytes);

  FrameSink& sink_;
  TcpAddress own_;
  std::vector<IpAddress> interfaces_;  // of this host
  Descriptor events_;                  // edge-triggered, of all sockets but the unwatched one
  Descriptor listening_;
  Descriptor clock_;          // ticks while somebody is asked and has not answered
  std::size_t expected_ = 0;  // processes that may call
  std::size_t met_ = 0;       // of them, so far
  bool callers_ = false;
  bool ticked_ = false;
  std::vector<std::unique_ptr<Socket>> sockets_;
  std::vector<std::unique_ptr<Socket>> dropped_;  // somebody may be at them
  Socket* unwatched_ = nullptr;                   // is read in each poll
  unsigned polls_ = 0;                            // since all were last watched
  std::atomic<bool> armed_{false};                // somebody may sleep until what is watched wakes it
  std::vector<Socket*> ready_;                    // to be looked at
  std::vector<Socket*> turn_;                     // being looked at
  std::map<ProcessId, std::unique_ptr<Link>> links_;
  std::size_t asked_ = 0;      // sockets that wait for an answer
  std::size_t unsent_ = 0;     // frames that wait for room
  bool has_let_flow_ = false;  // and some sockets are still as it left them
  std::vector<std::byte> buffer_;
};

}  // namespace stretto::fabric::cluster::network
