#include "stretto/fabric/cluster/ucx/ucx_carrier.h"

#include <ucp/api/ucp.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <span>

#include "stretto/base/error.h"
#include "stretto/fabric/cluster/network/frame.h"

namespace stretto::fabric::cluster::network {
namespace {

constexpr unsigned frame_id = 0;  // the only kind of active message that UCX is told of

struct Default {
  const char* variable;  // the user's word, if set
  const char* name;      // what UCX calls it inside
  const char* value;
};

constexpr Default defaults[] = {
    {"UCX_TLS", "TLS", "^sm,self"},                          // shared memory does not see a peer die
    {"UCX_MAX_EAGER_RAILS", "MAX_EAGER_RAILS", "1"},         // all frames of a connection on one network
    {"UCX_KEEPALIVE_INTERVAL", "KEEPALIVE_INTERVAL", "5s"},  // for who was told nothing when a connection was closed
};
// The send buffer stays the kernel's own choice: with a small one (UCX_TCP_SNDBUF=64K, which would be faster both ways)
// UCX 1.13 mixes up what it sends when that does not go into the socket at once.
constexpr Default tcp_defaults[] = {
    // Frames leave from the caller's memory where the socket has room, and else from a copy. UCX's own way of waiting
    // without a copy ("zcopy") must not be used on TCP: when the peer dies in the middle of such a frame, UCX 1.13
    // completes it twice and aborts the process (uct_tcp_ep_sendv after uct_tcp_ep_purge).
    {"UCX_TCP_TX_SEG_SIZE", "TX_SEG_SIZE", "64K"},
    {"UCX_ZCOPY_THRESH", "ZCOPY_THRESH", "inf"},
    {"UCX_TCP_CONN_NB", "CONN_NB", "y"},                    // connecting must not block the baton
    {"UCX_TCP_MAX_CONN_RETRIES", "MAX_CONN_RETRIES", "4"},  // each takes the kernel two minutes if nobody answers
    {"UCX_TCP_KEEPCNT", "KEEPCNT", "3"},                    // a vanished host is seen after 10 s and 3 probes
};

/// Whether the user left TCP among the networks: elsewhere UCX complains about settings of TCP.
bool may_use_tcp() {
  const char* const user = std::getenv("UCX_TLS");
  if (user == nullptr) return true;
  const std::string_view tls = user;
  const bool named = tls.find("tcp") != std::string_view::npos;
  return tls.starts_with('^') ? !named : named || tls.find("all") != std::string_view::npos;
}

ucs_status_t apply(ucp_config_t* config, std::span<const Default> settings) {
  for (const Default& setting : settings) {
    if (std::getenv(setting.variable) != nullptr) continue;
    const ucs_status_t status = ucp_config_modify(config, setting.name, setting.value);
    if (status != UCS_OK) return status;
  }
  return UCS_OK;
}

// A connection is UCX's endpoint, under another name.
Connection* connection_of(ucp_ep_h endpoint) noexcept { return reinterpret_cast<Connection*>(endpoint); }
ucp_ep_h endpoint_of(Connection* connection) noexcept { return reinterpret_cast<ucp_ep_h>(connection); }

[[noreturn]] void fail(ErrorCode code, const std::string& what, ucs_status_t status) {
  throw Error(code, "UCX can't " + what + ": " + ucs_status_string(status));
}

ucp_context_h make_context() {
  ucp_config_t* config = nullptr;
  ucs_status_t status = ucp_config_read(nullptr, nullptr, &config);
  if (status != UCS_OK) fail(ErrorCode::io, "read its settings (UCX_* in the environment)", status);
  status = apply(config, defaults);
  if (status == UCS_OK && may_use_tcp()) status = apply(config, tcp_defaults);
  ucp_context_h context = nullptr;
  if (status == UCS_OK) {
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_NAME;
    params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
    params.name = "stretto";
    status = ucp_init(&params, config, &context);
  }
  ucp_config_release(config);
  if (status != UCS_OK) {
    fail(ErrorCode::not_supported, "find a network between hosts; look at UCX_TLS and UCX_NET_DEVICES", status);
  }
  return context;
}

}  // namespace

std::vector<std::string> parse_networks(std::string_view printed) {
  std::vector<std::string> networks;
  constexpr std::string_view lane = "lane[";
  for (std::size_t at = printed.find(lane); at != std::string_view::npos; at = printed.find(lane, at + 1)) {
    const std::string_view line = printed.substr(at, printed.find('\n', at) - at);
    // "lane[0]:  1:tcp/eth0.0 md[1] ...": the word behind the second colon, up to the dot and its path number.
    const std::size_t colon = line.find(':', line.find(':') + 1);
    if (colon == std::string_view::npos) continue;
    std::string_view word = line.substr(colon + 1);
    word = word.substr(0, word.find(' '));
    if (word.find('/') == std::string_view::npos) continue;  // not chosen yet
    const std::string network(word.substr(0, word.rfind('.')));
    if (std::find(networks.begin(), networks.end(), network) == networks.end()) networks.push_back(network);
  }
  return networks;
}

struct UcxCarrier::Ucp {
  explicit Ucp(FrameSink& frames) : sink(frames), context(make_context()) {}
  ~Ucp() {
    if (worker != nullptr) ucp_worker_destroy(worker);
    ucp_cleanup(context);
  }
  Ucp(const Ucp&) = delete;
  Ucp& operator=(const Ucp&) = delete;

