// One client of one function, from its handshake to its end: bytes and descriptors in, whole messages out, calls of the
// Device in between. A state machine without a socket, so that a test or a fuzzer can be the other end. What the
// protocol forbids is answered with an errno, or ends the session where the stream can no longer be followed.
//
// A client may wait for an answer while the device's work needs an answer of that client (memory that is reached by
// messages). So writes are answered before they take effect, and reads are answered while the device waits.
#pragma once

#include "platform/bridge/vfio_user/capabilities.h"
#include "platform/bridge/vfio_user/device.h"
#include "platform/bridge/vfio_user/message.h"

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace platform::bridge::vfio_user {

/// Takes whole messages to the client, in order.
class MessageSink {
public:
    virtual ~MessageSink() = default;
    /// `file` goes with it as a descriptor, and stays open with the device; -1: none.
    virtual void send(std::vector<std::byte> message, int file) = 0;
};

struct SessionCounters {
    std::uint64_t messages = 0, reads = 0, writes = 0, refused = 0;
};

class Session {
public:
    Session(Device& device, MessageSink& out) : device_(device), out_(out) {}
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    /// What one receive gave. Descriptors belong to the last message that begins in or before these bytes: a socket
    /// hands out no bytes behind those that descriptors came with.
    void receive(std::span<const std::byte> bytes, std::vector<Descriptor> files = {}) {
        append(bytes, std::move(files));
        while (step())
            ;
        device_.work();
    }
    /// The same in parts, for who has others to serve: messages are taken one by one until there is no whole one any
    /// more. Then, and before the next bytes, the device works.
    void append(std::span<const std::byte> bytes, std::vector<Descriptor> files);
    bool step();
    void work() { device_.work(); }

    /// Why the client is to be disconnected; empty while all is well. Nothing is processed after that.
    std::string_view fault() const { return fault_; }
    bool is_negotiated() const { return is_negotiated_; }
    const Capabilities& client() const { return client_; }
    const SessionCounters& counters() const { return counters_; }
    /// Bytes of a message that has not come whole.
    std::size_t unfinished() const { return stream_.size() - position_; }

    // --- memory of the client that is reached by messages ---
    /// Sends a DMA_READ or DMA_WRITE of at most client().max_transfer bytes. One at a time.
    void begin_exchange(protocol::Command command, std::uint64_t address, std::uint64_t count,
                        std::span<const std::byte> data);
    bool has_exchange() const { return exchange_.has_value(); }
    bool is_exchange_over() const { return !exchange_ || exchange_->is_over; }
    /// The reply's data, or nothing when the client refused. Ends the exchange.
    std::optional<std::vector<std::byte>> end_exchange();
    /// Ends an exchange that has no reply. A late reply is ignored; a client may owe only so many.
    void abandon_exchange();

private:
    struct Exchange {
        std::uint16_t id;
        protocol::Command command;
        std::uint64_t count;
        bool is_over = false, is_good = false;
        std::vector<std::byte> data;
    };
    bool take_message();
    void tidy();
    void take_command(abi::ConstView<protocol::Header> header, std::span<const std::byte> body,
                      std::vector<Descriptor> files);
    void take_reply(abi::ConstView<protocol::Header> header, std::span<const std::byte> body);

    using Reply = std::expected<std::vector<std::byte>, int>;
    Reply reply(std::size_t body) { return make_message(protocol::MessageType::reply, id_, command_, body); }
    Reply perform(const VersionRequest& request, std::vector<Descriptor>& files);
    Reply perform(const DmaMapRequest& request, std::vector<Descriptor>& files);
    Reply perform(const DmaUnmapRequest& request, std::vector<Descriptor>& files);
    Reply perform(const DeviceInfoRequest& request, std::vector<Descriptor>& files);
    Reply perform(const RegionInfoRequest& request, std::vector<Descriptor>& files);
    Reply perform(const RegionIoFdsRequest& request, std::vector<Descriptor>& files);
    Reply perform(const IrqInfoRequest& request, std::vector<Descriptor>& files);
    Reply perform(const IrqSetRequest& request, std::vector<Descriptor>& files);
    Reply perform(const RegionReadRequest& request, std::vector<Descriptor>& files);
    Reply perform(const RegionWriteRequest& request, std::vector<Descriptor>& files);
    Reply perform(const RegionWriteMultiRequest& request, std::vector<Descriptor>& files);
    void act(const RegionWriteRequest& request) { put(request.region, request.offset, request.data); }
    void act(const RegionWriteMultiRequest& request);
    void act(const ResetRequest&) { device_.reset(); }
    template <class T> void act(const T&) {}
    Reply perform(const ResetRequest& request, std::vector<Descriptor>& files);

    bool has_range(std::uint32_t region, std::uint64_t offset, std::uint64_t count) const;
    void put(std::uint32_t region, std::uint64_t offset, std::span<const std::byte> data);
    void fail(std::string why);

    Device& device_;
    MessageSink& out_;
    Capabilities client_;
    SessionCounters counters_;
    std::string fault_;
    bool is_negotiated_ = false;
    std::vector<std::byte> stream_; ///< what has come and is not yet taken begins at position_
    std::size_t position_ = 0;
    std::vector<Descriptor> files_; ///< of the last message in stream_
    std::uint16_t id_ = 0;          ///< of the command being performed
    protocol::Command command_{};
    int file_ = -1; ///< that goes with its reply
    std::uint16_t next_id_ = 0;
    std::optional<Exchange> exchange_;
    std::set<std::uint16_t> owed_; ///< exchanges that were given up
};

} // namespace platform::bridge::vfio_user
