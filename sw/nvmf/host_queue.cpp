#include "sw/nvmf/host_queue.h"

#include "abi/nvme/completion.h"
#include "sw/nvmf/capsule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace sw::nvmf {

using abi::nvme::command_bytes;
using abi::nvme::response_bytes;
using abi::nvme::Status;

HostQueue::HostQueue(const RdmaPort& port, std::uint16_t number, std::uint32_t entries, std::uint32_t in_capsule_bytes)
    : port_(port), number_(number), entries_(entries), in_capsule_bytes_(in_capsule_bytes), is_under_way_(entries - 1) {
    for (auto id = static_cast<std::uint16_t>(entries - 1); id-- != 0;)
        free_.push_back(id);
}

Result<std::unique_ptr<HostQueue>> HostQueue::make(const RdmaPort& port, std::uint16_t number, std::uint32_t entries,
                                                   std::uint32_t in_capsule_bytes) {
    if (entries < 2)
        return failure(EINVAL, fmt::format("queue {}: {} entries; there must be 2", number, entries));
    std::unique_ptr<HostQueue> queue(new HostQueue(port, number, entries, in_capsule_bytes));
    // A response may come before the end of the request that it answers: twice as many as there are commands.
    auto channel = Channel::make(port, {.sends = 2 * entries,
                                        .receives = entries,
                                        .capsule_bytes = response_bytes,
                                        .sent_bytes = entries * static_cast<std::uint32_t>(command_bytes),
                                        .max_inline = command_bytes,
                                        .send_elements = 2});
    if (!channel)
        return std::unexpected(channel.error());
    queue->channel_ = std::move(*channel);
    queue->self_ = queue->channel_->self();
    return queue;
}

ConnectionRequest HostQueue::request(std::uint16_t controller) const {
    ConnectionRequest made{.peer = self_};
    made.data.view()
        .set<"recfmt">(0)
        .set<"qid">(number_)
        .set<"hrqsize">(static_cast<std::uint16_t>(entries_))
        .set<"hsqsize">(static_cast<std::uint16_t>(entries_ - 1))
        .set<"cntlid">(controller);
    return made;
}

Result<void> HostQueue::connect(const ConnectionReply& reply) {
    if (!reply.is_accepted) {
        const auto status = abi::ConstView<abi::nvme::RdmaReject>(reply.rejected.bytes).get<"sts">();
        return failure(ECONNREFUSED, fmt::format("queue {}: the controller rejects the connection: {} ({})", number_,
                                                 name(static_cast<abi::nvme::RdmaRejection>(status)), status));
    }
    auto connected = channel_->connect(reply.peer);
    is_connected_ = connected.has_value();
    return connected;
}

Result<std::uint16_t> HostQueue::submit(Command& command, const HostData& data) {
    if (!is_connected_)
        return failure(ENOTCONN, fmt::format("queue {}: the connection has ended: {}", number_, why_));
    if (data.bytes > most_pointed_bytes)
        return failure(EINVAL, fmt::format("queue {}: {} bytes of data; a command points to {} at most", number_,
                                           data.bytes, most_pointed_bytes));
    if (free_.empty() || channel_->room() == 0)
        return failure(EAGAIN, fmt::format("queue {}: {} commands are under way", number_, under_way_));
    const auto id = free_.back();
    auto view = command.view();
    view.set<"cid">(id).set<"psdt">(abi::nvme::DataPointerType::sgl_metadata_buffer);
    const bool is_with_data = data.bytes != 0 && data.bytes <= in_capsule_bytes_ &&
                              flow_of(abi::ConstView<abi::nvme::Command>(command.bytes)) == Flow::to_controller;
    if (is_with_data)
        point_into_capsule(view, data.bytes);
    else
        point_to_host(view, {.address = data.address, .bytes = data.bytes, .key = data.rkey});
    std::array<mlx::Sge, 2> elements{};
    mlx::SendRequest send{.wr_id = Channel::tag(Channel::Purpose::send, 0),
                          .sge = elements.data(),
                          .sge_count = 1,
                          .operation = mlx::SendOperation::send,
                          .flags = mlx::send_flag::signaled};
    if (is_with_data) {
        // Gathered: the command from memory of the queue, the data from where they are.
        const auto place = static_cast<std::uint32_t>(id * command_bytes);
        std::ranges::copy(command.bytes, channel_->sent().subspan(place).begin());
        elements = {channel_->sent_element(place, command_bytes), mlx::Sge{data.address, data.bytes, data.lkey}};
        send.sge_count = 2;
        sent_from_memory_ += command_bytes;
    } else {
        elements[0] = {reinterpret_cast<std::uintptr_t>(command.bytes.data()), command_bytes, 0};
        send.flags |= mlx::send_flag::inline_data;
    }
    if (const auto posted = channel_->post(send, 1); !posted)
        return std::unexpected(posted.error());
    free_.pop_back();
    is_under_way_[id] = true;
    ++under_way_;
    return id;
}