  static ucs_status_t on_frame(void* self, const void* header, std::size_t header_bytes, void* data, std::size_t bytes,
                               const ucp_am_recv_param_t* param) noexcept {
    FrameSink& sink = static_cast<Ucp*>(self)->sink;
    ucp_ep_h const reply = (param->recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP) != 0 ? param->reply_ep : nullptr;
    Connection* const from = connection_of(reply);
    if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0) {
      sink.on_no_frame(from, "it comes by rendezvous");
      return UCS_ERR_REJECTED;
    }
    sink.on_frame(from, {static_cast<const std::byte*>(header), header_bytes},
                  {static_cast<const std::byte*>(data), bytes});
    return UCS_OK;
  }

  static void on_sent(void* request, ucs_status_t /*status*/, void* sending) noexcept {
    ucp_request_free(request);
    static_cast<Sending*>(sending)->sent();
  }

  static void on_failed(void* owner, ucp_ep_h /*connection*/, ucs_status_t status) noexcept {
    static_cast<ConnectionOwner*>(owner)->failed(ucs_status_string(status));
  }

  FrameSink& sink;
  ucp_context_h context;
  ucp_worker_h worker = nullptr;
};

UcxCarrier::UcxCarrier(FrameSink& sink) : ucp_(std::make_unique<Ucp>(sink)) {
  ucp_worker_params_t params{};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  params.thread_mode = UCS_THREAD_MODE_SERIALIZED;  // the baton wanders between threads
  ucs_status_t status = ucp_worker_create(ucp_->context, &params, &ucp_->worker);
  if (status != UCS_OK) fail(ErrorCode::io, "create a worker", status);

  ucp_worker_attr_t limits{};
  limits.field_mask = UCP_WORKER_ATTR_FIELD_MAX_AM_HEADER;
  status = ucp_worker_query(ucp_->worker, &limits);
  if (status == UCS_OK && limits.max_am_header < FrameHeader::max_bytes) {
    throw Error(ErrorCode::not_supported,
                "the networks that UCX may use carry headers of at most " + std::to_string(limits.max_am_header) +
                    " bytes where " + std::to_string(FrameHeader::max_bytes) + " are needed; choose others by UCX_TLS");
  }
  ucp_am_handler_param_t handler{};
  handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  handler.id = frame_id;
  handler.cb = Ucp::on_frame;
  handler.arg = ucp_.get();
  if (status == UCS_OK) status = ucp_worker_set_am_recv_handler(ucp_->worker, &handler);
  if (status == UCS_OK) status = ucp_worker_get_efd(ucp_->worker, &descriptor_);
  if (status != UCS_OK) fail(ErrorCode::io, "prepare its worker", status);
}

UcxCarrier::~UcxCarrier() {
  if (flushing_ != nullptr) ucp_request_free(flushing_);
}

