#include "model/pcie/function_module.h"

#include "model/tlm/time.h"

#include <algorithm>
#include <array>
#include <cassert>

namespace model::pcie {

using port::DmaResult;
using port::DmaStatus;
using port::Time;

namespace {
constexpr std::uint64_t page = 4096;

Range bus_range(const Aperture& bar) {
    const auto end = bar.base + bar.size;
    return {bar.base, end > bar.base ? end : ~std::uint64_t{0}};
}
} // namespace

EndpointFunction::EndpointFunction(unsigned number, const FunctionConfig& config, bool is_one_of_several,
                                   Function& function, tlm::PciePort& link)
    : number_(number), function_(function), link_(link), space_(config, is_one_of_several, number),
      msix_(config.msix_vectors), raised_at_(config.msix_vectors), tlb_(config.ats), tags_("tags", config.link.tags),
      initiator_(*this, tlm::AddressType::untranslated, no_pasid, &order_),
      translated_(*this, tlm::AddressType::translated, no_pasid, &order_),
      ats_(initiator_, translated_, tlb_, config.ats, no_pasid, is_ats_on_) {
    assert(find_fault(config) == nullptr);
    if (config.msix_vectors != 0)
        msix_range_ = {std::min(config.msix_table_offset, config.msix_pending_offset),
                       std::max(config.msix_table_offset + msix_.table_bytes(),
                                config.msix_pending_offset + msix_.pending_bytes())};
    initiator_.set_enabled(false), translated_.set_enabled(false); // bus mastering is off after reset
}

void EndpointFunction::set_link(const LinkConfig& negotiated) {
    space_.set_link(negotiated);
    is_timed_ = negotiated.timed;
    for_each_initiator([this](auto& initiator) { initiator.set_tags(is_timed_ ? &tags_ : nullptr); });
}

void EndpointFunction::set_events(traces::Events events) {
    events_ = events;
    initiator_.set_events(events);
    ats_.set_events(events); // it has reported itself what it sends translated
    for_each_initiator([&](auto& initiator) { initiator.set_loss_events(events); });
}

void EndpointFunction::set_watch(LandingWatch* watch) {
    watch_ = watch;
    initiator_.set_watch(watch), ats_.set_watch(watch);
    for (auto& [pasid, channel] : channels_)
        channel->untranslated.set_watch(watch), channel->ats.set_watch(watch);
}

port::Dma& EndpointFunction::dma(std::uint32_t pasid) {
    auto& channel = channels_[pasid];
    if (!channel) {
        channel = std::make_unique<Channel>(*this, pasid);
        channel->untranslated.set_events(events_), channel->ats.set_events(events_);
        channel->untranslated.set_loss_events(events_);
        channel->untranslated.set_watch(watch_), channel->ats.set_watch(watch_);
        channel->untranslated.set_requester(initiator_.requester());
        channel->untranslated.set_tags(is_timed_ ? &tags_ : nullptr);
        adopt(space_.meaning());
    }
    if (space_.config().ats.entries != 0)
        return channel->ats;
    return channel->untranslated;
}

Volume EndpointFunction::volume(TargetKind kind) const {
    auto sum = initiator_.volume(kind);
    sum += translated_.volume(kind);
    for (const auto& [pasid, channel] : channels_)
        sum += channel->untranslated.volume(kind);
    return sum;
}

// --- requests of others ---

DmaStatus EndpointFunction::receive_memory(const EndpointSpace::Hit& hit, ::tlm::tlm_generic_payload& payload,
                                           tlm::Extension& request, sc_core::sc_time& delay) {
    const auto data = tlm::bytes_of(payload);
    if (data.size() > hit.left) { // begins in a BAR and leaves it
        note_refused(DmaStatus::completer_abort, payload.is_write());
        return DmaStatus::completer_abort;
    }
    const auto now = tlm::kernel_now();
    if (payload.is_write())
        return complete_write(hit.bar, hit.offset, data, now + tlm::from_sc(delay));
    const auto result = complete_read(hit.bar, hit.offset, data, now + tlm::from_sc(delay));
    request.behind = order_.all_there(result.done);
    delay = tlm::to_sc(result.done - now);
    return result.status;
}

bool EndpointFunction::receive_direct(const EndpointSpace::Hit& hit, const ::tlm::tlm_generic_payload& payload,
                                      tlm::Extension& request, ::tlm::tlm_dmi& dmi) {
    const auto address = payload.get_address();
    const auto bar = bus_range(space_.meaning().bars[hit.bar]);
    auto clear = bar; // where BARs overlap, the lowest one answers
    for (unsigned i = 0; i < hit.bar; ++i)
        if (space_.meaning().bars[i].size != 0)
            clear.narrow(address, bus_range(space_.meaning().bars[i]));

    // Plain memory from the start of the BAR, or from this page on; else a page of registers, or a BAR of nothing else.
    const auto page_begin = hit.offset / page * page;
    const auto first = function_.direct(hit.bar, 0);
    auto offset = first.size() > hit.offset ? 0 : page_begin;
    const auto memory = offset == 0 ? first : function_.direct(hit.bar, offset);
    std::uint64_t length = page;
    if (memory.size() > hit.offset - offset)
        request.answer = {.memory = memory.data(),
                          .posted = is_timed_ && function_.shows_at_arrival(hit.bar) ? &held_ : nullptr,
                          .completer = this,
                          .cookie = hit.bar,
                          .read_latency = space_.config().memory_latency},
        length = memory.size();
    else if (first.empty())
        offset = 0, length = bar.end - bar.begin;
    if (request.answer.memory == nullptr)
        request.answer = {.completer = this, .cookie = hit.bar, .offset = offset};
    length = std::min(length, bar.end - bar.begin - offset);
    const bool is_memory = tlm::grant(dmi, request, {bar.begin + offset, bar.begin + offset + length});
    tlm::narrow(dmi, request, clear);
    return is_memory;
}

void EndpointFunction::narrow(std::uint64_t address, Range& range) const {
    for (const auto& bar : space_.meaning().bars)
        if (bar.size != 0)
            range.narrow(address, bus_range(bar));
}

DmaResult EndpointFunction::complete_read(unsigned bar, std::uint64_t offset, std::span<std::byte> into, Time at) {
    DmaResult result{DmaStatus::ok, at};
    if (into.empty()) // a flush: the function has no byte to give, and no side effect (§2.2.5)
        return result;
    do {
        const auto here = slice(bar, offset, into.size());
        const auto part = into.first(here.length);
        if (here.part == Part::function) {
            const auto answer = function_.bar_read(bar, offset, part, at);
            result.done = std::max(result.done, answer.done);
            if (!answer.is_ok()) {
                space_.note_refused(answer.status, false);
                return {answer.status, result.done};
            }
        } else if (here.part == Part::table) {
            msix_.read_table(here.offset, part);
        } else {
            msix_.read_pending(here.offset, part);
        }
        offset += here.length;
        into = into.subspan(here.length);
    } while (!into.empty());
    return result;
}

DmaStatus EndpointFunction::complete_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> from,
                                           Time at) {
    do {
        const auto here = slice(bar, offset, from.size());
        const auto part = from.first(here.length);
        if (here.part == Part::function) {
            function_.bar_write(bar, offset, part, at);
        } else if (here.part == Part::table) {
            msix_.write_table(here.offset, part);
            send_pending(at);
        } // pending bits are read only
        offset += here.length;
        from = from.subspan(here.length);
    } while (!from.empty());
    return DmaStatus::ok;
}

