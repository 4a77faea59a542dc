#include "platform/bridge/vfio_user/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

namespace platform::bridge::vfio_user {

using protocol::Command;
using protocol::Header;

namespace {
/// What may wait while the device waits: as much as the client can have sent without hearing from us.
constexpr std::size_t max_backlog_bytes = 4 << 20;
/// Requests for memory that a client never answered, each of which cost its function a wait.
constexpr std::size_t max_owed = 256;
} // namespace

// --- the stream ---

void Session::append(std::span<const std::byte> bytes, std::vector<Descriptor> files) {
    if (!fault_.empty())
        return;
    stream_.insert(stream_.end(), bytes.begin(), bytes.end());
    std::ranges::move(files, std::back_inserter(files_));
    if (files_.size() > max_descriptors)
        fail(fmt::format("{} descriptors with one message, at most {}", files_.size(), max_descriptors));
}

bool Session::step() {
    const bool is_taken = fault_.empty() && take_message();
    if (!is_taken)
        tidy();
    return is_taken;
}

void Session::tidy() {
    if (position_ == stream_.size()) {
        stream_.clear();
        position_ = 0;
    } else if (position_ > stream_.size() / 2) {
        stream_.erase(stream_.begin(), stream_.begin() + static_cast<std::ptrdiff_t>(position_));
        position_ = 0;
    }
}

/// Takes the next whole message; false when there is none.
bool Session::take_message() {
    const auto rest = std::span<const std::byte>(stream_).subspan(position_);
    if (rest.size() < Header::size)
        return false;
    const abi::ConstView<Header> header(rest);
    const auto size = header.get<"size">();
    if (size < Header::size || size > max_message) {
        // There is no next message to be found in the stream.
        if (header.get<"type">() == protocol::MessageType::command && size > max_message)
            out_.send(make_error(header.get<"id">(), header.get<"command">(), E2BIG), -1);
        fail(fmt::format("a message of {} bytes, {} to {} are possible", size, Header::size, max_message));
        return false;
    }
    if (rest.size() < size)
        return false;
    position_ += size;
    auto files = rest.size() == size ? std::exchange(files_, {}) : std::vector<Descriptor>{};
    ++counters_.messages;

    switch (header.get<"type">()) {
    case protocol::MessageType::command:
        take_command(header, rest.first(size).subspan(Header::size), std::move(files));
        return true;
    case protocol::MessageType::reply: take_reply(header, rest.first(size).subspan(Header::size)); return true;
    }
    fail("a message that is neither command nor reply");
    return false;
}

void Session::fail(std::string why) {
    if (fault_.empty())
        fault_ = std::move(why);
    if (exchange_)
        exchange_->is_over = true;
}

void Session::take_command(abi::ConstView<Header> header, std::span<const std::byte> body,
                           std::vector<Descriptor> files) {
    const auto id = header.get<"id">();
    const auto command = header.get<"command">();
    const bool is_posted = header.get<"no_reply">();
    if (!is_negotiated_ && command != Command::version)
        return fail("a command before the version handshake");
    const auto request = decode(command, body, files.size());
    auto answer = [&]() -> Reply {
        if (!request)
            return std::unexpected(request.error());
        id_ = id, command_ = command;
        return std::visit([&](const auto& r) { return perform(r, files); }, *request);
    }();
    counters_.refused += !answer;
    const int file = std::exchange(file_, -1);
    if (!is_posted)
        out_.send(answer ? std::move(*answer) : make_error(id, command, answer.error()), file);
    if (!answer)
        return;
    std::visit([&](const auto& r) { act(r); }, *request);
    if (device_.backlog() > max_backlog_bytes)
        fail("writes without end while the device waits for memory");
}

// --- commands ---

Session::Reply Session::perform(const VersionRequest& request, std::vector<Descriptor>&) {
    if (is_negotiated_)
        return std::unexpected(EINVAL);
    if (request.major != protocol::major_version) {
        fail(fmt::format("version {}.{} of the protocol; this is {}.{}", request.major, request.minor,
                         protocol::major_version, protocol::minor_version));
        return std::unexpected(ENOTSUP);
    }
    const auto client = parse_capabilities(request.capabilities);
    if (!client) {
        fail("capabilities that cannot be read");
        return std::unexpected(EINVAL);
    }
    client_ = *client;
    is_negotiated_ = true;
    const auto text = print_capabilities(client_);
    auto out = reply(protocol::Version::size + text.size() + 1);
    const auto body = body_of(*out);
    abi::View<protocol::Version>(body)
        .set<"major">(protocol::major_version)
        .set<"minor">(std::min(request.minor, protocol::minor_version));
    std::ranges::copy(std::as_bytes(std::span(text)), body.begin() + protocol::Version::size);
    return out;
}

Session::Reply Session::perform(const DmaMapRequest& request, std::vector<Descriptor>& files) {
    if (const int error = device_.map(request, files.empty() ? Descriptor{} : std::move(files.front())); error != 0)
        return std::unexpected(error);
    return reply(0);
}

Session::Reply Session::perform(const DmaUnmapRequest& request, std::vector<Descriptor>&) {
    if (const int error = device_.unmap(request); error != 0)
        return std::unexpected(error);
    auto out = reply(protocol::DmaUnmap::size);
    abi::View<protocol::DmaUnmap>(body_of(*out))
        .set<"argsz">(protocol::DmaUnmap::size)
        .set<"all">(request.is_all)
        .set<"address">(request.address)
        .set<"size">(request.size);
    return out;
}

Session::Reply Session::perform(const DeviceInfoRequest&, std::vector<Descriptor>&) {
    auto out = reply(protocol::DeviceInfo::size);
    abi::View<protocol::DeviceInfo>(body_of(*out))
        .set<"argsz">(protocol::DeviceInfo::size)
        .set<"can_reset">(true)
        .set<"is_pci">(true)
        .set<"regions">(protocol::region_count)
        .set<"irqs">(protocol::irq_type_count);
    return out;
}

Session::Reply Session::perform(const RegionInfoRequest& request, std::vector<Descriptor>&) {
    using protocol::RegionInfo, protocol::SparseArea, protocol::SparseMmap;
    const auto size = device_.region_size(request.index);
    // Only memory can be mapped: registers are rung by messages, which keep their order.
    const int file = client_.max_descriptors != 0 && size != 0 ? device_.region_file(request.index) : -1;
    const auto areas = file >= 0 ? device_.region_areas(request.index) : std::vector<Area>{};
    const auto needed = RegionInfo::size + (areas.empty() ? 0 : SparseMmap::size + areas.size() * SparseArea::size);
    const bool is_whole = needed <= request.room; // otherwise the client learns how much it takes, and asks again
    auto out = reply(is_whole ? needed : RegionInfo::size);
    const auto info = body_of(*out);
    abi::View<RegionInfo>(info)
        .set<"argsz">(static_cast<std::uint32_t>(needed))
        .set<"readable">(size != 0)
        .set<"writable">(size != 0)
        .set<"mappable">(file >= 0)
        .set<"index">(request.index)
        .set<"size">(size);
    if (file < 0 || !is_whole)
        return out;
    file_ = file;
    if (!areas.empty()) {
        abi::View<RegionInfo>(info).set<"has_capabilities">(true).set<"capability_offset">(
            static_cast<std::uint32_t>(RegionInfo::size));
        abi::View<SparseMmap>(info.subspan(RegionInfo::size))
            .set<"id">(protocol::sparse_mmap_id)
            .set<"version">(protocol::sparse_mmap_version)
            .set<"areas">(static_cast<std::uint32_t>(areas.size()));
    }
    auto rest = areas.empty() ? std::span<std::byte>{} : info.subspan(RegionInfo::size + SparseMmap::size);
    for (const auto& area : areas) {
        abi::View<SparseArea>(rest).set<"offset">(area.offset).set<"size">(area.size);
        rest = rest.subspan(SparseArea::size);
    }
    device_.region_given(request.index);
    return out;
}

Session::Reply Session::perform(const RegionIoFdsRequest& request, std::vector<Descriptor>&) {
    auto out = reply(protocol::RegionIoFds::size); // with no sub-region
    abi::View<protocol::RegionIoFds>(body_of(*out))
        .set<"argsz">(protocol::RegionIoFds::size)
        .set<"index">(request.index);
    return out;
}

Session::Reply Session::perform(const IrqInfoRequest& request, std::vector<Descriptor>&) {
    const auto type = static_cast<protocol::IrqType>(request.index);
    const auto count = device_.irq_count(type);
    auto out = reply(protocol::IrqInfo::size);
    abi::View<protocol::IrqInfo>(body_of(*out))
        .set<"argsz">(protocol::IrqInfo::size)
        .set<"eventfd">(count != 0)
        .set<"maskable">(count != 0 && type == protocol::IrqType::msix)
        .set<"index">(request.index)
        .set<"count">(count);
    return out;
}

Session::Reply Session::perform(const IrqSetRequest& request, std::vector<Descriptor>& files) {
    const auto count = device_.irq_count(static_cast<protocol::IrqType>(request.index));
    if (request.start > count || request.count > count - request.start)
        return std::unexpected(EINVAL);
    if (const int error = device_.set_irqs(request, std::move(files)); error != 0)
        return std::unexpected(error);
    return reply(0);
}

Session::Reply Session::perform(const RegionReadRequest& request, std::vector<Descriptor>&) {
    if (!has_range(request.region, request.offset, request.count))
        return std::unexpected(EINVAL);
    ++counters_.reads;
    auto out = reply(protocol::RegionAccess::size + request.count);
    abi::View<protocol::RegionAccess>(body_of(*out))
        .set<"offset">(request.offset)
        .set<"region">(request.region)
        .set<"count">(request.count);
    device_.work(); // writes before it
    device_.read(request.region, request.offset, body_of(*out).subspan(protocol::RegionAccess::size));
    return out;
}

Session::Reply Session::perform(const RegionWriteRequest& request, std::vector<Descriptor>&) {
    if (!has_range(request.region, request.offset, request.data.size()))
        return std::unexpected(EINVAL);
    auto out = reply(protocol::RegionAccess::size);
    abi::View<protocol::RegionAccess>(body_of(*out))
        .set<"offset">(request.offset)
        .set<"region">(request.region)
        .set<"count">(static_cast<std::uint32_t>(request.data.size()));
    return out;
}

Session::Reply Session::perform(const RegionWriteMultiRequest& request, std::vector<Descriptor>&) {
    using protocol::RegionWriteSmall;
    for (std::size_t at = 0; at < request.writes.size(); at += RegionWriteSmall::size) {
        const abi::ConstView<RegionWriteSmall> one(request.writes.subspan(at));
        if (!has_range(one.get<"region">(), one.get<"offset">(), one.get<"count">()))
            return std::unexpected(EINVAL);
    }
    auto out = reply(protocol::RegionWriteMulti::size);
    abi::View<protocol::RegionWriteMulti>(body_of(*out)).set<"writes">(request.writes.size() / RegionWriteSmall::size);
    return out;
}

void Session::act(const RegionWriteMultiRequest& request) {
    using protocol::RegionWriteSmall;
    for (std::size_t at = 0; at < request.writes.size(); at += RegionWriteSmall::size) {
        const abi::ConstView<RegionWriteSmall> one(request.writes.subspan(at));
        const auto data = one.get<"data">();
        put(one.get<"region">(), one.get<"offset">(), std::span(data).first(one.get<"count">()));
    }
}

Session::Reply Session::perform(const ResetRequest&, std::vector<Descriptor>&) { return reply(0); }

bool Session::has_range(std::uint32_t region, std::uint64_t offset, std::uint64_t count) const {
    const auto size = device_.region_size(region);
    return offset <= size && count <= size - offset;
}

// --- effects ---

void Session::put(std::uint32_t region, std::uint64_t offset, std::span<const std::byte> data) {
    ++counters_.writes;
    device_.write(region, offset, data);
}

// --- exchanges ---

void Session::begin_exchange(Command command, std::uint64_t address, std::uint64_t count,
                             std::span<const std::byte> data) {
    while (owed_.contains(next_id_))
        ++next_id_;
    exchange_ = Exchange{next_id_++, command, count, !fault_.empty(), false, {}};
    auto message =
        make_message(protocol::MessageType::command, exchange_->id, command, protocol::DmaAccess::size + data.size());
    const auto body = body_of(message);
    abi::View<protocol::DmaAccess>(body).set<"address">(address).set<"count">(count);
    std::ranges::copy(data, body.begin() + protocol::DmaAccess::size);
    out_.send(std::move(message), -1);
}

void Session::take_reply(abi::ConstView<Header> header, std::span<const std::byte> body) {
    if (owed_.erase(header.get<"id">()) != 0)
        return; // too late
    if (!exchange_ || exchange_->is_over || header.get<"id">() != exchange_->id ||
        header.get<"command">() != exchange_->command)
        return fail("a reply to nothing that was asked");
    exchange_->is_over = true;
    if (header.get<"is_error">())
        return;
    if (exchange_->command == Command::dma_read) {
        if (body.size() != protocol::DmaAccess::size + exchange_->count)
            return fail("a reply of another length than was asked for");
        const auto data = body.subspan(protocol::DmaAccess::size);
        exchange_->data.assign(data.begin(), data.end());
    }
    exchange_->is_good = true;
}

std::optional<std::vector<std::byte>> Session::end_exchange() {
    const auto exchange = std::exchange(exchange_, {});
    if (!exchange || !exchange->is_good)
        return {};
    return exchange->data;
}

void Session::abandon_exchange() {
    if (!exchange_)
        return;
    if (!exchange_->is_over)
        owed_.insert(exchange_->id);
    exchange_.reset();
    if (owed_.size() > max_owed)
        fail(fmt::format("no answer to {} requests for memory", owed_.size()));
}

} // namespace platform::bridge::vfio_user
