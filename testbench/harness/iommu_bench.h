// A remapping unit over an array of memory, and the software that fills its tables: for unit tests and the fuzz target.
#pragma once

#include "abi/iommu/invalidation.h"
#include "abi/iommu/page_request.h"
#include "abi/iommu/tables.h"
#include "model/iommu/iommu.h"
#include "model/port/memory_dma.h"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace testbench {

class IommuBench : private model::iommu::Listener {
    std::uint64_t next_page_ = 0x10'0000, queue_ = 0, tail_ = 0, width_ = 16;
    std::uint32_t cookie_ = 0;
    std::map<std::uint16_t, std::uint64_t> contexts_;

public:
    using Register = abi::iommu::Register;
    using Reason = abi::iommu::FaultReason;
    using Access = model::iommu::Access;

    static constexpr std::uint64_t fault_message = 0xfee0'1000, completion_message = 0xfee0'2000,
                                   page_message = 0xfee0'3000;
    static constexpr std::uint64_t status_word = 0x9000;

    explicit IommuBench(const model::iommu::IommuConfig& config = {}) : iommu(config, memory, this), root(new_page()) {}

    // --- memory ---
    std::uint64_t new_page() { return next_page_ += 0x1000; }
    template <class E> void put(std::uint64_t address, const E& entry) { memory.poke(address, entry.bytes()); }
    template <class E> E get(std::uint64_t address) { return E::from(memory.peek(address, E::size)); }
    std::uint32_t dword(std::uint64_t address) {
        return abi::load<std::uint32_t, abi::Endian::little>(memory.peek(address, 4).data());
    }

    // --- tables ---
    std::uint64_t root_entry(std::uint16_t requester) const { return root + (requester >> 8) * 16u; }
    std::uint64_t context_entry(std::uint16_t requester) {
        auto& table = contexts_[static_cast<std::uint16_t>(requester >> 8)];
        if (table == 0) {
            table = new_page();
            put(root_entry(requester), abi::iommu::RootEntry{}.set<"p">(true).set<"ctp">(table));
        }
        return table + (requester & 0xffu) * 16u;
    }
    /// An ordinary context: translated by `tables` of `levels` levels.
    static abi::iommu::ContextEntry context(std::uint16_t domain, std::uint64_t tables, unsigned levels = 4) {
        return abi::iommu::ContextEntry{}
            .set<"p">(true)
            .set<"ssptptr">(tables)
            .set<"aw">(levels - 2)
            .set<"did">(domain);
    }
    void attach(std::uint16_t requester, const abi::iommu::ContextEntry& entry) {
        put(context_entry(requester), entry);
    }
    /// Attaches fresh tables; returns their root.
    std::uint64_t attach(std::uint16_t requester, std::uint16_t domain = 1, unsigned levels = 4) {
        const auto tables = new_page();
        attach(requester, context(domain, tables, levels));
        return tables;
    }
    /// Where the entry of `level` for an address stands; makes the tables on the way.
    std::uint64_t paging_entry(std::uint64_t tables, unsigned levels, std::uint64_t address, unsigned level) {
        for (;; --levels) {
            const auto at = tables + (address >> model::iommu::shift_of(levels) & 0x1ff) * 8;
            if (levels == level)
                return at;
            auto entry = get<abi::iommu::SecondStageEntry>(at);
            if (entry.value() == 0)
                put(at, entry = leaf(new_page()));
            tables = entry.get<"addr">();
        }
    }
    static abi::iommu::SecondStageEntry leaf(std::uint64_t page, bool r = true, bool w = true) {
        return abi::iommu::SecondStageEntry{}.set<"r">(r).set<"w">(w).set<"addr">(page);
    }
    /// Maps a page of 2^shift bytes: 12, 21 or 30.
    void map(std::uint64_t tables, std::uint64_t address, std::uint64_t page, unsigned shift = 12, bool r = true,
             bool w = true, unsigned levels = 4) {
        put(paging_entry(tables, levels, address, (shift - 12) / 9 + 1), leaf(page, r, w).set<"ps">(shift != 12));
    }
    void unmap(std::uint64_t tables, std::uint64_t address, unsigned levels = 4) {
        put(paging_entry(tables, levels, address, 1), abi::iommu::SecondStageEntry{});
    }

