#include "platform/bridge/vfio_user/function_port.h"

#include "model/tlm/process.h"
#include "model/tlm/time.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace platform::bridge::vfio_user {

using abi::pcie::MsixEntry;
using abi::pcie::PciExpress;
using model::port::DmaStatus;
using model::port::Purpose;
using model::tlm::kernel_now;

namespace {

constexpr std::uint8_t own_bus = 1; ///< of each link: the client's numbers do not reach us

/// Records between two looks at everything else.
constexpr std::size_t records_at_once = 1024;

/// What a write in the backlog costs beside its bytes.
constexpr std::size_t put_cost = 64;

/// Has writes to an event not wait for its reader. That is a property of the open file, which the client has, too, and
/// may have taken back; so it is asked for before each write.
bool keep_from_waiting(const Descriptor& event) {
    const int flags = ::fcntl(event.number(), F_GETFL);
    return flags >= 0 && ((flags & O_NONBLOCK) != 0 || ::fcntl(event.number(), F_SETFL, flags | O_NONBLOCK) == 0);
}

/// Descriptors come from anybody: only an eventfd can be signalled, and nothing but it is written to.
bool is_event(const Descriptor& file) {
    std::array<char, 32> target{};
    const auto path = fmt::format("/proc/self/fd/{}", file.number());
    return ::readlink(path.c_str(), target.data(), target.size() - 1) >= 0 &&
           std::string_view(target.data()) == "anon_inode:[eventfd]";
}

/// Whether a write into configuration space begins a function-level reset.
bool begins_reset(std::uint16_t offset, std::span<const std::byte> data) {
    constexpr auto capability = model::pcie::pci_express_offset;
    abi::Block<PciExpress> written;
    for (std::size_t i = 0; i < data.size(); ++i)
        if (const auto at = offset + i; at >= capability && at - capability < written.bytes.size())
            written.bytes[at - capability] = data[i];
    return written.view().get<"initiate_reset">();
}

} // namespace

FunctionPort::FunctionPort(std::string name, model::pcie::EndpointFunction& function, model::tlm::PciePort& port,
                           FileMappings& files)
    : name_(std::move(name)), endpoint_(function), port_(port), processor_(*this), memory_(files) {
    processor_.set_requester(abi::pcie::Bdf{0, 0, 0});
    processor_.set_processor();
    irqs(static_cast<std::uint32_t>(protocol::IrqType::msix)).resize(endpoint_.space().config().msix_vectors);
    for (const auto type : {protocol::IrqType::error, protocol::IrqType::request})
        irqs(static_cast<std::uint32_t>(type)).resize(1);
    sc_core::sc_spawn_options options;
    options.set_stack_size(model::tlm::process_stack_bytes);
    sc_core::sc_spawn([this] { work_off(); }, sc_core::sc_gen_unique_name("client"), &options);
}

// --- what the client has written ---

void FunctionPort::put(Put put) {
    backlog_bytes_ += put.data.size() + put_cost;
    backlog_.push_back(std::move(put));
}

void FunctionPort::work_off() {
    for (;;) {
        while (!backlog_.empty()) {
            const auto& first = backlog_.front(); // stays while it is done: what comes meanwhile comes after it
            if (first.is_reset) {
                endpoint_.reset(kernel_now());
                steer_all();
                --resets_;
            } else {
                write_region(first.region, first.offset, first.data);
            }
            backlog_bytes_ -= first.data.size() + put_cost;
            backlog_.pop_front();
        }
        sc_core::wait(put_);
    }
}

void FunctionPort::work() {
    if (backlog_.empty())
        return;
    put_.notify();
    if (sc_core::sc_get_status() == sc_core::SC_RUNNING)
        return; // called by the simulation itself, which comes to it
    // While it waits for somebody outside there is nothing to run, of which the kernel would warn on each call.
    if (sc_core::sc_get_status() == sc_core::SC_PAUSED && !sc_core::sc_pending_activity_at_current_time())
        return;
    // Until it is done, or nothing goes on before somebody outside has answered.
    do
        sc_core::sc_start(sc_core::SC_ZERO_TIME);
    while (!backlog_.empty() && sc_core::sc_pending_activity_at_current_time());
}

std::uint64_t FunctionPort::region_size(std::uint32_t region) const {
    if (region < protocol::bar_regions)
        return endpoint_.space().config().bars[region].size;
    return region == protocol::config_region ? abi::pcie::config_space_bytes : 0;
}

std::uint32_t FunctionPort::irq_count(protocol::IrqType type) const {
    return static_cast<std::uint32_t>(irqs_[static_cast<std::uint32_t>(type)].size());
}

// --- doorbells in memory ---

std::expected<model::port::DoorbellWatch*, std::string> FunctionPort::poll_doorbells(const PolledPages& pages) {
    pages_ = pages;
    make_pages();
    if (!pages_file_)
        return std::unexpected(fmt::format("{}: a memory file of {} bytes for its UAR pages: {}", name_,
                                           region_size(pages.bar), std::generic_category().message(errno)));
    return &poller_;
}

