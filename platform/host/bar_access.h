// How a processor reaches memory behind BARs. A prefetchable one is mapped write-combining: stores are gathered in
// buffers of a line and leave as one TLP each, as fast as the processor makes and its root port takes them; loads bring
// a line at most, a few at a time. Says when; the caller waits and moves the bytes on.
#pragma once

#include "model/port/dma.h"
#include "model/port/time.h"
#include "model/time/line.h"
#include "model/time/window.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace platform::host {

struct BarAccessConfig {
    /// A streaming load (MOVNTDQA) brings a line; an ordinary one 8, 16 or 32 bytes.
    std::uint32_t load_bytes = 64;
    /// Fill buffers that such loads have. gdrcopy reads 0.53 GB/s of a V100's BAR, which is so many lines in its round
    /// trip of about a microsecond.
    std::uint32_t loads = 8;
    std::uint32_t store_bytes = 64; ///< 8: nothing is combined
    double store_gbps = 76.8;       ///< gdrcopy writes 9.6 GB/s to a V100's BAR
    std::uint32_t posted = 256;     ///< stores that are made and have not left the root port; assumed

    bool operator==(const BarAccessConfig&) const = default;
};

class BarAccess {
public:
    /// Without timing nothing waits, and requests are of the same sizes.
    BarAccess(const BarAccessConfig& config, bool timed)
        : config_(config), loads_("BAR loads", config.loads),
          stores_("BAR stores", timed ? static_cast<std::uint64_t>(config.store_gbps * 1e9 / 8) : 0),
          posted_("posted BAR stores", config.posted) {}

    struct Access {
        model::port::DmaResult result;
        model::port::Time begin{}; ///< until then the processor was held back
    };
    /// One load or store of `bytes` at `address`; they lie in one piece.
    Access load(model::port::Dma& processor, std::uint64_t address, std::span<std::byte> into, model::port::Time at);
    Access store(model::port::Dma& processor, std::uint64_t address, std::span<const std::byte> from,
                 model::port::Time at);
    /// Length of the first piece of [address, address + length).
    std::size_t load_piece(std::uint64_t address, std::size_t length) const {
        return piece(address, length, config_.load_bytes);
    }
    std::size_t store_piece(std::uint64_t address, std::size_t length) const {
        return piece(address, length, config_.store_bytes);
    }

    void accounts(std::vector<model::time::Account>& rows) const;

private:
    static std::size_t piece(std::uint64_t address, std::size_t length, std::uint64_t line) {
        return std::min<std::uint64_t>(length, line - address % line);
    }

    BarAccessConfig config_;
    model::time::Window loads_;
    model::time::Line stores_;
    model::time::Window posted_;
};

} // namespace platform::host