std::vector<std::byte> UcxCarrier::address() const {
  ucp_address_t* address = nullptr;
  std::size_t bytes = 0;
  const ucs_status_t status = ucp_worker_get_address(ucp_->worker, &address, &bytes);
  if (status != UCS_OK) fail(ErrorCode::io, "tell its own address", status);
  const auto* const first = reinterpret_cast<const std::byte*>(address);
  std::vector<std::byte> copy(first, first + bytes);
  ucp_worker_release_address(ucp_->worker, address);
  return copy;
}

Connection* UcxCarrier::connect(ConstByteSpan address, ConnectionOwner& owner) {
  ucp_ep_params_t params{};
  params.field_mask =
      UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(address.data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler.cb = Ucp::on_failed;
  params.err_handler.arg = &owner;
  ucp_ep_h endpoint = nullptr;
  const ucs_status_t status = ucp_ep_create(ucp_->worker, &params, &endpoint);
  if (status != UCS_OK) fail(ErrorCode::peer_lost, "connect", status);
  return connection_of(endpoint);
}

void UcxCarrier::close(Connection* connection) {
  ucp_request_param_t params{};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  params.flags = UCP_EP_CLOSE_FLAG_FORCE;
  void* const request = ucp_ep_close_nbx(endpoint_of(connection), &params);
  if (UCS_PTR_IS_PTR(request)) ucp_request_free(request);
  restless_ = true;
}

bool UcxCarrier::try_send(Connection* to, ConstByteSpan header, ConstByteSpan data) {
  ucp_request_param_t params{};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL;
  params.flags = UCP_AM_SEND_FLAG_REPLY | UCP_AM_SEND_FLAG_EAGER;
  return ucp_am_send_nbx(endpoint_of(to), frame_id, header.data(), header.size(), data.data(), data.size(), &params) ==
         nullptr;
}

bool UcxCarrier::send(Connection* to, ConstByteSpan header, ConstByteSpan data, Sending& sending) {
  ucp_request_param_t params{};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  params.flags = UCP_AM_SEND_FLAG_REPLY | UCP_AM_SEND_FLAG_EAGER;
  params.cb.send = Ucp::on_sent;
  params.user_data = &sending;
  void* const request =
      ucp_am_send_nbx(endpoint_of(to), frame_id, header.data(), header.size(), data.data(), data.size(), &params);
  if (UCS_PTR_IS_ERR(request)) fail(ErrorCode::peer_lost, "send", UCS_PTR_STATUS(request));
  return request == nullptr;
}

bool UcxCarrier::progress() {
  const bool moved = ucp_worker_progress(ucp_->worker) != 0;
  restless_ = restless_ && moved;
  return moved;
}

bool UcxCarrier::arm(Alarm /*alarm*/) {
  // UCX's own clearing up after a close, and its flushes, are driven by `progress` and wake nobody.
  return !restless_ && flushing_ == nullptr && ucp_worker_arm(ucp_->worker) == UCS_OK;
}

bool UcxCarrier::flush() {
  if (flushing_ != nullptr) {
    if (ucp_request_check_status(flushing_) == UCS_INPROGRESS) return false;
    ucp_request_free(flushing_);
    flushing_ = nullptr;
  }
  const ucp_request_param_t params{};
  void* const request = ucp_worker_flush_nbx(ucp_->worker, &params);
  // An error is that of a connection which failed: nothing more leaves on that one.
  if (UCS_PTR_IS_PTR(request)) flushing_ = request;
  return flushing_ == nullptr;
}

std::vector<std::string> UcxCarrier::networks(Connection* connection) const {
  char* text = nullptr;
  std::size_t bytes = 0;
  std::FILE* const stream = open_memstream(&text, &bytes);
  if (stream == nullptr) throw Error(ErrorCode::out_of_resources, "no memory to ask UCX for its networks");
  ucp_ep_print_info(endpoint_of(connection), stream);
  std::fclose(stream);
  std::vector<std::string> result = parse_networks({text, bytes});
  std::free(text);
  return result;
}

}  // namespace stretto::fabric::cluster::network
