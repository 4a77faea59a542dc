// The detector of stale mappings. Software says who has which pages of a host and where devices' addresses lead; each
// mapping keeps the owner that its pages had when it was made. A DMA that lands in a page which has another owner by
// then is found at once, whatever its completion says. Memory that nobody said anything of is not looked at.
//
// Two kinds of mappings are known: what a device says that it was granted (model/port/grant.h: memory keys, data
// pointers of commands, queues, pages of a GPU), and pages in address spaces of remapping units (with what IOTLBs and
// device-TLBs keep of them). Between an owner's wish to have memory back and the end of the call that takes it, DMA is
// legal, so the owner changes when the call returns: software says so then.
#pragma once

#include "model/iommu/listener.h"
#include "model/pcie/landing.h"
#include "model/port/grant.h"
#include "model/port/time.h"
#include "platform/observe/ownership/range_map.h"
#include "traces/events.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace platform::observe::ownership {

/// Which mapping it was, as StaleAccess has it: a grant, a remapping unit's, or both.
namespace stale {
inline constexpr traces::StaleMapping key = "memory key", data_pointer = "data pointer", queue = "queue",
                                      gpu_page = "page of a GPU", unit = "remapping unit",
                                      key_and_unit = "memory key behind remapping unit",
                                      data_pointer_and_unit = "data pointer behind remapping unit",
                                      queue_and_unit = "queue behind remapping unit",
                                      gpu_page_and_unit = "page of a GPU behind remapping unit",
                                      unknown = "none that is known";
}

/// "PRP 2 of command 0x12 of SQ 1"; empty of none.
std::string to_string(const model::port::Grant& grant);

/// A DMA that went to a page of another owner than its mapping was made for.
struct StaleFinding {
    std::string function; ///< "B.hca"
    model::port::Time at{};
    traces::StaleAccess access;
    model::port::Grant grant{}; ///< of which the event has the kind, and the number of a memory key
    std::uint64_t count = 1;    ///< accesses of the same function, by the same mapping, to memory of the same owner
};
/// Of an access alone: what it did, whose the page is and was, the mapping's history.
std::string describe_stale(const traces::StaleAccess& access);
/// One paragraph: who, where, whose memory it was and is, and the mapping's history.
std::string to_string(const StaleFinding& finding);

/// What is known of one host.
class Ownership {
public:
    using Now = std::function<model::port::Time()>;
    explicit Ownership(Now now) : now_(std::move(now)), owners_{{"nobody that is known"}} {}
    Ownership(const Ownership&) = delete;
    Ownership& operator=(const Ownership&) = delete;

    // --- what software says; addresses of the host, whole pages ---
    void own(std::uint64_t bus, std::uint64_t bytes, std::string who);
    void disown(std::uint64_t bus, std::uint64_t bytes);
    void map(std::uint16_t domain, std::uint64_t iova, std::uint64_t physical, std::uint64_t bytes);
    void unmap(std::uint16_t domain, std::uint64_t iova, std::uint64_t bytes);
    void attach(std::uint16_t requester, std::uint16_t domain) { domains_[requester] = domain; }
    void detach(std::uint16_t requester) { domains_.erase(requester); }
    // --- what the remapping unit says ---
    void invalidated(const model::iommu::Gone& gone);

    const std::vector<StaleFinding>& findings() const { return findings_; }
    /// They are the caller's; what comes again is found again.
    std::vector<StaleFinding> take_findings();

private:
    friend class FunctionWatch;
    using Tag = std::uint32_t; ///< index of owners_; 0: nobody that is known
    struct Owner {
        std::string name;
        bool is_free = false; ///< nobody: who had it gave it back
    };
    struct Page {
        Tag tag = 0;
        model::port::Time since{};
    };
    struct Made { ///< what a grant was made for
        Tag tag = 0;
        model::port::Time at{};
    };
    struct Change { ///< of owners
        std::uint64_t begin, end;
        Page page;
    };
    struct Mapping { ///< in an address space
        std::uint64_t iova = 0, physical = 0, bytes = 0;
        model::port::Time made{};
        std::optional<model::port::Time> unmapped{}, invalidated{};
        RangeMap<Tag> owners{}; ///< by physical address
        bool leads(std::uint64_t from, std::uint64_t to) const {
            return from - iova < bytes && to - physical == from - iova;
        }
    };
    struct Space {
        std::map<std::uint64_t, Mapping> mappings; ///< by iova
        std::deque<Mapping> ended;                 ///< the last one in front
    };
    struct Used { ///< how a request came to its page
        model::port::Grant grant{};
        std::optional<Made> by_grant{};
        const Mapping* by_unit = nullptr;
    };

    Tag add_owner(std::string name, bool is_free);
    void set_page(std::uint64_t bus, std::uint64_t bytes, Tag tag);
    Tag tag_of(std::uint64_t physical) const;
    /// Whose the page was then, as far as that is remembered.
    Tag tag_at(std::uint64_t physical, model::port::Time then) const;
    /// Where an address of a device leads, by the mappings that are in force; the address itself where there is none.
    std::uint64_t follow(std::uint16_t requester, std::uint64_t address) const;
    const Mapping* find(std::uint16_t requester, std::uint64_t address, std::uint64_t physical) const;
    /// What `used` says of one part of a request, all of which belongs to `page`.
    std::optional<traces::StaleAccess> judge(const model::pcie::Landing& landing, const Page& page,
                                             std::uint64_t physical, std::uint64_t length, const Used& used) const;
    /// The first of its kind; others are counted.
    bool note(const StaleFinding& finding, Tag now);

    Now now_;
    std::deque<Owner> owners_; ///< names stay where they are: events refer to them
    RangeMap<Page> pages_;
    std::deque<Change> changes_;                     ///< the last ones, the newest in front
    std::map<std::uint16_t, Space> spaces_;          ///< by domain
    std::map<std::uint16_t, std::uint16_t> domains_; ///< of requesters
    std::vector<StaleFinding> findings_;
    /// In findings_: by function, mapping, object and holder of the grant, owner and direction.
    std::map<std::tuple<std::string, traces::StaleMapping, std::uint64_t, std::uint32_t, Tag, bool>, std::size_t>
        known_;
};

} // namespace platform::observe::ownership
