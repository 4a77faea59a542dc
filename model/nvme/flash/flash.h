// The drive behind the controller, as far as it decides time: a table, dies and channels, a write cache, and the way
// between them and the link. The bytes are in media (media/medium.h), at once; when an access is over is what this
// says.
#pragma once

#include "model/nvme/flash/config.h"
#include "model/nvme/flash/dies.h"
#include "model/nvme/flash/host_buffer.h"
#include "model/nvme/flash/mapping.h"
#include "model/nvme/flash/write_cache.h"
#include "model/nvme/media/medium.h"

namespace model::nvme {

class Flash {
public:
    /// capacity   bytes of all namespaces
    Flash(const FlashConfig& config, std::uint64_t capacity, std::uint64_t identity, port::Dma& dma);

    /// Each of these takes bytes of the drive, and says when it is over that begins at `at`.
    port::Time read(Extent bytes, port::Time at);
    /// As long as one lives, reads take no time: it was taken before, by read().
    class Paid {
    public:
        explicit Paid(Flash& flash) : flash_(flash) { flash_.is_paid_ = true; }
        ~Paid() { flash_.is_paid_ = false; }
        Paid(const Paid&) = delete;
        Paid& operator=(const Paid&) = delete;

    private:
        Flash& flash_;
    };
    /// Over when it is in the cache; a durable one when it is in flash.
    port::Time write(Extent bytes, Durability durability, port::Time at);
    port::Time discard(Extent bytes, port::Time at);
    /// Over when all that was written before is in flash.
    port::Time flush(port::Time at);

    HostBuffer& host_buffer() { return host_buffer_; }
    void accounts(std::vector<time::Account>& rows) const;

private:
    /// Calls `visit(die, bytes)` for each page that has some of the bytes.
    template <class Visit> void each_page(Extent bytes, Visit&& visit) const {
        for (auto begin = bytes.begin; begin < bytes.end;) {
            const auto page = begin / config_.page_bytes;
            const auto end = std::min(bytes.end, (page + 1) * config_.page_bytes);
            visit(dies_.die_of(page), Extent{begin, end});
            begin = end;
        }
    }

    FlashConfig config_;
    Dies dies_;
    HostBuffer host_buffer_;
    Mapping mapping_;
    WriteCache cache_;
    time::Line to_host_, from_host_;
    bool is_paid_ = false;
};

} // namespace model::nvme
