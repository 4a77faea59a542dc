// Ranges of the bus to which a requester knows the way: where the bytes are, or who answers, and over which links. A
// range is looked up once through the fabric, used for each access after that, and forgotten when something on the way
// changes.
#pragma once

#include "model/pcie/bridge_space.h"
#include "model/pcie/completer.h"
#include "model/pcie/host_cache.h"
#include "model/pcie/remapper.h"
#include "model/pcie/posted_writes.h"
#include "model/pcie/route.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace model::pcie {

/// Where requests went: to a peer through a switch alone, to a peer by way of the root complex, or nowhere, because a
/// remapping unit refused them.
enum class TargetKind : std::uint8_t { peer, host_memory, interrupts, redirected_peer, nothing };
inline constexpr std::size_t target_kinds = 5;

/// What a requester learns of a target when it asks for the way.
struct Target {
    TargetKind kind = TargetKind::peer;
    std::byte* memory = nullptr;    ///< byte at the window's begin, or nullptr: ask `completer`
    PostedWrites* posted = nullptr; ///< of host memory, or of a function's that shows writes at their time
    Completer* completer = nullptr;
    unsigned cookie = 0;
    std::uint64_t offset = 0; ///< of the window's begin, as the completer counts
    port::Time read_latency{};
    HostCache* cache = nullptr; ///< of host memory, by bus address; nullptr: all of it answers alike
    bool is_delayed = false;    ///< control writes appear at their time, whether links are timed or not
};

struct Window {
    std::uint64_t begin = 0, size = 0;
    Target target;
    Remapper* remapper = nullptr; ///< the window has no target: the unit is asked for each request
    std::size_t hops_before = 0;  ///< links that a request has crossed when a remapping unit sends it into this window
    bool is_delayed = false;
    Route route;
    /// `header` of a request on these links, bytes.
    Window(Range range, const Target& t, const HopList& hops, TlpSizes sizes, std::uint64_t header)
        : begin(range.begin), size(range.end - range.begin), target(t), hops_before(hops.before_remapper),
          route(hops, header, sizes, t.read_latency) {
        is_delayed = route.is_timed() || t.is_delayed;
    }
    bool contains(std::uint64_t address) const { return address - begin < size; }
    /// Bytes from `address` to the end.
    std::uint64_t left(std::uint64_t address) const { return size - (address - begin); }
};

class WindowCache {
public:
    /// The window `address` lies in, or nullptr. Control and payload each remember their last one.
    Window* find(std::uint64_t address, port::Purpose purpose) {
        auto* last = last_[static_cast<std::size_t>(purpose)];
        if (last != nullptr && last->contains(address)) [[likely]]
            return last;
        return search(address, purpose);
    }
    Window& insert(std::unique_ptr<Window> window);
    /// Forgets every window that touches the range. A window in use by a Hold lives until that ends.
    void forget(Range range);
    void forget_all() { forget({0, ~std::uint64_t{0}}); }
    std::size_t size() const { return windows_.size(); }

    /// Everything that went to targets of this kind, forgotten windows included.
    Volume volume(TargetKind kind) const;

    /// Keeps forgotten windows alive while a target is being called.
    class Hold {
    public:
        explicit Hold(WindowCache& cache) : cache_(cache) { ++cache_.holds_; }
        ~Hold() {
            if (--cache_.holds_ == 0 && !cache_.forgotten_.empty())
                cache_.bury();
        }
        Hold(const Hold&) = delete;
        Hold& operator=(const Hold&) = delete;

    private:
        WindowCache& cache_;
    };

private:
    Window* search(std::uint64_t address, port::Purpose purpose);
    void bury();

    std::array<Window*, 2> last_{};
    std::vector<std::unique_ptr<Window>> windows_; ///< by address, disjoint
    std::vector<std::unique_ptr<Window>> forgotten_;
    std::array<Volume, target_kinds> past_{};
    unsigned holds_ = 0;
};

} // namespace model::pcie