    // --- tables of scalable mode ---
    std::uint64_t sm_context_entry(std::uint16_t requester) {
        auto& table = contexts_[static_cast<std::uint16_t>(requester >> 7)];
        if (table == 0) {
            table = new_page();
            const auto at = root_entry(requester);
            auto entry = get<abi::iommu::ScalableRootEntry>(at);
            if ((requester & 0x80) != 0)
                entry.set<"up">(true).set<"uctp">(table);
            else
                entry.set<"lp">(true).set<"lctp">(table);
            put(at, entry);
        }
        return table + (requester & 0x7fu) * 32u;
    }
    /// An ordinary context: 128 directory entries, PASIDs enabled, requests without one have PASID 0.
    abi::iommu::ScalableContextEntry sm_attach(std::uint16_t requester) {
        const auto at = sm_context_entry(requester);
        auto entry = get<abi::iommu::ScalableContextEntry>(at);
        if (!entry.get<"p">())
            put(at, entry.set<"p">(true).set<"paside">(true).set<"pasiddirptr">(new_page()));
        return entry;
    }
    std::uint64_t directory_entry(std::uint16_t requester, std::uint32_t pasid) {
        return sm_attach(requester).get<"pasiddirptr">() + (pasid >> 6) * 8;
    }
    std::uint64_t pasid_entry(std::uint16_t requester, std::uint32_t pasid) {
        const auto at = directory_entry(requester, pasid);
        auto entry = get<abi::iommu::PasidDirectoryEntry>(at);
        if (!entry.get<"p">())
            put(at, entry.set<"p">(true).set<"smptblptr">(new_page()));
        return entry.get<"smptblptr">() + (pasid & 63) * 64;
    }
    static abi::iommu::PasidEntry second_stage(std::uint16_t domain, std::uint64_t tables, unsigned levels = 4) {
        return abi::iommu::PasidEntry{}
            .set<"p">(true)
            .set<"pgtt">(abi::iommu::PasidTranslation::second_stage)
            .set<"aw">(levels - 2)
            .set<"ssptptr">(tables)
            .set<"did">(domain);
    }
    static abi::iommu::PasidEntry first_stage(std::uint16_t domain, std::uint64_t tables, unsigned levels = 4) {
        return abi::iommu::PasidEntry{}
            .set<"p">(true)
            .set<"pgtt">(abi::iommu::PasidTranslation::first_stage)
            .set<"fspm">(levels - 4)
            .set<"fsptptr">(tables)
            .set<"did">(domain);
    }
    static abi::iommu::FirstStageEntry user_leaf(std::uint64_t page, bool rw = true, bool us = true) {
        return abi::iommu::FirstStageEntry{}.set<"p">(true).set<"rw">(rw).set<"us">(us).set<"addr">(page);
    }
    std::uint64_t first_stage_entry(std::uint64_t tables, unsigned levels, std::uint64_t address, unsigned level) {
        for (;; --levels) {
            const auto at = tables + (address >> model::iommu::shift_of(levels) & 0x1ff) * 8;
            if (levels == level)
                return at;
            auto entry = get<abi::iommu::FirstStageEntry>(at);
            if (entry.value() == 0)
                put(at, entry = user_leaf(new_page()));
            tables = entry.get<"addr">();
        }
    }
    void map_first(std::uint64_t tables, std::uint64_t address, std::uint64_t page, unsigned shift = 12, bool rw = true,
                   bool us = true, unsigned levels = 4) {
        put(first_stage_entry(tables, levels, address, (shift - 12) / 9 + 1),
            user_leaf(page, rw, us).set<"ps">(shift != 12));
    }

