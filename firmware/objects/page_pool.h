// The 4 KiB pages that the driver lends to the device (PRM "Pages"): takes addresses in, counts what boot,
// initialization and objects need, and gives surplus pages back, exactly the addresses it was given. Never touches the
// memory itself.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

namespace firmware::objects {

class PagePool {
public:
    PagePool() = default;
    /// boot, init: pages wanted before INIT_HCA. per_1024: pages that 1,024 objects take up.
    PagePool(std::uint32_t boot, std::uint32_t init, std::uint32_t per_1024)
        : boot_(boot), init_(init), per_1024_(per_1024) {}

    std::size_t given() const { return given_.size(); }
    /// Their addresses. The list lives as long as the pool, and changes with it.
    const std::vector<std::uint64_t>& pages() const { return given_; }
    bool has(std::uint64_t address) const { return present_.contains(address); }
    /// `address` must not be in the pool.
    void give(std::uint64_t address) {
        given_.push_back(address);
        present_.insert(address);
    }
    /// Takes up to `most` surplus pages out of the pool, newest first.
    std::vector<std::uint64_t> take(std::size_t most) {
        std::vector<std::uint64_t> taken;
        for (auto count = std::min(most, surplus()); count != 0; --count) {
            taken.push_back(given_.back());
            present_.erase(given_.back());
            given_.pop_back();
        }
        return taken;
    }

    /// Still missing for boot, and for boot and initialization together.
    std::size_t boot_missing() const { return missing(boot_); }
    std::size_t init_missing() const { return missing(std::size_t{boot_} + init_); }

    /// Between INIT_HCA and TEARDOWN_HCA the pages of boot, initialization and objects stay with the device.
    void set_running(bool is_running) { is_running_ = is_running; }
    std::size_t surplus() const {
        const auto kept = is_running_ ? boot_ + std::max<std::size_t>(init_, needed(objects_)) : 0;
        return given_.size() > kept ? given_.size() - kept : 0;
    }

    /// Whether `objects_` objects and one more fit into the pages behind those of boot.
    bool has_room() const { return boot_ + needed(objects_ + 1) <= given_.size(); }
    void add_object() { ++objects_; }
    void remove_object() { --objects_; }
    void remove_objects() { objects_ = 0; }
    std::uint64_t objects() const { return objects_; }
    /// Pages to ask the driver for: a batch as large as initialization's when less than a quarter of one is left.
    std::size_t wanted() const {
        const auto used = boot_ + needed(objects_ + 1), batch = std::max<std::size_t>(init_, 16);
        const auto left = given_.size() > used ? given_.size() - used : 0;
        return per_1024_ != 0 && left * 4 <= batch ? batch : 0;
    }

private:
    std::size_t missing(std::size_t want) const { return want > given_.size() ? want - given_.size() : 0; }
    std::size_t needed(std::uint64_t objects) const { return (objects * per_1024_ + 1023) / 1024; }

    std::uint32_t boot_ = 0, init_ = 0, per_1024_ = 0;
    bool is_running_ = false;
    std::uint64_t objects_ = 0;
    std::vector<std::uint64_t> given_;
    std::set<std::uint64_t> present_;
};

} // namespace firmware::objects
