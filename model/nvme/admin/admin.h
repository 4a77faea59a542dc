// Admin commands: one row of a table each. A handler decodes, asks the room whose business it is, and says how it
// ended; the controller posts that. NVMe base 2.0 "Admin Command Set".
#pragma once

#include "abi/nvme/identify.h"
#include "abi/nvme/registers.h"
#include "model/nvme/admin/background.h"
#include "model/nvme/admin/event_requests.h"
#include "model/nvme/admin/features.h"
#include "model/nvme/admin/health.h"
#include "model/nvme/admin/host_time.h"
#include "model/nvme/config.h"
#include "model/nvme/flash/host_buffer.h"
#include "model/nvme/io/io.h"
#include "model/nvme/queue/in_flight.h"
#include "model/nvme/queue/queues.h"
#include "model/nvme/space/namespaces.h"

#include <array>

namespace model::nvme {

class Admin {
public:
    using Command = abi::ConstView<abi::nvme::Command>;

    Admin(const NvmeConfig& config, Queues& queues, InFlight& in_flight, Namespaces& spaces, Io& io, Health& health,
          HostBuffer& host_buffer, traces::Events events);

    void reset(port::Time at);
    /// The controller is enabled: what the features say, the drive does.
    void apply_features(port::Time at);
    /// What CC says of entries: 2^n bytes.
    void set_entries(unsigned submission_shift, unsigned completion_shift) {
        submission_shift_ = submission_shift, completion_shift_ = completion_shift;
    }
    void set_page_bytes(std::uint32_t bytes) { page_bytes_ = bytes; }
    /// An Asynchronous Event Request that waits has a `done` of port::never and `is_parked`.
    Outcome execute(Command command, port::Time at);
    bool is_parked() const { return is_parked_; }
    EventRequests& events() { return events_; }
    Background& background() { return background_; }
    /// What went on behind commands and is due, ends.
    void advance(port::Time now);

private:
    using Handler = Outcome (Admin::*)(Command, port::Time);
    struct Row {
        abi::nvme::AdminOpcode opcode;
        std::uint16_t option; ///< bit of OACS; 0: always there
        Handler handler;
    };
    static const std::array<Row, 17> rows;

    Outcome identify(Command command, port::Time at);
    Outcome create_submission(Command command, port::Time at);
    Outcome create_completion(Command command, port::Time at);
    Outcome delete_submission(Command command, port::Time at);
    Outcome delete_completion(Command command, port::Time at);
    Outcome get_log_page(Command command, port::Time at);
    Outcome set_features(Command command, port::Time at);
    Outcome get_features(Command command, port::Time at);
    Outcome abort(Command command, port::Time at);
    Outcome request_event(Command command, port::Time at);
    Outcome configure_doorbells(Command command, port::Time at);
    Outcome format(Command command, port::Time at);
    Outcome manage_namespace(Command command, port::Time at);
    Outcome attach_namespace(Command command, port::Time at);
    Outcome self_test(Command command, port::Time at);
    Outcome sanitize(Command command, port::Time at);
    Outcome set_timestamp(Command command, port::Time at);
    Outcome set_threshold(std::uint32_t value, bool is_saved, port::Time at);
    Refusal set_host_buffer(Command command, port::Time& at);
    Outcome get_host_buffer(Command command, port::Time at);
    Outcome keep_alive(Command command, port::Time at);

    Outcome end(const Refusal& refusal, port::Time at, std::uint32_t dw0 = 0) const {
        return {.status = refusal.status, .dnr = refusal.dnr, .dw0 = dw0, .done = at, .parameter = refusal.parameter};
    }
    Refusal keep_features();
    bool has_feature(abi::nvme::Feature id);
    void check_temperature();
    Outcome send(Command command, std::span<const std::byte> page, port::Time at);
    std::uint16_t options() const;
    std::uint16_t copy_formats() const;
    void fill_controller(abi::View<abi::nvme::IdentifyController> page) const;
    /// To a namespace, or to all of them: said at the door, and to a host that has asked for it.
    void changed(std::uint32_t nsid, traces::NamespaceChange what, port::Time at);
    Refusal fill_log(Command command, port::Time at);
    /// What a host asks for by Telemetry Host-Initiated, and which one it is.
    struct Capture {
        std::vector<std::byte> data;
        std::uint8_t number = 0;
    };
    Capture capture(port::Time at) const;
    void fill_telemetry(abi::nvme::LogPage page, const Capture& capture);
    void log_was_read(abi::ConstView<abi::nvme::GetLogPage> fields, port::Time at);
    /// Whether a command of this kind may run while a sanitize operation does, or has failed.
    bool is_held(Command command) const;

    const NvmeConfig& config_;
    Queues& queues_;
    InFlight& in_flight_;
    Namespaces& spaces_;
    Io& io_;
    Health& health_;
    HostBuffer& host_buffer_;
    traces::Events events_door_;
    Features features_;
    EventRequests events_;
    Background background_;
    HostTime time_;
    Capture telemetry_;                ///< the host's last one
    bool is_temperature_told_ = false; ///< the host has had the event of it
    unsigned submission_shift_ = 0, completion_shift_ = 0;
    std::uint32_t page_bytes_ = abi::nvme::least_page_bytes;
    bool is_parked_ = false;
    std::vector<std::byte> page_; ///< what the host reads
    port::Time now_{};
};

} // namespace model::nvme
