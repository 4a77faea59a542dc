// Polled doorbells of the HCAs that are served (platform/bridge/README.md "Polled doorbells"): brings cards and sockets
// together, and says of each client what becomes of its doorbells.
#pragma once

#include "platform/bridge/vfio_user/function_port.h"
#include "platform/topology/platform_module.h"

#include <cstdint>
#include <expected>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace hcasim {

class Polling {
public:
    using Say = std::function<void(std::string_view line)>;

    /// Of the HCAs with hca.polled_doorbells; before the simulation starts. The error says why one cannot have it.
    static std::expected<Polling, std::string> create(platform::topology::Platform& platform);

    bool is_empty() const { return polled_.empty(); }
    /// Looks at the records; whether some doorbells were found.
    bool poll();
    /// There are clients that have to be polled.
    bool is_polling() const;
    /// Says what has changed since the last time.
    void tell(const Say& say);
    /// Says of each card how many doorbells came which way.
    void count(const Say& say) const;

private:
    enum class Manner : std::uint8_t { nobody, messages, memory, unreadable };
    struct Polled {
        platform::bridge::vfio_user::FunctionPort* function;
        Manner told = Manner::nobody;
    };
    static Manner manner_of(const platform::bridge::vfio_user::FunctionPort& function);

    std::vector<Polled> polled_;
};

} // namespace hcasim
