#include "testbench/scenario/programs.h"

#include "model/tlm/agenda.h"
#include "model/tlm/time.h"

#include <fmt/format.h>

namespace scenario {

void MessageQueues::End::send(std::span<const std::byte> message) {
    other_.waiting_.emplace_back(message.begin(), message.end());
    model::tlm::notify_now(other_.changed_);
}

std::vector<std::byte> MessageQueues::End::receive() {
    while (waiting_.empty()) {
        if (is_peer_gone_)
            return {};
        sc_core::wait(changed_);
    }
    auto message = std::move(waiting_.front());
    waiting_.pop_front();
    return message;
}

void MessageQueues::End::close() {
    other_.is_peer_gone_ = true;
    model::tlm::notify_now(other_.changed_);
}

void Programs::add(std::string name, std::function<void()> body) {
    auto& program = programs_.emplace_back(Program{std::move(name), std::move(body)});
    ++running_;
    sc_core::sc_spawn(
        [this, &program] {
            program.body();
            program.is_done = true;
            if (--running_ == 0) {
                done_at_ = sc_core::sc_time_stamp();
                sc_core::sc_pause(); // sc_stop() would say so on standard output
            }
        },
        sc_core::sc_gen_unique_name(program.name.c_str()));
}

void Programs::keep_quiet() {
    sc_core::sc_report_handler::set_actions("/OSCI/SystemC", sc_core::SC_INFO, sc_core::SC_DO_NOTHING);
}

std::expected<void, std::string> Programs::run(Stop* stop) {
    keep_quiet(); // the end of the last program is how a run ends
    if (stop != nullptr)
        stop->ask(); // what was built before has told nobody
    if (stop == nullptr || !stop->is_requested()) {
        const Running running(stop, [] { model::tlm::pause(); });
        model::tlm::run();
    }
    if (running_ == 0)
        return {};
    if (stop != nullptr && stop->is_requested())
        return std::unexpected(
            fmt::format("{} after {:.3f} us of simulated time", stop->why(),
                        std::chrono::duration<double, std::micro>(model::tlm::kernel_now()).count()));
    return std::unexpected(
        std::string("the simulation ran out of events while a program still waits: this is a defect of hcasim"));
}

} // namespace scenario
