// What an NVMe controller says at its door; part of the vocabulary of event.h.
#pragma once

#include "traces/member.h"
#include "traces/reason.h"

namespace traces {

struct NvmeDoorbellRung { ///< a tail of a submission queue, or a head of a completion queue, as the register was
                          ///< written
    std::uint16_t queue;
    bool is_completion;
    std::uint32_t value;
    static constexpr std::string_view name = "NvmeDoorbellRung";
    static constexpr auto members =
        std::tuple{Member{"queue", &NvmeDoorbellRung::queue}, Member{"is_completion", &NvmeDoorbellRung::is_completion},
                   Member{"value", &NvmeDoorbellRung::value}};
};
struct NvmeDoorbellIgnored { ///< one that the controller passes over, from a register or from memory
    std::uint16_t queue;
    bool is_completion;
    std::uint32_t value;
    DoorbellMistake reason;
    static constexpr std::string_view name = "NvmeDoorbellIgnored";
    static constexpr auto members = std::tuple{
        Member{"queue", &NvmeDoorbellIgnored::queue}, Member{"is_completion", &NvmeDoorbellIgnored::is_completion},
        Member{"value", &NvmeDoorbellIgnored::value}, Member{"reason", &NvmeDoorbellIgnored::reason}};
};
struct NvmeCommandFetched { ///< nsid and opcode as the entry has them
    std::uint16_t sqid, cid;
    std::uint8_t opcode;
    std::uint32_t nsid;
    static constexpr std::string_view name = "NvmeCommandFetched";
    static constexpr auto members =
        std::tuple{Member{"sqid", &NvmeCommandFetched::sqid}, Member{"cid", &NvmeCommandFetched::cid},
                   Member{"opcode", &NvmeCommandFetched::opcode}, Member{"nsid", &NvmeCommandFetched::nsid}};
};
struct NvmeCommandRefused { ///< a command that ends with an error: its entry but for what NvmeCommandFetched says, its
                            ///< status (type << 8 | code), parameter error location and the block that is at fault
    std::uint16_t sqid, cid;
    std::uint8_t opcode, flags;
    std::uint32_t nsid;
    std::uint64_t metadata, prp1, prp2, dwords_2_3, dwords_10_11, dwords_12_13, dwords_14_15;
    std::uint16_t status, parameter;
    std::uint64_t lba;
    static constexpr std::string_view name = "NvmeCommandRefused";
    static constexpr auto members = std::tuple{Member{"sqid", &NvmeCommandRefused::sqid},
                                               Member{"cid", &NvmeCommandRefused::cid},
                                               Member{"opcode", &NvmeCommandRefused::opcode},
                                               Member{"flags", &NvmeCommandRefused::flags},
                                               Member{"nsid", &NvmeCommandRefused::nsid},
                                               Member{"metadata", &NvmeCommandRefused::metadata},
                                               Member{"prp1", &NvmeCommandRefused::prp1},
                                               Member{"prp2", &NvmeCommandRefused::prp2},
                                               Member{"dwords_2_3", &NvmeCommandRefused::dwords_2_3},
                                               Member{"dwords_10_11", &NvmeCommandRefused::dwords_10_11},
                                               Member{"dwords_12_13", &NvmeCommandRefused::dwords_12_13},
                                               Member{"dwords_14_15", &NvmeCommandRefused::dwords_14_15},
                                               Member{"status", &NvmeCommandRefused::status},
                                               Member{"parameter", &NvmeCommandRefused::parameter},
                                               Member{"lba", &NvmeCommandRefused::lba}};
};
struct NvmeCommandCompleted { ///< an entry of a completion queue was written; status as above
    std::uint16_t sqid, cid, cqid, status;
    bool is_final;
    std::uint32_t result;
    static constexpr std::string_view name = "NvmeCommandCompleted";
    static constexpr auto members = std::tuple{
        Member{"sqid", &NvmeCommandCompleted::sqid},         Member{"cid", &NvmeCommandCompleted::cid},
        Member{"cqid", &NvmeCommandCompleted::cqid},         Member{"status", &NvmeCommandCompleted::status},
        Member{"is_final", &NvmeCommandCompleted::is_final}, Member{"result", &NvmeCommandCompleted::result}};
};
struct NvmeStateChanged { ///< of a controller
    ControllerState state;
    static constexpr std::string_view name = "NvmeStateChanged";
    static constexpr auto members = std::tuple{Member{"state", &NvmeStateChanged::state}};
};
struct NvmeFailed { ///< the controller has a fatal status (CSTS.CFS); address of what it could not reach, or CC
    ControllerFailure reason;
    std::uint64_t address;
    static constexpr std::string_view name = "NvmeFailed";
    static constexpr auto members =
        std::tuple{Member{"reason", &NvmeFailed::reason}, Member{"address", &NvmeFailed::address}};
};
struct NvmeNamespaceChanged { ///< by a command; nsid ffffffff: all
    std::uint32_t nsid;
    NamespaceChange what;
    static constexpr std::string_view name = "NvmeNamespaceChanged";
    static constexpr auto members =
        std::tuple{Member{"nsid", &NvmeNamespaceChanged::nsid}, Member{"what", &NvmeNamespaceChanged::what}};
};
struct NvmeEventReported { ///< to a host that has asked for it, as dword 0 of the completion has it
    std::uint8_t type, info, log;
    static constexpr std::string_view name = "NvmeEventReported";
    static constexpr auto members =
        std::tuple{Member{"type", &NvmeEventReported::type}, Member{"info", &NvmeEventReported::info},
                   Member{"log", &NvmeEventReported::log}};
};

} // namespace traces
