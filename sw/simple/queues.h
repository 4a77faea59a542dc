// Completion queues and queue pairs of the simple HCA: rings in host memory, posting and polling
// (model/simple/README.md, chapters "Descriptors" and "Completions"). Nothing on that way allocates or searches.
#pragma once

#include "abi/simple/queue.h"
#include "sw/base/result.h"
#include "sw/memory/buffer.h"
#include "sw/simple/device.h"
#include "sw/verbs/verbs.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>

namespace sw::simple {

class CompletionQueue final : public verbs::CompletionQueue {
public:
    /// EINVAL for no entries, or more than the device has.
    static Result<std::unique_ptr<CompletionQueue>> create(Device& device, std::uint32_t entries);
    CompletionQueue(const CompletionQueue&) = delete;
    CompletionQueue& operator=(const CompletionQueue&) = delete;
    ~CompletionQueue() override;

    std::size_t poll(std::span<verbs::Completion> into) override;

    std::uint32_t number() const { return number_; }
    /// The device does not look how full the ring is: each queue pair has room for all that it may complete. False:
    /// there is not so much left.
    bool reserve(std::uint32_t entries);
    void give_back(std::uint32_t entries) { reserved_ -= entries; }
    std::uint32_t unreserved() const { return entries_ - reserved_; }
    /// Takes what is in the ring out, and drops what is of queue pair `qpn`, which has gone from the device.
    void forget(std::uint32_t qpn);

private:
    explicit CompletionQueue(Device& device) : device_(device) {}
    /// nullptr: the next entry is not there yet.
    const std::byte* next() const;
    bool complete(const std::byte* entry, verbs::Completion& into);

    Device& device_;
    memory::Buffer ring_;
    std::uint32_t entries_ = 0, consumer_ = 0, reserved_ = 0, number_ = 0;
    std::deque<verbs::Completion> kept_; ///< taken out by forget()
    bool exists_ = false;
};

class QueuePair final : public verbs::QueuePair {
public:
    static Result<std::unique_ptr<QueuePair>> create(Device& device, const verbs::QpOptions& options);
    QueuePair(const QueuePair&) = delete;
    QueuePair& operator=(const QueuePair&) = delete;
    ~QueuePair() override;

    abi::Qpn number() const override { return abi::Qpn{number_}; }
    /// EOPNOTSUPP for what the device has not: atomics, inline data. EINVAL for more than one element, ENOMEM for a
    /// queue that is full.
    Result<void> post_send(const verbs::SendRequest* list, const verbs::SendRequest** bad = nullptr) override;
    Result<void> post_receive(const verbs::ReceiveRequest* list, const verbs::ReceiveRequest** bad = nullptr) override;
    using verbs::QueuePair::post_receive;
    using verbs::QueuePair::post_send;

    /// The device has ended descriptor `index`, and with it all before it.
    void complete_send(std::uint32_t index) { send_tail_ = index + 1; }
    void complete_receive(std::uint32_t index) { receive_tail_ = index + 1; }

private:
    QueuePair(Device& device, const verbs::QpOptions& options) : device_(device), options_(options) {}
    Result<void> reserve();
    Result<void> refuse_send(const verbs::SendRequest& request) const;
    static std::span<std::byte> place(const memory::Buffer& ring, std::uint32_t index) {
        return ring.bytes().subspan(std::size_t{index} * abi::simple::Descriptor::size);
    }

    Device& device_;
    verbs::QpOptions options_;
    memory::Buffer sends_, receives_;
    std::uint32_t number_ = 0;
    std::uint32_t send_head_ = 0, send_tail_ = 0, receive_head_ = 0, receive_tail_ = 0;
    std::uint32_t send_places_ = 0, receive_places_ = 0; ///< of the rings, powers of two
    std::uint32_t reserved_sends_ = 0, reserved_receives_ = 0;
    bool exists_ = false;
};

} // namespace sw::simple
