// The write cache of a drive: a window of flash pages. What the host writes is complete when it is in a page; pages are
// programmed in the background, and when all of them are taken, who writes waits for one that is. Sectors for the same
// die share a page as they come. Knows which sectors it has, and no bytes: those are in the medium.
#pragma once

#include "model/nvme/flash/dies.h"
#include "model/time/window.h"

#include <optional>
#include <vector>

namespace model::nvme {

class WriteCache final : private ProgramListener {
public:
    static constexpr std::uint64_t sector_bytes = 4096; ///< what the drive keeps track of

    WriteCache(const FlashConfig& config, Dies& dies);

    /// Sectors [first, end) of a page of `die` arrive at `at`. Returns when they are in the cache.
    port::Time take(unsigned die, std::uint64_t first, std::uint64_t end, port::Time at);
    /// Whether the cache has the sector at `at`: then no die is read.
    bool has(std::uint64_t sector, port::Time at) const;
    /// Programs what there is for a die, or for all, pages that are not full from `at` on. Returns when all that was
    /// ever taken is programmed.
    port::Time flush(unsigned die, port::Time at);
    port::Time flush(port::Time at);

    void accounts(std::vector<time::Account>& rows) const { rows.push_back(window_.account()); }

private:
    /// One place of the window, from the sector that opens it until its program has begun.
    struct Page {
        port::Time begin{}, last{};         ///< when it was opened; when its last sector came
        std::vector<std::uint64_t> sectors; ///< numbers
    };
    /// A sector that is in the cache; kept at a place that follows from its number, where a later one takes its place.
    struct Resident {
        std::uint64_t sector = ~std::uint64_t{0};
        port::Time until{};     ///< never: its program has not begun
        std::uint32_t page = 0; ///< where it is until then
    };

    void programmed(std::uint32_t page, port::Time done) override;
    std::uint32_t open(port::Time at);
    /// The page takes nothing more. It is programmed, from `at` on or when its last sector has come.
    void close(unsigned die, port::Time at);
    void close_all(port::Time at);
    Resident& resident(std::uint64_t sector) { return residents_[sector & (residents_.size() - 1)]; }
    const Resident& resident(std::uint64_t sector) const { return residents_[sector & (residents_.size() - 1)]; }

    Dies& dies_;
    std::uint64_t page_sectors_;
    time::Window window_;
    std::vector<Page> pages_;
    std::vector<std::uint32_t> free_;                ///< numbers of pages that nobody has
    std::vector<std::optional<std::uint32_t>> open_; ///< by die: the page that is being filled
    std::vector<Resident> residents_;
};

} // namespace model::nvme
