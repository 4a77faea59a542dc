// The device reaches only memory that commands have given it and have not taken back (PRM "Firmware pages", "Memory
// key", "UMEM"): pages of queues, doorbell records, user memory, memory keys, pages lent to the firmware, and the
// command interface itself. Key: page. While a driver has a key for all of memory, or one that work requests may
// change, everything is given; a remapping unit stands behind the boundary, and its mappings are not in the trace.
#pragma once

#include "traces/monitor/rule.h"

#include <map>
#include <unordered_map>

namespace traces::monitor {

class Mapping : public Rule {
public:
    Mapping(Findings& findings, const std::vector<std::string>& interfaces)
        : Rule({"DMA within what is given", "PRM \"Memory key\", \"Firmware pages\"; PCIe 6.0 §7.5.1.1.3",
                "accesses of the device to memory"},
               findings, interfaces) {}
    void on(const CommandDone& done);
    void on(const FunctionReset& reset) { functions_.erase(reset.at.interface); }
    void on(const MemoryRead& read);
    void on(const MemoryWritten& written);

private:
    enum class Owner : std::uint8_t { eq, cq, qp, rmp, xrc_srq, mkey, umem, firmware };
    struct Page {
        unsigned shift = 12;
        std::uint64_t number = 0;
        bool is_writable = true;
    };
    struct Uses {
        std::uint32_t readable = 0, writable = 0;
    };
    using OwnerKey = std::pair<Owner, std::uint64_t>;
    struct Function {
        bool is_followed = false; ///< its commands are in the trace from the beginning on
        std::map<OwnerKey, std::vector<Page>> owners;
        std::map<OwnerKey, std::uint64_t> open; ///< what gives everything, and the record that made it
        std::map<unsigned, std::unordered_map<std::uint64_t, Uses>> pages; ///< by log2 of their size
        void give(OwnerKey owner, Page page);
        void take(OwnerKey owner);
        bool is_given(std::uint64_t begin, std::uint64_t length, bool is_write) const;
    };
    static void give_list(Function& function, OwnerKey owner, unsigned log_page_size, Bytes list);
    static void give_record(Function& function, OwnerKey owner, std::uint64_t address);
    static void make(const CommandDone& done, Function& function);
    static void unmake(const CommandDone& done, Function& function);
    static void make_key(const CommandDone& done, Function& function);
    static void move_pages(const CommandDone& done, Function& function);
    void check(const At& at, std::uint64_t begin, std::uint64_t length, bool is_write);

    std::map<std::uint32_t, Function> functions_;
};

} // namespace traces::monitor
