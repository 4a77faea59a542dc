// Turns records into facts: joins the TLPs of an access, follows commands to the objects they make, and says of writes
// and packets which queue they belong to. It reports; what is wrong with it, rules say.
#pragma once

#include "traces/monitor/function_state.h"
#include "traces/monitor/nvme_state.h"

#include <array>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace traces::monitor {

class Observer {
public:
    explicit Observer(const codec::Head& head);

    /// What `record` says. Valid until the next one.
    std::span<const Fact> on(const codec::Record& record);
    std::string_view name(std::uint32_t interface) const { return names_[interface]; }

private:
    /// A read under way: its requests, and what has come for those before.
    struct Read {
        Direction direction{};
        struct Request {
            std::uint64_t record = 0, address = 0;
            std::uint32_t length = 0;
            std::uint16_t requester = 0;
            std::uint8_t tag = 0;
        };
        std::deque<Request> requests;
        std::uint64_t address = 0;
        std::vector<std::byte> bytes;
    };
    struct Link {
        FunctionState function;
        NvmeState nvme;
        std::uint32_t device;                ///< the link of its function 0
        std::map<std::uint64_t, Read> reads; ///< by the record of the first request
        std::uint64_t last_access = 0;       ///< what a continuation goes on with
    };
    struct Port {
        std::uint32_t device = 0;
        codec::InterfaceKind kind{};
        std::optional<std::array<std::byte, 6>> mac{}; ///< its own, once it has sent something
    };

    void request(const codec::Record& record, Link& link);
    void completion(const codec::Record& record, Link& link);
    void signal(const codec::Record& record, Link& link);
    void frame(const codec::Record& record, Port& port);
    static bool is_elsewhere(const codec::Record& record, Port& port);
    void device_writes(const At& at, Link& link, std::uint64_t address, Bytes bytes);
    void device_has_read(const At& at, Link& link, std::uint64_t access, Read& read);
    void work_read(const At& at, FunctionState& function, const std::pair<std::uint64_t, Area>& area,
                   std::uint64_t address);
    void software_writes(const At& at, Link& link, std::uint64_t address, Bytes bytes);
    void entry_written(const At& at, FunctionState& function, const Area& area, std::uint64_t offset, Bytes bytes);
    void command_done(const At& at, FunctionState& function, CommandWatch::Done done);
    void forget(const At& at, Link& link);
    template <class T> void say(T fact) { facts_.emplace_back(std::move(fact)); }

    std::vector<std::string> names_;
    std::map<std::uint32_t, Link> links_;
    std::map<std::uint32_t, Port> ports_;
    std::vector<Fact> facts_;
    std::vector<std::byte> bytes_; ///< of an access that several TLPs brought
    std::vector<std::byte> work_;  ///< what has been read of a send queue
    CommandWatch::Done command_;
    std::optional<Packet> packet_;
};

} // namespace traces::monitor