std::size_t HostQueue::poll(std::span<Response> into) {
    std::size_t count = 0;
    std::array<Channel::Ended, 16> found;
    while (is_connected_ && count < into.size()) {
        const auto ended = channel_->poll(std::span(found).first(std::min(found.size(), into.size() - count)));
        for (const auto& one : std::span(found).first(ended)) {
            if (!is_connected_)
                break;
            if (!one.is_ok())
                end(fmt::format("a request ended with {}", mlx::name(one.status)));
            else if (one.purpose == Channel::Purpose::send)
                channel_->ended(1);
            else
                count += take(one, into[count]);
        }
        if (ended == 0)
            break;
    }
    for (; !lost_.empty() && count < into.size(); lost_.pop_front()) {
        into[count] = {};
        into[count].status = Status::host_path_error;
        into[count++].id = lost_.front();
    }
    return count;
}

/// Whether the response is one of ours.
bool HostQueue::take(const Channel::Ended& ended, Response& into) {
    abi::Block<abi::nvme::Completion> response;
    std::ranges::copy(channel_->capsule(ended.number), response.bytes.begin());
    if (ended.bytes != response_bytes) {
        end(fmt::format("a capsule of {} bytes is no response", ended.bytes));
        return false;
    }
    if (const auto expected = channel_->expect(ended.number); !expected) {
        end(expected.error().what);
        return false;
    }
    ++responses_;
    const auto view = response.view();
    const auto id = view.get<"cid">();
    if (id >= is_under_way_.size() || !is_under_way_[id]) {
        ++strays_;
        return false;
    }
    is_under_way_[id] = false;
    free_.push_back(id);
    --under_way_;
    into = {{.status = view.get<"status">(), .id = id, .result = view.get<"dw0">(), .do_not_retry = view.get<"dnr">()},
            view.get<"dw1">()};
    return true;
}

Result<Response> HostQueue::execute(Command& command, const HostData& data, std::chrono::nanoseconds timeout) {
    const auto id = submit(command, data);
    if (!id)
        return std::unexpected(id.error());
    std::array<Response, 1> one;
    for (const auto deadline = transport().now() + timeout;; transport().relax()) {
        if (poll(one) != 0 && one[0].id == *id)
            return one[0];
        if (is_connected_ && transport().now() >= deadline)
            end(fmt::format("command {} of opcode {:#x} was not answered", *id, command.view().get<"opcode">()));
    }
}

void HostQueue::end(const std::string& why) {
    if (channel_ == nullptr)
        return;
    why_ = why;
    is_connected_ = false;
    // When the queue pair is gone, neither our memory nor the data of commands is reached by it. What the controller
    // has of keys is the caller's: he takes them back before he uses that memory for other things.
    channel_.reset();
    for (std::uint16_t id = 0; id < is_under_way_.size(); ++id)
        if (is_under_way_[id])
            lost_.push_back(id);
    is_under_way_.assign(is_under_way_.size(), false);
    under_way_ = 0;
}

} // namespace sw::nvmf