std::size_t EndpointFunction::peek(unsigned bar, std::uint64_t offset, std::span<std::byte> into) {
    const auto here = slice(bar, offset, into.size());
    return here.part == Part::function ? function_.peek(bar, offset, into.first(here.length)) : 0;
}

std::size_t EndpointFunction::poke(unsigned bar, std::uint64_t offset, std::span<const std::byte> from) {
    const auto here = slice(bar, offset, from.size());
    return here.part == Part::function ? function_.poke(bar, offset, from.first(here.length)) : 0;
}

EndpointFunction::Slice EndpointFunction::slice(unsigned bar, std::uint64_t offset, std::uint64_t length) const {
    const auto& config = space_.config();
    const auto end = offset + length;
    if (bar != config.msix_bar || offset >= msix_range_.end || end <= msix_range_.begin)
        return {Part::function, offset, length};
    auto stop = end;
    const auto look = [&](std::uint64_t begin, std::uint64_t size, Part part) -> std::optional<Slice> {
        if (offset - begin < size)
            return Slice{part, offset - begin, std::min(length, begin + size - offset)};
        if (offset < begin)
            stop = std::min(stop, begin);
        return {};
    };
    if (const auto table = look(config.msix_table_offset, msix_.table_bytes(), Part::table))
        return *table;
    if (const auto pending = look(config.msix_pending_offset, msix_.pending_bytes(), Part::pending))
        return *pending;
    return {Part::function, offset, stop - offset};
}

