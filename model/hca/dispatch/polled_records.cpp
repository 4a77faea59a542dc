#include "model/hca/dispatch/polled_records.h"

#include "abi/layout.h"
#include "abi/prm/doorbell.h"
#include "abi/prm/wqe.h"

namespace model::hca::dispatch {

namespace {

using Store = std::array<std::byte, 8>;

// Numbers of queue pairs and of completion queues are two spaces; both have 24 bits.
constexpr std::uint64_t key_of(abi::Qpn qpn) { return qpn.value; }
constexpr std::uint64_t key_of(abi::Cqn cqn) { return std::uint64_t{1} << 32 | cqn.value; }

constexpr std::uint64_t register_of(std::uint32_t page, std::size_t offset) {
    return std::uint64_t{page} * abi::prm::uar_page_bytes + offset;
}

/// All reserved bits are set, which no arm command has.
constexpr std::uint32_t no_arm_command = 0xffff'ffff;

/// The last basic block that is posted, as a WQE that has no more: the counter is what it ends at.
Store send_store(std::uint32_t number, std::uint32_t counter) {
    constexpr std::uint32_t indices = 1u << 16;
    Store store{};
    abi::View<abi::prm::SendDoorbell>(store)
        .set<"wqe_index">((counter - 1) % indices)
        .set<"qpn">(number)
        .set<"ds">(static_cast<std::uint32_t>(abi::prm::wqe_bb_bytes / abi::prm::wqe_ds_bytes));
    return store;
}

/// The register holds the word that the record has, and the number behind it.
Store arm_store(std::uint32_t number, std::uint32_t word) {
    Store store{};
    abi::store<std::uint32_t, abi::Endian::big>(store.data(), word);
    abi::View<abi::prm::CqDoorbell>(store).set<"cqn">(number);
    return store;
}

} // namespace

void PolledRecords::created(const queue::CompletionQueue& cq) {
    if (watch_ == nullptr || cq.attributes.uar_page < first_page_)
        return;
    constexpr auto arm_word = abi::prm::CqDoorbellRecord::field<"arm_ci">::offset;
    watch_->opened(key_of(cq.number),
                   {.address = (cq.attributes.doorbell_record + arm_word).value,
                    .doorbell = register_of(cq.attributes.uar_page, abi::prm::uar_cq_doorbell),
                    .number = cq.number.value,
                    .seen = no_arm_command, // software's first command may be zero, as the word is before
                    .is_marked = true,
                    .store = arm_store});
}

void PolledRecords::destroyed(abi::Cqn cqn) {
    if (watch_ != nullptr)
        watch_->closed(key_of(cqn));
}

void PolledRecords::follow(const queue::QueuePair& qp) {
    if (watch_ == nullptr || qp.attributes.uar_page < first_page_ || !qp.attributes.has_sq)
        return;
    if (qp.state == queue::QpState::rst || qp.state == queue::QpState::init)
        return watch_->closed(key_of(qp.number));
    constexpr auto counter = abi::prm::QpDoorbellRecord::field<"send_counter">::offset;
    watch_->opened(key_of(qp.number), {.address = (qp.attributes.doorbell_record + counter).value,
                                       .doorbell = register_of(qp.attributes.uar_page, abi::prm::uar_bfreg),
                                       .number = qp.number.value,
                                       .seen = qp.requester.sends.producer,
                                       .is_marked = false,
                                       .store = send_store});
}

void PolledRecords::destroyed(abi::Qpn qpn) {
    if (watch_ != nullptr)
        watch_->closed(key_of(qpn));
}

void PolledRecords::reset() {
    if (watch_ != nullptr)
        watch_->closed_all();
}

} // namespace model::hca::dispatch