/// No byte of it is ever read: stores end here. Each client has a file of its own, so that none sees another's.
void FunctionPort::make_pages() {
    pages_file_ = Descriptor(::memfd_create("uar", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (pages_file_ && ::ftruncate(pages_file_.number(), static_cast<off_t>(region_size(pages_.bar))) != 0)
        pages_file_ = {};
    if (pages_file_)
        ::fcntl(pages_file_.number(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
}

int FunctionPort::region_file(std::uint32_t region) const {
    if (region >= protocol::bar_regions)
        return -1;
    if (!has_pages(region))
        return endpoint_.bar_file(region);
    return memory_.has_message_memory() ? -1 : pages_file_.number(); // records there could not be read
}

std::vector<Area> FunctionPort::region_areas(std::uint32_t region) const {
    return has_pages(region) ? std::vector{Area{pages_.begin, pages_.end - pages_.begin}} : std::vector<Area>{};
}

void FunctionPort::region_given(std::uint32_t region) {
    if (has_pages(region))
        poller_.set_on(true);
}

bool FunctionPort::poll() {
    // While it does something there is no hurry: what is rung meanwhile is found afterwards, as one doorbell.
    if (!backlog_.empty() || !poller_.look(records_at_once, ringing()))
        return false;
    work();
    return true;
}

// --- registers ---

void FunctionPort::read(std::uint32_t region, std::uint64_t offset, std::span<std::byte> into) {
    if (into.empty())
        return;
    if (region == protocol::config_region) {
        while (!into.empty()) { // requests stay inside a dword, and have 1, 2 or 4 bytes
            auto length = std::min<std::size_t>(into.size(), 4 - offset % 4);
            length = length == 3 ? (offset % 2 == 0 ? 2 : 1) : length;
            configure(::tlm::TLM_READ_COMMAND, static_cast<std::uint16_t>(offset), into.first(length));
            offset += length;
            into = into.subspan(length);
        }
        return;
    }
    const auto bar = endpoint_.space().meaning().bars[region];
    if (offset > bar.size || into.size() > bar.size - offset ||
        !processor_.fetch(bar.base + offset, into, kernel_now(), Purpose::control).is_ok())
        std::ranges::fill(into, std::byte{0xff});
}

void FunctionPort::write(std::uint32_t region, std::uint64_t offset, std::span<const std::byte> from) {
    if (from.empty())
        return;
    // What software has rung before comes before: a command must find queues as they were when it was given.
    if (is_doorbell(region, offset))
        ++doorbell_stores_;
    else
        poller_.look_at_all(ringing());
    put({region, offset, {from.begin(), from.end()}, false});
}

void FunctionPort::write_region(std::uint32_t region, std::uint64_t offset, std::span<const std::byte> from) {
    if (region == protocol::config_region)
        return write_config(offset, from);
    const auto bar = endpoint_.space().meaning().bars[region];
    if (offset > bar.size || from.size() > bar.size - offset || touches_msix(region, offset, from.size()))
        return;
    processor_.store(bar.base + offset, from, kernel_now(), Purpose::control);
}

void FunctionPort::configure(::tlm::tlm_command command, std::uint16_t offset, std::span<std::byte> data) {
    config_request_.prepare(command, offset, data);
    config_request_.extension.kind = model::tlm::RequestKind::config_type0;
    config_request_.extension.target = {own_bus, 0, endpoint_.number()};
    auto delay = sc_core::SC_ZERO_TIME;
    port_.send(config_request_.payload, config_request_.extension, delay);
    if (command == ::tlm::TLM_READ_COMMAND && !config_request_.payload.is_response_ok())
        std::ranges::fill(data, std::byte{0xff});
}

void FunctionPort::write_config(std::uint64_t offset, std::span<const std::byte> from) {
    while (!from.empty()) {
        auto length = std::min<std::size_t>(from.size(), 4 - offset % 4);
        length = length == 3 ? (offset % 2 == 0 ? 2 : 1) : length;
        std::array<std::byte, 4> data{};
        std::ranges::copy(from.first(length), data.begin());
        const auto at = static_cast<std::uint16_t>(offset);
        const bool is_reset = begins_reset(at, from.first(length));
        std::array<std::byte, 4 * abi::pcie::type0_bars> bars{};
        if (is_reset)
            read(protocol::config_region, abi::pcie::bar_offset, bars);
        configure(::tlm::TLM_WRITE_COMMAND, at, std::span(data).first(length));
        if (is_reset) {
            write_config(abi::pcie::bar_offset, bars);
            steer_all();
        }
        offset += length;
        from = from.subspan(length);
    }
}

/// The table is the client's; what stands in ours is where the vectors are steered.
bool FunctionPort::touches_msix(std::uint32_t region, std::uint64_t offset, std::uint64_t length) const {
    const auto& config = endpoint_.space().config();
    return config.msix_vectors != 0 && region == config.msix_bar &&
           offset < config.msix_table_offset + config.msix_vectors * MsixEntry::size &&
           offset + length > config.msix_table_offset;
}

/// What the function waits for ends at once: it is to forget why it asked.
void FunctionPort::reset() {
    put(Put{.data = {}, .is_reset = true});
    ++resets_;
    port_.invalidate({0, std::numeric_limits<std::uint64_t>::max()}); // paths found before would lead on
    if (messages_ != nullptr)
        messages_->abandon();
}

// --- memory ---

int FunctionPort::map(const DmaMapRequest& map, Descriptor file) {
    const int error = memory_.map(map, file);
    if (error == 0)
        poller_.mapped({map.address, map.address + map.size});
    if (error == 0)
        port_.invalidate({map.address, map.address + map.size}); // a path to a peer may have led through here
    return error;
}

int FunctionPort::unmap(const DmaUnmapRequest& unmap) {
    constexpr auto most = std::numeric_limits<std::uint64_t>::max();
    const auto end = unmap.is_all || unmap.size > most - unmap.address ? most : unmap.address + unmap.size;
    if (poller_.look_within({unmap.address, end}, ringing()))
        work(); // while the records are still there
    // When the client has the reply it gives the memory to others, so packets under way refer to it no longer.
    memory_.for_each_within(unmap, [this](const GuestMemory::Range& range) {
        if (range.memory != nullptr)
            endpoint_.drain({range.memory, range.bus.end - range.bus.begin});
    });
    const int error = memory_.unmap(unmap);
    if (error != 0)
        return error;
    poller_.unmapped({unmap.address, end});
    port_.invalidate({unmap.address, end});
    return 0;
}

DmaStatus FunctionPort::read_by_messages(std::uint64_t address, std::span<std::byte> into) {
    if (messages_ == nullptr)
        return DmaStatus::unsupported_request;
    ++waiting_;
    const auto status = messages_->read(address, into);
    --waiting_;
    return status;
}

DmaStatus FunctionPort::write_by_messages(std::uint64_t address, std::span<const std::byte> from) {
    if (messages_ == nullptr)
        return DmaStatus::unsupported_request;
    ++waiting_;
    const auto status = messages_->write(address, from);
    --waiting_;
    return status;
}

// --- interrupts ---

int FunctionPort::set_irqs(const IrqSetRequest& set, std::vector<Descriptor> files) {
    using Data = IrqSetRequest::Data;
    using Action = IrqSetRequest::Action;
    const bool is_msix = set.index == static_cast<std::uint32_t>(protocol::IrqType::msix);
    if (set.action != Action::trigger && (!is_msix || set.data == Data::eventfd))
        return EINVAL;
    if (!std::ranges::all_of(files, is_event))
        return EINVAL;
    auto& all = irqs(set.index);
    if (set.count == 0)
        for (auto& irq : all)
            irq = {};
    for (std::uint32_t i = 0; i < set.count; ++i) {
        auto& irq = all[set.start + i];
        if (set.data == Data::eventfd)
            irq.event = i < files.size() ? std::move(files[i]) : Descriptor{};
        else if (set.data == Data::boolean && set.chosen[i] == std::byte{0})
            continue;
        else if (set.action != Action::trigger)
            irq.is_masked = set.action == Action::mask;
        else if (is_msix)
            signal(set.start + i);
    }
    if (is_msix)
        steer_all();
    return 0;
}

/// A vector without an eventfd is masked: it stays pending until there is one.
void FunctionPort::steer(std::uint16_t vector) {
    const auto& irq = irqs(static_cast<std::uint32_t>(protocol::IrqType::msix))[vector];
    abi::Block<MsixEntry> entry;
    entry.view()
        .set<"address">(static_cast<std::uint32_t>(interrupts.begin >> 2))
        .set<"data">(vector)
        .set<"mask">(irq.is_masked || !irq.event);
    endpoint_.write_msix_entry(vector, entry.view(), kernel_now());
}

void FunctionPort::steer_all() {
    for (std::uint32_t i = 0; i < irq_count(protocol::IrqType::msix); ++i)
        steer(static_cast<std::uint16_t>(i));
}

void FunctionPort::signal(std::uint32_t vector) {
    const auto& all = irqs(static_cast<std::uint32_t>(protocol::IrqType::msix));
    if (vector >= all.size() || !all[vector].event || !keep_from_waiting(all[vector].event))
        return;
    ++signals_;
    signal_.raise(all[vector].event.number());
}

void FunctionPort::disconnect() {
    for (auto& type : irqs_)
        for (auto& irq : type)
            irq = {};
    poller_.set_on(false);
    poller_.unmapped({0, std::numeric_limits<std::uint64_t>::max()});
    memory_.unmap_all();
    if (pages_file_)
        make_pages();
    port_.invalidate({0, std::numeric_limits<std::uint64_t>::max()});
    // What it wrote last has nobody any more who would miss it; the write that is being done comes to its end.
    while (backlog_.size() > 1) {
        backlog_bytes_ -= backlog_.back().data.size() + put_cost;
        resets_ -= backlog_.back().is_reset ? 1 : 0;
        backlog_.pop_back();
    }
    reset();
    work();
}

} // namespace platform::bridge::vfio_user
