// Two cards that say what happens to them, and what is printed about it.
#pragma once

#include "platform/observe/diagnostics/explain.h"

#include <catch2/catch_test_macros.hpp>

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

namespace explained {

using platform::observe::Sources;
using platform::observe::diagnostics::Explain;
using traces::CommandExecuted;
using traces::CompletionFailed;
using traces::CompletionWritten;
using traces::Events;
using traces::QueueStateChanged;
using traces::Refused;

struct At {
    std::int64_t ps;
    std::int64_t count() const { return ps; }
};

/// Two cards, each with its PCIe side, and what is printed about them.
class Bench {
public:
    Bench() : file_(open_memstream(&data_, &size_)), explain_(std::make_unique<Explain>(file_, sources_)) {
        const auto card = sources_.add("A.hca");
        a = {explain_.get(), card};
        a_bus = {explain_.get(), sources_.add_part("A.hca.pcie", card)};
        b = {explain_.get(), sources_.add("B.hca")};
        namesake = {explain_.get(), sources_.add("B.hca.pcie")};
    }
    ~Bench() {
        explain_.reset();
        std::fclose(file_);
        std::free(data_);
    }
    Bench(const Bench&) = delete;
    Bench& operator=(const Bench&) = delete;

    void settle() { explain_->print_waiting(); }
    std::string finish() {
        REQUIRE(explain_->finish());
        std::fflush(file_);
        return {data_, size_};
    }
    std::string text() {
        std::fflush(file_);
        return {data_, size_};
    }

    Events a, a_bus, b, namesake; ///< the last is a part of nothing

private:
    char* data_ = nullptr;
    std::size_t size_ = 0;
    std::FILE* file_;
    Sources sources_;
    std::unique_ptr<Explain> explain_;
};

inline constexpr std::uint8_t rts = 3, err = 6, req_err = 0xd, resp_err = 0xe;

inline std::size_t count(const std::string& text, std::string_view what) {
    std::size_t found = 0;
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
        ++found;
    return found;
}

inline CommandExecuted done(std::uint16_t opcode, std::string_view command) {
    return {.opcode = opcode, .op_mod = 0, .status = 0, .syndrome = 0, .command = command, .why = ""};
}
inline CommandExecuted enable_hca() { return done(0x104, "ENABLE_HCA"); }

inline CompletionFailed fail_send(std::uint32_t qpn, std::uint8_t syndrome, std::uint8_t vendor) {
    return {.cqn = 4,
            .qpn = qpn,
            .opcode = req_err,
            .syndrome = syndrome,
            .vendor = vendor,
            .send_opcode = 0x08,
            .wqe_counter = 0};
}

inline void fail_locally(const Events& events, std::int64_t ps, std::uint32_t qpn = 0x48) {
    events.emit(
        At{ps},
        Refused{.key = 0x1a05, .address = 0x7f0000001000, .length = 64, .violation = "wrong protection domain"});
    events.emit(At{ps},
                CompletionWritten{
                    .cqn = 4, .qpn = qpn, .opcode = req_err, .syndrome = 0x04, .wqe_counter = 3, .byte_count = 0});
    events.emit(At{ps}, CompletionFailed{.cqn = 4,
                                         .qpn = qpn,
                                         .opcode = req_err,
                                         .syndrome = 0x04,
                                         .vendor = 0x23,
                                         .send_opcode = 0x08,
                                         .wqe_counter = 3});
    events.emit(At{ps}, QueueStateChanged{.qpn = qpn, .from = rts, .to = err});
    for (std::uint16_t i = 4; i < 7; ++i)
        events.emit(At{ps},
                    CompletionWritten{
                        .cqn = 4, .qpn = qpn, .opcode = req_err, .syndrome = 0x05, .wqe_counter = i, .byte_count = 0});
}

} // namespace explained