// --- address translation ---

void EndpointFunction::receive_message(::tlm::tlm_generic_payload& payload, const tlm::Extension& request, Time at) {
    const auto& message = request.message;
    tlm::set_status(payload, DmaStatus::ok);
    if (request.kind == tlm::RequestKind::invalidation) {
        if (!space_.meaning().ats_enable) // no completion is sent: the requester times out
            return tlm::set_status(payload, DmaStatus::unsupported_request);
        tlb_.invalidate(request.pasid, message.is_global, payload.get_address(), message.bytes);
        // An invalidation completes when no request is outstanding that used the translation (PCIe 6.0 §10.3.1).
        return drain();
    }
    constexpr std::uint8_t failure = 15;
    const bool is_expected = page_groups_.erase(message.group) != 0;
    space_.note_page_response(message.code == failure, !is_expected);
    if (is_expected)
        function_.page_answered(message.group, message.code, at);
}

DmaResult EndpointFunction::request_page(const PageRequest& request, Time at) {
    const auto& meaning = space_.meaning();
    const bool is_allowed =
        page_groups_.contains(request.group) || page_groups_.size() < meaning.page_request_allocation;
    if (!meaning.page_request_enable || !meaning.ats_enable || !is_allowed ||
        (request.pasid != no_pasid && !meaning.pasid_enable))
        return {DmaStatus::unsupported_request, at};
    page_groups_.insert(request.group);
    auto& initiator =
        request.pasid == no_pasid ? initiator_ : (dma(request.pasid), channels_[request.pasid]->untranslated);
    return initiator.send_message(
        tlm::RequestKind::page_request, request.address,
        {.group = request.group, .is_last = request.is_last, .is_read = request.is_read, .is_write = request.is_write},
        at);
}

// --- configuration ---

void EndpointFunction::receive_config(::tlm::tlm_generic_payload& payload, tlm::Extension& request,
                                      const sc_core::sc_time& delay) {
    request.behind = order_.all_there(tlm::kernel_now() + tlm::from_sc(delay));
    const auto data = tlm::bytes_of(payload);
    const auto offset = static_cast<std::uint16_t>(payload.get_address());
    std::array<std::byte, 4> value{};
    if (data.size() > value.size())
        return tlm::set_status(payload, DmaStatus::unsupported_request);
    tlm::set_status(payload, DmaStatus::ok);
    if (payload.is_read()) {
        abi::store<std::uint32_t, abi::Endian::little>(value.data(),
                                                       read_register(offset, static_cast<unsigned>(data.size())));
        std::copy_n(value.begin(), data.size(), data.begin());
        return;
    }
    for_each_initiator([&](auto& initiator) {
        initiator.set_requester(request.target);
    }); // functions capture their number from configuration writes (§2.2.6.2)
    std::ranges::copy(data, value.begin());
    write_register(offset, static_cast<unsigned>(data.size()),
                   abi::load<std::uint32_t, abi::Endian::little>(value.data()),
                   tlm::kernel_now() + tlm::from_sc(delay));
}