    // --- registers ---
    std::uint32_t read(Register r) const { return static_cast<std::uint32_t>(iommu.read(offset(r), 4)); }
    std::uint64_t read64(Register r) const { return iommu.read(offset(r), 8); }
    void write(Register r, std::uint32_t value) { iommu.write(offset(r), 4, value, {}); }
    void write64(Register r, std::uint64_t value) { iommu.write(offset(r), 8, value, {}); }
    abi::iommu::FaultStatus fault_status() const { return abi::iommu::FaultStatus{read(Register::fsts)}; }
    abi::iommu::FaultRecord record(unsigned index) const {
        const auto at = model::iommu::fault_record_offset + index * 16;
        return abi::iommu::FaultRecord{{iommu.read(at, 8), iommu.read(at + 8, 8)}};
    }
    void free_record(unsigned index) {
        iommu.write(model::iommu::fault_record_offset + index * 16 + 12, 4, 1u << 31, {});
    }
    /// Root table set, queue on, events unmasked, translation on.
    void enable(abi::iommu::TableMode mode = abi::iommu::TableMode::legacy) {
        write64(Register::rtaddr, abi::iommu::RootTableAddress{}.set<"rta">(root).set<"ttm">(mode).value());
        queue_ = new_page();
        command({});
        tail_ = 0;
        width_ = mode == abi::iommu::TableMode::scalable ? 32 : 16;
        write(Register::iqt, 0);
        write64(Register::iqa, abi::iommu::QueueAddress{}.set<"iqa">(queue_).set<"dw">(width_ == 32).value());
        write(Register::fedata, 0x41), write(Register::feaddr, fault_message), write(Register::fectl, 0);
        write(Register::pedata, 0x43), write(Register::peaddr, page_message), write(Register::pectl, 0);
        write(Register::iedata, 0x42), write(Register::ieaddr, completion_message), write(Register::iectl, 0);
        command({.srtp = true, .qie = true});
        command({.qie = true, .te = true});
    }
    struct Command {
        bool srtp = false, qie = false, te = false;
    };
    void command(Command c) {
        write(Register::gcmd,
              static_cast<std::uint32_t>(
                  abi::iommu::GlobalCommand{}.set<"srtp">(c.srtp).set<"qie">(c.qie).set<"te">(c.te).value()));
    }

    // --- invalidation ---
    template <class Descriptor> void submit(const Descriptor& descriptor) {
        memory.poke(queue_ + tail_, std::vector<std::byte>(width_));
        put(queue_ + tail_, descriptor);
        tail_ = (tail_ + width_) % 0x1000;
        write(Register::iqt, static_cast<std::uint32_t>(tail_));
    }
    /// Whether the queue has come here.
    bool is_done() {
        submit(abi::iommu::WaitDescriptor{}.set<"type">(5).set<"sw">(true).set<"stdata">(++cookie_).set<"staddr">(
            status_word));
        return dword(status_word) == cookie_;
    }
    void invalidate_contexts() {
        submit(abi::iommu::ContextCacheDescriptor{}.set<"type">(1).set<"g">(abi::iommu::ContextGranularity::global));
    }
    void invalidate_pages() {
        submit(abi::iommu::IotlbDescriptor{}.set<"type">(2).set<"g">(abi::iommu::IotlbGranularity::global));
    }
    static abi::iommu::IotlbDescriptor page_descriptor(std::uint16_t domain, std::uint64_t address, unsigned mask = 0,
                                                       bool hint = false) {
        return abi::iommu::IotlbDescriptor{}
            .set<"type">(2)
            .set<"g">(abi::iommu::IotlbGranularity::page)
            .set<"did">(domain)
            .set<"addr">(address)
            .set<"am">(mask)
            .set<"ih">(hint);
    }

    // --- requests ---
    model::iommu::Translation translate(std::uint64_t address, Access access = Access::read, std::uint64_t length = 64,
                                        std::uint16_t requester = device) {
        return iommu.translate({.requester = requester, .address = address, .length = length, .access = access}, {});
    }
    model::iommu::Translation translate(const model::iommu::Request& request) { return iommu.translate(request, {}); }

    static constexpr std::uint16_t device = 0x0100, other_device = 0x0208;

    model::port::MemoryDma memory;
    // What the listener was told; `device_done` is its answer to invalidations.
    std::vector<model::iommu::Gone> gone;
    std::vector<model::iommu::DeviceInvalidation> invalidations;
    std::vector<model::iommu::PageResponse> responses;
    std::optional<model::port::Time> device_done = model::port::Time{};
    model::port::Time landed{}; ///< when what was let through is in memory
    model::iommu::Iommu iommu;
    const std::uint64_t root;

    static std::uint32_t offset(Register r) { return static_cast<std::uint32_t>(r); }

private:
    void translations_gone(const model::iommu::Gone& g) override { gone.push_back(g); }
    std::optional<model::port::Time> invalidate_device(const model::iommu::DeviceInvalidation& i,
                                                       model::port::Time) override {
        invalidations.push_back(i);
        return device_done;
    }
    void page_response(const model::iommu::PageResponse& r, model::port::Time) override { responses.push_back(r); }
    model::port::Time writes_landed() const override { return landed; }
};

} // namespace testbench
