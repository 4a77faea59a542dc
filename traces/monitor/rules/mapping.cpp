#include "traces/monitor/rules/mapping.h"

#include "abi/prm/pages.h"
#include "abi/prm/rmp.h"
#include "abi/prm/user_context.h"
#include "abi/prm/xrc_srq.h"

#include <algorithm>

namespace traces::monitor {

using namespace abi::prm;
using abi::ConstView;

namespace {

std::uint64_t entry(Bytes list, std::size_t index) {
    return abi::load<std::uint64_t, abi::Endian::big>(list.data() + 8 * index);
}
/// The bytes behind a layout; none where there are fewer than the layout has.
template <class L> Bytes behind(Bytes bytes) { return bytes.size() < L::size ? Bytes() : bytes.subspan(L::size); }
/// The object that a DESTROY names or a CREATE has made: at the same place in all of them.
std::uint32_t object_of(Bytes bytes) {
    using Row = DestroyQpIn::field<"qpn">;
    return bytes.size() < DestroyQpIn::size ? 0 : Row::get<abi::Endian::big>(bytes.data());
}

} // namespace

void Mapping::Function::give(OwnerKey owner, Page page) {
    auto& uses = pages[page.shift][page.number];
    ++uses.readable;
    uses.writable += page.is_writable;
    owners[owner].push_back(page);
}

void Mapping::Function::take(OwnerKey owner) {
    open.erase(owner);
    const auto found = owners.find(owner);
    if (found == owners.end())
        return;
    for (const auto& page : found->second) {
        auto& of_size = pages[page.shift];
        auto& uses = of_size[page.number];
        uses.writable -= page.is_writable;
        if (--uses.readable == 0)
            of_size.erase(page.number);
    }
    owners.erase(found);
}

bool Mapping::Function::is_given(std::uint64_t begin, std::uint64_t length, bool is_write) const {
    const auto end = begin + length;
    while (begin < end) {
        auto next = begin;
        for (const auto& [shift, of_size] : pages) {
            const auto found = of_size.find(begin >> shift);
            if (found != of_size.end() && (is_write ? found->second.writable : found->second.readable) != 0)
                next = std::max(next, ((begin >> shift) + 1) << shift);
        }
        if (next <= begin)
            return false;
        begin = next;
    }
    return true;
}

void Mapping::give_list(Function& function, OwnerKey owner, unsigned log_page_size, Bytes list) {
    const unsigned shift = 12 + log_page_size;
    for (std::size_t i = 0; i < list.size() / 8; ++i)
        function.give(owner, {shift, entry(list, i) >> shift});
}

void Mapping::give_record(Function& function, OwnerKey owner, std::uint64_t address) {
    constexpr unsigned shift = 12; // what a driver maps for it is at least a page
    function.give(owner, {shift, address >> shift});
}

void Mapping::make_key(const CommandDone& done, Function& function) {
    const auto list = behind<CreateMkeyIn>(done.in);
    if (done.in.size() < CreateMkeyIn::size)
        return;
    const ConstView<CreateMkeyIn> in(done.in);
    const auto context = in.sub<"memory_key_mkey_entry">();
    const OwnerKey owner{Owner::mkey, object_of(done.out)};
    function.take(owner);
    const auto mode = access_mode(context);
    if (mode == AccessMode::pa || context.get<"umr_en">() != 0)
        function.open[owner] = done.at.record;
    if (mode != AccessMode::mtt || in.get<"mkey_umem_valid">() != 0)
        return;
    const unsigned shift = context.get<"log_page_size">();
    if (shift >= 64)
        return;
    const auto page = std::uint64_t{1} << shift, first = context.get<"start_addr">() & (page - 1);
    const auto wanted = (first + context.get<"len">() + page - 1) >> shift; // the list is padded to octowords
    const bool has_rights = in.get<"pg_access">() != 0;
    for (std::size_t i = 0; i < list.size() / 8 && i < wanted; ++i) {
        const auto mtt = entry(list, i);
        function.give(owner, {shift, mtt >> shift, !has_rights || (mtt & 2) != 0});
    }
}

void Mapping::move_pages(const CommandDone& done, Function& function) {
    if (done.in.size() < ManagePagesIn::size || done.out.size() < ManagePagesOut::size)
        return;
    const ConstView<ManagePagesIn> in(done.in);
    const auto action = static_cast<PageAction>(in.get<"op_mod">());
    const bool is_give = action == PageAction::give;
    if (!is_give && action != PageAction::take)
        return;
    const auto list = is_give ? behind<ManagePagesIn>(done.in) : behind<ManagePagesOut>(done.out);
    const auto count =
        is_give ? in.get<"input_num_entries">() : ConstView<ManagePagesOut>(done.out).get<"output_num_entries">();
    for (std::size_t i = 0; i < list.size() / 8 && i < count; ++i) {
        const auto address = entry(list, i);
        if (is_give)
            function.give({Owner::firmware, address}, {12, address >> 12});
        else
            function.take({Owner::firmware, address});
    }
}

void Mapping::make(const CommandDone& done, Function& function) {
    const auto number = object_of(done.out);
    const auto fits = [&](std::size_t size) { return done.in.size() >= size; };
    if (done.opcode == Opcode::create_eq && fits(CreateEqIn::size)) {
        const auto context = ConstView<CreateEqIn>(done.in).sub<"eq_context_entry">();
        give_list(function, {Owner::eq, number & 0xff}, context.get<"log_page_size">(), behind<CreateEqIn>(done.in));
    } else if (done.opcode == Opcode::create_cq && fits(CreateCqIn::size)) {
        const auto context = ConstView<CreateCqIn>(done.in).sub<"cq_context">();
        give_list(function, {Owner::cq, number}, context.get<"log_page_size">(), behind<CreateCqIn>(done.in));
        if (context.get<"dbr_umem_valid">() == 0)
            give_record(function, {Owner::cq, number}, context.get<"dbr_addr">());
    } else if (done.opcode == Opcode::modify_cq && fits(ModifyCqIn::size)) {
        // A resized queue has both rings from here on: when the old one is let go of is the driver's affair.
        const ConstView<ModifyCqIn> in(done.in);
        give_list(function, {Owner::cq, in.get<"cqn">()}, in.sub<"cq_context">().get<"log_page_size">(),
                  behind<ModifyCqIn>(done.in));
    } else if (done.opcode == Opcode::create_qp && fits(CreateQpIn::size)) {
        const auto context = ConstView<CreateQpIn>(done.in).sub<"qpc">();
        give_list(function, {Owner::qp, number}, context.get<"log_page_size">(), behind<CreateQpIn>(done.in));
        if (context.get<"dbr_umem_valid">() == 0)
            give_record(function, {Owner::qp, number}, context.get<"dbr_addr">());
    } else if (done.opcode == Opcode::create_rmp && fits(CreateRmpIn::size)) {
        const auto queue = ConstView<CreateRmpIn>(done.in).sub<"ctx">().sub<"wq">();
        give_list(function, {Owner::rmp, number}, queue.get<"log_wq_pg_sz">(), behind<CreateRmpIn>(done.in));
        if (queue.get<"dbr_umem_valid">() == 0)
            give_record(function, {Owner::rmp, number}, queue.get<"dbr_addr">());
    } else if (done.opcode == Opcode::create_xrc_srq && fits(CreateXrcSrqIn::size)) {
        const auto context = ConstView<CreateXrcSrqIn>(done.in).sub<"xrc_srq_context_entry">();
        give_list(function, {Owner::xrc_srq, number}, context.get<"log_page_size">(), behind<CreateXrcSrqIn>(done.in));
        if (context.get<"dbr_umem_valid">() == 0)
            give_record(function, {Owner::xrc_srq, number},
                        std::uint64_t{context.get<"db_record_addr_h">()} << 32 | context.get<"db_record_addr_l">()
                                                                                     << 2);
    } else if (done.opcode == Opcode::create_umem && fits(CreateUmemIn::size)) {
        const auto context = ConstView<CreateUmemIn>(done.in).sub<"umem">();
        give_list(function, {Owner::umem, number}, context.get<"log_page_size">(), behind<CreateUmemIn>(done.in));
    }
}

void Mapping::unmake(const CommandDone& done, Function& function) {
    const auto number = object_of(done.in);
    switch (done.opcode) {
    case Opcode::destroy_eq: function.take({Owner::eq, number & 0xff}); return;
    case Opcode::destroy_cq: function.take({Owner::cq, number}); return;
    case Opcode::destroy_qp: function.take({Owner::qp, number}); return;
    case Opcode::destroy_rmp: function.take({Owner::rmp, number}); return;
    case Opcode::destroy_xrc_srq: function.take({Owner::xrc_srq, number}); return;
    case Opcode::destroy_umem: function.take({Owner::umem, number}); return;
    case Opcode::destroy_mkey: function.take({Owner::mkey, number}); return;
    default: return;
    }
}

void Mapping::on(const CommandDone& done) {
    auto& function = functions_[done.at.interface];
    switch (done.opcode) {
    case Opcode::init_hca: function.is_followed = true; return;
    case Opcode::teardown_hca: { // what was lent to the firmware is given back later
        std::vector<OwnerKey> gone;
        for (const auto& [owner, pages] : function.owners)
            if (owner.first != Owner::firmware)
                gone.push_back(owner);
        for (const auto& [owner, made] : function.open)
            gone.push_back(owner);
        for (const auto& owner : gone)
            function.take(owner);
        return;
    }
    case Opcode::create_mkey: make_key(done, function); return;
    case Opcode::manage_pages: move_pages(done, function); return;
    // Memory that these give is in structures that are not looked at.
    case Opcode::create_srq:
    case Opcode::create_sq:
    case Opcode::create_rq:
    case Opcode::create_general_object: function.open[{Owner::firmware, 0}] = done.at.record; return;
    default: make(done, function); unmake(done, function);
    }
}

void Mapping::check(const At& at, std::uint64_t begin, std::uint64_t length, bool is_write) {
    const auto found = functions_.find(at.interface);
    if (found == functions_.end() || !found->second.is_followed || !found->second.open.empty())
        return;
    judges();
    if (found->second.is_given(begin, length, is_write))
        return;
    violated(at, {at.cause}, fmt::format("{:#x} to {:#x}", begin, begin + length - 1),
             fmt::format("the device {} {} bytes of memory that no command has given it{}, or that was taken back",
                         is_write ? "writes" : "reads", length, is_write ? " for writing" : ""));
}

void Mapping::on(const MemoryRead& read) {
    const bool is_judged = read.place == Place::elsewhere || read.place == Place::send_queue;
    if (is_judged && !read.bytes.empty())
        check(read.at, read.address, read.bytes.size(), false);
}

void Mapping::on(const MemoryWritten& written) {
    if (written.place == Place::elsewhere && !written.bytes.empty())
        check(written.at, written.address, written.bytes.size(), true);
}

} // namespace traces::monitor
