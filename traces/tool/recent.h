// The latest values by a key, in bounded memory: of what was put longest ago some is forgotten.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>

namespace traces::tool {

/// Values are numbers of records; 0: there is none.
class Recent {
public:
    void put(std::uint64_t key, std::uint32_t record) {
        if (now_.size() == most) {
            before_ = std::move(now_);
            now_.clear();
        }
        now_[key] = record;
    }
    std::uint32_t get(std::uint64_t key) const {
        if (const auto found = now_.find(key); found != now_.end())
            return found->second;
        const auto found = before_.find(key);
        return found != before_.end() ? found->second : 0;
    }

private:
    static constexpr std::size_t most = 65536;
    std::unordered_map<std::uint64_t, std::uint32_t> now_, before_;
};

} // namespace traces::tool
