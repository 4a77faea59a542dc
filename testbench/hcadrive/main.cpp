// The program `hcadrive`: the GPUDirect scenario with our drivers as any user process has them, against cards that live
// behind vfio-user sockets or vfio-pci. Knows nothing of the model.
#include "testbench/hcadrive/command_line.h"
#include "testbench/hcadrive/functions.h"
#include "testbench/hcadrive/report.h"
#include "testbench/hcasim/payload.h"
#include "testbench/program/units.h"
#include "testbench/scenario/gpudirect_drive.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace hcadrive {
namespace {

constexpr int verified = 0, not_verified = 1, refused = 2;

int refuse(std::string_view why) {
    std::fflush(stdout);
    fmt::print(stderr, "hcadrive: {}\n", why);
    return refused;
}

/// A line for each step, when it is over.
void tell(std::string_view step, std::uint64_t done, std::uint64_t all) {
    if (done != all)
        return;
    fmt::print("  {:<30} 100 %  {}\n", scenario::direction_of(step), hcasim::print_bytes(all));
    std::fflush(stdout);
}

struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
};
using OutputFile = std::unique_ptr<std::FILE, CloseFile>;

int drive(const DriveOptions& options) {
    const auto places = places_of(options.places);
    if (!places)
        return refuse(places.error().what);
    const auto payload = hcasim::Payload::open(options.payload);
    if (!payload)
        return refuse(payload.error());
    OutputFile json(options.json.empty() ? nullptr : std::fopen(options.json.c_str(), "wb"));
    if (!options.json.empty() && !json)
        return refuse(fmt::format("{}: cannot be created: {}", options.json, std::strerror(errno)));
    const auto functions = Functions::open(
        *places, {.patience = std::chrono::seconds(options.patience_seconds), .interface = options.interface});
    if (!functions)
        return refuse(functions.error().what);

    fmt::print("gpudirect: machine A {} {}, machine B {} {}\nmoving {}, {}\n", (*places)[0], (*places)[1], (*places)[2],
               (*places)[3], payload->name(), hcasim::print_bytes(payload->size()));
    std::fflush(stdout);
    const auto result = scenario::drive_gpudirect((*functions)->cards(),
                                                  {.payload = payload->source(),
                                                   .message_bytes = options.message_bytes,
                                                   .mtu_bytes = options.mtu_bytes,
                                                   .queue_depth = options.queue_depth,
                                                   .queue_pairs = options.queue_pairs,
                                                   .progress = tell},
                                                  options.is_ipv6);
    fmt::print("\n{}", print_result(result));
    std::fflush(stdout);
    if (json) {
        const auto text = print_json(result);
        const bool is_written = std::fwrite(text.data(), 1, text.size(), json.get()) == text.size();
        if (std::fclose(json.release()) != 0 || !is_written)
            return refuse(fmt::format("{}: cannot be written: {}", options.json, std::strerror(errno)));
    }
    return result.verified ? verified : not_verified;
}

} // namespace
} // namespace hcadrive

int main(int argc, char** argv) {
    const auto command = hcadrive::parse_command_line(argc, argv);
    if (const auto* leave = std::get_if<hcadrive::Leave>(&command)) {
        fmt::print(leave->code == 0 ? stdout : stderr, "{}", leave->text);
        return leave->code;
    }
    return hcadrive::drive(std::get<hcadrive::DriveOptions>(command));
}