std::uint32_t EndpointFunction::read_register(std::uint16_t offset, unsigned bytes) {
    if (space_.is_gateway(offset) && ConfigSpace::is_well_formed(offset, bytes))
        return gateway_.read(offset - gateway_offset, bytes);
    return space_.read(offset, bytes);
}

void EndpointFunction::write_register(std::uint16_t offset, unsigned bytes, std::uint32_t value, Time at) {
    if (space_.is_gateway(offset)) {
        if (ConfigSpace::is_well_formed(offset, bytes))
            gateway_.write(offset - gateway_offset, bytes, value, function_.spaces(), at);
        return;
    }
    const auto before = space_.meaning();
    const bool is_reset = space_.write(offset, bytes, value);
    if (is_reset) {
        msix_.reset();
        gateway_.reset();
    }
    adopt(before);
    if (is_reset)
        function_.reset(at);
    else
        send_pending(at);
}

void EndpointFunction::adopt(const EndpointSpace::Meaning& before) {
    const auto& now = space_.meaning();
    initiator_.set_enabled(now.is_master), translated_.set_enabled(now.is_master);
    initiator_.set_sizes(now.sizes), translated_.set_sizes(now.sizes);
    for (auto& [pasid, channel] : channels_) {
        channel->untranslated.set_enabled(now.is_master && now.pasid_enable);
        channel->untranslated.set_sizes(now.sizes);
    }
    if (now.ats_enable != is_ats_on_)
        tlb_.clear(); // entries kept until now were not invalidated meanwhile (PCIe 6.0 §10.5.1.3)
    is_ats_on_ = now.ats_enable;
    if (!now.page_request_enable)
        page_groups_.clear();
    msix_.control(now.msix_enable, now.msix_function_mask);
    for (unsigned i = 0; i < before.bars.size(); ++i) {
        if (before.bars[i] == now.bars[i])
            continue;
        link_.invalidate(bus_range(before.bars[i]));
        link_.invalidate(bus_range(now.bars[i]));
    }
}

void EndpointFunction::reset(Time at) {
    const auto before = space_.meaning();
    space_.reset(false);
    msix_.reset();
    gateway_.reset();
    adopt(before);
    function_.reset(at);
}

void EndpointFunction::invalidate(unsigned bar) { link_.invalidate(bus_range(space_.meaning().bars[bar])); }

// --- interrupts ---

void EndpointFunction::write_msix_entry(std::uint16_t vector, abi::ConstView<abi::pcie::MsixEntry> entry, Time at) {
    assert(vector < space_.config().msix_vectors);
    msix_.write_table(vector * abi::pcie::MsixEntry::size, entry.bytes());
    send_pending(at);
}

void EndpointFunction::raise(std::uint16_t vector, Time at) {
    if (events_.is_on()) [[unlikely]]
        events_.emit(at, traces::InterruptRaised{vector});
    if (vector < raised_at_.size())
        raised_at_[vector] = std::max(raised_at_[vector], at);
    if (const auto message = msix_.raise(vector))
        send(*message, at);
}

void EndpointFunction::send_pending(Time at) {
    while (const auto message = msix_.next())
        send(*message, std::max(at, raised_at_[message->vector]));
}

void EndpointFunction::send(const Msix::Message& message, Time at) {
    std::array<std::byte, 4> data;
    abi::store<std::uint32_t, abi::Endian::little>(data.data(), message.data);
    initiator_.store(message.address, data, at, port::Purpose::control);
}

} // namespace model::pcie
