// What each record of a trace is, in the words of the PRM: doorbells, commands, WQEs, CQEs, EQEs, interrupts, frames.
// Follows the driver's commands, so that it knows which queue lies where; of a trace that begins later, what is created
// later. Holds what the device's objects are, never the trace.
#pragma once

#include "traces/codec/event_record.h"
#include "traces/tool/access.h"
#include "traces/tool/areas.h"
#include "traces/tool/commands.h"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace traces::tool {

enum class What : std::uint8_t {
    other,           ///< an access whose meaning is not known; to a BAR behind the first, which may be memory
    register_access, ///< of the initialization segment, or another register in BAR 0
    command_doorbell,
    send_doorbell,
    cq_doorbell,
    eq_doorbell,
    command_entry, ///< the device reads it
    command_part,  ///< a mailbox, or a piece of the answer
    command_done,  ///< the entry is handed back
    send_wqe,
    receive_wqe,
    doorbell_record,
    cqe,
    eqe,
    interrupt,
    signal,
    frame,
    event,
};
std::string_view name(What what);
/// Nothing: no such name.
std::optional<What> what_named(std::string_view name);

inline constexpr std::uint32_t no_number = ~0u;

/// A structure, or the one thing that a record is.
struct Item {
    What what = What::other;
    const abi::LayoutInfo* layout = nullptr; ///< of `bytes`
    std::span<const std::byte> bytes{};
    std::uint32_t qpn = no_number, cqn = no_number, eqn = no_number;
    std::uint32_t number = 0; ///< of the slot, vector, BAR; register's offset, doorbell record's counter; PSN
    std::uint32_t index = 0;  ///< of a WQE, or the counter of a CQE
    std::uint8_t opcode = 0;  ///< of a WQE, CQE, EQE (type), BTH
    bool is_arming = false;   ///< a doorbell that asks for an event
};

/// Valid until the next record is taken.
struct Seen {
    std::optional<Access> access{};
    std::vector<Item> items{};
    std::vector<std::uint32_t> keys{}; ///< memory keys that it names
    std::uint32_t qpn = no_number;     ///< whose work it is, where that is known
    const Command* command = nullptr;  ///< that it belongs to
    std::optional<codec::EventRecord> event{};

    const Item* find(What what) const;
    What what() const { return items.empty() ? What::other : items.front().what; }
};

class Decoder {
public:
    explicit Decoder(const codec::Head& head) : head_(head), functions_(head.interfaces.size()) {}
    const Seen& take(const codec::Record& record);

    /// The queue whose events come by this vector of an interface.
    std::optional<std::uint32_t> queue_of_vector(std::uint32_t interface, std::uint32_t vector) const;
    /// The peer of a queue pair, as its driver has told.
    std::optional<std::uint32_t> peer(std::uint32_t interface, std::uint32_t qpn) const;

private:
    struct Function {
        std::map<std::uint32_t, std::uint64_t> bars; ///< bus addresses, by their numbers
        Areas areas;
        CommandReader commands;
        std::map<std::uint32_t, Pages> umems;
        std::map<std::uint32_t, std::uint8_t> transports; ///< `st` of each queue pair
        std::map<std::uint32_t, std::uint32_t> peers;     ///< of each queue pair
        std::map<std::uint32_t, std::uint32_t> vectors;   ///< vector: number of its event queue
        std::map<std::uint64_t, std::uint32_t> halves;    ///< first halves of doorbells in two stores
        void forget_objects();
    };
    struct Call {
        std::uint64_t record = 0;
        std::uint32_t qpn = no_number;
    };

    void signal(const codec::Record& record);
    void software(Function& function);
    void init_segment(Function& function, std::uint64_t offset);
    void user_page(Function& function, std::uint64_t offset);
    void doorbell(std::uint32_t offset, std::span<const std::byte, 8> value);
    void device_reads(Function& function, const codec::Record& record);
    void device_writes(Function& function);
    void send_queue(Function& function, const Area& area);
    void segments(const Function& function, const Item& wqe);
    void entries(const Area& area);
    void finished(Function& function, const Command& command);
    void created(Function& function, const Command& command, std::uint32_t number);
    void frame(const codec::Record& record);
    void event(const codec::Record& record);
    Call& call(std::uint64_t record);

    const codec::Head& head_;
    std::vector<Function> functions_; ///< by interface
    Accesses accesses_;
    std::array<Call, 64> calls_{}; ///< the last ones, and which queue pair they work for
    std::array<std::byte, 8> joined_{};
    Seen seen_;
};

} // namespace traces::tool
