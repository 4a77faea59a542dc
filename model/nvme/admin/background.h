// What goes on behind a command that has ended: a device self-test, a sanitize operation. One of each at a time; a
// sanitize operation ends a self-test. Neither a Controller Level Reset nor a shutdown ends the sanitize operation, or
// an extended self-test, and after a loss of power both begin anew; a short one goes by a reset. NVMe base 2.0 "Device
// Self-test Operations", "Sanitize Operations".
#pragma once

#include "abi/nvme/command.h"
#include "abi/nvme/log.h"
#include "model/nvme/admin/health.h"
#include "model/nvme/config.h"
#include "model/nvme/space/namespaces.h"

#include <optional>

namespace model::nvme {

class Background {
public:
    Background(const NvmeConfig& config, Namespaces& spaces, const Health& health);

    Refusal self_test(abi::ConstView<abi::nvme::Command> command, port::Time at);
    Refusal sanitize(abi::ConstView<abi::nvme::Sanitize> command, port::Time at);
    /// A namespace that is formatted ends a self-test that reads it.
    void is_formatted(std::uint32_t nsid, port::Time at);
    void is_removed(std::uint32_t nsid, port::Time at);
    /// A Controller Level Reset.
    void reset(port::Time at);

    bool is_sanitizing() const { return sanitize_.has_value(); }
    /// I/O fails since a sanitize operation has.
    bool has_failed() const { return state_ == State::failed; }

    /// When the next of them ends.
    port::Time next() const;
    /// Ends what is due. True: a sanitize operation is among it, which the host is told of.
    bool advance(port::Time now);

    void fill_self_test(std::span<std::byte> page, port::Time now) const;
    void fill_sanitize(std::span<std::byte> page, port::Time now) const;
    /// Blocks were written: the drive is not erased any more.
    void has_written() { is_erased_ = false; }

private:
    enum class State : std::uint8_t { never = 0, done = 1, under_way = 2, failed = 3 };
    /// "Self-test Result" of the log.
    enum class TestResult : std::uint8_t {
        passed = 0,
        aborted_by_command = 1,
        aborted_by_reset = 2,
        namespace_removed = 3,
        namespace_formatted = 4,
        segment_failed = 7,
        aborted_by_sanitize = 9,
    };
    struct Test {
        std::uint8_t code = 0;
        std::uint32_t nsid = 0;
        port::Time begin{}, end{};
    };
    struct Operation {
        port::Time begin{}, end{};
        bool has_failed = false;
    };

    void resume();
    void begin_sanitize(abi::ConstView<abi::nvme::Sanitize> command, std::uint32_t pattern, port::Time at);
    /// Passes of an Overwrite that are completed; 0 of another operation.
    std::uint32_t passes(port::Time now) const;
    /// The operation is in this state, also for the next process.
    Refusal keep(State state);
    void begin_test(std::uint8_t code, std::uint32_t nsid, port::Time at);
    void end_test(TestResult result, port::Time at);
    void abort_test(TestResult result, std::optional<std::uint32_t> nsid, port::Time at);
    /// Reads what the namespaces hold; the first block that cannot be read.
    struct Bad {
        std::uint32_t nsid;
        std::uint64_t lba;
    };
    std::optional<Bad> find_bad(std::uint32_t nsid, port::Time at) const;

    const NvmeConfig& config_;
    Namespaces& spaces_;
    const Health& health_;
    std::optional<Test> test_; ///< its results are kept with the drive
    std::optional<Operation> sanitize_;
    State state_ = State::never;
    std::uint32_t sanitize_command_ = 0; ///< dword 10 of the last one
    bool may_exit_ = false;              ///< it allowed unrestricted exit
    bool is_erased_ = false;
};

} // namespace model::nvme
